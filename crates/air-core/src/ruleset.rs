//! Immutable sets of rules, indexed by tool, swapped whole.

use std::{collections::HashMap, sync::Arc};

use crate::{
    guardrail::Mode,
    id::RuleName,
    rule::{Rule, RuleKind},
};

/// A rule in force, or in shadow.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The rule.
    pub rule: Arc<Rule>,
    /// Authored rules are enforced; learned ones as their guardrail says. Never retired.
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

#[derive(Debug, Clone, Default)]
struct Index {
    entries: Vec<Entry>,
    by_tool: HashMap<Box<str>, Vec<usize>>,
    /// Entries whose trigger has a `*`.
    globs: Vec<usize>,
}

impl Index {
    fn insert(&mut self, entry: Entry) {
        let at = self.entries.len();
        let patterns = entry.rule.trigger.patterns();
        if patterns.iter().any(|pattern| pattern.contains('*')) {
            self.globs.push(at);
        } else {
            for pattern in patterns {
                let places = self.by_tool.entry(pattern.as_ref().into()).or_default();
                if places.last() != Some(&at) {
                    places.push(at);
                }
            }
        }
        self.entries.push(entry);
    }

    fn activated_by<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a Entry> {
        let exact = self.by_tool.get(tool).map_or(&[][..], Vec::as_slice);
        let exact = exact.iter().filter_map(|&at| self.entries.get(at));
        let globs = self.globs.iter().filter_map(|&at| self.entries.get(at));
        exact.chain(globs.filter(move |entry| entry.rule.trigger.matches(tool)))
    }
}

impl RuleSet {
    /// Indexes rules by tool. Retired ones are left out.
    ///
    /// # Errors
    ///
    /// If two rules share a name.
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Result<Self, DuplicateRuleError> {
        let mut set = Self::default();
        for entry in entries {
            if entry.mode == Mode::Retired {
                continue;
            }
            if set.by_name.insert(entry.rule.name.clone(), entry.clone()).is_some() {
                return Err(DuplicateRuleError(entry.rule.name.clone()));
            }
            match entry.rule.kind {
                RuleKind::Incident { .. } => set.checks.insert(entry),
                RuleKind::Guardrail { .. } => set.guardrails.insert(entry),
            }
        }
        Ok(set)
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
    pub fn guardrails<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.guardrails.activated_by(tool)
    }

    /// The AIR rules that a call to `tool` activates.
    pub fn checks<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.checks.activated_by(tool)
    }

    /// The rule of that name.
    pub fn get(&self, name: &RuleName) -> Option<&Arc<Rule>> {
        self.by_name.get(name).map(|entry| &entry.rule)
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
