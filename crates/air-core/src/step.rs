//! One ReAct step: the plan, the tool call, and what was observed.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::id::{CallId, SessionId};

/// A tool's arguments, by name. Unvalidated, untrusted.
pub type Arguments = serde_json::Map<String, serde_json::Value>;

/// A request to run one tool (MCP `tools/call`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Identifies this call within its session.
    pub id: CallId,
    /// Canonical name of the tool.
    pub tool: String,
    /// What the host calls it, where that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<String>,
    /// Final arguments.
    pub arguments: Arguments,
}

/// What a tool returned (MCP `CallToolResult`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// Text content. Untrusted: it may carry injected instructions.
    pub content: String,
    /// The tool ran and failed (MCP `isError`), with the reason; or it was cut off.
    pub error: Option<String>,
    /// How long the call took, in milliseconds.
    pub duration_ms: u64,
    /// Pictures (MCP `image` content), such as a screenshot. Untrusted as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// A picture.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Such as `image/png`.
    pub media_type: String,
    /// The file's bytes.
    pub data: Arc<[u8]>,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({}, {} bytes)", self.media_type, self.data.len())
    }
}

impl Observation {
    /// All that goes back to the agent: content and error.
    pub fn output(&self) -> String {
        match &self.error {
            Some(error) => format!("{}\n{error}", self.content),
            None => self.content.clone(),
        }
    }
}

/// A step that the agent has planned and not executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProposedStep {
    /// The session that plans it.
    pub session: SessionId,
    /// Position in the session, from 1.
    pub index: u32,
    /// What the agent said before it acts, verbatim. Untrusted.
    pub plan: String,
    /// The call to be made.
    pub call: ToolCall,
}

/// A step that has been executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompletedStep {
    /// The step as it was proposed.
    pub proposed: ProposedStep,
    /// What came back; `None` when AIR's process ended before it was seen.
    pub observation: Option<Observation>,
}
