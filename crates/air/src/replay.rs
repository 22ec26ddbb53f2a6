//! Rules over what was recorded.

use std::sync::Arc;

use air_core::{
    effects::Effects,
    id::{CheckpointId, IncidentId, SessionId},
    port::{BoxFuture, Evidence, Tier, ToolBox, ToolError, ToolInfo, Workspace, WorkspaceError},
    step::{Observation, ToolCall},
};
use air_facts::CodeParser;
use air_journal::SqliteJournal;
use air_runtime::{
    Ports,
    replay::{self, ReplayedStep, Trial},
};

use crate::{Air, AirError, Nobody, RandomIds, SystemClock};

impl Air {
    /// What rules would have changed in one session, or in all of them. Nothing is executed or
    /// written.
    ///
    /// # Errors
    ///
    /// If there is no such session, the journal cannot be followed, or two rules share a name.
    pub async fn replay(
        &self,
        trial: Trial,
        session: Option<&SessionId>,
    ) -> Result<Vec<ReplayedStep>, AirError> {
        let nothing = Arc::new(NothingRuns);
        let ports = Ports {
            journal: Arc::<SqliteJournal>::clone(&self.journal),
            guardrails: Arc::<SqliteJournal>::clone(&self.journal),
            workspace: Arc::<NothingRuns>::clone(&nothing),
            tools: nothing,
            code: Arc::new(CodeParser::new()),
            rules: Arc::new(air_lang::LangRules),
            labels: Arc::<air_facts::LabelTable>::clone(&self.labels),
            operator: Arc::new(Nobody),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            inspector: None,
            judge: None,
            background: None,
            responder: None,
            spendings: None,
            repairer: None,
            synthesizer: None,
        };
        Ok(replay::replay(&ports, trial, self.settings.policy, session).await?)
    }
}

/// A workspace and its tools in which nothing can be done.
#[derive(Debug)]
struct NothingRuns;

fn refused<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, WorkspaceError>> {
    let why = "a replay touches no workspace".to_owned();
    Box::pin(std::future::ready(Err(WorkspaceError::Incomplete(why))))
}

impl ToolBox for NothingRuns {
    fn call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<Observation, ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::Unknown(call.tool.clone()))))
    }

    fn tool(&self, _name: &str) -> Option<ToolInfo> {
        None
    }
}

impl Workspace for NothingRuns {
    fn tier(&self) -> Tier {
        Tier::T1
    }

    fn checkpoint(&self) -> BoxFuture<'_, Result<CheckpointId, WorkspaceError>> {
        refused()
    }

    fn effects<'a>(
        &'a self,
        _since: &'a CheckpointId,
        _mentioned: &'a [String],
    ) -> BoxFuture<'a, Result<Effects, WorkspaceError>> {
        refused()
    }

    fn preserve<'a>(
        &'a self,
        _since: &'a CheckpointId,
    ) -> BoxFuture<'a, Result<Evidence, WorkspaceError>> {
        refused()
    }

    fn kill(&self) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        refused()
    }

    fn isolate(&self) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        refused()
    }

    fn quarantine<'a>(
        &'a self,
        _incident: &'a IncidentId,
        _paths: &'a [String],
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        refused()
    }

    fn rollback<'a>(
        &'a self,
        _to: &'a CheckpointId,
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        refused()
    }
}
