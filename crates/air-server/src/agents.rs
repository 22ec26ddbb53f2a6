//! The processes of hosts that have asked: whoever runs below one of them is an agent, and no person.
//!
//! They are kept in a file, so that they are known also before they ask again, and to commands while no
//! daemon runs. An agent that leaves its host's processes behind is not known: this is a rule among those who
//! keep to it, as everything is that runs as one user.

use std::{
    collections::VecDeque,
    fs,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};

use crate::{
    door::RUN,
    peer::{ancestors, host_of, started},
    room::Who,
    slot::Key,
};

/// Below the directory of what runs.
const FILE: &str = "agents.json";
/// How many are known.
const KNOWN: usize = 256;

/// A host's process, and the session that it is asking about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Agent {
    pid: u32,
    /// When it started, as the system counts: another process may get its number.
    started: u64,
    host: String,
    /// None: it has asked, and may be no more than what the host asks with.
    session: Option<String>,
    /// Whether it has asked more than once: what starts anew for each question is no host.
    #[serde(default)]
    stays: bool,
}

impl Agent {
    fn lives(&self) -> bool {
        started(self.pid) == Some(self.started)
    }
}

/// All of them.
#[derive(Debug, Default)]
pub struct Agents {
    path: PathBuf,
    known: Mutex<VecDeque<Agent>>,
}

impl Agents {
    /// Those that are known below `hosts`, AIR's directory for all hosts. What cannot be read is nobody.
    pub fn read(hosts: &Path) -> Self {
        let path = hosts.join(RUN).join(FILE);
        let known = fs::read(&path).ok().and_then(|json| serde_json::from_slice(&json).ok());
        Self { path, known: Mutex::new(known.unwrap_or_default()) }
    }

    /// The host below which a process runs.
    pub fn above(&self, pid: u32) -> Option<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_empty() {
            return None;
        }
        let ancestors = ancestors(pid);
        let above = |agent: &&Agent| ancestors.contains(&agent.pid) && agent.lives();
        known.iter().find(above).map(|agent| agent.host.clone())
    }

    /// Whether the host of a session has ended. One that was never seen is not known to have.
    pub fn have_left(&self, host: &str, session: &str) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_own =
            |agent: &&Agent| agent.host == host && agent.session.as_deref() == Some(session);
        let mut own = known.iter().filter(is_own);
        let first = own.next();
        first.is_some_and(|first| !first.lives()) && !own.any(Agent::lives)
    }

    /// Whether the host of a session is gone for certain.
    pub(crate) fn are_gone(&self, key: &Key) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_own = |agent: &&Agent| {
            agent.host == key.host && agent.session.as_deref() == Some(key.session.as_str())
        };
        let own: Vec<&Agent> = known.iter().filter(is_own).collect();
        own.iter().any(|agent| agent.stays) && !own.iter().any(|agent| agent.lives())
    }

    /// Somebody asks for a session. Before the answer is told, its host has to be known: what is let pass may
    /// be a command that decides.
    pub(crate) async fn meet(&self, key: Key, who: Who) {
        match who {
            Who::Shim(shim) => {
                if let Some(pid) = host_of(shim) {
                    self.seen(pid, key.host, Some(key.session));
                }
            }
            Who::Host(line) => {
                if let Some(pid) = line.process(self.of_host(&key.host)).await {
                    self.seen(pid, key.host, Some(key.session));
                }
            }
            Who::Program(line) => {
                if let Some(pid) = line.process(self.of_host(&key.host)).await {
                    self.seen(pid, key.host, None);
                }
            }
            Who::Nobody => {}
        }
    }

    /// The processes of a host that are known.
    fn of_host(&self, host: &str) -> Vec<u32> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pids: Vec<u32> =
            known.iter().filter(|agent| agent.host == host).map(|agent| agent.pid).collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    fn seen(&self, pid: u32, host: String, session: Option<String>) {
        let Some(started) = started(pid) else { return };
        let agent = Agent { pid, started, host, session, stays: false };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |other: &&mut Agent| Agent { stays: false, ..(*other).clone() } == agent;
        if let Some(own) = known.iter_mut().find(is_it) {
            if !std::mem::replace(&mut own.stays, true) {
                let _ = self.keep(&known);
            }
            return;
        }
        // Nothing is asked of those any more.
        known.retain(|agent| agent.session.is_some() || agent.lives());
        if known.len() >= KNOWN {
            // The oldest that has ended, or the oldest.
            let at = known.iter().position(|agent| !agent.lives()).unwrap_or_default();
            known.remove(at);
        }
        known.push_back(agent);
        // Without it they are known as long as this daemon runs.
        let _ = self.keep(&known);
    }

    fn keep(&self, known: &VecDeque<Agent>) -> io::Result<()> {
        let new = self.path.with_extension("new");
        let mut options = fs::OpenOptions::new();
        let mut file = options.create(true).truncate(true).write(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(known)?)?;
        fs::rename(new, &self.path)
    }
}
