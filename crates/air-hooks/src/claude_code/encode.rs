//! Answers as Claude Code takes them.

use air_protocol::{Answer, Capability, DirectiveKind, Event, Point, tool};
use serde_json::{Map, Value, json};

use super::{HOST, TOOLS, decode::point};
use crate::{
    Native, Reply, Via,
    event::guessed_name,
    payload::Fields,
    say::{self, Move},
    tools::rewritten,
};

pub(super) fn encode(asked: &Event, answer: &Answer) -> Reply {
    let fields = Fields::of(&asked.native);
    let name = fields.name(&["hook_event_name"]).unwrap_or_else(|| usual(asked).to_owned());
    let said = match asked.point {
        Point::Input => at_input(&name, say::reduced(asked, answer)),
        Point::BackgroundEnd => at_background_end(&name, asked, answer),
        Point::PreToolCall => at_pre(&name, asked, answer),
        Point::PostToolCall => at_post(&name, asked, answer),
        Point::Approval => at_approval(&name, say::reduced(asked, answer)),
        Point::Idle => at_idle(say::reduced(asked, answer)),
        _ => None,
    };
    said.map_or_else(Reply::default, |said| {
        say::json(&say::with_message(said, "systemMessage", answer))
    })
}

/// The event at a point, where the payload is not at hand.
fn usual(asked: &Event) -> &'static str {
    let failed = asked.result.as_ref().is_some_and(|result| result.error.is_some());
    match asked.point {
        Point::PreToolCall => "PreToolUse",
        Point::PostToolCall if failed => "PostToolUseFailure",
        Point::PostToolCall => "PostToolUse",
        Point::Approval => "PermissionRequest",
        Point::Idle => "Stop",
        _ => "UserPromptSubmit",
    }
}

fn context(name: &str, text: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}})
}

fn block(reason: &str) -> Value {
    json!({"decision": "block", "reason": reason})
}

fn halt(reason: &str) -> Value {
    json!({"continue": false, "stopReason": reason})
}

fn at_input(name: &str, wanted: Move) -> Option<Value> {
    match wanted {
        Move::Pass(text) => text.map(|text| context(name, &text)),
        Move::Args(_) | Move::Replace(_) => None,
        Move::Refuse(reason) | Move::Ask(reason) | Move::Stop(reason) => Some(block(&reason)),
    }
}

/// An order reaches the agent beside the notification: were that refused, the agent would stay idle.
fn at_background_end(name: &str, asked: &Event, answer: &Answer) -> Option<Value> {
    match say::reduced(asked, answer) {
        Move::Refuse(reason) if answer.directive.kind == DirectiveKind::Remediate => {
            Some(context(name, &reason))
        }
        other => at_input(name, other),
    }
}

fn at_pre(name: &str, asked: &Event, answer: &Answer) -> Option<Value> {
    let decided = |decision: &str, reason: &str| {
        json!({"hookSpecificOutput": {
            "hookEventName": name,
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }})
    };
    match say::reduced(asked, answer) {
        Move::Pass(text) => text.map(|text| context(name, &text)),
        Move::Ask(reason) => Some(decided("ask", &reason)),
        // `continue: false` here would let this very call run: the turn ends when the agent wants to.
        Move::Refuse(reason) | Move::Stop(reason) => Some(decided("deny", &reason)),
        Move::Replace(_) => Some(decided("deny", &say::no_rewrite(answer))),
        Move::Args(args) => Some(match rewritten(TOOLS, asked, &original(asked), &args) {
            Some(args) => {
                let mut said =
                    decided("allow", answer.reason.as_deref().unwrap_or("changed by AIR"));
                if let Some(Value::Object(inner)) = said.get_mut("hookSpecificOutput") {
                    inner.insert("updatedInput".to_owned(), Value::Object(args));
                }
                said
            }
            None => decided("deny", &say::no_rewrite(answer)),
        }),
    }
}

/// The native arguments, where the payload is at hand.
fn original(asked: &Event) -> Map<String, Value> {
    Fields::of(&asked.native).args(&["tool_input"])
}

