//! What a host is told.

use air_core::{
    evaluation::FindingRecord,
    id::{IncidentId, RuleName},
};

use super::Issued;
use crate::asking::Waiting;

/// What the host is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// Go on. The notes are for the agent and the person.
    Go {
        /// Guardrails that warn, and rules that could not be decided.
        notes: Vec<FindingRecord>,
    },
    /// The host asks a person, by its own means.
    Ask {
        /// What is asked.
        question: String,
    },
    /// The call waits for a person; ask again with the same call.
    Waiting(Waiting),
    /// The call does not run.
    Refused {
        /// The rules that hold, or could not be decided.
        rules: Vec<RuleName>,
        /// Why, and a way forward, for the agent.
        message: String,
    },
    /// The agent has to respond to its incident, and to do nothing else.
    Ordered(Ordered),
    /// No call before a person has looked.
    Held {
        /// Why, for the agent.
        message: String,
    },
    /// The task is over.
    Over {
        /// For what, where it was for an incident.
        incident: Option<IncidentId>,
        /// The rules that held.
        rules: Vec<RuleName>,
        /// Why, for the agent and the person.
        message: String,
    },
}

/// What an agent is to do about its incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ordered {
    /// The incident.
    pub incident: IncidentId,
    /// The rules that hold.
    pub rules: Vec<RuleName>,
    /// Tries that are left, this one among them.
    pub tries_left: u32,
    /// What it is told.
    pub message: String,
    /// Calls that put it right, for the host to make through the agent's own tools.
    pub calls: Vec<Issued>,
    /// Why the call that it was told at did not run, where it did not.
    pub refused: Option<String>,
}
