//! Immutable sets of rules, indexed by tool, swapped whole.

mod index;
mod shelf;

use std::{collections::HashMap, sync::Arc};

pub(crate) use self::index::Index;
use crate::{
    guardrail::Mode,
    id::RuleName,
    question::QuestionKind,
    rule::{Rule, RuleKind},
};

/// A rule in force, or in shadow.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The rule.
    pub rule: Arc<Rule>,
    /// Authored rules are enforced, unless they say `shadow`; learned ones as their guardrail says. Never retired.
    pub mode: Mode,
}

/// Rules with unique names.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    checks: Index,
    guardrails: Index,
    by_name: HashMap<RuleName, Entry>,
}

/// Two rules share a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("duplicate rule name `@{0}`")]
pub struct DuplicateRuleError(pub RuleName);

impl RuleSet {
    /// Indexes rules by tool, and by the texts that they require. Retired ones are left out.
    ///
    /// # Errors
    ///
    /// If two rules share a name.
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Result<Self, DuplicateRuleError> {
        let (mut checks, mut guardrails) = (Vec::new(), Vec::new());
        let mut by_name = HashMap::new();
        for mut entry in entries {
            if entry.rule.shadow && entry.mode == Mode::Enforce {
                entry.mode = Mode::Shadow;
            }
            if entry.mode == Mode::Retired {
                continue;
            }
            if by_name.insert(entry.rule.name.clone(), entry.clone()).is_some() {
                return Err(DuplicateRuleError(entry.rule.name.clone()));
            }
            match entry.rule.kind {
                RuleKind::Incident { .. } => checks.push(entry),
                RuleKind::Guardrail { .. } => guardrails.push(entry),
            }
        }
        Ok(Self { checks: Index::new(checks), guardrails: Index::new(guardrails), by_name })
    }

    /// A set of enforced rules.
    ///
    /// # Errors
    ///
    /// If two rules share a name.
    pub fn enforced(rules: impl IntoIterator<Item = Rule>) -> Result<Self, DuplicateRuleError> {
        Self::new(rules.into_iter().map(|rule| Entry { rule: Arc::new(rule), mode: Mode::Enforce }))
    }

    /// The guardrails that a call to `tool` activates.
    pub fn guardrails(&self, tool: &str) -> impl Iterator<Item = &Entry> {
        self.guardrails.activated_by(tool.into())
    }

    /// The AIR rules that a call to `tool` activates.
    pub fn checks(&self, tool: &str) -> impl Iterator<Item = &Entry> {
        self.checks.activated_by(tool.into())
    }

    /// The rules that `question` is asked about, of a call.
    pub(crate) fn index(&self, question: QuestionKind) -> &Index {
        if question == QuestionKind::WouldCause { &self.guardrails } else { &self.checks }
    }

    /// The rule of that name.
    pub fn get(&self, name: &RuleName) -> Option<&Arc<Rule>> {
        self.by_name.get(name).map(|entry| &entry.rule)
    }

    /// All rules, in no order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.by_name.values()
    }

    /// How many rules there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}

#[cfg(test)]
mod tests;
