//! Claude Code: hooks as commands and over HTTP.

mod decode;
mod encode;

use air_protocol::tool;

use crate::{
    Adapter,
    tools::{Row, row},
};

pub(crate) const HOST: &str = "claude-code";

/// How often it lets itself be kept from ending a turn.
const CONTINUE_CAP: u32 = 8;

const PATH: (&str, &str) = ("file_path", "path");
const TASK: &[(&str, &str)] = &[("prompt", "task")];

pub(crate) const TOOLS: &[Row] = &[
    row("Bash", tool::SHELL, &[("command", "command")]),
    row("PowerShell", tool::SHELL, &[("command", "command")]),
    row("Write", tool::WRITE, &[PATH, ("content", "content")]),
    row("Edit", tool::EDIT, &[PATH, ("old_string", "old"), ("new_string", "new")]),
    row("MultiEdit", tool::EDIT, &[PATH, ("edits", "edits")]),
    row("NotebookEdit", tool::EDIT, &[("notebook_path", "path"), ("new_source", "new")]),
    row("Read", tool::READ, &[PATH]),
    row("Grep", tool::SEARCH, &[("path", "path"), ("pattern", "pattern")]),
    row("Glob", tool::SEARCH, &[("path", "path"), ("pattern", "pattern")]),
    row("LS", tool::SEARCH, &[("path", "path")]),
    row("WebFetch", tool::FETCH, &[("url", "url")]),
    row("Agent", tool::DELEGATE, TASK),
    row("Task", tool::DELEGATE, TASK),
];

/// Claude Code.
pub(crate) const ADAPTER: Adapter = Adapter {
    host: HOST,
    tested: &["2.1.329", "2.1.197"],
    decode: decode::decode,
    encode: encode::encode,
    refuse: encode::refuse,
};
