//! Payloads of Gemini CLI as events.

use air_protocol::{
    Capability, Event, Idle, InputFrom, Plan, Point, SessionRef, Status, Tool, ToolResult, tool,
};
use serde_json::Value;

use super::{HOST, TOOLS};
use crate::{
    DecodeError, Native,
    event::{blank, failure, finished, input, name, number_after, result, unknown},
    payload::{Fields, MAX_TEXT, clipped, read, said},
    tools::{canonical, mcp_name},
};

pub(super) fn decode(native: &Native<'_>) -> Result<Event, DecodeError> {
    let payload = read(HOST, native.payload)?;
    let fields = Fields::of(&payload);
    let name = name(HOST, native, fields, &["hook_event_name"])?;
    let point = point(&name).ok_or_else(|| unknown(HOST, &name))?;

    let session = SessionRef {
        id: fields.text(&["session_id"]).unwrap_or_default(),
        turn: None,
        agent_id: None,
        parent: None,
    };
    let mut event = blank(HOST, native, point, session);
    event.cwd = fields.text(&["cwd"]).unwrap_or_default();
    event.ts = fields.name(&["timestamp"]);
    match point {
        Point::Input => {
            let prompt = fields.text(&["prompt"]).unwrap_or_default();
            event.input = Some(input(prompt, InputFrom::User));
        }
        Point::PreToolCall => event.tool = Some(called(fields)),
        Point::PostToolCall => {
            let called = called(fields);
            event.result = Some(came_back(fields, &called));
            event.tool = Some(called);
        }
        Point::PostModelCall => event.plan = Some(plan(fields)),
        Point::Idle => {
            event.idle = Some(Idle {
                continued: fields.flag(&["stop_hook_active"]),
                text: fields.text(&["prompt_response"]),
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
        "BeforeAgent" => Point::Input,
        "BeforeTool" => Point::PreToolCall,
        "AfterTool" => Point::PostToolCall,
        "AfterModel" => Point::PostModelCall,
        "AfterAgent" => Point::Idle,
        "BeforeModel" | "BeforeToolSelection" | "PreCompress" | "Notification" => Point::Notice,
        _ => return None,
    })
}

fn called(fields: Fields<'_>) -> Tool {
    let native = fields.text(&["tool_name"]).unwrap_or_default();
    let (mut name, args) = canonical(TOOLS, &native, fields.args(&["tool_input"]));
    if name == native {
        name = mcp(&native, fields).unwrap_or(name);
    }
    Tool { name, native, call_id: fields.name(&["tool_use_id", "call_id"]), args }
}

/// `mcp_SERVER_TOOL`; where the server has an underscore in its name, its context tells.
fn mcp(native: &str, fields: Fields<'_>) -> Option<String> {
    let context = fields.inner(&["mcp_context"]);
    if let Some(server) = context.name(&["server_name"]) {
        let after = |prefix: String| native.strip_prefix(prefix.as_str());
        let tool = context.name(&["tool_name"]);
        let tool = tool.or_else(|| after(format!("mcp_{server}_")).map(str::to_owned));
        return Some(mcp_name(&server, tool.as_deref().unwrap_or(native)));
    }
    let (server, tool) = native.strip_prefix("mcp_")?.split_once('_')?;
    Some(mcp_name(server, tool))
}

fn came_back(fields: Fields<'_>, called: &Tool) -> ToolResult {
    let Some(response) = fields.get(&["tool_response"]) else {
        return result(Status::Unknown, String::new());
    };
    let parts = Fields::of(response);
    let text = said(parts.get(&["llmContent"]).unwrap_or(response));
    if let Some(error) = parts.get(&["error"]) {
        let inner = Fields::of(error).text(&["message"]);
        let result = failure(text);
        return ToolResult {
            error: Some(clipped(inner.unwrap_or_else(|| said(error))).0),
            ..result
        };
    }
    if called.name != tool::SHELL {
        return ToolResult { before: before(parts), ..result(Status::Ok, text) };
    }
    if let Some(pid) = background(&text) {
        return ToolResult { background_id: Some(pid), ..result(Status::Background, text) };
    }
    if unwrapped(&text).starts_with("Command was ") && text.contains("cancelled") {
        return result(Status::Interrupted, text);
    }
    match trailer(&text, "Exit Code: ") {
        Some(code) => {
            let failed = failure(text);
            ToolResult { exit_code: Some(code), ..failed }
        }
        None if trailer(&text, "Signal: ").is_some() => failure(text),
        // A code is told where it is not zero.
        None => ToolResult { exit_code: finished_well(&text), ..result(Status::Ok, text) },
    }
}

/// The content of a changed file before; a new one had none.
fn before(parts: Fields<'_>) -> Option<String> {
    let shown = parts.inner(&["returnDisplay"]);
    let new = shown.get(&["isNewFile"]).is_none() || shown.flag(&["isNewFile"]);
    let content = shown.get(&["originalContent"]).and_then(Value::as_str);
    content.filter(|text| !new && text.len() <= MAX_TEXT).map(str::to_owned)
}

fn unwrapped(text: &str) -> &str {
    let text = text.trim_start();
    text.strip_prefix("<untrusted_context>").unwrap_or(text).trim_start()
}

fn background(text: &str) -> Option<String> {
    let text = unwrapped(text);
    let rest = text.strip_prefix("Command moved to background (PID: ");
    let rest = rest.or_else(|| text.strip_prefix("Command is running in background. PID: "))?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end).filter(|pid| !pid.is_empty()).map(str::to_owned)
}

/// The number in the line `label` among the last lines, which are the host's and not the command's.
fn trailer(text: &str, label: &str) -> Option<i32> {
    let host = |line: &&str| {
        const LABELS: [&str; 4] =
            ["Process Group PGID: ", "Background PIDs: ", "Signal: ", "Exit Code: "];
        let closing = line.trim() == "</untrusted_context>" || line.trim().is_empty();
        closing || LABELS.iter().any(|label| line.starts_with(label))
    };
    let mut lines = text.lines().rev().take_while(host).take(8);
    lines.find_map(|line| number_after(line, label))
}

fn finished_well(text: &str) -> Option<i32> {
    let ended = unwrapped(text).starts_with("Output: ");
    (ended && trailer(text, "Process Group PGID: ").is_some()).then_some(0)
}

/// What a model has said so far: calls are kept from hooks.
fn plan(fields: Fields<'_>) -> Plan {
    let response = fields.inner(&["llm_response"]);
    let text = response.text(&["text"]).unwrap_or_else(|| {
        let first = response.get(&["candidates"]).and_then(Value::as_array);
        let first = first.and_then(|candidates| candidates.first());
        let parts = first.and_then(|first| first.pointer("/content/parts"));
        parts.map(said).unwrap_or_default()
    });
    Plan { text: clipped(text).0, calls: Vec::new() }
}

fn caps(point: Point) -> &'static [Capability] {
    use Capability as C;
    match point {
        Point::Input => &[C::Inject, C::DenyInput],
        Point::PreToolCall => &[C::Deny, C::RewriteArgs],
        Point::PostToolCall => &[C::ReplaceResult, C::Inject, C::StopAtPost, C::IssueToolCall],
        Point::PostModelCall => &[C::Deny],
        Point::Idle => &[C::ForceContinue, C::StopAtIdle],
        _ => &[],
    }
}
