//! Copilot CLI: hooks as commands, with payloads of its own or after Claude Code's.

mod decode;
mod encode;

use air_protocol::tool;

use crate::{
    Adapter,
    tools::{Row, row},
};

pub(crate) const HOST: &str = "copilot";

/// How often it lets itself be kept from ending a turn.
const CONTINUE_CAP: u32 = 8;

const COMMAND: &[(&str, &str)] = &[("command", "command")];
const SEARCH: &[(&str, &str)] = &[("path", "path"), ("pattern", "pattern")];
const TASK: &[(&str, &str)] = &[("prompt", "task")];
const WRITE: &[(&str, &str)] =
    &[("path", "path"), ("file_path", "path"), ("file_text", "content"), ("content", "content")];
const EDIT: &[(&str, &str)] = &[
    ("path", "path"),
    ("file_path", "path"),
    ("old_str", "old"),
    ("old_string", "old"),
    ("new_str", "new"),
    ("new_string", "new"),
];
const PATCH: &[(&str, &str)] = &[("input", "patch"), ("patch", "patch")];

/// Its own names, then those that it has where its events are named after Claude Code's.
pub(crate) const TOOLS: &[Row] = &[
    row("bash", tool::SHELL, COMMAND),
    row("powershell", tool::SHELL, COMMAND),
    row("create", tool::WRITE, WRITE),
    row("edit", tool::EDIT, EDIT),
    row("str_replace", tool::EDIT, EDIT),
    row("str_replace_editor", tool::EDIT, EDIT),
    row("apply_patch", tool::EDIT, PATCH),
    row("view", tool::READ, &[("path", "path")]),
    row("grep", tool::SEARCH, SEARCH),
    row("rg", tool::SEARCH, SEARCH),
    row("glob", tool::SEARCH, SEARCH),
    row("web_fetch", tool::FETCH, &[("url", "url")]),
    row("task", tool::DELEGATE, TASK),
    row("Bash", tool::SHELL, COMMAND),
    row("Write", tool::WRITE, WRITE),
    row("Edit", tool::EDIT, EDIT),
    row("Read", tool::READ, &[("path", "path"), ("file_path", "path")]),
    row("Grep", tool::SEARCH, SEARCH),
    row("Glob", tool::SEARCH, SEARCH),
    row("WebFetch", tool::FETCH, &[("url", "url")]),
    row("Agent", tool::DELEGATE, TASK),
];

/// Copilot CLI.
pub(crate) const ADAPTER: Adapter = Adapter {
    host: HOST,
    tested: &["1.0.102"],
    decode: decode::decode,
    encode: encode::encode,
    refuse: encode::refuse,
};
