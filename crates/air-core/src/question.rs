//! Questions for a judge. The kind fixes the polarity, so that *yes* cannot be mixed up.

use serde::{Deserialize, Serialize};

use crate::{fact::Facts, rule::Rule};

/// What is asked about a rule's `check`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// AIR rule, after a step: has it happened? Satisfied: an incident.
    Happened,
    /// After containment: has the harm stopped? Satisfied: contained.
    Stopped,
    /// After recovery: is the state restored? Satisfied: recovered.
    Restored,
    /// Guardrail, before a step: would the step cause it? Satisfied: a hit.
    WouldCause,
}

/// One question. The facts are data from the agent and the outside world, never instructions.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// What is asked.
    pub kind: QuestionKind,
    /// The rule whose `check` it is about.
    pub rule: &'a Rule,
    /// What has been observed.
    pub facts: &'a Facts,
}
