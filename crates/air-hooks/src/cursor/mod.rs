//! Cursor: hooks as commands, after its documentation; no client of it has been run.

mod decode;
mod encode;

use air_protocol::tool;

use crate::{
    Adapter,
    tools::{Row, row},
};

pub(crate) const HOST: &str = "cursor";

/// How often it lets itself be kept from ending a turn.
const CONTINUE_CAP: u32 = 5;

const PATH: (&str, &str) = ("file_path", "path");
const OWN: (&str, &str) = ("path", "path");
const SEARCH: &[(&str, &str)] =
    &[OWN, ("target_directory", "path"), ("pattern", "pattern"), ("glob_pattern", "pattern")];
const EDIT: &[(&str, &str)] =
    &[PATH, OWN, ("old_string", "old"), ("new_string", "new"), ("edits", "edits")];
const TASK: &[(&str, &str)] = &[("prompt", "task"), ("task", "task")];

pub(crate) const TOOLS: &[Row] = &[
    row("Shell", tool::SHELL, &[("command", "command")]),
    row("Write", tool::WRITE, &[PATH, OWN, ("content", "content"), ("contents", "content")]),
    row("StrReplace", tool::EDIT, EDIT),
    row("Edit", tool::EDIT, EDIT),
    row("TabWrite", tool::EDIT, EDIT),
    row("ApplyPatch", tool::EDIT, &[("patch", "patch"), ("input", "patch")]),
    row("Read", tool::READ, &[PATH, OWN]),
    row("Grep", tool::SEARCH, SEARCH),
    row("Glob", tool::SEARCH, SEARCH),
    row("LS", tool::SEARCH, SEARCH),
    row("WebFetch", tool::FETCH, &[("url", "url")]),
    row("Task", tool::DELEGATE, TASK),
];

/// Cursor.
pub(crate) const ADAPTER: Adapter = Adapter {
    host: HOST,
    tested: &[],
    decode: decode::decode,
    encode: encode::encode,
    refuse: encode::refuse,
};
