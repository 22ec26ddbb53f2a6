//! Payloads of Copilot CLI as events.

use air_protocol::{
    Capability, Event, Idle, InputFrom, Point, SessionRef, Status, Tool, ToolResult, tool,
};

use super::{CONTINUE_CAP, HOST, TOOLS};
use crate::{
    DecodeError, Native,
    event::{blank, failure, finished, input, number_after, result, unknown},
    payload::{Fields, read, said},
    tools::canonical,
};

pub(super) fn decode(native: &Native<'_>) -> Result<Event, DecodeError> {
    let payload = read(HOST, native.payload)?;
    let fields = Fields::of(&payload);
    let named = name(native, fields);
    let name = named.ok_or_else(|| DecodeError::Malformed {
        host: HOST,
        why: "it names no event".to_owned(),
    })?;
    let kind = fields.text(&["notification_type", "notificationType"]).unwrap_or_default();
    let point = point(&name, &kind).ok_or_else(|| unknown(HOST, &name))?;

    let mut event = blank(HOST, native, point, session(fields, point));
    event.host.continue_cap = Some(CONTINUE_CAP);
    event.cwd = fields.text(&["cwd"]).unwrap_or_default();
    event.ts = fields.name(&["timestamp"]).filter(|ts| ts.contains('T'));
    let failed = matches!(name.as_str(), "postToolUseFailure" | "PostToolUseFailure");
    match point {
        Point::Input => {
            let prompt = fields.text(&["prompt"]).unwrap_or_default();
            // What a sub-agent hears first is the task that its parent gives it.
            let from =
                if event.session.parent.is_some() { InputFrom::Host } else { InputFrom::User };
            event.input = Some(input(prompt, from));
        }
        Point::BackgroundEnd => {
            let message = fields.text(&["message"]).unwrap_or_default();
            event.result = Some(ended(&message));
            event.input = Some(input(message, InputFrom::Host));
        }
        Point::PreToolCall | Point::Approval => event.tool = Some(called(fields)),
        Point::PostToolCall => {
            let called = called(fields);
            event.result =
                Some(if failed { failed_call(fields) } else { came_back(fields, &called) });
            event.tool = Some(called);
        }
        Point::Idle => {
            event.idle = Some(Idle {
                continued: fields.flag(&["stop_hook_active", "stopHookActive"]),
                text: fields.text(&["response", "last_assistant_message"]),
                background: Vec::new(),
            });
        }
        _ => {}
    }
    Ok(finished(event, caps(point, failed), payload, native.payload.len()))
}

/// Most of its payloads name no event: the hook has to be told which one it is for.
pub(super) fn name(native: &Native<'_>, fields: Fields<'_>) -> Option<String> {
    let named = native.event.filter(|name| !name.is_empty()).map(str::to_owned);
    named.or_else(|| fields.name(&["hook_event_name", "hookName"])).or_else(|| shaped(fields))
}

/// The event of a payload that names none, by its fields.
fn shaped(fields: Fields<'_>) -> Option<String> {
    let has = |name: &str| fields.get(&[name]).is_some();
    let name = if has("toolResult") {
        "postToolUse"
    } else if has("toolName") && has("error") {
        "postToolUseFailure"
    } else if has("toolName") && has("toolArgs") {
        "preToolUse"
    } else if has("stopReason") && has("agentId") {
        "subagentStop"
    } else if has("stopReason") {
        "agentStop"
    } else if has("agentName") {
        "subagentStart"
    } else if has("source") {
        "sessionStart"
    } else if has("reason") {
        "sessionEnd"
    } else if has("prompt") && !has("transformedPrompt") {
        "userPromptSubmitted"
    } else {
        return None;
    };
    Some(name.to_owned())
}

pub(super) fn point(name: &str, kind: &str) -> Option<Point> {
    const ENDS: [&str; 3] = ["shell_completed", "shell_detached_completed", "agent_completed"];
    Some(match name {
        "sessionStart" | "SessionStart" => Point::SessionStart,
        "sessionEnd" | "SessionEnd" => Point::SessionEnd,
        "userPromptSubmitted" | "UserPromptSubmit" => Point::Input,
        "preToolUse" | "PreToolUse" => Point::PreToolCall,
        "postToolUse" | "PostToolUse" | "postToolUseFailure" | "PostToolUseFailure" => {
            Point::PostToolCall
        }
        "permissionRequest" | "PermissionRequest" => Point::Approval,
        "subagentStart" | "SubagentStart" => Point::AgentStart,
        "agentStop" | "Stop" | "subagentStop" | "SubagentStop" => Point::Idle,
        "notification" | "Notification" if ENDS.contains(&kind) => Point::BackgroundEnd,
        "notification"
        | "Notification"
        | "errorOccurred"
        | "ErrorOccurred"
        | "preCompact"
        | "PreCompact"
        | "userPromptTransformed" => Point::Notice,
        _ => return None,
    })
}

