//! One alternative of a guardrail's condition.

use std::sync::Arc;

use air_core::{condition::Condition, fact::Facts, outcome::Outcome};
use air_lang::expr::{self, Moment};

use crate::explain;

/// How much a form fits. Ordered, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// What was seen.
    Exact,
    /// More than that.
    Class,
    /// What the incident's rule says in its own words.
    Rule,
}

/// One alternative of a guardrail's condition.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    /// The expression.
    pub(crate) condition: String,
    /// What a person reads of it, behind "the step"; empty where another form says it too.
    pub(crate) said: String,
    /// A text in it looks like a secret: it must not be kept.
    pub(crate) is_secret: bool,
    /// How much it fits.
    pub(crate) reach: Reach,
    /// It says what a call does, and so goes for any tool.
    pub(crate) any_tool: bool,
    compiled: Option<Arc<dyn Condition>>,
}

impl Form {
    pub(crate) fn new(condition: String, said: String) -> Self {
        let compiled = expr::compile(&condition, Moment::Before).ok();
        let any_tool = explain::is_of_any_tool(&condition);
        Self { condition, said, is_secret: false, reach: Reach::Exact, any_tool, compiled }
    }

    pub(crate) fn holds(&self, facts: &Facts) -> Outcome {
        match &self.compiled {
            Some(condition) => condition.evaluate(facts),
            None => Outcome::undetermined("it does not compile"),
        }
    }
}
