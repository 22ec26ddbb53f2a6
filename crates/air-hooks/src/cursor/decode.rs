//! Payloads of Cursor as events.

use air_protocol::{
    Capability, Event, Idle, InputFrom, Point, SessionRef, Status, Tool, ToolResult, tool,
};
use serde_json::{Map, Value};

use super::{CONTINUE_CAP, HOST, TOOLS};
use crate::{
    DecodeError, Native,
    event::{blank, failure, finished, input, name, result, unknown},
    payload::{Fields, read, said},
    tools::{canonical, mcp_name},
};

pub(super) fn decode(native: &Native<'_>) -> Result<Event, DecodeError> {
    let payload = read(HOST, native.payload)?;
    let fields = Fields::of(&payload);
    let name = name(HOST, native, fields, &["hook_event_name"])?;
    let point = point(&name).ok_or_else(|| unknown(HOST, &name))?;

    let mut event = blank(HOST, native, point, session(&name, fields));
    event.host.continue_cap = Some(CONTINUE_CAP);
    event.host.version = fields.name(&["cursor_version"]).or(event.host.version);
    event.cwd = cwd(fields);
    match point {
        Point::Input => {
            let prompt = fields.text(&["prompt"]).unwrap_or_default();
            event.input = Some(input(prompt, InputFrom::User));
        }
        Point::PreToolCall => event.tool = Some(called(&name, fields)),
        Point::PostToolCall => {
            let called = called(&name, fields);
            event.result = Some(came_back(&name, fields));
            event.tool = Some(called);
        }
        Point::Idle => {
            event.idle = Some(Idle {
                continued: fields.count(&["loop_count"]).is_some_and(|count| count > 0),
                text: fields.text(&["summary", "last_assistant_message"]),
                background: Vec::new(),
            });
        }
        _ => {}
    }
    Ok(finished(event, caps(&name, point), payload, native.payload.len()))
}

pub(super) fn point(name: &str) -> Option<Point> {
    Some(match name {
        "sessionStart" => Point::SessionStart,
        "sessionEnd" => Point::SessionEnd,
        "beforeSubmitPrompt" => Point::Input,
        "preToolUse"
        | "beforeShellExecution"
        | "beforeMCPExecution"
        | "beforeReadFile"
        | "beforeTabFileRead" => Point::PreToolCall,
        "postToolUse"
        | "postToolUseFailure"
        | "afterShellExecution"
        | "afterMCPExecution"
        | "afterFileEdit"
        | "afterTabFileEdit" => Point::PostToolCall,
        "subagentStart" => Point::AgentStart,
        "stop" | "subagentStop" => Point::Idle,
        "afterAgentResponse" | "afterAgentThought" | "preCompact" | "workspaceOpen" => {
            Point::Notice
        }
        _ => return None,
    })
}

fn session(name: &str, fields: Fields<'_>) -> SessionRef {
    let sub = name.starts_with("subagent");
    let parent = fields.name(&["parent_conversation_id"]);
    let own = fields.name(&["conversation_id", "session_id"]);
    SessionRef {
        id: if sub { parent.or(own) } else { own }.unwrap_or_default(),
        turn: fields.name(&["generation_id"]),
        agent_id: fields.name(&["subagent_id", "agent_id"]),
        parent: None,
    }
}

fn cwd(fields: Fields<'_>) -> String {
    let roots = fields.get(&["workspace_roots"]).and_then(Value::as_array);
    let root = roots.and_then(|roots| roots.first()).and_then(Value::as_str);
    fields.name(&["cwd"]).or_else(|| root.map(str::to_owned)).unwrap_or_default()
}

/// Before and after commands, files and MCP calls it has events of their own, without a tool's name.
fn called(event: &str, fields: Fields<'_>) -> Tool {
    let picked = |names: &[&str]| {
        let pick = |name: &&str| Some(((*name).to_owned(), fields.get(&[*name])?.clone()));
        names.iter().filter_map(pick).collect::<Map<_, _>>()
    };
    let (native, args) = match event {
        "beforeShellExecution" | "afterShellExecution" => {
            ("Shell".to_owned(), picked(&["command", "sandbox"]))
        }
        "beforeReadFile" | "beforeTabFileRead" => ("Read".to_owned(), picked(&["file_path"])),
        "afterFileEdit" => ("Edit".to_owned(), picked(&["file_path", "edits"])),
        "afterTabFileEdit" => ("TabWrite".to_owned(), picked(&["file_path", "edits"])),
        _ => {
            let native = fields.text(&["tool_name"]).unwrap_or_default();
            (native, fields.args(&["tool_input"]))
        }
    };
    let (mut name, args) = canonical(TOOLS, &native, args);
    let mcp = native.strip_prefix("MCP:").or_else(|| event.contains("MCP").then_some(&*native));
    if let Some(tool) = mcp.filter(|_| !name.starts_with(tool::MCP)) {
        // The server's name is in no payload that is known.
        let server = fields.name(&["mcp_server_name", "server_name", "server"]);
        name = mcp_name(server.as_deref().unwrap_or("_"), tool);
    }
    let call_id = fields.name(&["tool_use_id", "tool_call_id"]);
    Tool { name, native, call_id, args }
}

fn came_back(event: &str, fields: Fields<'_>) -> ToolResult {
    let duration_ms = fields.count(&["duration", "duration_ms"]);
    if event == "postToolUseFailure" {
        let error = fields.text(&["error_message", "error"]).unwrap_or_default();
        let kind = fields.text(&["failure_type"]).unwrap_or_default();
        let mut result = failure(error);
        if fields.flag(&["is_interrupt"]) {
            result.status = Status::Interrupted;
        } else if kind == "permission_denied" {
            result.status = Status::Denied;
        }
        return ToolResult { duration_ms, ..result };
    }
    let given = fields.get(&["tool_output", "output", "result_json"]);
    // Its results are JSON within a text.
    let parsed = given.and_then(Value::as_str).and_then(|text| serde_json::from_str(text).ok());
    let parsed: Option<Value> = parsed.filter(Value::is_object);
    let Some(value) = parsed.as_ref().or(given) else {
        return ToolResult { duration_ms, ..result(Status::Unknown, String::new()) };
    };
    let parts = Fields::of(value);
    let exit = parts.text(&["exitCode", "exit_code"]).and_then(|code| code.parse::<i32>().ok());
    let text = match (parts.text(&["stdout"]), parts.text(&["stderr"])) {
        (None, None) => said(value),
        (out, err) => {
            let both = [out, err].into_iter().flatten().filter(|text| !text.is_empty());
            both.collect::<Vec<_>>().join("\n")
        }
    };
    let told = if exit.is_some_and(|code| code != 0) || parts.flag(&["isError"]) {
        failure(text)
    } else if exit.is_some() || event == "postToolUse" {
        result(Status::Ok, text)
    } else {
        result(Status::Unknown, text)
    };
    ToolResult { exit_code: exit, duration_ms, ..told }
}

fn caps(name: &str, point: Point) -> &'static [Capability] {
    use Capability as C;
    match (name, point) {
        ("preToolUse", _) => &[C::Deny, C::RewriteArgs],
        ("beforeShellExecution" | "beforeMCPExecution", _) => &[C::Deny, C::Ask],
        (_, Point::PreToolCall | Point::AgentStart) => &[C::Deny],
        (_, Point::Input) => &[C::DenyInput],
        ("postToolUse" | "postToolUseFailure", _) => &[C::Inject],
        ("afterMCPExecution", _) => &[C::ReplaceResult],
        (_, Point::Idle) => &[C::ForceContinue, C::StopAtIdle],
        _ => &[],
    }
}
