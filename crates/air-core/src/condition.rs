//! What the core knows of a condition: what it reads, and how to ask it. `air-lang` implements it.

use std::{fmt, sync::Arc};

use crate::{
    fact::{Facts, Roots},
    outcome::Outcome,
};

/// A compiled `when`, `evidence`, `decide` or `verify` expression.
///
/// Evaluation is pure, deterministic and bounded; past its step budget the answer is undetermined.
pub trait Condition: fmt::Debug + Send + Sync {
    /// The expression as it was written.
    fn source(&self) -> &str;

    /// The facts that it may read.
    fn reads(&self) -> Roots;

    /// Whether it holds on `facts`. A root that was not supplied is unknown.
    fn evaluate(&self, facts: &Facts) -> Outcome;
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
