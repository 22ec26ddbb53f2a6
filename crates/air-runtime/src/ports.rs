//! What a session is given.

use std::sync::Arc;

use air_core::{
    fact::PathLabels,
    port::{
        Background, Clock, CodeReader, GuardrailStore, Ids, Inspector, Journal, Judge, Operator,
        Repairer, Responder, RuleReader, Spendings, Synthesizer, ToolBox, Workspace,
    },
};

/// The agent that responds to its own incident.
#[derive(Clone)]
pub enum Hand {
    /// It is asked here, and answers here.
    Here(Arc<dyn Responder>),
    /// It works in a host: it is told, its calls come by as any others, and it is waited for.
    Elsewhere,
}

impl<R: Responder + 'static> From<R> for Hand {
    fn from(responder: R) -> Self {
        Self::Here(Arc::new(responder))
    }
}

impl std::fmt::Debug for Hand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Here(_) => "Here",
            Self::Elsewhere => "Elsewhere",
        })
    }
}

/// The ports of one session. Cheap to clone.
#[derive(Clone)]
pub struct Ports {
    /// The durable record.
    pub journal: Arc<dyn Journal>,
    /// Learned guardrails.
    pub guardrails: Arc<dyn GuardrailStore>,
    /// Where tools act.
    pub workspace: Arc<dyn Workspace>,
    /// The agent's tools.
    pub tools: Arc<dyn ToolBox>,
    /// Parses source code in calls.
    pub code: Arc<dyn CodeReader>,
    /// Compiles the text of learned guardrails.
    pub rules: Arc<dyn RuleReader>,
    /// Labels of paths.
    pub labels: Arc<dyn PathLabels>,
    /// A person who can be asked.
    pub operator: Arc<dyn Operator>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// New identifiers.
    pub ids: Arc<dyn Ids>,
    /// Reports the environment's state, where there is something to report.
    pub inspector: Option<Arc<dyn Inspector>>,
    /// Decides what no condition can.
    pub judge: Option<Arc<dyn Judge>>,
    /// Where a judge works while the agent goes on. None: the agent waits for each verdict.
    pub background: Option<Arc<dyn Background>>,
    /// Follows `remediate`. None: AIR responds by itself.
    pub responder: Option<Hand>,
    /// Counts what models take.
    pub spendings: Option<Arc<dyn Spendings>>,
    /// Mends programs. None: `repair` does nothing.
    pub repairer: Option<Arc<dyn Repairer>>,
    /// Derives guardrails. None: eradication is off.
    pub synthesizer: Option<Arc<dyn Synthesizer>>,
}

impl std::fmt::Debug for Ports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ports")
            .field("judge", &self.judge.is_some())
            .field("synthesizer", &self.synthesizer.is_some())
            .finish_non_exhaustive()
    }
}
