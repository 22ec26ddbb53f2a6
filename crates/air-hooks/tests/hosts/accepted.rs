//! No answer that a host rejects: an answer that it cannot take is no answer there, and the call runs.
//!
//! What each event of each host takes is in a table, as the host's documentation, its schemas and its captures
//! say. Whatever else is said there fails here.

use air_hooks::{Native, Reply, Via, adapter, adapters};
use air_protocol::Answer;
use serde_json::Value;

use crate::{
    encode::answers,
    native::{self, decoded, story},
};

/// A line an event: the host, its events, and the fields that they take. `=word|word` are its values, `:text` a
/// text that is not empty, `:flag`, `:object`, `:any`.
const TAKES: &str = "
claude-code UserPromptSubmit: decision=block reason:text systemMessage:text hook.additionalContext:text
claude-code PreToolUse: systemMessage:text hook.permissionDecision=allow|deny|ask hook.permissionDecisionReason:text \
    hook.updatedInput:object hook.additionalContext:text
claude-code PostToolUse: decision=block reason:text continue:flag stopReason:text systemMessage:text \
    hook.additionalContext:text hook.updatedToolOutput:any
claude-code PostToolUseFailure: decision=block reason:text continue:flag stopReason:text systemMessage:text \
    hook.additionalContext:text
claude-code PermissionRequest: systemMessage:text hook.decision.behavior=allow|deny hook.decision.message:text \
    hook.decision.interrupt:flag
claude-code Stop SubagentStop: decision=block reason:text continue:flag stopReason:text systemMessage:text

codex UserPromptSubmit: decision=block reason:text systemMessage:text hook.additionalContext:text
codex PreToolUse: hook.permissionDecision=allow|deny hook.permissionDecisionReason:text hook.updatedInput:object
codex PostToolUse: decision=block reason:text systemMessage:text hook.additionalContext:text
codex PermissionRequest: systemMessage:text hook.decision.behavior=allow|deny hook.decision.message:text
codex Stop SubagentStop: decision=block reason:text continue:flag stopReason:text systemMessage:text

gemini BeforeAgent: decision=deny reason:text systemMessage:text hook.additionalContext:text
gemini BeforeTool: decision=deny reason:text continue:flag stopReason:text systemMessage:text hook.tool_input:object
gemini AfterTool: decision=deny reason:text continue:flag stopReason:text systemMessage:text \
    hook.additionalContext:text hook.tailToolCallRequest.name:text hook.tailToolCallRequest.args:object
gemini AfterModel AfterAgent: decision=deny reason:text continue:flag stopReason:text systemMessage:text

copilot preToolUse PreToolUse: permissionDecision=allow|deny|ask permissionDecisionReason:text modifiedArgs:object
copilot postToolUse PostToolUse: modifiedResult.resultType=success|failure|rejected|denied \
    modifiedResult.textResultForLlm:text additionalContext:text
copilot postToolUseFailure PostToolUseFailure notification Notification: additionalContext:text
copilot permissionRequest PermissionRequest: behavior=allow|deny message:text interrupt:flag
copilot agentStop Stop subagentStop SubagentStop: decision=block reason:text

cursor beforeSubmitPrompt: continue:flag user_message:text
cursor beforeShellExecution beforeMCPExecution: permission=allow|deny|ask user_message:text agent_message:text
cursor beforeReadFile subagentStart: permission=allow|deny user_message:text agent_message:text
cursor preToolUse: permission=allow|deny user_message:text agent_message:text updated_input:object
cursor afterMCPExecution: updated_mcp_tool_output:any additional_context:text
cursor postToolUse postToolUseFailure afterShellExecution afterFileEdit: additional_context:text
cursor stop subagentStop: followup_message:text

opencode chat.message: throw:text
opencode tool.execute.before: throw:text abort:flag args:object
opencode tool.execute.after: output:text append:text abort:flag
opencode permission.ask: status=ask|deny|allow abort:flag
opencode event: prompt:text abort:flag
";

/// What an event takes; nothing where it is no question.
fn takes(host: &str, event: &str) -> Vec<(&'static str, &'static str)> {
    let mut lines = TAKES.lines().filter_map(|line| line.split_once(": "));
    let of = lines.find(|(head, _)| {
        let mut words = head.split(' ');
        words.next() == Some(host) && words.any(|known| known == event)
    });
    let fields = of.map(|(_, fields)| fields.split_whitespace()).into_iter().flatten();
    let fields = fields.map(|field| {
        let at = field.find([':', '=']).expect("a field has a kind");
        field.split_at(at)
    });
    fields.collect()
}

/// Why a host does not take `said` at an event.
fn rejected(host: &str, event: &str, said: &Value) -> Option<String> {
    let takes = takes(host, event);
    let Value::Object(fields) = said else { return Some("it is no object".to_owned()) };
    if fields.is_empty() {
        return None;
    }
    if takes.is_empty() {
        return Some("nothing is asked there".to_owned());
    }
    let reads = |name: &str| said.pointer(name).and_then(Value::as_str);
    if let Some(own) = said.get("hookSpecificOutput") {
        let named = own.get("hookEventName").and_then(Value::as_str);
        if named != Some(event) {
            return Some(format!("it names the event {named:?}"));
        }
    }
    // A block without a reason is none.
    for (decision, reason) in [
        ("/decision", "/reason"),
        ("/permissionDecision", "/permissionDecisionReason"),
        ("/hookSpecificOutput/permissionDecision", "/hookSpecificOutput/permissionDecisionReason"),
    ] {
        let refuses = reads(decision).is_some_and(|word| ["block", "deny", "ask"].contains(&word));
        if refuses && reads(reason).is_none() {
            return Some(format!("{decision} has no reason"));
        }
    }
    let halts = said.get("continue") == Some(&Value::Bool(false)) && host != "cursor";
    if halts && reads("/stopReason").is_none() {
        return Some("it ends the turn without a reason".to_owned());
    }
    if host == "codex"
        && reads("/hookSpecificOutput/permissionDecision") == Some("allow")
        && said.pointer("/hookSpecificOutput/updatedInput").is_none()
    {
        return Some("a bare leave is rejected".to_owned());
    }
    each(&takes, "", said)
}

