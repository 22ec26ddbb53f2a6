//! Gemini CLI: hooks as commands. The only host here that runs AIR's own calls through its tools.

mod decode;
mod encode;

use air_protocol::tool;

use crate::{
    Adapter,
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
pub(crate) const ADAPTER: Adapter = Adapter {
    host: HOST,
    tested: &["0.61.0"],
    decode: decode::decode,
    encode: encode::encode,
    refuse: encode::refuse,
};
