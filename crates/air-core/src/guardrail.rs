//! Guardrails in the store: rule text with a version, a mode and a history.

use serde::{Deserialize, Serialize};

use crate::id::{GuardrailId, IncidentId, Timestamp};

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
    /// Where this version came from.
    pub provenance: Provenance,
    /// When this version was made.
    pub created_at: Timestamp,
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
}
