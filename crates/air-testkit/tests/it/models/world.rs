//! Files in memory, tools on them, and models that are functions of the test.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use air_core::{
    effects::{Change, Effects, FileEffect, Observed},
    id::{CheckpointId, IncidentId},
    outcome::{Outcome, Verdict},
    port::{
        Background, BoxFuture, Evidence, Hands, Judge, JudgeError, Order, Report, Responder,
        ResponderError, Tier, ToolBox, ToolError, ToolInfo, Workspace, WorkspaceError,
    },
    question::Inquiry,
    step::{Observation, ToolCall},
};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

type Files = BTreeMap<String, String>;

/// Files by path. Tools: `write {path, content}`, `delete {path}`, `read {path}`; the last changes
/// nothing. And `lose {path}`, which writes and does not come back; `patience {}`, which says how long,
/// in milliseconds, it may take.
#[derive(Debug, Default)]
pub(crate) struct World {
    files: Mutex<Files>,
    checkpoints: Mutex<Vec<Files>>,
    done: Mutex<Vec<String>>,
}

impl World {
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect();
        Self { files: Mutex::new(files), ..Self::default() }
    }

    pub(crate) fn files(&self) -> Files {
        lock(&self.files).clone()
    }

    /// Somebody else writes a file.
    pub(crate) fn put(&self, path: &str, text: &str) {
        lock(&self.files).insert(path.into(), text.into());
    }

    /// Somebody else deletes a file.
    pub(crate) fn remove(&self, path: &str) {
        lock(&self.files).remove(path);
    }

    /// What AIR did by itself.
    pub(crate) fn done(&self) -> Vec<String> {
        lock(&self.done).clone()
    }

    fn at(&self, id: &CheckpointId) -> Files {
        let at: usize = id.as_str().parse().expect("a number");
        lock(&self.checkpoints).get(at).cloned().expect("a checkpoint")
    }

    fn note(&self, what: &str) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        lock(&self.done).push(what.to_owned());
        ready(Ok(what.to_owned()))
    }
}

impl Workspace for World {
    fn tier(&self) -> Tier {
        Tier::T3
    }

    fn checkpoint(&self) -> BoxFuture<'_, Result<CheckpointId, WorkspaceError>> {
        let mut all = lock(&self.checkpoints);
        // A state has one name.
        if all.last() != Some(&self.files()) {
            all.push(self.files());
        }
        ready(Ok(CheckpointId::from((all.len() - 1).to_string().as_str())))
    }

    fn effects<'a>(
        &'a self,
        since: &'a CheckpointId,
        _mentioned: &'a [String],
    ) -> BoxFuture<'a, Result<Effects, WorkspaceError>> {
        let (before, now) = (self.at(since), self.files());
        let effect = |path: &String, change| {
            let same =
                |(other, text): &(&String, &String)| *other != path && now.get(path) == Some(*text);
            FileEffect {
                path: path.clone(),
                change,
                size: 1,
                mode: 0o644,
                origin: before.iter().find(same).map(|(path, _)| path.clone()),
                origin_unknown: None,
                moved: None,
                aspects: Vec::new(),
                marks: Vec::new(),
                reversible: true,
            }
        };
        let created = now.keys().filter(|path| !before.contains_key(*path));
        let deleted = before.keys().filter(|path| !now.contains_key(*path));
        let all = created
            .map(|path| effect(path, Change::Created))
            .chain(deleted.map(|path| effect(path, Change::Deleted)));
        let files = Observed::whole(all.collect());
        ready(Ok(Effects { files, ..Effects::default() }))
    }

    fn preserve<'a>(
        &'a self,
        _since: &'a CheckpointId,
    ) -> BoxFuture<'a, Result<Evidence, WorkspaceError>> {
        ready(Ok(Evidence { summary: "kept".into(), exhibits: Vec::new() }))
    }

    fn kill(&self) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        self.note("kill")
    }

    fn isolate(&self) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        self.note("isolate")
    }

    fn quarantine<'a>(
        &'a self,
        _incident: &'a IncidentId,
        paths: &'a [String],
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        lock(&self.files).retain(|path, _| !paths.contains(path));
        self.note("quarantine")
    }

    fn rollback<'a>(
        &'a self,
        to: &'a CheckpointId,
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        *lock(&self.files) = self.at(to);
        self.note("rollback")
    }

    fn rollback_of<'a>(
        &'a self,
        to: &'a CheckpointId,
        paths: &'a [String],
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        let before = self.at(to);
        let mut files = lock(&self.files);
        for path in paths {
            match before.get(path) {
                Some(text) => files.insert(path.clone(), text.clone()),
                None => files.remove(path),
            };
        }
        drop(files);
        self.note("rollback of some")
    }
}

