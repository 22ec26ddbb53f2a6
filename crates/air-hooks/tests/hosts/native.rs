//! One payload of each event of each host.

use std::{fs, path::Path};

use air_hooks::{Adapter, Native, Via};
use air_protocol::{Event, Point};
use serde_json::{Map, Value, json};

type Payload = (Option<&'static str>, Value);

/// How an event is called in snapshots.
pub(crate) fn name(event: Option<&str>, payload: &Value) -> String {
    let own = ["hook_event_name", "hook"].iter().find_map(|name| payload[*name].as_str());
    let kind = payload["event"]["type"].as_str().map(|kind| format!(" {kind}")).unwrap_or_default();
    format!("{}{kind}", event.or(own).unwrap_or("(nothing)"))
}

/// One payload of each event.
pub(crate) fn payloads(host: &str) -> Vec<Payload> {
    match host {
        "claude-code" => claude_code(),
        "codex" => codex(),
        "copilot" => copilot(),
        "gemini" => gemini(),
        "opencode" => opencode(),
        "cursor" => cursor(),
        other => panic!("no payloads of {other}"),
    }
}

/// The payload before a call of `tool`.
pub(crate) fn call(host: &str, tool: &str, args: &Value) -> Payload {
    match host {
        "copilot" => (
            Some("preToolUse"),
            json!({"sessionId": "s", "cwd": "/p", "toolName": tool, "toolArgs": args}),
        ),
        "opencode" => (
            None,
            json!({
                "hook": "tool.execute.before", "directory": "/p",
                "input": {"tool": tool, "sessionID": "s", "callID": "c"}, "output": {"args": args},
            }),
        ),
        "gemini" => (None, with("BeforeTool", json!({"tool_name": tool, "tool_input": args}))),
        "cursor" => (None, with("preToolUse", json!({"tool_name": tool, "tool_input": args}))),
        _ => (
            None,
            with("PreToolUse", json!({"tool_name": tool, "tool_input": args, "tool_use_id": "c"})),
        ),
    }
}

fn with(event: &str, fields: Value) -> Value {
    let mut all = Map::new();
    all.insert("hook_event_name".to_owned(), json!(event));
    all.insert("session_id".to_owned(), json!("s"));
    all.insert("cwd".to_owned(), json!("/p"));
    if let Value::Object(fields) = fields {
        all.extend(fields);
    }
    Value::Object(all)
}

fn bash() -> Value {
    json!({"tool_name": "Bash", "tool_input": {"command": "cp /etc/passwd ./passwd_copy", "timeout": 5}, "tool_use_id": "c"})
}

fn bash_and(fields: Value) -> Value {
    let mut all = bash();
    if let (Value::Object(all), Value::Object(fields)) = (&mut all, fields) {
        all.extend(fields);
    }
    all
}

fn claude_code() -> Vec<Payload> {
    let ended = "<task-notification>\n<task-id>b</task-id>\n<status>failed</status>\n\
                 <summary>Background command \"x\" failed (exit code 7)</summary>\n</task-notification>";
    let shell = json!({"tool_response": {"stdout": "root:x", "stderr": "", "interrupted": false, "isImage": false}});
    let events = [
        with("SessionStart", json!({"source": "startup"})),
        with("UserPromptSubmit", json!({"prompt": "do it"})),
        with("UserPromptSubmit", json!({"prompt": ended})),
        with("PreToolUse", bash()),
        with("PostToolUse", bash_and(shell)),
        with(
            "PostToolUse",
            bash_and(json!({"tool_name": "ToolSearch", "tool_response": {"matches": []}})),
        ),
        with("PostToolUseFailure", bash_and(json!({"error": "Exit code 3\noops"}))),
        with("PostToolBatch", json!({"tool_calls": []})),
        with("PermissionRequest", bash()),
        with("SubagentStart", json!({"agent_id": "a"})),
        with("SubagentStop", json!({"agent_id": "a"})),
        with("Stop", json!({"stop_hook_active": true})),
        with("PreCompact", json!({})),
        with("SessionEnd", json!({"reason": "other"})),
    ];
    events.into_iter().map(|event| (None, event)).collect()
}

fn codex() -> Vec<Payload> {
    let events = [
        with("SessionStart", json!({"source": "startup"})),
        with("UserPromptSubmit", json!({"prompt": "do it", "turn_id": "t"})),
        with("PreToolUse", bash()),
        with("PostToolUse", bash_and(json!({"tool_response": "root:x"}))),
        with("PermissionRequest", bash()),
        with("SubagentStart", json!({"agent_id": "a"})),
        with("SubagentStop", json!({"agent_id": "a"})),
        with("Stop", json!({"stop_hook_active": false})),
        with("PreCompact", json!({})),
        with("Interrupt", json!({})),
        with("SessionEnd", json!({"reason": "other"})),
    ];
    events.into_iter().map(|event| (None, event)).collect()
}

fn copilot() -> Vec<Payload> {
    let named = |event: &'static str, fields: Value| {
        let mut all = json!({"sessionId": "s", "cwd": "/p", "timestamp": 1_795_254_229_551_u64});
        if let (Value::Object(all), Value::Object(fields)) = (&mut all, fields) {
            all.extend(fields);
        }
        (Some(event), all)
    };
    let args = json!({"command": "cp /etc/passwd ./passwd_copy"});
    let done = "root:x\n<shellId: 0 completed with exit code 0>";
    vec![
        named("sessionStart", json!({"source": "new"})),
        named("userPromptSubmitted", json!({"prompt": "do it"})),
        named("preToolUse", json!({"toolName": "bash", "toolArgs": args})),
        named(
            "permissionRequest",
            json!({"hookName": "permissionRequest", "toolName": "bash", "toolInput": args}),
        ),
        named(
            "postToolUse",
            json!({"toolName": "bash", "toolArgs": args,
            "toolResult": {"resultType": "success", "textResultForLlm": done}}),
        ),
        named(
            "postToolUseFailure",
            json!({"toolName": "bash", "toolArgs": args, "error": "no such file"}),
        ),
        named(
            "notification",
            json!({"notification_type": "shell_completed", "message": "shell 0 has ended"}),
        ),
        named("subagentStart", json!({"agentName": "explore"})),
        named(
            "subagentStop",
            json!({"agentId": "a", "agentName": "explore", "response": "found", "stopReason": "end_turn"}),
        ),
        named("agentStop", json!({"stopReason": "end_turn", "stop_hook_active": true})),
        named("preCompact", json!({"trigger": "auto"})),
        named("errorOccurred", json!({"error": {"message": "m", "name": "n"}})),
        named("sessionEnd", json!({"reason": "complete"})),
    ]
}

