//! What happened (events, durable) and what a driver reports (inputs, transient).

use serde::{Deserialize, Serialize};

use super::Phase;
use crate::{
    evaluation::FindingRecord,
    id::{ActionId, CheckpointId, GuardrailId, PayloadId, SessionId, Timestamp},
    outcome::Verdict,
    port::Tier,
};

/// What was found, and all that a response needs, so that it can go on after a crash or when the
/// rule file has changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Detection {
    /// The session.
    pub session: SessionId,
    /// Position of the step.
    pub index: u32,
    /// The tool that was called.
    pub tool: String,
    /// The rules that hold, gravest first. The first one leads the response.
    pub findings: Vec<FindingRecord>,
    /// The rules' texts, as payloads, in the same order.
    pub rules: Vec<PayloadId>,
    /// The step as completed, as a payload.
    pub step: PayloadId,
    /// The effects as detected, as a payload.
    pub effects: PayloadId,
    /// One line an effect that proves it, redacted.
    pub evidence: Vec<String>,
    /// The state before the step.
    pub checkpoint: CheckpointId,
    /// How well the workspace contains.
    pub tier: Tier,
    /// What AIR will do by itself, in order.
    pub response: Vec<PlannedAction>,
    /// Whether recovery can be proved: false where only past events prove the incident.
    pub restorable: bool,
}

/// An action of the response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedAction {
    /// The phase it belongs to.
    pub phase: Phase,
    /// What to do.
    pub action: Action,
}

/// What AIR does by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Action {
    /// Freeze every process, cut the network, and keep what tells later what happened.
    Preserve,
    /// End every process that the step left running.
    Kill,
    /// Cut the network.
    Isolate,
    /// Move files out of the agent's reach.
    Quarantine {
        /// As the agent sees them.
        paths: Vec<String>,
    },
    /// Put the workspace back as it was before the step.
    Rollback,
    /// Start services of the sandbox again that do not run.
    Restart,
    /// Run the mended program of the step, and prove that it is sound.
    Repair {
        /// Canonical name of the tool.
        tool: String,
        /// The mended arguments, as a payload.
        arguments: PayloadId,
        /// What was mended.
        said: String,
    },
    /// The agent follows `remediate` through its own tools.
    Order {
        /// Whether it is told what the rules say; otherwise it must find out by itself.
        told: bool,
        /// Whether the last try is AIR's own: what the step created is taken out of reach, and the
        /// workspace is put back.
        fallback: bool,
    },
    /// One call through the agent's toolbox.
    Call {
        /// Canonical name of the tool.
        tool: String,
        /// The arguments, as a payload: they may repeat what the step returned, secrets included.
        arguments: PayloadId,
        /// Whether, repeated, it has the effect of one.
        idempotent: bool,
    },
    /// A call whose arguments could not be computed.
    Impossible {
        /// Why.
        why: String,
    },
}

impl Action {
    /// Whether, repeated after a crash, it has the effect of one.
    pub fn is_idempotent(&self) -> bool {
        match self {
            Self::Preserve
            | Self::Kill
            | Self::Isolate
            | Self::Quarantine { .. }
            | Self::Rollback
            | Self::Restart
            | Self::Impossible { .. } => true,
            Self::Call { idempotent, .. } => *idempotent,
            // What an agent does is its own each time.
            Self::Order { .. } | Self::Repair { .. } => false,
        }
    }

    /// Its keyword in the rule language; `preserve` is done without being asked for.
    pub fn keyword(&self) -> &'static str {
        match self {
            Self::Preserve => "preserve",
            Self::Kill => "kill",
            Self::Isolate => "isolate",
            Self::Quarantine { .. } => "quarantine",
            Self::Rollback => "rollback",
            Self::Restart => "restart",
            Self::Repair { .. } => "repair",
            Self::Order { .. } => "remediate",
            Self::Call { .. } | Self::Impossible { .. } => "call",
        }
    }
}

/// How a phase ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ending", rename_all = "snake_case")]
pub enum Ending {
    /// Achieved and verified.
    Done,
    /// There was nothing to do.
    NotApplicable,
    /// Switched off.
    Off,
    /// Not achieved.
    Failed {
        /// Why.
        why: String,
    },
}

/// How an incident turned out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Classification {
    /// Harm was done.
    TruePositive,
    /// It happened as the rule says, and was wanted.
    BenignPositive,
    /// It did not happen as the rule says.
    FalsePositive,
    /// Nobody could tell.
    Undetermined,
}

/// A guardrail that answers an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adopted {
    /// The guardrail.
    pub id: GuardrailId,
    /// Its version.
    pub version: u32,
}

/// One piece of evidence, kept beside the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exhibit {
    /// What it shows, such as `changes.diff` or `processes.json`.
    pub name: String,
    /// In bytes.
    pub size: u64,
    /// Its content, as a payload.
    pub content: PayloadId,
}