/// The tools of a [`World`].
pub(crate) struct WorldTools(pub(super) Arc<World>);

impl ToolBox for WorldTools {
    fn call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<Observation, ToolError>> {
        let text = |name: &str| call.arguments.get(name).and_then(|it| it.as_str()).unwrap_or("");
        let mut files = lock(&self.0.files);
        let content = match call.tool.as_str() {
            "write" => files.insert(text("path").into(), text("content").into()).map(drop),
            "delete" => files.remove(text("path")).map(drop),
            "lose" => {
                files.insert(text("path").into(), "evil".into());
                return ready(Err(ToolError::Lost("the tool is gone".into())));
            }
            _ => None,
        };
        let content = match content {
            Some(()) => String::new(),
            None => files.get(text("path")).cloned().unwrap_or_default(),
        };
        ready(Ok(Observation { content, ..Observation::default() }))
    }

    fn call_within<'a>(
        &'a self,
        call: &'a ToolCall,
        time: Duration,
    ) -> BoxFuture<'a, Result<Observation, ToolError>> {
        if call.tool != "patience" {
            return self.call(call);
        }
        ready(Ok(Observation { content: time.as_millis().to_string(), ..Observation::default() }))
    }

    fn tool(&self, name: &str) -> Option<ToolInfo> {
        self.all().into_iter().find(|tool| tool.name == name)
    }

    fn all(&self) -> Vec<ToolInfo> {
        ["write", "delete", "lose", "patience", "read"]
            .map(|name| ToolInfo { side_effects: name != "read", ..ToolInfo::unknown(name) })
            .into()
    }
}

/// A judge that is a function of what it is asked. Counts the requests.
pub(crate) struct ScriptedJudge<F> {
    answer: F,
    pub(crate) asked: Mutex<Vec<Inquiry>>,
}

impl<F> ScriptedJudge<F> {
    pub(crate) fn new(answer: F) -> Arc<Self> {
        Arc::new(Self { answer, asked: Mutex::default() })
    }

    pub(crate) fn asked(&self) -> usize {
        lock(&self.asked).len()
    }
}

impl<F: Fn(&Inquiry) -> Result<Vec<Verdict>, JudgeError> + Send + Sync> Judge for ScriptedJudge<F> {
    fn judge(&self, inquiry: Inquiry) -> BoxFuture<'static, Result<Vec<Verdict>, JudgeError>> {
        let answer = (self.answer)(&inquiry);
        lock(&self.asked).push(inquiry);
        ready(answer)
    }
}

pub(crate) fn says(outcome: Outcome) -> Verdict {
    Verdict {
        outcome,
        confidence: 0.9,
        rationale: "the test says so".into(),
        judge: "scripted/1".into(),
        quotes: Vec::new(),
    }
}

/// An agent that is told to respond, as a function of the order.
pub(crate) struct ScriptedResponder<F>(pub(super) F);

impl<F> Responder for ScriptedResponder<F>
where
    F: for<'a> Fn(&'a Order, &'a mut dyn Hands) -> BoxFuture<'a, Result<Report, ResponderError>>
        + Send
        + Sync,
{
    fn respond<'a>(
        &'a self,
        order: &'a Order,
        hands: &'a mut dyn Hands,
    ) -> BoxFuture<'a, Result<Report, ResponderError>> {
        (self.0)(order, hands)
    }
}

/// Work beside the agent's, done when the test says so. Time passes at once, or never.
#[derive(Default)]
pub(crate) struct Aside {
    pub(crate) work: Mutex<Vec<BoxFuture<'static, ()>>>,
    pub(crate) late: bool,
}

impl fmt::Debug for Aside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Aside")
    }
}

impl Aside {
    /// Does all that was begun.
    pub(crate) fn work(&self) {
        let work = std::mem::take(&mut *lock(&self.work));
        work.into_iter().for_each(futures::executor::block_on);
    }
}

impl Background for Aside {
    fn run(&self, work: BoxFuture<'static, ()>) {
        lock(&self.work).push(work);
    }

    fn sleep(&self, _time: Duration) -> BoxFuture<'static, ()> {
        if self.late { ready(()) } else { Box::pin(std::future::pending()) }
    }
}
