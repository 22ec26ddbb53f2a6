//! What the incident needs next, as data. A pure function of the state.

use super::{Action, Incident, Phase, PlannedAction, State};
use crate::{
    id::{ActionId, Timestamp},
    port::action_id,
};

/// One thing for the driver to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Directive {
    /// Report [`Input::Starting`](super::Input::Starting), do it, report how it went.
    Act {
        /// Also the idempotency key.
        id: ActionId,
        /// What to do.
        action: Action,
    },
    /// An action was started, and whether it took effect is unknown: do it again if that is
    /// harmless, otherwise report [`Input::Lost`](super::Input::Lost).
    Reconcile {
        /// The action.
        id: ActionId,
        /// What to do.
        action: Action,
    },
    /// Ask whether the phase achieved its aim, on fresh facts.
    Verify(Phase),
    /// Wait for the agent until the deadline.
    AwaitAgent(Timestamp),
    /// Derive, validate and store a guardrail.
    Eradicate,
    /// Report [`Input::Settle`](super::Input::Settle).
    Settle,
    /// Wait for a person.
    AwaitOperator,
}

impl Incident {
    /// What to do next; `None` once it is over.
    pub fn next(&self) -> Option<Directive> {
        let directive = match &self.state {
            State::Detected | State::Contained => self.respond(),
            State::AwaitingAgent { deadline } => Directive::AwaitAgent(*deadline),
            State::Uncontained
            | State::Recovered
            | State::RecoveredNotApplicable
            | State::Unrecovered => Directive::Eradicate,
            State::Eradicated | State::EradicatedOff | State::Uneradicated => Directive::Settle,
            State::Escalated(_) => Directive::AwaitOperator,
            State::Closed(_) | State::Failed => return None,
        };
        Some(directive)
    }

    fn respond(&self) -> Directive {
        let phase = self.phase().unwrap_or(Phase::Containment);
        match (self.current_action(), &self.running) {
            (Some(planned), Some(id)) => {
                Directive::Reconcile { id: id.clone(), action: planned.action.clone() }
            }
            (Some(planned), None) => {
                let id = action_id(&self.id, self.started + 1);
                Directive::Act { id, action: planned.action.clone() }
            }
            (None, _) => Directive::Verify(phase),
        }
    }

    /// The action that this try has come to; none when all are done.
    pub(super) fn current_action(&self) -> Option<&PlannedAction> {
        self.actions().nth(self.finished)
    }

    /// The actions of the phase in progress.
    pub(super) fn actions(&self) -> impl Iterator<Item = &PlannedAction> {
        let phase = self.phase();
        self.detection.response.iter().filter(move |planned| Some(planned.phase) == phase)
    }
}