/// A fact about an incident. Never changed once journaled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum IncidentEvent {
    /// A rule holds. Durable before anything else happens.
    Detected(Detection),
    /// The agent was told to respond.
    OrderGiven {
        /// When waiting for it ends.
        deadline: Timestamp,
    },
    /// The agent has done what it was told, or says so.
    AgentAnswered,
    /// An action is about to be done. Written before it is.
    ActionStarted {
        /// Also the idempotency key.
        action: ActionId,
    },
    /// An action came back.
    ActionFinished {
        /// The action.
        action: ActionId,
        /// What it did, or why it failed. Redacted.
        result: Result<String, String>,
    },
    /// The agent is about to make a call in response. Written before it runs.
    AgentActing {
        /// The order that it follows.
        action: ActionId,
        /// The tool.
        tool: String,
        /// The step, with nothing observed yet, as a payload.
        step: PayloadId,
        /// The state before it: what is gone back to where the call is cut off.
        checkpoint: CheckpointId,
    },
    /// The agent made a call in response, or was kept from it.
    AgentActed {
        /// The order that it follows.
        action: ActionId,
        /// The tool.
        tool: String,
        /// The step as completed, as a payload.
        step: PayloadId,
        /// Why it did not run, where it did not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<String>,
        /// Why it was taken back, where that was tried.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        undone: Option<String>,
        /// Rules that could not be decided on it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        undetermined: Vec<FindingRecord>,
    },
    /// The agent says what it has done in response.
    AgentReported {
        /// The order that it followed.
        action: ActionId,
        /// In its own words. Redacted, and proof of nothing.
        summary: String,
        /// That the incident is dealt with, from 0 to 1.
        confidence: f64,
    },
    /// Evidence was kept.
    Preserved {
        /// What there is of it.
        exhibits: Vec<Exhibit>,
    },
    /// A try of the phase in progress was not enough.
    TryFailed {
        /// The phase.
        phase: Phase,
        /// Why.
        why: String,
    },
    /// A phase is over.
    PhaseEnded {
        /// The phase.
        phase: Phase,
        /// How.
        ending: Ending,
        /// The proof; absent where nothing was asked.
        verdict: Option<Verdict>,
        /// The guardrail, after eradication.
        adopted: Option<Adopted>,
    },
    /// Phases failed; a person is needed.
    Escalated {
        /// The phases.
        failed: Vec<Phase>,
    },
    /// A person sent a phase back to work.
    Resumed {
        /// The phase.
        phase: Phase,
    },
    /// Over.
    Closed {
        /// How it turned out.
        classification: Classification,
    },
    /// A person gave up.
    GivenUp {
        /// Why.
        why: String,
    },
}

/// Something the driver reports.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The agent was told to respond, and has until then.
    OrderGiven {
        /// When waiting ends.
        deadline: Timestamp,
    },
    /// The agent has responded, or its deadline is over.
    AgentAnswered(Result<String, String>),
    /// The next action is about to be done.
    Starting(ActionId),
    /// The running action came back.
    Finished(Result<String, String>),
    /// The running action kept evidence.
    Preserved(Vec<Exhibit>),
    /// The agent is about to make a call in response.
    Acting {
        /// The tool.
        tool: String,
        /// The step, with nothing observed yet, as a payload.
        step: PayloadId,
        /// The state before it.
        checkpoint: CheckpointId,
    },
    /// The agent made a call in response, or was kept from it.
    Acted {
        /// The tool.
        tool: String,
        /// The step as completed, as a payload.
        step: PayloadId,
        /// Why it did not run, where it did not.
        refused: Option<String>,
        /// Why it was taken back, where that was tried.
        undone: Option<String>,
        /// Rules that could not be decided on it.
        undetermined: Vec<FindingRecord>,
    },
    /// The agent reported on its response.
    Reported {
        /// In its own words, redacted.
        summary: String,
        /// From 0 to 1.
        confidence: f64,
    },
    /// What became of the running action is unknown.
    Lost,
    /// The tools or the workspace are gone; the phase cannot be achieved.
    PortFailed(String),
    /// The verdict on "has this phase achieved its aim?".
    Verified(Verdict),
    /// The phase in progress has nothing to do.
    NotApplicable,
    /// A guardrail is in force.
    Adopted(Adopted),
    /// Synthesis is off.
    SynthesisOff,
    /// No guardrail could be made.
    SynthesisFailed(String),
    /// All phases ended; close or escalate.
    Settle,
    /// A person sends a failed phase back to work.
    Resume(Phase),
    /// A person says what it was.
    Dismiss(Classification),
    /// A person gives up.
    GiveUp(String),
}