/// A sub-agent has a session of its own, though some of its events come under that of its parent.
fn session(fields: Fields<'_>, point: Point) -> SessionRef {
    let mut agent_id = fields.name(&["agentId", "agent_id"]);
    let parent = fields.name(&["parentAgentId", "parent_agent_id"]);
    if let (Some(id), Some(_)) = (&agent_id, &parent) {
        return SessionRef { id: id.clone(), turn: None, agent_id, parent };
    }
    if point == Point::AgentStart {
        agent_id = agent_id.or_else(|| fields.name(&["agentName", "agent_name"]));
    }
    let id = fields.text(&["sessionId", "session_id"]).unwrap_or_default();
    SessionRef { id, turn: None, agent_id, parent: None }
}

fn called(fields: Fields<'_>) -> Tool {
    let native = fields.text(&["toolName", "tool_name"]).unwrap_or_default();
    let args = fields.args(&["toolArgs", "toolInput", "tool_input"]);
    let (name, args) = canonical(TOOLS, &native, args);
    let call_id = fields.name(&["toolCallId", "toolUseId", "tool_use_id"]);
    Tool { name, native, call_id, args }
}

fn came_back(fields: Fields<'_>, called: &Tool) -> ToolResult {
    let Some(response) = fields.get(&["toolResult", "tool_result", "tool_response"]) else {
        return result(Status::Unknown, String::new());
    };
    let parts = Fields::of(response);
    let text = parts.text(&["textResultForLlm", "text_result_for_llm"]);
    let text = text.unwrap_or_else(|| said(response));
    let exit_code = (called.name == tool::SHELL).then(|| exit_code(&text)).flatten();
    let kind = parts.text(&["resultType", "result_type"]).unwrap_or_default();
    let status = match kind.as_str() {
        "rejected" | "denied" => Status::Denied,
        "failure" | "timeout" => Status::Error,
        _ if exit_code.is_some_and(|code| code != 0) => Status::Error,
        _ => Status::Ok,
    };
    if called.name == tool::SHELL
        && let Some(id) = background(&text)
    {
        return ToolResult { background_id: Some(id), ..result(Status::Background, text) };
    }
    if status == Status::Error {
        return ToolResult { exit_code, ..failure(text) };
    }
    ToolResult { exit_code, ..result(status, text) }
}

fn failed_call(fields: Fields<'_>) -> ToolResult {
    let error = fields
        .get(&["error"])
        .map(|error| Fields::of(error).text(&["message"]).unwrap_or_else(|| said(error)));
    let error = error.unwrap_or_default();
    let exit_code = exit_code(&error).or_else(|| number_after(&error, "Exit code "));
    ToolResult { exit_code, ..failure(error) }
}

/// Of a message such as `Shell command "x" (shellId: 1) has completed successfully.`
fn ended(message: &str) -> ToolResult {
    let after = |label: &str| message.rsplit_once(label).map(|(_, rest)| rest);
    let id = after("(shellId: ").or_else(|| after("(agentId: "));
    let id = id.and_then(|rest| rest.split(')').next()).map(str::to_owned);
    let exit_code = after("exit code ").and_then(|rest| number_after(rest, ""));
    let status = match exit_code {
        Some(code) if code != 0 => Status::Error,
        _ if message.contains("failed") => Status::Error,
        _ if message.contains("completed successfully") => Status::Ok,
        _ => Status::Unknown,
    };
    ToolResult { exit_code, background_id: id, ..result(status, message.to_owned()) }
}

/// Of its own last line, such as `<shellId: 0 completed with exit code 3>`.
fn exit_code(text: &str) -> Option<i32> {
    let last = text.trim_end().lines().next_back()?;
    let inner = last.trim().strip_prefix('<')?.strip_suffix('>')?;
    let (_, code) = inner.rsplit_once("exit code ")?;
    code.parse().ok()
}

/// Of a command that goes on: `<command started in background with shellId: 3>` and the like.
fn background(text: &str) -> Option<String> {
    let last = text.trim_end().lines().next_back()?;
    let inner = last.trim().trim_start_matches('<').trim_end_matches('>');
    if inner.contains("exit code") || !(inner.contains("background") || inner.contains("running")) {
        return None;
    }
    let (_, id) = inner.split_once("shellId: ")?;
    let id = id.split([' ', ',', '.', '>']).next()?;
    (!id.is_empty()).then(|| id.to_owned())
}

fn caps(point: Point, failed: bool) -> &'static [Capability] {
    use Capability as C;
    match point {
        Point::PreToolCall => &[C::Deny, C::RewriteArgs, C::Ask],
        Point::PostToolCall if failed => &[C::Inject],
        Point::PostToolCall => &[C::ReplaceResult, C::Inject],
        Point::BackgroundEnd => &[C::Inject],
        Point::Approval => &[C::Deny, C::Interrupt],
        Point::Idle => &[C::ForceContinue, C::StopAtIdle],
        _ => &[],
    }
}
