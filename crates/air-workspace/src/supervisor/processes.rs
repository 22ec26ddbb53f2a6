//! The processes of the sandbox, from `/proc`.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use air_core::port::Tier;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::protocol::Process;

/// How often those that are left are ended again before giving up: a fork may escape one round.
const ROUNDS: u32 = 40;

/// Pids of everything alive that this supervisor has to answer for.
pub(super) fn alive(tier: Tier) -> BTreeSet<u32> {
    let mut parents = BTreeMap::new();
    let Ok(entries) = std::fs::read_dir("/proc") else { return BTreeSet::new() };
    for entry in entries.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if let Some(parent) = parent_of(pid) {
            parents.insert(pid, parent);
        }
    }
    let me = std::process::id();
    match tier {
        // The pid namespace holds nothing else.
        Tier::T3 => parents.into_keys().filter(|pid| *pid != me).collect(),
        Tier::T1 | Tier::T2 => descendants(&parents, me),
    }
}

/// Whether there are more than `limit`. Quick where it matters: a fork bomb grows while it is counted.
pub(super) fn are_more_than(tier: Tier, limit: usize) -> bool {
    if tier == Tier::T3 {
        let Ok(entries) = std::fs::read_dir("/proc") else { return false };
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        // Ended ones that nobody has waited for are among them; they use up pids all the same.
        let most = limit.saturating_mul(4);
        let seen: Vec<u32> = pids.take(most + 1).collect();
        return seen.len() > most
            || seen.len() > limit
                && seen.into_iter().filter(|pid| parent_of(*pid).is_some()).count() > limit;
    }
    alive(tier).len() > limit
}

fn descendants(parents: &BTreeMap<u32, u32>, root: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::from([root]);
    loop {
        let before = found.len();
        for (pid, parent) in parents {
            if found.contains(parent) {
                found.insert(*pid);
            }
        }
        if found.len() == before {
            found.remove(&root);
            return found;
        }
    }
}

/// The parent; `None` of one that has ended.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may contain anything, a parenthesis too.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    fields.next()?.parse().ok()
}

/// What is known of one process.
pub(super) fn describe(pid: u32) -> Process {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    let mut argv: Vec<String> = Vec::new();
    if !line.is_empty() {
        let parts = line.split(|byte| *byte == 0).take(64);
        argv.extend(parts.map(|part| String::from_utf8_lossy(part).into_owned()));
    } else if let Ok(name) = std::fs::read_to_string(format!("/proc/{pid}/comm")) {
        argv.push(format!("[{}]", name.trim_end()));
    }
    Process { pid, argv }
}

/// Ends all but `spared`; how many were ended, and how many are left.
pub(super) fn end_all(tier: Tier, spared: Option<u32>) -> (u32, u32) {
    let mut ended = BTreeSet::new();
    for round in 0..ROUNDS {
        let mut pids = alive(tier);
        if let Some(spared) = spared {
            pids.remove(&spared);
        }
        if pids.is_empty() {
            return (count(&ended), 0);
        }
        if round > ROUNDS / 2 {
            end_namespace();
        }
        for pid in &pids {
            signal(*pid);
        }
        ended.extend(pids);
        reap();
        std::thread::sleep(Duration::from_millis(5));
    }
    (count(&ended), count(&alive(tier)))
}

fn count(pids: &BTreeSet<u32>) -> u32 {
    u32::try_from(pids.len()).unwrap_or(u32::MAX)
}

pub(super) fn signal(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // One that has ended by itself needs no signal.
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Ends the process group that `pid` leads.
pub(super) fn signal_group(pid: u32) {
    if let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw)
        && group != Pid::INIT
    {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Ends everything in the pid namespace at once, which no fork escapes. Only as its pid 1: elsewhere
/// it would reach processes that are not ours.
pub(super) fn end_namespace() {
    if std::process::id() == 1 {
        // The group of pid 1 is `kill(-1)`.
        let _ = kill_process_group(Pid::INIT, Signal::KILL);
    }
}

/// Takes leave of all ended processes.
pub(super) fn reap() {
    while let Ok(Some(_)) = rustix::process::wait(rustix::process::WaitOptions::NOHANG) {}
}
