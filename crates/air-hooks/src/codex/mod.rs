//! Codex CLI: hooks as commands. What it does not expect in an answer makes it ignore the answer.

mod decode;
mod encode;

use air_protocol::tool;

use crate::{
    Adapter,
    tools::{Row, row},
};

pub(crate) const HOST: &str = "codex";

const COMMAND: &[(&str, &str)] = &[("command", "command"), ("cmd", "command")];

pub(crate) const TOOLS: &[Row] = &[
    row("Bash", tool::SHELL, COMMAND),
    row("exec_command", tool::SHELL, &[("cmd", "command"), ("command", "command")]),
    row("shell", tool::SHELL, COMMAND),
    row("shell_command", tool::SHELL, COMMAND),
    row("local_shell", tool::SHELL, COMMAND),
    row("apply_patch", tool::EDIT, &[("command", "patch"), ("input", "patch"), ("patch", "patch")]),
    row("spawn_agent", tool::DELEGATE, &[("message", "task"), ("prompt", "task")]),
    row("view_image", tool::READ, &[("path", "path")]),
];

/// Codex CLI.
pub(crate) const ADAPTER: Adapter = Adapter {
    host: HOST,
    tested: &["0.169.0"],
    decode: decode::decode,
    encode: encode::encode,
    refuse: encode::refuse,
};
