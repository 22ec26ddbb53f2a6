//! The tools of an agent.

use std::{fmt, sync::Arc, time::Duration};

use super::{BoxFuture, Cause};
use crate::step::{Observation, ToolCall};

/// The tools of the agent.
pub trait ToolBox: Send + Sync {
    /// Runs one tool. A tool that ran and failed returns an [`Observation`] with an error.
    fn call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<Observation, ToolError>>;

    /// The same, and ended after `time` at the latest where the tools can end a call; what it has done
    /// by then stays. By default only their own limit ends it.
    fn call_within<'a>(
        &'a self,
        call: &'a ToolCall,
        _time: Duration,
    ) -> BoxFuture<'a, Result<Observation, ToolError>> {
        self.call(call)
    }

    /// What is known of a tool of that name; `None` if there is none.
    fn tool(&self, name: &str) -> Option<ToolInfo>;

    /// All tools, as far as they can be told.
    fn all(&self) -> Vec<ToolInfo> {
        Vec::new()
    }
}

/// What is known of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolInfo {
    /// Canonical name.
    pub name: String,
    /// What it does, for whoever is to use it; may be empty.
    pub description: String,
    /// JSON Schema of its arguments (MCP `inputSchema`): an object.
    pub parameters: serde_json::Value,
    /// Whether it may change anything. A call without side effects needs no durable start.
    pub side_effects: bool,
    /// Whether the same call, repeated, has the effect of one.
    pub idempotent: bool,
}

impl ToolInfo {
    /// A tool that takes anything, of which nothing else is known: it may change everything.
    pub fn unknown(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            parameters: serde_json::json!({ "type": "object" }),
            side_effects: true,
            idempotent: false,
        }
    }
}

/// Those tools of a box that change nothing; it has no others.
#[derive(Clone)]
pub struct ReadOnly(Arc<dyn ToolBox>);

impl ReadOnly {
    /// Of this box.
    pub fn new(tools: Arc<dyn ToolBox>) -> Self {
        Self(tools)
    }
}

impl fmt::Debug for ReadOnly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReadOnly").finish_non_exhaustive()
    }
}

impl ToolBox for ReadOnly {
    fn call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<Observation, ToolError>> {
        match self.tool(&call.tool) {
            Some(_) => self.0.call(call),
            None => Box::pin(std::future::ready(Err(ToolError::Unknown(call.tool.clone())))),
        }
    }

    fn tool(&self, name: &str) -> Option<ToolInfo> {
        self.0.tool(name).filter(|tool| !tool.side_effects)
    }

    fn all(&self) -> Vec<ToolInfo> {
        self.0.all().into_iter().filter(|tool| !tool.side_effects).collect()
    }
}

/// A tool could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// No tool has that name.
    #[error("unknown tool `{0}`")]
    Unknown(String),
    /// Its arguments do not fit.
    #[error("tool `{tool}`: {why}")]
    Arguments {
        /// The tool.
        tool: String,
        /// What does not fit.
        why: String,
    },
    /// It did not run.
    #[error("tool call failed: {0}")]
    Failed(#[source] Cause),
    /// It may or may not have run.
    #[error("outcome of the tool call is unknown: {0}")]
    Lost(#[source] Cause),
}
