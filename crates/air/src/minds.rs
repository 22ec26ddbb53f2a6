//! The language models that take part in sessions.

use std::{fmt, sync::Arc};

use air_agent::AgentResponder;
use air_core::port::{Background, Judge, Spendings, Synthesizer};
use air_llm::{Ledger, Model, ModelDrafter, Threads};
use air_runtime::Hand;
use air_synth::{Compiler, Drafted};

/// The models of all sessions of a store. Default: none.
#[derive(Clone, Default)]
pub struct Minds {
    /// The agent's own: it responds to incidents.
    pub agent: Option<Arc<dyn Model>>,
    /// Decides what no condition can.
    pub judge: Option<Arc<dyn Judge>>,
    /// Drafts guardrails from incidents; without it, they are compiled.
    pub writer: Option<Arc<dyn Model>>,
    /// The judge, and how far it can be trusted: journaled with each session.
    pub about_judge: Option<String>,
    /// What all of them take.
    pub ledger: Option<Ledger>,
}

impl fmt::Debug for Minds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Minds")
            .field("agent", &self.agent)
            .field("judge", &self.judge.is_some())
            .field("writer", &self.writer)
            .finish_non_exhaustive()
    }
}

impl Minds {
    pub(crate) fn responder(&self) -> Option<Hand> {
        let model = Arc::clone(self.agent.as_ref()?);
        Some(AgentResponder::new(model).into())
    }

    pub(crate) fn synthesizer(&self, compiler: Compiler) -> Arc<dyn Synthesizer> {
        let Some(writer) = &self.writer else { return Arc::new(compiler) };
        let drafter = Arc::new(ModelDrafter::new(Arc::clone(writer)));
        Arc::new(Drafted::new(compiler, drafter, self.judge.clone()))
    }

    pub(crate) fn background(&self) -> Option<Arc<dyn Background>> {
        let wanted = self.judge.is_some() || self.agent.is_some();
        wanted.then(|| Arc::new(Threads) as Arc<dyn Background>)
    }

    pub(crate) fn spendings(&self) -> Option<Arc<dyn Spendings>> {
        self.ledger.clone().map(|ledger| Arc::new(ledger) as Arc<dyn Spendings>)
    }
}
