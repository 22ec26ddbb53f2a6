//! What an undetermined answer does. A type, so that no call site can forget to choose.

use serde::{Deserialize, Serialize};

use crate::rule::{Hit, Rule, RuleKind, Severity};

/// What happens when a check could not be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailPolicy {
    /// A guardrail of severity `critical` that a person wrote. Default: block.
    pub critical_guardrail: Hit,
    /// Any other guardrail. Default: ask, which blocks where nobody can be asked.
    pub guardrail: Hit,
    /// One that was learned from an incident, whatever its severity. Default: warn, because the rule
    /// that found the incident still judges what the call does, and what it does can be undone.
    #[serde(default = "warn")]
    pub learned_guardrail: Hit,
    /// An AIR rule of severity `critical`. Default: hold the session.
    pub critical_check: OnUndetermined,
    /// Any other AIR rule. Default: note.
    pub check: OnUndetermined,
}

/// What an undetermined check after a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUndetermined {
    /// It is recorded and shown; the session goes on.
    Note,
    /// The session takes no further call until a person releases it.
    Hold,
}

fn warn() -> Hit {
    Hit::Warn
}

impl Default for FailPolicy {
    fn default() -> Self {
        Self {
            critical_guardrail: Hit::Block,
            guardrail: Hit::Ask,
            learned_guardrail: warn(),
            critical_check: OnUndetermined::Hold,
            check: OnUndetermined::Note,
        }
    }
}

impl FailPolicy {
    /// What this guardrail does where it is undetermined.
    pub fn before(&self, rule: &Rule) -> Hit {
        match &rule.kind {
            RuleKind::Guardrail { from: Some(_), .. } => self.learned_guardrail,
            _ if rule.severity == Severity::Critical => self.critical_guardrail,
            RuleKind::Guardrail { .. } | RuleKind::Incident { .. } => self.guardrail,
        }
    }

    /// What an undetermined AIR rule of this severity does.
    pub fn after(&self, severity: Severity) -> OnUndetermined {
        if severity == Severity::Critical { self.critical_check } else { self.check }
    }
}
