//! Payloads of Codex as events.

use air_protocol::{
    Capability, Event, Idle, InputFrom, Point, SessionRef, Status, Tool, ToolResult, tool,
};
use serde_json::Value;

use super::{HOST, TOOLS};
use crate::{
    DecodeError, Native,
    event::{blank, finished, input, name, result, unknown},
    payload::{Fields, read, said},
    tools::canonical,
};

/// What begins a prompt that is the reason of a hook.
const HOOK_PROMPT: &str = "<hook_prompt";

pub(super) fn decode(native: &Native<'_>) -> Result<Event, DecodeError> {
    let payload = read(HOST, native.payload)?;
    let fields = Fields::of(&payload);
    let name = name(HOST, native, fields, &["hook_event_name"])?;
    let point = point(&name).ok_or_else(|| unknown(HOST, &name))?;

    let mut event = blank(HOST, native, point, session(fields));
    event.cwd = fields.text(&["cwd"]).unwrap_or_default();
    match point {
        Point::Input => {
            let prompt = fields.text(&["prompt"]).unwrap_or_default();
            // A sub-agent hears its task from its parent.
            let host =
                prompt.trim_start().starts_with(HOOK_PROMPT) || event.session.agent_id.is_some();
            let from = if host { InputFrom::Host } else { InputFrom::User };
            event.input = Some(input(prompt, from));
        }
        Point::PreToolCall | Point::Approval => event.tool = Some(called(fields)),
        Point::PostToolCall => {
            let called = called(fields);
            event.result = Some(came_back(fields, &called));
            event.tool = Some(called);
        }
        Point::Idle => {
            event.idle = Some(Idle {
                continued: fields.flag(&["stop_hook_active"]),
                text: fields.text(&["last_assistant_message"]),
                background: Vec::new(),
            });
        }
        _ => {}
    }
    Ok(finished(event, caps(point), payload, native.payload.len()))
}

pub(super) fn point(name: &str) -> Option<Point> {
    Some(match name {
        "SessionStart" => Point::SessionStart,
        "SessionEnd" => Point::SessionEnd,
        "UserPromptSubmit" => Point::Input,
        "PreToolUse" => Point::PreToolCall,
        "PostToolUse" => Point::PostToolCall,
        "PermissionRequest" => Point::Approval,
        "SubagentStart" => Point::AgentStart,
        "Stop" | "SubagentStop" => Point::Idle,
        "PreCompact" | "PostCompact" | "Interrupt" => Point::Notice,
        _ => return None,
    })
}

fn session(fields: Fields<'_>) -> SessionRef {
    SessionRef {
        id: fields.text(&["session_id"]).unwrap_or_default(),
        turn: fields.name(&["turn_id"]),
        agent_id: fields.name(&["agent_id"]),
        parent: None,
    }
}

fn called(fields: Fields<'_>) -> Tool {
    let native = fields.text(&["tool_name"]).unwrap_or_default();
    let (name, args) = canonical(TOOLS, &native, fields.args(&["tool_input"]));
    Tool { name, native, call_id: fields.name(&["tool_use_id"]), args }
}

/// It has one event for calls that went well and that failed, and no exit code.
fn came_back(fields: Fields<'_>, called: &Tool) -> ToolResult {
    let Some(response) = fields.get(&["tool_response"]) else {
        return result(Status::Unknown, String::new());
    };
    if called.name == tool::DELEGATE
        && let Some(agent) = spawned(response)
    {
        return ToolResult {
            background_id: Some(agent),
            ..result(Status::Background, said(response))
        };
    }
    let parts = Fields::of(response);
    let status = if parts.flag(&["isError", "is_error"]) { Status::Error } else { Status::Unknown };
    result(status, said(response))
}

/// The sub-agent that goes on, of what comes back at once: JSON, mostly within a text.
fn spawned(response: &Value) -> Option<String> {
    let parsed = response.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    Fields::of(parsed.as_ref().unwrap_or(response)).name(&["agent_id"])
}

fn caps(point: Point) -> &'static [Capability] {
    use Capability as C;
    match point {
        Point::Input => &[C::Inject, C::DenyInput],
        Point::PreToolCall => &[C::Deny, C::RewriteArgs],
        Point::PostToolCall => &[C::ReplaceResult, C::Inject],
        Point::Approval => &[C::Deny],
        Point::Idle => &[C::ForceContinue, C::StopAtIdle],
        _ => &[],
    }
}
