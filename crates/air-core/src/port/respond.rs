//! An agent that responds to its own incident, through its own tools.

use std::{fmt, sync::Arc, time::Duration};

use super::{BoxFuture, Cause, ToolInfo};
use crate::{
    id::IncidentId,
    rule::Rule,
    step::{Arguments, CompletedStep, Observation},
};

/// Follows `remediate`. What it says of itself proves nothing: the phase is verified afterwards.
pub trait Responder: Send + Sync {
    /// Carries one order out, as far as its limits allow.
    fn respond<'a>(
        &'a self,
        order: &'a Order,
        hands: &'a mut dyn Hands,
    ) -> BoxFuture<'a, Result<Report, ResponderError>>;
}

/// What an agent is told to do about an incident.
#[derive(Debug, Clone)]
pub struct Order {
    /// The incident.
    pub incident: IncidentId,
    /// The task that has ended with it.
    pub task: String,
    /// The rules that hold, gravest first.
    pub rules: Vec<Arc<Rule>>,
    /// What the rules say is to be done, one text a rule. Empty: the agent must find out by itself.
    pub remediate: Vec<String>,
    /// The step that caused it. Untrusted.
    pub step: CompletedStep,
    /// What proves it, one line an effect, redacted. Names in it are untrusted.
    pub evidence: Vec<String>,
    /// Why earlier tries were not enough.
    pub failures: Vec<String>,
    /// Calls that it may make.
    pub max_calls: u32,
    /// How long it may take.
    pub deadline: Duration,
}

/// What the agent says it has done. Untrusted.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// In its own words.
    pub summary: String,
    /// That the incident is dealt with, from 0 to 1.
    pub confidence: f64,
}

/// The agent did not carry the order out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResponderError {
    /// It did not report in time, or within its calls.
    #[error("the agent did not report within {0}")]
    Limit(String),
    /// It ended without a report.
    #[error("the agent ended without a report")]
    Silent,
    /// What it did ended it.
    #[error("{0}")]
    Ended(#[source] HandsError),
    /// It could not be asked.
    #[error("the agent could not be asked: {0}")]
    Failed(#[source] Cause),
}

/// The agent's tools during a response: every call is guarded and recorded.
pub trait Hands: Send {
    /// The tools that may be used.
    fn tools(&self) -> Vec<ToolInfo>;

    /// One call. What is refused comes back as an observation with an error, for the agent to read.
    fn call<'a>(
        &'a mut self,
        plan: &'a str,
        tool: &'a str,
        arguments: Arguments,
    ) -> BoxFuture<'a, Result<Observation, HandsError>>;
}

/// The response must not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandsError {
    /// A limit is reached.
    #[error("{0}")]
    Limit(String),
    /// What the agent did in response was itself an incident.
    #[error("the response did harm: {0}")]
    Harm(String),
    /// It cannot be recorded or undone.
    #[error("{0}")]
    Failed(Cause),
}

impl fmt::Debug for dyn Hands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hands")
    }
}
