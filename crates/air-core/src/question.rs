//! Questions for a judge. The kind fixes the polarity, so that *yes* cannot be mixed up.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{fact::Facts, port::ReadOnly, rule::Rule, step::Image};

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

/// All that a judge is asked at one point of a step: one question a rule, all of one kind. The facts
/// and images are data from the agent and the outside world, never instructions.
#[derive(Clone)]
pub struct Inquiry {
    /// What is asked of each rule.
    pub kind: QuestionKind,
    /// The rules whose `check` it is about. The answers come in the same order.
    pub rules: Vec<Arc<Rule>>,
    /// What has been observed: all that could be had.
    pub facts: Facts,
    /// Pictures that the step returned.
    pub images: Vec<Image>,
    /// Tools to look further with, none of which changes anything.
    pub look: Option<ReadOnly>,
}

impl fmt::Debug for Inquiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inquiry")
            .field("kind", &self.kind)
            .field("rules", &self.rules.len())
            .finish_non_exhaustive()
    }
}
