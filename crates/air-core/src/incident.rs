//! One incident, from detection to closure, as a fold over its events.
//!
//! ```text
//! detected ─▶ contained ──▶ recovered ──▶ eradicated ──▶ closed
//!    │         │ ▲  │            │             │
//!    │         ▼ │  └▶ unrecovered┤            │
//!    │  awaiting agent           ├─▶ uneradicated ─▶ escalated ─▶ (that phase again) | closed | failed
//!    └─▶ uncontained ────────────┘
//! ```
//!
//! [`Incident::handle`] says which events an input causes and changes nothing. [`Incident::apply`]
//! changes the state and cannot fail. Everything durable goes through the second, so replaying a
//! journal rebuilds the exact state, and [`Incident::next`] goes on where a crash stopped it.

mod event;
mod next;
mod transition;

pub use event::{
    Action, Adopted, Classification, Detection, Ending, Exhibit, IncidentEvent, Input,
    PlannedAction,
};
pub use next::Directive;
pub use transition::TransitionError;

use serde::{Deserialize, Serialize};

use crate::id::{ActionId, IncidentId, Timestamp};

/// What a response tries to achieve, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Stop the harm.
    Containment,
    /// Restore the state.
    Recovery,
    /// Keep it from happening again.
    Eradication,
}

impl Phase {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Containment => "containment",
            Self::Recovery => "recovery",
            Self::Eradication => "eradication",
        }
    }
}

/// Where an incident stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Harm is confirmed; containment is in progress.
    Detected,
    /// The agent was told to respond; until it has, or the deadline is over.
    AwaitingAgent {
        /// When waiting ends.
        deadline: Timestamp,
    },
    /// The harm has stopped; recovery is in progress.
    Contained,
    /// The harm could not be stopped, and recovery was not tried. Eradication is in progress.
    Uncontained,
    /// The state is restored. Eradication is in progress.
    Recovered,
    /// Only past events prove the incident: there is nothing to restore. Eradication is in progress.
    RecoveredNotApplicable,
    /// The state is not restored. Eradication is in progress.
    Unrecovered,
    /// A guardrail is in force.
    Eradicated,
    /// No guardrail was wanted.
    EradicatedOff,
    /// No guardrail could be made.
    Uneradicated,
    /// Over. Terminal.
    Closed(Classification),
    /// Waiting for a person, with the phases that failed.
    Escalated(Vec<Phase>),
    /// Given up by a person. Terminal.
    Failed,
}

impl State {
    /// Its name in tables and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Detected => "detected",
            Self::AwaitingAgent { .. } => "awaiting agent",
            Self::Contained => "contained",
            Self::Uncontained => "uncontained",
            Self::Recovered => "recovered",
            Self::RecoveredNotApplicable => "recovered(n.a.)",
            Self::Unrecovered => "unrecovered",
            Self::Eradicated => "eradicated",
            Self::EradicatedOff => "eradicated(off)",
            Self::Uneradicated => "uneradicated",
            Self::Closed(_) => "closed",
            Self::Escalated(_) => "escalated",
            Self::Failed => "failed",
        }
    }

    /// Whether nothing can change any more.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Closed(_) | Self::Failed)
    }
}

/// How often a phase is tried before it has failed.
pub const MAX_TRIES: u8 = 3;

/// One incident.
#[derive(Debug, Clone, PartialEq)]
pub struct Incident {
    id: IncidentId,
    detection: Detection,
    state: State,
    endings: Endings,
    tries: u8,
    /// Actions of this try that came back.
    finished: usize,
    running: Option<ActionId>,
    /// Why this try cannot succeed any more, though actions of it may remain.
    spoiled: Option<String>,
    started: u32,
    adopted: Option<Adopted>,
    revision: u64,
}

/// How each phase ended so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Endings {
    /// Of containment.
    pub containment: Option<Ending>,
    /// Of recovery.
    pub recovery: Option<Ending>,
    /// Of eradication.
    pub eradication: Option<Ending>,
}

impl Endings {
    /// How `phase` ended, if it has.
    pub fn of(&self, phase: Phase) -> Option<&Ending> {
        match phase {
            Phase::Containment => self.containment.as_ref(),
            Phase::Recovery => self.recovery.as_ref(),
            Phase::Eradication => self.eradication.as_ref(),
        }
    }

    fn slot(&mut self, phase: Phase) -> &mut Option<Ending> {
        match phase {
            Phase::Containment => &mut self.containment,
            Phase::Recovery => &mut self.recovery,
            Phase::Eradication => &mut self.eradication,
        }
    }

    /// The phases that failed, in order.
    pub fn failed(&self) -> Vec<Phase> {
        [Phase::Containment, Phase::Recovery, Phase::Eradication]
            .into_iter()
            .filter(|&phase| matches!(self.of(phase), Some(Ending::Failed { .. })))
            .collect()
    }
}

impl Incident {
    /// A new incident, from its first event.
    pub fn open(id: IncidentId, detection: Detection) -> Self {
        Self {
            id,
            detection,
            state: State::Detected,
            endings: Endings::default(),
            tries: 0,
            finished: 0,
            running: None,
            spoiled: None,
            started: 0,
            adopted: None,
            revision: 1,
        }
    }

    /// Rebuilds an incident from its journal.
    ///
    /// # Errors
    ///
    /// If the journal does not start with a detection.
    pub fn replay<'a>(
        id: IncidentId,
        events: impl IntoIterator<Item = &'a IncidentEvent>,
    ) -> Result<Self, TransitionError> {
        let mut events = events.into_iter();
        let Some(IncidentEvent::Detected(detection)) = events.next() else {
            return Err(TransitionError::NotOpened);
        };
        let mut incident = Self::open(id, detection.clone());
        for event in events {
            incident.apply(event);
        }
        Ok(incident)
    }

    /// Its identifier.
    pub fn id(&self) -> &IncidentId {
        &self.id
    }

    /// What was detected.
    pub fn detection(&self) -> &Detection {
        &self.detection
    }

    /// Where it stands.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// How each phase ended so far.
    pub fn endings(&self) -> &Endings {
        &self.endings
    }

    /// The action that was started and has not come back.
    pub fn running(&self) -> Option<&ActionId> {
        self.running.as_ref()
    }

    /// The guardrail that answers it.
    pub fn adopted(&self) -> Option<&Adopted> {
        self.adopted.as_ref()
    }

    /// Tries of the phase in progress that failed.
    pub fn tries(&self) -> u8 {
        self.tries
    }

    /// Number of events so far; the `expected` of the next append.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The phase in progress.
    pub fn phase(&self) -> Option<Phase> {
        match self.state {
            State::AwaitingAgent { .. } if self.endings.containment.is_none() => {
                Some(Phase::Containment)
            }
            State::Detected => Some(Phase::Containment),
            State::Contained | State::AwaitingAgent { .. } => Some(Phase::Recovery),
            State::Uncontained
            | State::Recovered
            | State::RecoveredNotApplicable
            | State::Unrecovered => Some(Phase::Eradication),
            State::Eradicated
            | State::EradicatedOff
            | State::Uneradicated
            | State::Closed(_)
            | State::Escalated(_)
            | State::Failed => None,
        }
    }
}

#[cfg(test)]
mod tests;
