//! Gemini CLI: hooks as commands. The only host here that runs AIR's own calls through its tools.

mod decode;
mod encode;

use air_protocol::{Answer, Event, tool};

use crate::{
    Adapter, DecodeError, Native, Reply,
    tools::{Row, row},
};

pub(crate) const HOST: &str = "gemini";

const PATH: (&str, &str) = ("file_path", "path");
const SEARCH: &[(&str, &str)] = &[("dir_path", "path"), ("path", "path"), ("pattern", "pattern")];

pub(crate) const TOOLS: &[Row] = &[
    row("run_shell_command", tool::SHELL, &[("command", "command")]),
    row("write_file", tool::WRITE, &[PATH, ("content", "content")]),
    row("replace", tool::EDIT, &[PATH, ("old_string", "old"), ("new_string", "new")]),
    row("read_file", tool::READ, &[PATH, ("absolute_path", "path")]),
    row("read_many_files", tool::READ, &[]),
    row("glob", tool::SEARCH, SEARCH),
    row("grep_search", tool::SEARCH, SEARCH),
    row("search_file_content", tool::SEARCH, SEARCH),
    row("list_directory", tool::SEARCH, SEARCH),
    row("web_fetch", tool::FETCH, &[("url", "url"), ("prompt", "prompt")]),
    row("invoke_agent", tool::DELEGATE, &[("prompt", "task")]),
];

/// Gemini CLI.
#[derive(Debug)]
pub(crate) struct Gemini;

impl Adapter for Gemini {
    fn host(&self) -> &'static str {
        HOST
    }

    fn tested(&self) -> &'static [&'static str] {
        &["0.61.0"]
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
