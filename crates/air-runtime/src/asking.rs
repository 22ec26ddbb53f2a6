//! Asking a person whether a call may run: at once, through the host, or by a question that is journaled
//! and may be answered much later.

use std::time::Duration;

use air_core::{
    evaluation::{Decided, Gate},
    id::{ApprovalId, Timestamp},
    port::Durability,
    redact::redact,
    session::{DecidedBy, SessionEvent},
    step::ProposedStep,
};

use crate::{
    decide::{payload, refusal},
    session::{RuntimeError, Session},
};

/// Who is asked where a person has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Asking {
    /// Whoever [`air_core::port::Operator`] is, at once.
    #[default]
    Operator,
    /// The host asks by its own means, and runs the call or not.
    Host,
    /// The question is journaled; [`Session::answer`] decides, within so long.
    Journal {
        /// When nobody has decided by then, the call is refused.
        timeout: Duration,
    },
}

/// A call that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The question's id.
    pub approval: ApprovalId,
    /// What is asked. Redacted.
    pub question: String,
    /// When it is refused, if nobody has decided by then.
    pub until: Timestamp,
}

/// What came of asking.
pub(crate) enum Asked {
    Gate(Gate),
    Approved(ApprovalId),
    ByHost(String),
    Waiting(Waiting),
}

impl Session {
    /// From now on, this one is asked.
    pub fn ask(&mut self, asking: Asking) {
        self.asking = asking;
    }

    /// A person has decided about a question that waits.
    ///
    /// # Errors
    ///
    /// If there is no such question, or it was decided before.
    pub async fn answer(
        &mut self,
        approval: &ApprovalId,
        allowed: bool,
        by: DecidedBy,
    ) -> Result<(), RuntimeError> {
        let event = SessionEvent::ApprovalGiven { approval: approval.clone(), allowed, by };
        self.record(event, Durability::Power).await
    }

    /// Refuses what nobody has decided in time. Where more time seems to be left than there ever was, the
    /// clock has gone back, and nothing says how long it has been. The questions.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub async fn expire(&mut self) -> Result<Vec<ApprovalId>, RuntimeError> {
        let now = self.ports.clock.now();
        let most = match self.asking {
            // A clock that is set right by a little is none that has gone back.
            Asking::Journal { timeout } => now.0.saturating_add(millis(timeout.saturating_mul(2))),
            Asking::Operator | Asking::Host => u64::MAX,
        };
        let waiting = self.machine.approvals().iter();
        let over = waiting.filter(|(_, asked)| {
            asked.allowed.is_none() && (asked.until <= now || asked.until.0 > most)
        });
        let over: Vec<ApprovalId> = over.map(|(id, _)| id.clone()).collect();
        for id in &over {
            self.answer(id, false, DecidedBy::Timeout).await?;
        }
        Ok(over)
    }

    /// The gate after a person was asked, where one is to be asked. Nobody there: blocked.
    pub(crate) async fn asked(
        &mut self,
        step: &ProposedStep,
        decided: &Decided<Gate>,
    ) -> Result<Asked, RuntimeError> {
        let gate = decided.decision;
        if gate != Gate::Ask {
            return Ok(Asked::Gate(gate));
        }
        let why = refusal(&decided.hits, &decided.undetermined);
        let question = format!("let `{}` run? {why}", step.call.tool);
        Ok(match self.asking {
            Asking::Host => Asked::ByHost(question),
            Asking::Operator => match self.ports.operator.approve(&question).await {
                Some(true) => Asked::Gate(Gate::Allow),
                Some(false) | None => Asked::Gate(Gate::Block),
            },
            Asking::Journal { timeout } => self.wait(step, question, timeout).await?,
        })
    }

    /// What was decided about this very call, or that it waits.
    async fn wait(
        &mut self,
        step: &ProposedStep,
        question: String,
        timeout: Duration,
    ) -> Result<Asked, RuntimeError> {
        self.expire().await?;
        let call = payload(&self.ports, &(&step.call.tool, &step.call.arguments)).await?;
        let question = redact(&question);
        // Of the same call, what was said last.
        let asked = self.machine.approvals().iter().filter(|(_, asked)| asked.call == call);
        let last = asked.max_by_key(|(_, asked)| asked.until);
        if let Some((id, asked)) = last {
            return Ok(match asked.allowed {
                Some(true) => Asked::Approved(id.clone()),
                Some(false) => Asked::Gate(Gate::Block),
                None => {
                    Asked::Waiting(Waiting { approval: id.clone(), question, until: asked.until })
                }
            });
        }
        let until = Timestamp(self.ports.clock.now().0.saturating_add(millis(timeout)));
        let approval = self.ports.ids.approval();
        let event = SessionEvent::ApprovalAsked {
            approval: approval.clone(),
            tool: step.call.tool.clone(),
            call,
            question: question.clone(),
            until,
        };
        self.record(event, Durability::Power).await?;
        Ok(Asked::Waiting(Waiting { approval, question, until }))
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