fn gemini() -> Vec<Payload> {
    let call = json!({"tool_name": "run_shell_command", "tool_input": {"command": "cp /etc/passwd ./passwd_copy", "description": "c"}});
    let mut came_back = call.clone();
    came_back["tool_response"] =
        json!({"llmContent": "Output: root:x\nProcess Group PGID: 7", "returnDisplay": "root:x"});
    let events = [
        with("SessionStart", json!({"source": "startup"})),
        with("BeforeAgent", json!({"prompt": "do it"})),
        with("BeforeModel", json!({"llm_request": {}})),
        with("AfterModel", json!({"llm_response": {"text": "first this"}})),
        with("BeforeTool", call),
        with("AfterTool", came_back),
        with(
            "AfterAgent",
            json!({"prompt": "do it", "prompt_response": "done", "stop_hook_active": false}),
        ),
        with("Notification", json!({"notification_type": "ToolPermission"})),
        with("PreCompress", json!({"trigger": "auto"})),
        with("SessionEnd", json!({"reason": "exit"})),
    ];
    events.into_iter().map(|event| (None, event)).collect()
}

fn opencode() -> Vec<Payload> {
    let input = json!({"tool": "bash", "sessionID": "s", "callID": "c"});
    let args = json!({"command": "cp /etc/passwd ./passwd_copy", "description": "c"});
    let mut after = input.clone();
    after["args"] = args.clone();
    let event = |kind: &str, properties: Value| json!({"hook": "event", "event": {"type": kind, "properties": properties}, "directory": "/p"});
    let failed = json!({"type": "tool", "tool": "edit", "callID": "c", "sessionID": "s",
        "state": {"status": "error", "input": {"filePath": "a"}, "error": "no such file"}});
    let events = [
        event(
            "session.created",
            json!({"info": {"id": "s", "directory": "/p", "version": "1.18.33"}, "sessionID": "s"}),
        ),
        json!({"hook": "chat.message", "input": {"sessionID": "s"}, "parts": [{"type": "text", "text": "do it"}], "directory": "/p"}),
        json!({"hook": "tool.execute.before", "input": input, "output": {"args": args}, "directory": "/p"}),
        json!({"hook": "tool.execute.after", "input": after, "output": {"output": "root:x", "metadata": {"exit": 0}}, "directory": "/p"}),
        event("message.part.updated", json!({"part": failed})),
        json!({"hook": "permission.ask", "input": {"type": "bash", "sessionID": "s", "callID": "c", "pattern": "cp *", "metadata": args}, "directory": "/p"}),
        event("session.idle", json!({"sessionID": "s"})),
        event("session.error", json!({"sessionID": "s"})),
        event("session.deleted", json!({"info": {"id": "s"}})),
    ];
    events.into_iter().map(|event| (None, event)).collect()
}

