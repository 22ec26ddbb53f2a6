//! Answers: three-valued outcomes, and verdicts that say who answered.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// What a condition or a judge answers. Unknown is a value and never means *no*.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", content = "why", rename_all = "snake_case")]
pub enum Outcome {
    /// It holds.
    Satisfied,
    /// It does not hold.
    Unsatisfied,
    /// It could not be told, and why.
    Undetermined(Arc<str>),
}

impl Outcome {
    /// Undetermined, for `why`.
    pub fn undetermined(why: impl Into<Arc<str>>) -> Self {
        Self::Undetermined(why.into())
    }

    /// Whether it holds, for certain.
    pub fn is_satisfied(&self) -> bool {
        matches!(self, Self::Satisfied)
    }

    /// Kleene conjunction. Of two unknowns, the first reason stays.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unsatisfied, _) | (_, Self::Unsatisfied) => Self::Unsatisfied,
            (Self::Undetermined(why), _) | (_, Self::Undetermined(why)) => Self::Undetermined(why),
            (Self::Satisfied, Self::Satisfied) => Self::Satisfied,
        }
    }

    /// Kleene disjunction. Of two unknowns, the first reason stays.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Satisfied, _) | (_, Self::Satisfied) => Self::Satisfied,
            (Self::Undetermined(why), _) | (_, Self::Undetermined(why)) => Self::Undetermined(why),
            (Self::Unsatisfied, Self::Unsatisfied) => Self::Unsatisfied,
        }
    }

    /// Kleene negation.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "the field's word, beside `and` and `or`")]
    pub fn not(self) -> Self {
        match self {
            Self::Satisfied => Self::Unsatisfied,
            Self::Unsatisfied => Self::Satisfied,
            Self::Undetermined(why) => Self::Undetermined(why),
        }
    }
}

/// An outcome with who gave it and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The answer.
    pub outcome: Outcome,
    /// From 0 to 1. Conditions answer with 1.
    pub confidence: f64,
    /// One sentence for a person. Redacted before it is journaled.
    pub rationale: String,
    /// Who answered: `condition`, or a judge with its version.
    pub judge: String,
    /// What a judge quotes from what it was shown. Redacted before it is journaled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<String>,
}

impl Verdict {
    /// A condition's verdict.
    pub fn by_condition(outcome: Outcome, rationale: impl Into<String>) -> Self {
        Self {
            outcome,
            confidence: 1.0,
            rationale: rationale.into(),
            judge: "condition".into(),
            quotes: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
