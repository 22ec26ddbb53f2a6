//! Payloads of Claude Code as events.

use air_protocol::{
    Capability, Event, Idle, InputFrom, Point, SessionRef, Status, Tool, ToolResult,
};
use serde_json::Value;

use super::{CONTINUE_CAP, HOST, TOOLS};
use crate::{
    DecodeError, Native,
    event::{blank, failure, finished, input, name, number_after, result, unknown},
    payload::{Fields, MAX_TEXT, read, said},
    tools::canonical,
};

/// What begins a prompt by which the host says that something in the background has ended.
const NOTIFICATION: &str = "<task-notification>";

/// Events that are signs of life, or need no decision.
const NOTICES: [&str; 23] = [
    "ConfigChange",
    "CwdChanged",
    "DirectoryAdded",
    "Elicitation",
    "ElicitationResult",
    "FileChanged",
    "InstructionsLoaded",
    "MessageDisplay",
    "Notification",
    "PermissionDenied",
    "PostCompact",
    "PostModelSwitch",
    "PostToolBatch",
    "PreCompact",
    "PreModelSwitch",
    "Setup",
    "StopFailure",
    "TaskCompleted",
    "TaskCreated",
    "TeammateIdle",
    "UserPromptExpansion",
    "WorktreeCreate",
    "WorktreeRemove",
];

pub(super) fn decode(native: &Native<'_>) -> Result<Event, DecodeError> {
    let payload = read(HOST, native.payload)?;
    let fields = Fields::of(&payload);
    let name = name(HOST, native, fields, &["hook_event_name"])?;
    let prompt = fields.text(&["prompt"]).unwrap_or_default();
    let point = point(&name, &prompt).ok_or_else(|| unknown(HOST, &name))?;

    let mut event = blank(HOST, native, point, session(fields));
    event.host.continue_cap = Some(CONTINUE_CAP);
    event.host.version = fields.name(&["version", "claude_code_version"]).or(event.host.version);
    event.cwd = fields.text(&["cwd"]).unwrap_or_default();
    event.ts = fields.name(&["timestamp"]);
    match point {
        Point::Input => event.input = Some(input(prompt, InputFrom::User)),
        Point::BackgroundEnd => {
            event.result = Some(ended(&prompt));
            event.input = Some(input(prompt, InputFrom::Host));
        }
        Point::PreToolCall | Point::Approval => event.tool = Some(tool(fields)),
        Point::PostToolCall => {
            let failed = name == "PostToolUseFailure";
            event.tool = Some(tool(fields));
            event.result = Some(if failed { failed_call(fields) } else { came_back(fields) });
        }
        Point::Idle => event.idle = Some(idle(fields)),
        _ => {}
    }
    let caps = caps(&event, fields);
    Ok(finished(event, caps, payload, native.payload.len()))
}

pub(super) fn point(name: &str, prompt: &str) -> Option<Point> {
    Some(match name {
        "SessionStart" => Point::SessionStart,
        "SessionEnd" => Point::SessionEnd,
        "UserPromptSubmit" if prompt.trim_start().starts_with(NOTIFICATION) => Point::BackgroundEnd,
        "UserPromptSubmit" => Point::Input,
        "PreToolUse" => Point::PreToolCall,
        "PostToolUse" | "PostToolUseFailure" => Point::PostToolCall,
        "PermissionRequest" => Point::Approval,
        "SubagentStart" => Point::AgentStart,
        "Stop" | "SubagentStop" => Point::Idle,
        _ if NOTICES.contains(&name) => Point::Notice,
        _ => return None,
    })
}

fn session(fields: Fields<'_>) -> SessionRef {
    SessionRef {
        id: fields.text(&["session_id"]).unwrap_or_default(),
        turn: fields.name(&["prompt_id", "turn_id"]),
        agent_id: fields.name(&["agent_id"]),
        parent: None,
    }
}

fn tool(fields: Fields<'_>) -> Tool {
    let native = fields.text(&["tool_name"]).unwrap_or_default();
    let (name, args) = canonical(TOOLS, &native, fields.args(&["tool_input"]));
    Tool { name, native, call_id: fields.name(&["tool_use_id"]), args }
}