fn at_post(name: &str, asked: &Event, answer: &Answer) -> Option<Value> {
    match say::reduced(asked, answer) {
        Move::Pass(text) => text.map(|text| context(name, &text)),
        Move::Stop(reason) => Some(halt(&reason)),
        Move::Replace(text) => Some(match replacement(asked, &text) {
            Some(output) => json!({"hookSpecificOutput": {
                "hookEventName": name,
                "updatedToolOutput": output,
            }}),
            None => refused(name, answer.reason.as_deref().unwrap_or(&text)),
        }),
        Move::Refuse(reason) | Move::Ask(reason) => Some(refused(name, &reason)),
        Move::Args(_) => None,
    }
}

/// A failed call has its own event, where the reason is heard as context alone.
fn refused(name: &str, reason: &str) -> Value {
    let mut said = block(reason);
    if name == "PostToolUseFailure"
        && let (Value::Object(said), Value::Object(context)) = (&mut said, context(name, reason))
    {
        said.extend(context);
    }
    said
}

/// What takes the place of the response; of a long one its shape alone is known.
fn replacement(asked: &Event, text: &str) -> Option<Value> {
    let fields = Fields::of(&asked.native);
    let kept = fields.get(&["tool_response"]).is_some();
    let shell = asked.tool.as_ref().is_some_and(|called| called.name == tool::SHELL);
    if kept || !shell || !asked.host.caps.contains(&Capability::ReplaceResult) {
        return replaced(fields, text);
    }
    Some(json!({"stdout": text, "stderr": "", "interrupted": false, "isImage": false}))
}

/// The response with `text` in it: it has to keep the shape that the tool gives it. None where that is
/// not known.
pub(super) fn replaced(fields: Fields<'_>, text: &str) -> Option<Value> {
    let mut response = fields.get(&["tool_response"])?.clone();
    match &mut response {
        Value::String(whole) => text.clone_into(whole),
        Value::Object(parts) if parts.contains_key("stdout") => {
            parts.insert("stdout".to_owned(), Value::from(text));
            parts.insert("stderr".to_owned(), Value::from(""));
        }
        Value::Object(parts) if parts.get("type").is_some_and(|kind| kind == "text") => {
            let file = parts.get_mut("file")?.as_object_mut()?;
            file.insert("content".to_owned(), Value::from(text));
        }
        _ => return None,
    }
    Some(response)
}

fn at_approval(name: &str, wanted: Move) -> Option<Value> {
    let denied = |message: &str, interrupt: bool| {
        let mut decision = json!({"behavior": "deny", "message": message});
        if let (true, Value::Object(decision)) = (interrupt, &mut decision) {
            decision.insert("interrupt".to_owned(), Value::from(true));
        }
        json!({"hookSpecificOutput": {"hookEventName": name, "decision": decision}})
    };
    match wanted {
        Move::Pass(_) | Move::Ask(_) => None,
        Move::Stop(reason) => Some(denied(&reason, true)),
        Move::Refuse(reason) => Some(denied(&reason, false)),
        Move::Args(_) | Move::Replace(_) => Some(denied("AIR wanted this call changed", false)),
    }
}

fn at_idle(wanted: Move) -> Option<Value> {
    match wanted {
        Move::Stop(reason) => Some(halt(&reason)),
        Move::Refuse(reason) | Move::Ask(reason) => Some(block(&reason)),
        Move::Pass(_) | Move::Args(_) | Move::Replace(_) => None,
    }
}

/// An agent that wants to end does end: nobody could tell it what is left to do.
pub(super) fn refuse(native: &Native<'_>, reason: &str) -> Reply {
    let name = guessed_name(HOST, native, &["hook_event_name"]);
    if say::nothing_to_refuse(name.as_deref().and_then(|name| point(name, ""))) {
        return say::noted(reason);
    }
    match (name.as_deref(), native.via) {
        (Some("Stop" | "SubagentStop"), _) => say::json(&halt(reason)),
        (_, Via::Command | Via::Plugin) => say::exit_two(reason),
        (Some(name @ "PreToolUse"), Via::Http) => say::json(&json!({"hookSpecificOutput": {
            "hookEventName": name,
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }})),
        (Some("PermissionRequest"), Via::Http) => {
            let refused = at_approval("PermissionRequest", Move::Refuse(reason.to_owned()));
            refused.map_or_else(Reply::default, |said| say::json(&said))
        }
        (_, Via::Http) => say::json(&block(reason)),
    }
}