fn each(takes: &[(&str, &str)], path: &str, value: &Value) -> Option<String> {
    if path == "hook.hookEventName" {
        return None;
    }
    if let Some((_, kind)) = takes.iter().find(|(known, _)| *known == path) {
        let fits = match (*kind, value) {
            (":text", Value::String(text)) => !text.trim().is_empty(),
            (":flag", Value::Bool(_)) | (":object", Value::Object(_)) | (":any", _) => true,
            (words, Value::String(word)) => {
                words.strip_prefix('=').is_some_and(|all| all.split('|').any(|one| one == word))
            }
            _ => false,
        };
        return (!fits).then(|| format!("`{path}` is {value}, and has to be {kind}"));
    }
    let Value::Object(fields) = value else {
        return Some(format!("`{path}` is not known there"));
    };
    fields.iter().find_map(|(name, inner)| {
        let name = if name == "hookSpecificOutput" { "hook" } else { name };
        let below = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        each(takes, &below, inner)
    })
}

fn document(reply: &Reply) -> Option<Value> {
    let text = reply.stdout.trim();
    (!text.is_empty()).then(|| serde_json::from_str(text).expect("JSON"))
}

/// The payloads of each event, and those of the story that all hosts tell.
fn payloads(host: &str) -> Vec<(Option<String>, Value)> {
    let own = native::payloads(host).into_iter();
    let own = own.map(|(event, payload)| (event.map(str::to_owned), payload));
    let told = story(host).into_iter().filter(|line| !line["payload"].is_null());
    let told =
        told.map(|line| (line["event"].as_str().map(str::to_owned), line["payload"].clone()));
    own.chain(told).collect()
}

fn event_of(event: Option<&str>, payload: &Value) -> String {
    let name = native::name(event, payload);
    name.split(' ').next().unwrap_or_default().to_owned()
}

#[test]
fn every_answer_is_one_that_its_host_takes() {
    let mut seen = 0;
    for adapter in adapters() {
        let host = adapter.host();
        for (event, payload) in payloads(host) {
            let text = payload.to_string();
            let native = Native {
                payload: text.as_bytes(),
                event: event.as_deref(),
                via: Via::Command,
                version: None,
            };
            let asked = adapter.decode(&native).unwrap_or_else(|error| panic!("{host}: {error}"));
            let name = event_of(event.as_deref(), &payload);
            for (answer, given) in answers() {
                let reply = adapter.encode(&asked, &given);
                assert_eq!(reply.exit, 0, "{host} {name} {answer}");
                let Some(said) = document(&reply) else { continue };
                let why = rejected(host, &name, &said);
                assert_eq!(why, None, "{host} {name}, {answer}: {said}");
                seen += 1;
            }
        }
    }
    assert!(seen > 400, "{seen} answers were looked at");
}

#[test]
fn a_refusal_without_a_daemon_is_one_that_its_host_takes() {
    for adapter in adapters() {
        let host = adapter.host();
        for (event, payload) in payloads(host) {
            let text = payload.to_string();
            for via in [Via::Command, Via::Http, Via::Plugin] {
                let event = event.as_deref();
                let native = Native { payload: text.as_bytes(), event, via, version: None };
                let reply = adapter.refuse(&native, "AIR is away");
                let Some(said) = document(&reply).filter(|_| reply.exit == 0) else { continue };
                let why = rejected(host, &event_of(event, &payload), &said);
                // To a gate over HTTP, and at events that ask nothing, a refusal is said in general words.
                let general = why.as_deref() == Some("nothing is asked there");
                assert!(why.is_none() || general, "{host} {via:?}: {why:?} {said}");
            }
        }
    }
}

/// The table rejects what hosts reject.
#[test]
fn what_hosts_reject_is_found() {
    let codex = adapter("codex").expect("known");
    let (event, payload) = native::call("codex", "Bash", &serde_json::json!({"command": "ls"}));
    let asked = decoded(codex, event, &payload);
    let silence = document(&codex.encode(&asked, &Answer::allow("1")));
    assert_eq!(silence, None, "leave is silence");
    for (said, why) in [
        (
            r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}"#,
            "bare leave",
        ),
        (
            r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask",
                "permissionDecisionReason": "x"}}"#,
            "has to be =allow|deny",
        ),
        (
            r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}"#,
            "has no reason",
        ),
        (r#"{"hookSpecificOutput": {"hookEventName": "Stop"}}"#, "it names the event"),
        (r#"{"continue": false, "stopReason": "x"}"#, "not known there"),
        (r#"{"suppressOutput": true}"#, "not known there"),
        (r#"{"decision": "block", "reason": " "}"#, "not known there"),
        ("[]", "no object"),
    ] {
        let said = serde_json::from_str(said).expect("JSON");
        let found = rejected("codex", "PreToolUse", &said).unwrap_or_default();
        assert!(found.contains(why), "{said}: {found}");
    }
    let empty = serde_json::json!({"decision": "block", "reason": " "});
    assert!(rejected("codex", "Stop", &empty).is_some_and(|why| why.contains(":text")));
}
