//! OpenCode: a plugin within it, which asks over HTTP.

mod decode;
mod encode;

use air_protocol::{Answer, Event, tool};

use crate::{
    Adapter, DecodeError, Native, Reply,
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

/// The plugin's file. `endpoint` is the absolute path of the JSON file with `url` and `token` of the
/// daemon; `open` lets calls run while the daemon is away.
pub fn plugin(endpoint: &str, open: bool) -> String {
    let quoted = serde_json::Value::from(endpoint).to_string();
    TEMPLATE
        .replace("\"{{endpoint}}\"", &quoted)
        .replace("{{away}}", if open { "open" } else { "closed" })
}

/// OpenCode.
#[derive(Debug)]
pub(crate) struct OpenCode;

impl Adapter for OpenCode {
    fn host(&self) -> &'static str {
        HOST
    }

    fn tested(&self) -> &'static [&'static str] {
        &["1.18.33"]
    }

    fn decode(&self, native: &Native<'_>) -> Result<Event, DecodeError> {
        decode::decode(native)
    }

    fn encode(&self, asked: &Event, answer: &Answer) -> Reply {
        encode::encode(asked, answer)
    }

    fn refuse(&self, native: &Native<'_>, reason: &str) -> Reply {
        encode::refuse(native, reason)
    }
}
