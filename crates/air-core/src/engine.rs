//! The entry point: opens the evaluation of one step.

use std::sync::Arc;

use crate::{
    evaluation::{AfterStep, BeforeStep, Evaluation},
    names::Names,
    policy::{FailPolicy, OnUndetermined},
    rule::Rule,
    ruleset::RuleSet,
};

/// A rule set with its policy, ready to be consulted. Cheap to clone; swapped whole to reload.
#[derive(Debug, Clone, Default)]
pub struct Engine {
    rules: Arc<RuleSet>,
    policy: FailPolicy,
    judged: bool,
}

impl Engine {
    /// An engine without a judge.
    pub fn new(rules: RuleSet, policy: FailPolicy) -> Self {
        Self { rules: Arc::new(rules), policy, judged: false }
    }

    /// The same, with a judge to ask what no condition decides.
    #[must_use]
    pub fn judged(mut self) -> Self {
        self.judged = true;
        self
    }

    /// The same, asking no judge.
    #[must_use]
    pub fn unjudged(&self) -> Self {
        Self { judged: false, ..self.clone() }
    }

    /// Whether a person must look where this AIR rule cannot be decided.
    pub fn holds(&self, rule: &Rule) -> bool {
        self.policy.after(rule.severity) == OnUndetermined::Hold
    }

    /// Its rules.
    pub fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// Opens the evaluation of guardrails against a call that has not run.
    ///
    /// Takes no lock, and allocates nothing where no trigger matches.
    pub fn before_step<'a>(&self, tool: impl Into<Names<'a>>) -> Evaluation<BeforeStep> {
        Evaluation::new(&self.rules, tool.into(), self.policy, self.judged)
    }

    /// Opens the evaluation of AIR rules against a call that has run.
    pub fn after_step<'a>(&self, tool: impl Into<Names<'a>>) -> Evaluation<AfterStep> {
        Evaluation::new(&self.rules, tool.into(), self.policy, self.judged)
    }
}
