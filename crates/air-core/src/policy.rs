//! What an undetermined answer does. A type, so that no call site can forget to choose.

use serde::{Deserialize, Serialize};

use crate::rule::{Hit, Severity};

/// What happens when a check could not be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailPolicy {
    /// A guardrail of severity `critical`. Default: block.
    pub critical_guardrail: Hit,
    /// Any other guardrail. Default: ask, which blocks where nobody can be asked.
    pub guardrail: Hit,
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

impl Default for FailPolicy {
    fn default() -> Self {
        Self {
            critical_guardrail: Hit::Block,
            guardrail: Hit::Ask,
            critical_check: OnUndetermined::Hold,
            check: OnUndetermined::Note,
        }
    }
}

impl FailPolicy {
    /// What an undetermined guardrail of this severity does.
    pub fn before(&self, severity: Severity) -> Hit {
        if severity == Severity::Critical { self.critical_guardrail } else { self.guardrail }
    }

    /// What an undetermined AIR rule of this severity does.
    pub fn after(&self, severity: Severity) -> OnUndetermined {
        if severity == Severity::Critical { self.critical_check } else { self.check }
    }
}
