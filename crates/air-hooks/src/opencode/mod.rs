//! OpenCode: a plugin within it, which asks over HTTP.

mod decode;
mod encode;

use air_protocol::tool;

use crate::{
    Adapter, Away,
    tools::{Row, row},
};

pub(crate) const HOST: &str = "opencode";

const PATH: (&str, &str) = ("filePath", "path");
const SEARCH: &[(&str, &str)] = &[("path", "path"), ("pattern", "pattern")];

pub(crate) const TOOLS: &[Row] = &[
    row("bash", tool::SHELL, &[("command", "command")]),
    row("write", tool::WRITE, &[PATH, ("content", "content")]),
    row("edit", tool::EDIT, &[PATH, ("oldString", "old"), ("newString", "new")]),
    row("multiedit", tool::EDIT, &[PATH, ("edits", "edits")]),
    row("apply_patch", tool::EDIT, &[("patchText", "patch")]),
    row("patch", tool::EDIT, &[("patchText", "patch")]),
    row("read", tool::READ, &[PATH]),
    row("grep", tool::SEARCH, SEARCH),
    row("glob", tool::SEARCH, SEARCH),
    row("list", tool::SEARCH, SEARCH),
    row("webfetch", tool::FETCH, &[("url", "url")]),
    row("task", tool::DELEGATE, &[("prompt", "task")]),
];

/// The plugin's file, as a template: see [`plugin`].
const TEMPLATE: &str = include_str!("plugin.js");

/// The plugin's file. `state` is AIR's directory, and `program` the shim, both absolute; `away` says what
/// becomes of a call while the daemon is away.
pub fn plugin(state: &str, program: &str, away: Away) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    TEMPLATE
        .replace("{{away}}", away.name())
        .replace("\"{{state}}\"", &quoted(state))
        .replace("\"{{program}}\"", &quoted(program))
}

/// What becomes of a call while the daemon is away, as the plugin's file says it.
pub fn plugin_away(text: &str) -> Option<Away> {
    let name = text.lines().find_map(|line| line.strip_prefix("const AWAY = \""));
    Away::named(name?.trim_end().strip_suffix('"')?)
}

/// OpenCode.
pub(crate) const ADAPTER: Adapter = Adapter {
    host: HOST,
    tested: &["1.18.33"],
    decode: decode::decode,
    encode: encode::encode,
    refuse: encode::refuse,
};
