//! Ports that do what a test says, in memory.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use air_core::{
    effects::Effects,
    guardrail::Guardrail,
    id::{ApprovalId, CheckpointId, GuardrailId, IncidentId, PayloadId, SessionId, Timestamp},
    port::{
        BoxFuture, Clock, Durability, Evidence, GuardrailStore, Ids, Journal, JournalError,
        Operator, Record, Stream, Tier, ToolBox, ToolError, ToolInfo, Workspace, WorkspaceError,
    },
    step::{Observation, ToolCall},
};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

/// A journal and guardrail store in memory. It can be told to fail.
#[derive(Debug, Default)]
pub struct MemoryStore {
    streams: Mutex<Vec<(Stream, Vec<Record>)>>,
    payloads: Mutex<Vec<Vec<u8>>>,
    guardrails: Mutex<Vec<Guardrail>>,
    appends: AtomicU64,
    /// The append, from 1, that fails, with all that follow. 0: none.
    fail_from: AtomicU64,
    /// A payload that cannot be kept.
    refused: Mutex<Option<Vec<u8>>>,
}

impl MemoryStore {
    /// How many appends were asked for.
    pub fn appends(&self) -> u64 {
        self.appends.load(Ordering::SeqCst)
    }

    /// Lets the `n`-th append from now on, counted from 1, and all that follow fail. 0: none.
    pub fn fail_from(&self, n: u64) {
        self.appends.store(0, Ordering::SeqCst);
        self.fail_from.store(n, Ordering::SeqCst);
    }

    /// Lets this payload fail from now on, as where there is no space for it.
    pub fn refuse(&self, payload: &[u8]) {
        *lock(&self.refused) = Some(payload.to_vec());
    }
}

impl Journal for MemoryStore {
    fn append<'a>(
        &'a self,
        stream: &'a Stream,
        expected: u64,
        records: &'a [Record],
        _durability: Durability,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        let number = self.appends.fetch_add(1, Ordering::SeqCst) + 1;
        let fail_from = self.fail_from.load(Ordering::SeqCst);
        if fail_from != 0 && number >= fail_from {
            return ready(Err(JournalError::Unusable("the test says so".into())));
        }
        let mut streams = lock(&self.streams);
        let at = streams.iter().position(|(name, _)| name == stream).unwrap_or_else(|| {
            streams.push((stream.clone(), Vec::new()));
            streams.len() - 1
        });
        let Some((_, held)) = streams.get_mut(at) else {
            return ready(Err(JournalError::Unusable("the stream is gone".into())));
        };
        let actual = u64::try_from(held.len()).unwrap_or(u64::MAX);
        if actual != expected {
            return ready(Err(JournalError::Conflict { expected, actual }));
        }
        held.extend(records.iter().cloned());
        ready(Ok(()))
    }

    fn read<'a>(&'a self, stream: &'a Stream) -> BoxFuture<'a, Result<Vec<Record>, JournalError>> {
        let streams = lock(&self.streams);
        let held = streams.iter().find(|(name, _)| name == stream);
        ready(Ok(held.map(|(_, records)| records.clone()).unwrap_or_default()))
    }

    fn streams(&self) -> BoxFuture<'_, Result<Vec<Stream>, JournalError>> {
        ready(Ok(lock(&self.streams).iter().map(|(name, _)| name.clone()).collect()))
    }

    fn put_payload<'a>(
        &'a self,
        content: &'a [u8],
    ) -> BoxFuture<'a, Result<PayloadId, JournalError>> {
        if lock(&self.refused).as_deref() == Some(content) {
            return ready(Err(JournalError::Unusable("no space is left".into())));
        }
        let mut payloads = lock(&self.payloads);
        let at = payloads.iter().position(|held| held == content).unwrap_or_else(|| {
            payloads.push(content.to_vec());
            payloads.len() - 1
        });
        ready(Ok(PayloadId::from(at.to_string().as_str())))
    }

    fn payload<'a>(
        &'a self,
        id: &'a PayloadId,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, JournalError>> {
        let at: Option<usize> = id.as_str().parse().ok();
        ready(Ok(at.and_then(|at| lock(&self.payloads).get(at).cloned())))
    }
}

impl GuardrailStore for MemoryStore {
    fn current(&self) -> BoxFuture<'_, Result<Vec<Guardrail>, JournalError>> {
        let mut last: Vec<Guardrail> = Vec::new();
        for guardrail in lock(&self.guardrails).iter() {
            last.retain(|held| held.id != guardrail.id);
            last.push(guardrail.clone());
        }
        ready(Ok(last))
    }

    fn history<'a>(
        &'a self,
        id: &'a GuardrailId,
    ) -> BoxFuture<'a, Result<Vec<Guardrail>, JournalError>> {
        let all = lock(&self.guardrails);
        ready(Ok(all.iter().filter(|held| held.id == *id).cloned().collect()))
    }

    fn put<'a>(&'a self, guardrail: &'a Guardrail) -> BoxFuture<'a, Result<(), JournalError>> {
        lock(&self.guardrails).push(guardrail.clone());
        ready(Ok(()))
    }
}

