//! What happens to a session, as it is journaled.

use serde::{Deserialize, Serialize};

use super::Beside;
use crate::{
    evaluation::{FindingRecord, Gate, Review},
    id::{ApprovalId, CallId, CheckpointId, IncidentId, PayloadId, Timestamp},
    port::{Publication, Spending, Tier},
};

/// Who decided about a call that waited for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// A person.
    Operator,
    /// Nobody did in time: it is refused.
    Timeout,
}

/// A fact about a session. Never changed once journaled. Free text is kept beside the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SessionEvent {
    /// It began.
    Opened {
        /// The task, as a payload.
        task: PayloadId,
        /// The agent's name.
        agent: String,
        /// How well the workspace contains.
        tier: Tier,
        /// Digest of the rules in force.
        rules: String,
        /// The judge, and how far it can be trusted, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        judge: Option<String>,
        /// The host in whose session it takes part, where AIR does not run the tools itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        beside: Option<Beside>,
    },
    /// A call was refused, held or warned about, or a guardrail could not be decided.
    Gated {
        /// Position of the step.
        index: u32,
        /// The tool.
        tool: String,
        /// The step as proposed, as a payload, where it was refused: it is kept nowhere else. Absent
        /// in the records of versions that did not keep it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<PayloadId>,
        /// What was decided, after any person was asked.
        gate: Gate,
        /// Guardrails that hold.
        hits: Vec<FindingRecord>,
        /// Guardrails that could not be decided.
        undetermined: Vec<FindingRecord>,
        /// Guardrails in shadow that hold.
        shadow: Vec<FindingRecord>,
    },
    /// A call may run from now on. Durable before it does, if it has side effects.
    StepStarted {
        /// Position of the step.
        index: u32,
        /// The call's id.
        call: CallId,
        /// The tool.
        tool: String,
        /// The step as proposed, as a payload.
        step: PayloadId,
        /// The state before it.
        checkpoint: CheckpointId,
        /// The approval that let it pass. It lets no other call pass.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval: Option<ApprovalId>,
    },
    /// A call waits for a person.
    ApprovalAsked {
        /// The question.
        approval: ApprovalId,
        /// The tool.
        tool: String,
        /// Tool and arguments, as a payload.
        call: PayloadId,
        /// What is asked, for the person. Redacted.
        question: String,
        /// When it is refused, if nobody has decided by then.
        until: Timestamp,
    },
    /// It was decided.
    ApprovalGiven {
        /// The question.
        approval: ApprovalId,
        /// Whether the call may run, once.
        allowed: bool,
        /// Who decided.
        by: DecidedBy,
    },
    /// The host goes on, and the call does too: it is examined when it ends.
    StepGoesOn {
        /// Position of the step.
        index: u32,
        /// What the host calls it from now on.
        background: String,
    },
    /// A call came back and was examined.
    StepReviewed {
        /// Position of the step.
        index: u32,
        /// What was decided.
        review: Review,
        /// The step as completed, with its effects, as a payload: the history after a resume.
        done: PayloadId,
        /// AIR rules that could not be decided.
        undetermined: Vec<FindingRecord>,
        /// AIR rules in shadow that hold.
        shadow: Vec<FindingRecord>,
    },
    /// Models were asked about a step.
    Spent {
        /// Position of the step.
        index: u32,
        /// What that took, by purpose.
        spent: Vec<Spending>,
    },
    /// A person released a session that was held.
    Released,
    /// A step became an incident; the original task is over.
    ResponseStarted {
        /// The incident.
        incident: IncidentId,
        /// Position of the step.
        index: u32,
    },
    /// The incident is closed or was given up.
    ResponseEnded {
        /// The incident.
        incident: IncidentId,
    },
    /// The incident waits for a person.
    ResponseEscalated {
        /// The incident.
        incident: IncidentId,
    },
    /// A person sent the response back to work.
    ResponseResumed {
        /// The incident.
        incident: IncidentId,
    },
    /// What the session changed was handed over to the user's files.
    Published {
        /// What became of it. Redacted.
        publication: Publication,
    },
    /// A person took back what the session had done, or took that back.
    Undone {
        /// The change of the files, to be taken back in turn.
        change: String,
        /// The earlier change that this one took back.
        redo_of: Option<String>,
        /// What was done, for a person. Redacted.
        summary: String,
    },
    /// The task ended without an incident.
    TaskEnded,
}

impl SessionEvent {
    /// Its name in tables and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Opened { .. } => "opened",
            Self::Gated { .. } => "gated",
            Self::StepStarted { .. } => "step_started",
            Self::ApprovalAsked { .. } => "approval_asked",
            Self::ApprovalGiven { .. } => "approval_given",
            Self::StepGoesOn { .. } => "step_goes_on",
            Self::StepReviewed { .. } => "step_reviewed",
            Self::Spent { .. } => "spent",
            Self::Released => "released",
            Self::ResponseStarted { .. } => "response_started",
            Self::ResponseEnded { .. } => "response_ended",
            Self::ResponseEscalated { .. } => "response_escalated",
            Self::ResponseResumed { .. } => "response_resumed",
            Self::Published { .. } => "published",
            Self::Undone { .. } => "undone",
            Self::TaskEnded => "task_ended",
        }
    }
}
