//! Guardrails in the store: rule text with a version, a mode and a history.

use serde::{Deserialize, Serialize};

use crate::id::{GuardrailId, IncidentId, RuleName, Timestamp};

/// One version of one guardrail. Versions are only ever appended; the last one counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guardrail {
    /// Stable across versions.
    pub id: GuardrailId,
    /// From 1, without gaps.
    pub version: u32,
    /// The rule as text, in the rule language.
    pub text: String,
    /// Whether it acts.
    pub mode: Mode,
    /// The AIR rule whose incidents it answers; `None` where a person wrote it, or before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleName>,
    /// A wider form of the rule, as text: evaluated in shadow while this version is enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wider: Option<String>,
    /// On how much it was tried before it was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<Tried>,
    /// Plans and calls that it was learned from, redacted and bounded. Untrusted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// Where this version came from.
    pub provenance: Provenance,
    /// When this version was made.
    pub created_at: Timestamp,
}

/// On how many steps a rule was tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// Steps that caused incidents, all of which it holds on.
    pub incidents: u32,
    /// Steps that nothing objected to; it holds on none of them.
    pub benign: u32,
}

impl Tried {
    /// The share of benign steps that it holds on is at most this, with 95 % confidence, if future steps
    /// are like those. With no hit in `n` trials that is the largest `p` with `(1 - p)^n >= 0.05`
    /// (Clopper and Pearson, 1934).
    pub fn false_positive_bound(self) -> f64 {
        if self.benign == 0 { 1.0 } else { 1.0 - 0.05_f64.powf(1.0 / f64::from(self.benign)) }
    }
}

/// Whether a guardrail acts on its verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Evaluated and recorded; never acts.
    Shadow,
    /// Acts.
    Enforce,
    /// Kept for the record; not evaluated.
    Retired,
}

impl Mode {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shadow => "shadow",
            Self::Enforce => "enforce",
            Self::Retired => "retired",
        }
    }

    /// What was done to a guardrail that was given it.
    pub fn decided(self) -> &'static str {
        match self {
            Self::Shadow => "put in shadow",
            Self::Enforce => "promoted",
            Self::Retired => "retired",
        }
    }
}

impl Provenance {
    /// Whether no person wrote its text, in this version.
    pub fn is_learned(&self) -> bool {
        !matches!(self, Self::Authored { .. } | Self::Edited { .. })
    }

    /// The incident that this version answers.
    pub fn incident(&self) -> Option<&IncidentId> {
        match self {
            Self::Synthesized { incident, .. } => Some(incident),
            Self::Refined { incident, .. } => incident.as_ref(),
            Self::Authored { .. }
            | Self::Decided { .. }
            | Self::Edited { .. }
            | Self::RolledBack { .. }
            | Self::Dismissed { .. } => None,
        }
    }
}

/// Where a guardrail version came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Provenance {
    /// Written by a person.
    Authored {
        /// Who.
        by: String,
    },
    /// Derived during eradication.
    Synthesized {
        /// The incident that it answers.
        incident: IncidentId,
        /// What derived it, with its version.
        by: String,
    },
    /// Replaces an earlier version.
    Refined {
        /// That version.
        replaces: u32,
        /// The incident that showed the gap, if any.
        incident: Option<IncidentId>,
    },
    /// A person decided whether it acts; its text is that of the version before.
    Decided {
        /// Who.
        by: String,
        /// Why. Redacted.
        why: String,
    },
    /// A person wrote another text in place of the version before.
    Edited {
        /// Who.
        by: String,
        /// Why. Redacted.
        why: String,
    },
    /// A person went back to an earlier version: its text and mode.
    RolledBack {
        /// That version.
        to: u32,
        /// Who.
        by: String,
        /// Why. Redacted.
        why: String,
    },
    /// The incident that it was learned from was none.
    Dismissed {
        /// That incident.
        incident: IncidentId,
    },
}
