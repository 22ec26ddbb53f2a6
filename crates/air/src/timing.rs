//! Where the time of a step goes: AIR's own share, the tool's, and that of looking at the workspace.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use air_core::{
    effects::{Effects, Observed, OutputEffect},
    id::{CheckpointId, IncidentId},
    port::{BoxFuture, Evidence, Publication, Tier, Workspace, WorkspaceError},
};
use air_workspace::LocalWorkspace;

/// Where the time of the last step went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timings {
    /// Guardrails and the journal before the call, and rules and the journal after it.
    pub check: Duration,
    /// The checkpoint before the call, and what changed since, after it.
    pub look: Duration,
    /// The tool.
    pub tool: Duration,
    /// Containment and recovery.
    pub response: Duration,
    /// Eradication, off the agent's path.
    pub eradication: Duration,
}

#[derive(Debug, Default)]
struct State {
    look: Duration,
    responding_since: Option<Instant>,
}

/// Notes what the workspace's part of a step took.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter(Arc<Mutex<State>>);

impl Meter {
    /// Begins a step anew.
    pub(crate) fn reset(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = State::default();
    }

    /// How long looking has taken so far, and when the first action of a response began.
    pub(crate) fn read(&self) -> (Duration, Option<Instant>) {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (state.look, state.responding_since)
    }

    fn looked(&self, since: Instant) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What a response looks at is the response's.
        if state.responding_since.is_none() {
            state.look += since.elapsed();
        }
    }

    fn responds(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.responding_since.get_or_insert_with(Instant::now);
    }
}

/// A workspace whose time is noted.
#[derive(Debug)]
pub(crate) struct Metered {
    pub(crate) inner: LocalWorkspace,
    pub(crate) meter: Meter,
}

impl Workspace for Metered {
    fn tier(&self) -> Tier {
        self.inner.tier()
    }

    fn checkpoint(&self) -> BoxFuture<'_, Result<CheckpointId, WorkspaceError>> {
        Box::pin(async {
            let since = Instant::now();
            let done = self.inner.checkpoint().await;
            self.meter.looked(since);
            done
        })
    }

    fn effects<'a>(
        &'a self,
        since: &'a CheckpointId,
        mentioned: &'a [String],
    ) -> BoxFuture<'a, Result<Effects, WorkspaceError>> {
        Box::pin(async {
            let begun = Instant::now();
            let done = self.inner.effects(since, mentioned).await;
            self.meter.looked(begun);
            done
        })
    }

    fn output<'a>(
        &'a self,
        since: &'a CheckpointId,
        output: &'a str,
        mentioned: &'a [String],
    ) -> BoxFuture<'a, Option<Observed<OutputEffect>>> {
        Box::pin(async move {
            let begun = Instant::now();
            let done = self.inner.output(since, output, mentioned).await;
            self.meter.looked(begun);
            done
        })
    }

    fn preserve<'a>(
        &'a self,
        since: &'a CheckpointId,
    ) -> BoxFuture<'a, Result<Evidence, WorkspaceError>> {
        self.meter.responds();
        self.inner.preserve(since)
    }

    fn kill(&self) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        self.meter.responds();
        self.inner.kill()
    }

    fn isolate(&self) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        self.meter.responds();
        self.inner.isolate()
    }

    fn quarantine<'a>(
        &'a self,
        incident: &'a IncidentId,
        paths: &'a [String],
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        self.meter.responds();
        self.inner.quarantine(incident, paths)
    }

    fn left<'a>(&'a self, by: &'a CheckpointId) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        self.inner.left(by)
    }

    fn after<'a>(
        &'a self,
        by: &'a CheckpointId,
    ) -> BoxFuture<'a, Result<Option<CheckpointId>, WorkspaceError>> {
        self.inner.after(by)
    }

    fn followed(&self, path: &str) -> Vec<String> {
        self.inner.followed(path)
    }

    fn absolute(&self, path: &str) -> String {
        self.inner.absolute(path)
    }

    fn source_file(&self, path: &str) -> Result<Vec<u8>, String> {
        self.inner.source_file(path)
    }

    fn rollback<'a>(
        &'a self,
        to: &'a CheckpointId,
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        self.meter.responds();
        self.inner.rollback(to)
    }

    fn rollback_of<'a>(
        &'a self,
        to: &'a CheckpointId,
        paths: &'a [String],
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        self.meter.responds();
        self.inner.rollback_of(to, paths)
    }

    fn restart(&self) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        self.meter.responds();
        self.inner.restart()
    }

    fn publish(&self) -> BoxFuture<'_, Result<Option<Publication>, WorkspaceError>> {
        self.inner.publish()
    }
}
