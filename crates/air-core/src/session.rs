//! One host session, as a fold over its events.
//!
//! ```text
//! Monitoring ─▶ Responding ─▶ Terminated
//!                    ▲  └───▶ Unresolved
//!                    └────────────┘
//! ```

mod event;

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::{
    evaluation::{Gate, Review},
    id::{ApprovalId, CallId, CheckpointId, IncidentId, PayloadId, Timestamp},
};

pub use event::{DecidedBy, SessionEvent};

/// Where a session stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    /// Steps are examined; calls that pass the guardrails may run.
    Monitoring,
    /// An incident is open. Only calls of its response are accepted.
    Responding {
        /// The incident.
        incident: IncidentId,
    },
    /// The task is over. No call is accepted, also after a resume.
    Terminated,
    /// The task is over, and its incident waits for a person.
    Unresolved {
        /// The incident.
        incident: IncidentId,
    },
}

impl Status {
    /// Its name in tables and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Monitoring => "monitoring",
            Self::Responding { .. } => "responding",
            Self::Terminated => "terminated",
            Self::Unresolved { .. } => "unresolved",
        }
    }
}

/// A session of another program, in which this one takes part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// The program, such as `claude-code`.
    pub host: String,
    /// Its own id of the session.
    pub session: String,
    /// The directory tree that is watched. Absolute.
    pub tree: String,
}

/// A call that waits for a person, or has been decided by one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Tool and arguments, as a payload: the same call has the same.
    pub call: PayloadId,
    /// When it is refused, if nobody has decided by then.
    pub until: Timestamp,
    /// What was decided.
    pub allowed: Option<bool>,
}

/// A step that was started and not yet reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenStep {
    /// The call's id.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The step as proposed, as a payload.
    pub step: PayloadId,
    /// The state before it.
    pub checkpoint: CheckpointId,
    /// What the host calls it, where it goes on while the host does.
    pub background: Option<String>,
    /// Whether a person was asked about it, and it was let pass for what they said, or say to the host.
    pub is_approved: bool,
}

/// One session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    status: Status,
    held: bool,
    open: BTreeMap<u32, OpenStep>,
    approvals: BTreeMap<ApprovalId, Approval>,
    /// Incidents of calls that ran beside the one of the first, in the order in which they were found.
    waiting: VecDeque<IncidentId>,
    /// Incidents that wait for a person, while others are worked on.
    escalated: Vec<IncidentId>,
    last_index: u32,
    /// The last step about which a person was to be asked.
    asked: u32,
    revision: u64,
}

/// An event that the session's status does not admit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("session is {status}: cannot take `{event}`")]
pub struct SessionError {
    /// Where the session stands.
    pub status: &'static str,
    /// The event.
    pub event: &'static str,
}

impl Default for Session {
    fn default() -> Self {
        Self {
            status: Status::Monitoring,
            held: false,
            open: BTreeMap::new(),
            approvals: BTreeMap::new(),
            waiting: VecDeque::new(),
            escalated: Vec::new(),
            last_index: 0,
            asked: 0,
            revision: 0,
        }
    }
}

