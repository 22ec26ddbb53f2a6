//! Identifiers. All are opaque strings minted by the driver, never here.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

id! {
    /// Name of a rule, without the leading `@`.
    RuleName,
    /// One run of one agent task.
    SessionId,
    /// One tool call; equal to the MCP request id or the model's tool-call id.
    CallId,
    /// One incident.
    IncidentId,
    /// One guardrail across all of its versions.
    GuardrailId,
    /// One response action; also the idempotency key passed to a tool.
    ActionId,
    /// A state of the workspace that can be compared with and returned to.
    CheckpointId,
    /// One question to a person, whether a call may run.
    ApprovalId,
    /// A payload beside the journal: a keyed digest, which says nothing about the content.
    PayloadId,
}

/// Milliseconds since the Unix epoch, as reported by the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Timestamp(pub u64);
