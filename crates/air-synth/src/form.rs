//! One alternative of a guardrail's condition.

use std::sync::Arc;

use air_core::{condition::Condition, fact::Facts, outcome::Outcome};
use air_lang::expr::{self, Moment};

use crate::explain;

/// One alternative of a guardrail's condition.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    /// The expression.
    pub(crate) condition: String,
    /// What a person reads of it, behind "the step"; empty where another form says it too.
    pub(crate) said: String,
    /// A text in it looks like a secret: it must not be kept.
    pub(crate) is_secret: bool,
    /// It fits more than what was seen.
    pub(crate) is_class: bool,
    /// It is the rule's own words.
    pub(crate) is_explained: bool,
    /// It says what a call does, and so goes for any tool.
    pub(crate) any_tool: bool,
    compiled: Option<Arc<dyn Condition>>,
}

impl Form {
    pub(crate) fn new(condition: String, said: String) -> Self {
        let compiled = expr::compile(&condition, Moment::Before).ok();
        let any_tool = explain::is_of_any_tool(&condition);
        Self {
            condition,
            said,
            is_secret: false,
            is_class: false,
            is_explained: false,
            any_tool,
            compiled,
        }
    }

    pub(crate) fn holds(&self, facts: &Facts) -> Outcome {
        match &self.compiled {
            Some(condition) => condition.evaluate(facts),
            None => Outcome::undetermined("it does not compile"),
        }
    }
}