fn cursor() -> Vec<Payload> {
    let named = |event: &str, fields: Value| {
        let mut all = json!({"hook_event_name": event, "conversation_id": "s", "generation_id": "g",
            "cursor_version": "2.4.0", "workspace_roots": ["/p"]});
        if let (Value::Object(all), Value::Object(fields)) = (&mut all, fields) {
            all.extend(fields);
        }
        (None, all)
    };
    let mut shell = bash();
    shell["tool_name"] = json!("Shell");
    let mut came_back = shell.clone();
    came_back["tool_output"] = json!("{\"exitCode\":0,\"stdout\":\"root:x\"}");
    let mut failed = shell.clone();
    failed["error_message"] = json!("no such file");
    failed["failure_type"] = json!("error");
    vec![
        named("sessionStart", json!({"session_id": "s"})),
        named("beforeSubmitPrompt", json!({"prompt": "do it", "attachments": []})),
        named("preToolUse", shell),
        named(
            "beforeShellExecution",
            json!({"command": "cp /etc/passwd ./passwd_copy", "cwd": "/p"}),
        ),
        named(
            "beforeMCPExecution",
            json!({"tool_name": "write_file", "tool_input": "{\"path\":\"a\"}", "command": "srv"}),
        ),
        named("beforeReadFile", json!({"file_path": "/p/.env", "content": "k=1"})),
        named("postToolUse", came_back),
        named("postToolUseFailure", failed),
        named("afterShellExecution", json!({"command": "ls", "output": "a", "duration": 12})),
        named(
            "afterMCPExecution",
            json!({"tool_name": "write_file", "tool_input": "{\"path\":\"a\"}", "result_json": "{\"content\":\"ok\"}"}),
        ),
        named(
            "afterFileEdit",
            json!({"file_path": "/p/a", "edits": [{"old_string": "1", "new_string": "2"}]}),
        ),
        named(
            "subagentStart",
            json!({"subagent_id": "a", "parent_conversation_id": "s", "task": "look"}),
        ),
        named(
            "subagentStop",
            json!({"subagent_id": "a", "parent_conversation_id": "s", "status": "completed", "summary": "found"}),
        ),
        named("stop", json!({"status": "completed", "loop_count": 1})),
        named("afterAgentResponse", json!({"text": "done"})),
        named("sessionEnd", json!({"reason": "completed"})),
    ]
}

pub(crate) fn object(value: &Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

pub(crate) fn decoded(adapter: &Adapter, event: Option<&str>, payload: &Value) -> Event {
    let payload = payload.to_string();
    let native = Native { payload: payload.as_bytes(), event, via: Via::Command, version: None };
    adapter.decode(&native).expect("decodes")
}

pub(crate) fn word(point: Point) -> String {
    serde_json::to_value(point).expect("a word").as_str().expect("a word").to_owned()
}

/// The lines of a file of `corpus/hosts`.
pub(crate) fn story(name: &str) -> Vec<Value> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/hosts");
    let text = fs::read_to_string(place.join(format!("{name}.jsonl"))).expect("readable");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}