fn came_back(fields: Fields<'_>) -> ToolResult {
    let Some(response) = fields.get(&["tool_response", "tool_result"]) else {
        return ToolResult {
            duration_ms: fields.count(&["duration_ms"]),
            ..result(Status::Unknown, String::new())
        };
    };
    let parts = Fields::of(response);
    let launched = parts.text(&["status"]).is_some_and(|status| status == "async_launched");
    let background = parts
        .name(&["backgroundTaskId"])
        .or_else(|| launched.then(|| parts.name(&["agentId"])).flatten());
    let status = if background.is_some() || launched {
        Status::Background
    } else if parts.flag(&["interrupted"]) {
        Status::Interrupted
    } else if parts.flag(&["isError", "is_error"]) {
        Status::Error
    } else {
        Status::Ok
    };
    let text = match (parts.text(&["stdout"]), parts.text(&["stderr"])) {
        (None, None) => {
            let file = parts.inner(&["file"]).text(&["content"]);
            file.unwrap_or_else(|| said(response))
        }
        (out, err) => {
            let both = [out, err].into_iter().flatten().filter(|text| !text.is_empty());
            both.collect::<Vec<_>>().join("\n")
        }
    };
    let before = parts.get(&["originalFile"]).and_then(Value::as_str);
    ToolResult {
        duration_ms: fields.count(&["duration_ms"]),
        background_id: background,
        before: before.filter(|text| text.len() <= MAX_TEXT).map(str::to_owned),
        ..result(status, text)
    }
}

fn failed_call(fields: Fields<'_>) -> ToolResult {
    let error = fields.get(&["error"]).map(said).unwrap_or_default();
    let exit_code = number_after(&error, "Exit code ");
    let mut result = failure(error);
    if fields.flag(&["is_interrupt"]) {
        result.status = Status::Interrupted;
    }
    ToolResult { exit_code, duration_ms: fields.count(&["duration_ms"]), ..result }
}

/// What a notification says about what has ended.
fn ended(notification: &str) -> ToolResult {
    let inner = |tag: &str| within(notification, tag);
    let status = match inner("status").as_deref() {
        Some("completed") => Status::Ok,
        Some("failed") => Status::Error,
        Some("killed" | "stopped" | "cancelled") => Status::Interrupted,
        _ => Status::Unknown,
    };
    let summary = inner("summary").unwrap_or_default();
    let (_, code) = summary.rsplit_once("exit code").unwrap_or_default();
    let exit_code = number_after(code, "");
    let status = if status == Status::Ok && exit_code.is_some_and(|code| code != 0) {
        Status::Error
    } else {
        status
    };
    ToolResult {
        exit_code,
        background_id: inner("task-id"),
        duration_ms: inner("duration_ms").and_then(|count| count.parse().ok()),
        ..result(status, inner("result").unwrap_or(summary))
    }
}

fn within(text: &str, tag: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    let (inner, _) = rest.split_once(&format!("</{tag}>"))?;
    Some(inner.to_owned())
}

fn idle(fields: Fields<'_>) -> Idle {
    let own = fields.name(&["agent_id"]);
    let tasks = fields.get(&["background_tasks"]).and_then(Value::as_array);
    let running = tasks.into_iter().flatten().filter_map(|task| {
        let task = Fields::of(task);
        let over = |status: String| ["completed", "failed", "killed"].contains(&status.as_str());
        if task.text(&["status"]).is_some_and(over) {
            return None;
        }
        task.name(&["id"]).filter(|id| Some(id) != own.as_ref())
    });
    Idle {
        continued: fields.flag(&["stop_hook_active"]),
        text: fields.text(&["last_assistant_message"]),
        background: running.collect(),
    }
}

fn caps(event: &Event, fields: Fields<'_>) -> &'static [Capability] {
    use Capability as C;
    match event.point {
        Point::Input | Point::BackgroundEnd => &[C::Inject, C::DenyInput],
        Point::PreToolCall => &[C::Deny, C::RewriteArgs, C::Ask],
        Point::PostToolCall if super::encode::replaced(fields, "").is_some() => {
            &[C::ReplaceResult, C::Inject, C::StopAtPost]
        }
        Point::PostToolCall => &[C::Inject, C::StopAtPost],
        Point::Approval => &[C::Deny, C::Interrupt],
        Point::Idle => &[C::ForceContinue, C::StopAtIdle],
        _ => &[],
    }
}
