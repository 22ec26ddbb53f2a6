//! Codex CLI: hooks as commands. What it does not expect in an answer makes it ignore the answer.

mod decode;
mod encode;

use air_protocol::{Answer, Event, tool};

use crate::{
    Adapter, DecodeError, Native, Reply,
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
#[derive(Debug)]
pub(crate) struct Codex;

impl Adapter for Codex {
    fn host(&self) -> &'static str {
        HOST
    }

    fn tested(&self) -> &'static [&'static str] {
        &["0.169.0"]
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
