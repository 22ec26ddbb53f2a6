//! What the core knows of a condition: what it reads, what it requires, and how to ask it. `air-lang`
//! implements it.

use std::{fmt, sync::Arc};

use crate::{
    fact::{Facts, Roots},
    outcome::Outcome,
    requirement::{FactPath, Requirement},
};

/// Steps that evaluations may still take, one a node of an expression and more for long texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget(u64);

impl Budget {
    /// A budget of so many steps.
    pub const fn new(steps: u64) -> Self {
        Self(steps)
    }

    /// What is left.
    pub const fn left(self) -> u64 {
        self.0
    }

    /// Takes `steps` away, as far as they are there.
    pub fn spend(&mut self, steps: u64) {
        self.0 = self.0.saturating_sub(steps);
    }

    /// Whether nothing is left.
    pub const fn is_spent(self) -> bool {
        self.0 == 0
    }
}

/// A compiled `when`, `evidence`, `decide` or `verify` expression.
///
/// Evaluation is pure, deterministic and bounded; past its step budget the answer is undetermined.
pub trait Condition: fmt::Debug + Send + Sync {
    /// The expression as it was written.
    fn source(&self) -> &str;

    /// The facts that it may read.
    fn reads(&self) -> Roots;

    /// The paths of facts that it may read, as far as the expression names them.
    fn paths(&self) -> &[FactPath];

    /// What must be there for it to hold: where this is unmet, [`Self::evaluate`] need not be asked,
    /// since the answer is false. By default nothing is known of it.
    fn requires(&self) -> &Requirement {
        static NONE: Requirement = Requirement::NONE;
        &NONE
    }

    /// Whether *undetermined* is its last word, too: then no judge is asked.
    fn is_final(&self) -> bool {
        false
    }

    /// Whether it holds on `facts`, within what is left of `budget` and its own bound. A root that
    /// was not supplied is unknown.
    fn evaluate_within(&self, facts: &Facts, budget: &mut Budget) -> Outcome;

    /// Whether it holds on `facts`, within its own bound.
    fn evaluate(&self, facts: &Facts) -> Outcome {
        self.evaluate_within(facts, &mut Budget::new(u64::MAX))
    }
}

/// The arguments of a `call` action: literals, `${…}` expressions, and an optional `for x in EXPR`.
pub trait CallTemplate: fmt::Debug + Send + Sync {
    /// The template as it was written.
    fn source(&self) -> &str;

    /// The facts that it may read.
    fn reads(&self) -> Roots;

    /// The argument objects of the calls to make, in order.
    ///
    /// # Errors
    ///
    /// Why an expression in it has no known value.
    fn expand(
        &self,
        facts: &Facts,
    ) -> Result<Vec<serde_json::Map<String, serde_json::Value>>, Arc<str>>;
}
