//! Whether a host's hooks lead to AIR: the very command of its settings is run with a call that AIR refuses,
//! and with one that it lets pass. That the host does run the command, a sign of life from it proves.

use std::{
    fs,
    io::{Read as _, Seek as _, Write as _},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use air_server::{CANARY, CONTROL, DOCTOR};
use serde::Serialize;
use serde_json::{Value, json};

use super::Host;

/// How long a hook may take; it may have to start the daemon.
const PATIENCE: Duration = Duration::from_secs(20);
/// More of what it says is not read.
const MOST: u64 = 1 << 20;

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Canary {
    /// Whether the harmful call was refused, as the host reads it.
    pub refused: bool,
    /// Whether the harmless one may run.
    pub control_allowed: bool,
    /// What is wrong, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl Host {
    /// The event before a call.
    pub fn before_a_call(self) -> &'static str {
        match self {
            Self::ClaudeCode | Self::Codex => "PreToolUse",
            Self::Copilot | Self::Cursor => "preToolUse",
            Self::Gemini => "BeforeTool",
            Self::Opencode => "tool.execute.before",
        }
    }

    /// A call of its shell, as the host tells it.
    fn payload(self, command: &str, project: &Path) -> Value {
        let (id, event) = (format!("{DOCTOR}{}", std::process::id()), self.before_a_call());
        let call = format!("{DOCTOR}call");
        match self {
            Self::ClaudeCode | Self::Codex => json!({
                "session_id": id, "cwd": project, "hook_event_name": event, "tool_name": "Bash",
                "tool_input": { "command": command }, "tool_use_id": call,
            }),
            Self::Copilot => json!({
                "sessionId": id, "cwd": project, "timestamp": 0, "toolName": "bash",
                "toolArgs": { "command": command },
            }),
            Self::Gemini => json!({
                "session_id": id, "cwd": project, "hook_event_name": event,
                "tool_name": "run_shell_command", "tool_input": { "command": command },
            }),
            Self::Cursor => json!({
                "conversation_id": id, "generation_id": call, "workspace_roots": [project],
                "hook_event_name": event, "tool_name": "Shell", "tool_use_id": call, "cwd": project,
                "tool_input": { "command": command, "working_directory": project },
            }),
            Self::Opencode => json!({
                "hook": event, "directory": project, "oneshot": false,
                "input": { "tool": "bash", "sessionID": id, "callID": call },
                "output": { "args": { "command": command } },
            }),
        }
    }

    /// Whether it takes an answer for a no.
    fn is_refused(self, code: Option<i32>, answer: &Value) -> bool {
        let place = match self {
            Self::ClaudeCode | Self::Codex => "/hookSpecificOutput/permissionDecision",
            Self::Copilot => "/permissionDecision",
            Self::Gemini => "/decision",
            Self::Cursor => "/permission",
            Self::Opencode => return answer.get("throw").is_some(),
        };
        code == Some(2) || answer.pointer(place).is_some_and(|decision| decision == "deny")
    }
}

/// Has the host's command asked.
pub fn by_command(host: Host, line: &str, project: &Path) -> Canary {
    judged(host, |command| {
        let (code, text) = run(line, &host.payload(command, project).to_string(), project)?;
        Ok((code, text))
    })
}

/// Asks as the host's plugin does.
pub fn by_plugin(
    host: Host,
    project: &Path,
    ask: impl Fn(&Value) -> Result<Value, String>,
) -> Canary {
    judged(host, |command| {
        let answer = ask(&host.payload(command, project))?;
        Ok((Some(0), answer.to_string()))
    })
}

fn judged(host: Host, ask: impl Fn(&str) -> Result<(Option<i32>, String), String>) -> Canary {
    let refused = |command| {
        let (code, text) = ask(command)?;
        let answer = serde_json::from_str(text.trim()).unwrap_or_default();
        match code {
            Some(0 | 2) => Ok((host.is_refused(code, &answer), text)),
            _ => Err(format!("it failed: {}", text.trim())),
        }
    };
    let (canary, control) = (refused(CANARY), refused(CONTROL));
    let fault = match (&canary, &control) {
        (Err(why), _) | (_, Err(why)) => Some(why.clone()),
        (Ok((false, _)), _) => Some("it lets pass what AIR refuses".to_owned()),
        (_, Ok((true, text))) => Some(format!("it refuses what AIR lets pass: {}", text.trim())),
        _ => None,
    };
    Canary {
        refused: canary.is_ok_and(|(refused, _)| refused),
        control_allowed: control.is_ok_and(|(refused, _)| !refused),
        fault,
    }
}

/// What a hook says, on both streams where it refuses by its exit code, and how it exits.
fn run(line: &str, payload: &str, project: &Path) -> Result<(Option<i32>, String), String> {
    let told = |error: std::io::Error| format!("it could not be run: {error}");
    let file = || tempfile::tempfile().map_err(told);
    let (mut input, mut out, mut err) = (file()?, file()?, file()?);
    input.write_all(payload.as_bytes()).and_then(|()| input.rewind()).map_err(told)?;
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(project).stdin(Stdio::from(input));
    command.stdout(out.try_clone().map_err(told)?).stderr(err.try_clone().map_err(told)?);
    let mut child = command.spawn().map_err(told)?;
    let until = Instant::now() + PATIENCE;
    let ended = loop {
        match child.try_wait().map_err(told)? {
            Some(ended) => break ended,
            None if Instant::now() > until => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it did not answer within {} s", PATIENCE.as_secs()));
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    let read = |file: &mut fs::File| {
        let mut text = Vec::new();
        let read = file.rewind().and_then(|()| file.take(MOST).read_to_end(&mut text));
        read.map(|_| String::from_utf8_lossy(&text).into_owned()).map_err(told)
    };
    let mut text = read(&mut out)?;
    if ended.code() != Some(0) {
        text += &read(&mut err)?;
    }
    Ok((ended.code(), text))
}
