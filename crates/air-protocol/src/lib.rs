//! `air-hook/1`: one question a JSON document, one answer a JSON document.
//!
//! A host of an agent (a coding agent, an SDK, a gateway) asks at fixed [`Point`]s of its loop; AIR
//! answers what the host shall do. The transport does not matter: a local socket, HTTP on loopback, or a
//! call within one process. Names follow *agent-hooks 0.1* where that has one.
//!
//! Fields that a reader does not know are ignored; what it cannot do without is refused by its
//! [`VERSION`]. The JSON Schemas are in `schemas/`.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod answer;
mod event;

pub use answer::{Answer, Decision, Directive, DirectiveKind, Target, Transform, TypedCall};
pub use event::{
    Capability, Event, Host, Idle, Input, InputFrom, Plan, PlannedCall, Point, SessionRef, Status,
    Tool, ToolResult,
};

/// The version that is spoken here.
pub const VERSION: u32 = 1;

/// Canonical names of tools that all hosts have in some form. Their arguments are canonical too:
/// what a host calls `file_path` or `filePath` is `path` here.
pub mod tool {
    /// Runs a command line: `command`.
    pub const SHELL: &str = "shell.exec";
    /// Writes a whole file: `path`, `content`.
    pub const WRITE: &str = "file.write";
    /// Changes a part of a file: `path`, `old`, `new`; or a patch over several: `patch`, `paths`.
    pub const EDIT: &str = "file.edit";
    /// Reads a file: `path`.
    pub const READ: &str = "file.read";
    /// Lists or searches files: `path`, `pattern`.
    pub const SEARCH: &str = "file.search";
    /// Fetches a page: `url`.
    pub const FETCH: &str = "web.fetch";
    /// Hands a task to a sub-agent: `task`.
    pub const DELEGATE: &str = "agent.delegate";
    /// What canonical names of MCP tools begin with: `mcp.SERVER.TOOL`. Arguments are the tool's own.
    pub const MCP: &str = "mcp.";
}

#[cfg(test)]
mod tests;