/// A workspace whose effects are given. Containment and rollback take them away again, unless it is
/// told that they do not work.
#[derive(Debug, Default)]
pub struct ScriptedWorkspace {
    effects: Mutex<Effects>,
    done: Mutex<Vec<String>>,
    checkpoints: AtomicU64,
    files: BTreeMap<String, String>,
    /// Response actions do nothing.
    pub stubborn: bool,
    /// Set by every response action.
    pub(crate) responding: Arc<AtomicBool>,
}

impl ScriptedWorkspace {
    /// One in which these files are, by path and content.
    pub fn with_files(files: BTreeMap<String, String>) -> Self {
        Self { files, ..Self::default() }
    }

    /// The content of a file that is there from the start.
    pub fn file(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// What the call that runs now changes.
    pub fn change(&self, effects: Effects) {
        *lock(&self.effects) = effects;
    }

    /// The response actions so far, in order.
    pub fn actions(&self) -> Vec<String> {
        lock(&self.done).clone()
    }

    fn act<'a>(
        &'a self,
        name: &str,
        take: impl FnOnce(&mut Effects),
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        lock(&self.done).push(name.to_owned());
        self.responding.store(true, Ordering::Relaxed);
        if !self.stubborn {
            take(&mut lock(&self.effects));
        }
        ready(Ok(name.to_owned()))
    }
}

impl Workspace for ScriptedWorkspace {
    fn tier(&self) -> Tier {
        Tier::T3
    }

    fn source_file(&self, path: &str) -> Result<Vec<u8>, String> {
        let absolute = self.absolute(path);
        let found = self.files.iter().find(|(name, _)| self.absolute(name) == absolute);
        found
            .map(|(_, content)| content.clone().into_bytes())
            .ok_or_else(|| format!("{path} is not there"))
    }

    fn checkpoint(&self) -> BoxFuture<'_, Result<CheckpointId, WorkspaceError>> {
        let number = self.checkpoints.fetch_add(1, Ordering::SeqCst) + 1;
        self.change(Effects::default());
        ready(Ok(CheckpointId::from(format!("c{number}").as_str())))
    }

    fn effects<'a>(
        &'a self,
        _since: &'a CheckpointId,
        _mentioned: &'a [String],
    ) -> BoxFuture<'a, Result<Effects, WorkspaceError>> {
        ready(Ok(lock(&self.effects).clone()))
    }

    fn preserve<'a>(
        &'a self,
        _since: &'a CheckpointId,
    ) -> BoxFuture<'a, Result<Evidence, WorkspaceError>> {
        let done = self.act("preserve", |_| {});
        Box::pin(async {
            let exhibits = vec![("changes.diff".to_owned(), b"scripted".to_vec())];
            Ok(Evidence { summary: done.await?, exhibits })
        })
    }

    fn kill(&self) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        self.act("kill", |effects| effects.processes.items.clear())
    }

    fn isolate(&self) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        self.act("isolate", |_| {})
    }

    fn quarantine<'a>(
        &'a self,
        _incident: &'a IncidentId,
        paths: &'a [String],
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        self.act("quarantine", |effects| {
            effects.files.items.retain(|file| !paths.contains(&file.path));
        })
    }

    fn rollback<'a>(
        &'a self,
        _to: &'a CheckpointId,
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        self.act("rollback", |effects| {
            effects.files.items.clear();
            effects.processes.items.clear();
        })
    }
}

/// Every tool there is; what it returns is told to the runner, not to it. Calls of a response are
/// remembered.
#[derive(Debug, Default)]
pub struct ScriptedTools {
    calls: Mutex<Vec<ToolCall>>,
}

impl ScriptedTools {
    /// The calls of responses so far.
    pub fn calls(&self) -> Vec<ToolCall> {
        lock(&self.calls).clone()
    }
}

impl ToolBox for ScriptedTools {
    fn call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<Observation, ToolError>> {
        lock(&self.calls).push(call.clone());
        ready(Ok(Observation::default()))
    }

    fn tool(&self, name: &str) -> Option<ToolInfo> {
        Some(ToolInfo::unknown(name))
    }
}

/// Ids that count, a clock that ticks once a question, and nobody to ask.
#[derive(Debug, Default)]
pub struct Counting {
    sessions: AtomicU64,
    incidents: AtomicU64,
    approvals: AtomicU64,
    now: AtomicU64,
}

impl Counting {
    /// The clock goes on from here, also back.
    pub fn set(&self, now: Timestamp) {
        self.now.store(now.0, Ordering::SeqCst);
    }
}

impl Ids for Counting {
    fn session(&self) -> SessionId {
        let number = self.sessions.fetch_add(1, Ordering::SeqCst) + 1;
        SessionId::from(format!("s{number}").as_str())
    }

    fn incident(&self) -> IncidentId {
        let number = self.incidents.fetch_add(1, Ordering::SeqCst) + 1;
        IncidentId::from(format!("i{number}").as_str())
    }

    fn approval(&self) -> ApprovalId {
        let number = self.approvals.fetch_add(1, Ordering::SeqCst) + 1;
        ApprovalId::from(format!("a{number}").as_str())
    }
}

impl Clock for Counting {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.fetch_add(1, Ordering::SeqCst))
    }
}

impl Operator for Counting {
    fn approve<'a>(&'a self, _question: &'a str) -> BoxFuture<'a, Option<bool>> {
        ready(None)
    }
}