impl Session {
    /// Rebuilds a session from its journal.
    pub fn replay<'a>(events: impl IntoIterator<Item = &'a SessionEvent>) -> Self {
        let mut session = Self::default();
        for event in events {
            session.apply(event);
        }
        session
    }

    /// Whether `event` may come now. Changes nothing.
    ///
    /// # Errors
    ///
    /// If the status does not admit it.
    pub fn admits(&self, event: &SessionEvent) -> Result<(), SessionError> {
        use SessionEvent as E;
        let same = |other: &IncidentId| match &self.status {
            Status::Responding { incident } | Status::Unresolved { incident } => incident == other,
            Status::Monitoring | Status::Terminated => false,
        };
        let admitted = match (&self.status, event) {
            // A journal that starts with anything else knows neither the task nor the rules.
            (_, E::Opened { .. }) => self.revision == 0,
            _ if self.revision == 0 => false,
            (Status::Monitoring, E::StepStarted { index, approval, .. }) => {
                let approved = |id: &ApprovalId| {
                    self.approvals.get(id).is_some_and(|asked| asked.allowed == Some(true))
                };
                !self.held && *index > self.last_index && approval.as_ref().is_none_or(approved)
            }
            (Status::Monitoring, E::ApprovalAsked { approval, .. }) => {
                !self.approvals.contains_key(approval)
            }
            // Late is no reason to lose what a person has said.
            (status, E::ApprovalGiven { approval, .. }) if *status != Status::Terminated => {
                self.approvals.get(approval).is_some_and(|asked| asked.allowed.is_none())
            }
            (Status::Monitoring, E::Gated { .. } | E::ResponseStarted { .. })
            | (Status::Responding { .. } | Status::Unresolved { .. }, E::Published { .. })
            | (Status::Terminated, E::Undone { .. })
            | (_, E::Spent { .. }) => true,
            // A step that is open must be examined first, or it never would be.
            (Status::Monitoring, E::TaskEnded | E::Published { .. }) => {
                self.open.is_empty() && !self.held
            }
            // What a call that runs does meanwhile could not be told from what is taken back.
            (Status::Monitoring | Status::Unresolved { .. }, E::Undone { .. }) => {
                self.open.is_empty()
            }
            (Status::Monitoring, E::Released) => self.held,
            // A step that was running when the incident was found is examined all the same, and may be
            // another.
            (_, E::ResponseStarted { incident, index }) => {
                self.open.contains_key(index) && !self.knows(incident)
            }
            (_, E::StepReviewed { index, .. } | E::StepGoesOn { index, .. }) => {
                self.open.contains_key(index)
            }
            (
                Status::Responding { .. },
                E::ResponseEnded { incident } | E::ResponseEscalated { incident },
            )
            | (
                Status::Unresolved { .. },
                E::ResponseEnded { incident } | E::ResponseResumed { incident },
            ) => same(incident),
            _ => false,
        };
        if admitted {
            Ok(())
        } else {
            Err(SessionError { status: self.status.name(), event: event.name() })
        }
    }

    /// Folds one event into the state. Total: what was journaled is a fact.
    pub fn apply(&mut self, event: &SessionEvent) {
        use SessionEvent as E;
        self.revision += 1;
        match event {
            E::Gated { index, gate: Gate::Ask, .. } => self.asked = *index,
            E::Opened { .. }
            | E::Gated { .. }
            | E::Spent { .. }
            | E::Published { .. }
            | E::Undone { .. } => {}
            E::StepStarted { index, call, tool, step, checkpoint, approval } => {
                self.last_index = self.last_index.max(*index);
                let (call, tool, step) = (call.clone(), tool.clone(), step.clone());
                let checkpoint = checkpoint.clone();
                let is_approved = approval.is_some() || self.asked == *index;
                let background = None;
                let open = OpenStep { call, tool, step, checkpoint, background, is_approved };
                self.open.insert(*index, open);
                if let Some(approval) = approval {
                    self.approvals.remove(approval);
                }
            }
            E::ApprovalAsked { approval, call, until, .. } => {
                let asked = Approval { call: call.clone(), until: *until, allowed: None };
                self.approvals.insert(approval.clone(), asked);
            }
            // It may be asked again when somebody is there.
            E::ApprovalGiven { approval, by: DecidedBy::Timeout, .. } => {
                self.approvals.remove(approval);
            }
            E::ApprovalGiven { approval, allowed, .. } => {
                if let Some(asked) = self.approvals.get_mut(approval) {
                    asked.allowed = Some(*allowed);
                }
            }
            E::StepGoesOn { index, background } => {
                if let Some(open) = self.open.get_mut(index) {
                    open.background = Some(background.clone());
                }
            }
            E::StepReviewed { index, review, .. } => {
                self.open.remove(index);
                // One to respond to holds it too: a crash before the response starts lets no call pass.
                self.held |= *review != Review::Continue;
            }
            E::Released => self.held = false,
            E::ResponseStarted { incident, index } => {
                self.open.remove(index);
                match self.status {
                    Status::Responding { .. } => self.waiting.push_back(incident.clone()),
                    _ => self.status = Status::Responding { incident: incident.clone() },
                }
            }
            E::ResponseEscalated { incident } => {
                self.escalated.push(incident.clone());
                self.next_incident();
            }
            E::ResponseResumed { incident } => {
                self.escalated.retain(|known| known != incident);
                self.status = Status::Responding { incident: incident.clone() };
            }
            E::ResponseEnded { incident } => {
                self.escalated.retain(|known| known != incident);
                self.next_incident();
            }
            E::TaskEnded => self.status = Status::Terminated,
        }
    }

    /// What is worked on once an incident is not: the next; then those that wait for a person.
    fn next_incident(&mut self) {
        self.status = match (self.waiting.pop_front(), self.escalated.first()) {
            (Some(incident), _) => Status::Responding { incident },
            (None, Some(incident)) => Status::Unresolved { incident: incident.clone() },
            (None, None) => Status::Terminated,
        };
    }

    fn knows(&self, incident: &IncidentId) -> bool {
        let current = match &self.status {
            Status::Responding { incident } | Status::Unresolved { incident } => Some(incident),
            Status::Monitoring | Status::Terminated => None,
        };
        current == Some(incident)
            || self.waiting.contains(incident)
            || self.escalated.contains(incident)
    }

    /// Where it stands.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Whether a person must release it before a call may run.
    pub fn held(&self) -> bool {
        self.held
    }

    /// Steps that were started and not yet reviewed, by position.
    pub fn open_steps(&self) -> &BTreeMap<u32, OpenStep> {
        &self.open
    }

    /// Calls that wait for a person, or were decided by one and have not been made.
    pub fn approvals(&self) -> &BTreeMap<ApprovalId, Approval> {
        &self.approvals
    }

    /// The highest position a step has had.
    pub fn last_index(&self) -> u32 {
        self.last_index
    }

    /// Number of events so far; the `expected` of the next append.
    pub fn revision(&self) -> u64 {
        self.revision
    }
}

#[cfg(test)]
mod tests;
