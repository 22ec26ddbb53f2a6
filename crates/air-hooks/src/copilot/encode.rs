//! Answers as Copilot CLI takes them.

use air_protocol::{Answer, Capability, Event, Point};
use serde_json::{Map, Value, json};

use super::{
    TOOLS,
    decode::{name, point},
};
use crate::{
    Native, Reply,
    payload::{Fields, read},
    say::{self, Move},
    tools::rewritten,
};

pub(super) fn encode(asked: &Event, answer: &Answer) -> Reply {
    let wanted = say::reduced(asked, answer);
    let said = match asked.point {
        Point::PreToolCall => at_pre(asked, answer, wanted),
        Point::PostToolCall if failed(asked) => beside(wanted),
        Point::PostToolCall => at_post(wanted),
        Point::BackgroundEnd => beside(wanted),
        Point::Approval => at_approval(wanted),
        Point::Idle => at_idle(wanted),
        _ => None,
    };
    said.map_or_else(Reply::default, |said| say::json(&said))
}

/// Whether it came as the event of failed calls, whose result cannot be replaced.
fn failed(asked: &Event) -> bool {
    !asked.host.caps.contains(&Capability::ReplaceResult)
}

fn at_pre(asked: &Event, answer: &Answer, wanted: Move) -> Option<Value> {
    let decided = |decision: &str, reason: &str| json!({"permissionDecision": decision, "permissionDecisionReason": reason});
    match wanted {
        Move::Pass(_) => None,
        Move::Ask(reason) => Some(decided("ask", &reason)),
        Move::Refuse(reason) | Move::Stop(reason) => Some(decided("deny", &reason)),
        Move::Replace(_) => Some(decided("deny", &say::no_rewrite(answer))),
        Move::Args(args) => Some(match rewritten(TOOLS, asked, &original(asked), &args) {
            Some(args) => json!({"modifiedArgs": args}),
            None => decided("deny", &say::no_rewrite(answer)),
        }),
    }
}

/// The native arguments, where the payload is at hand.
fn original(asked: &Event) -> Map<String, Value> {
    Fields::of(&asked.native).args(&["toolArgs", "toolInput", "tool_input"])
}

/// The turn cannot be ended here. A result of the type `failure` would come back as a failed call.
fn at_post(wanted: Move) -> Option<Value> {
    match wanted {
        Move::Pass(text) => text.map(|text| json!({"additionalContext": text})),
        Move::Refuse(text) | Move::Ask(text) | Move::Stop(text) | Move::Replace(text) => {
            let result = json!({"resultType": "success", "textResultForLlm": text});
            Some(json!({"modifiedResult": result}))
        }
        Move::Args(_) => None,
    }
}

/// Beside an error, or a notice, it hears a text and nothing else.
fn beside(wanted: Move) -> Option<Value> {
    match wanted {
        Move::Pass(None) | Move::Args(_) => None,
        Move::Pass(Some(text))
        | Move::Refuse(text)
        | Move::Ask(text)
        | Move::Stop(text)
        | Move::Replace(text) => Some(json!({"additionalContext": text})),
    }
}

fn at_approval(wanted: Move) -> Option<Value> {
    match wanted {
        Move::Pass(_) | Move::Ask(_) | Move::Args(_) | Move::Replace(_) => None,
        Move::Refuse(reason) => Some(json!({"behavior": "deny", "message": reason})),
        Move::Stop(reason) => {
            Some(json!({"behavior": "deny", "message": reason, "interrupt": true}))
        }
    }
}

fn at_idle(wanted: Move) -> Option<Value> {
    match wanted {
        Move::Refuse(reason) | Move::Ask(reason) => {
            Some(json!({"decision": "block", "reason": reason}))
        }
        Move::Pass(_) | Move::Stop(_) | Move::Args(_) | Move::Replace(_) => None,
    }
}

/// Before a call any code but zero refuses it; what it prints gives the reason.
pub(super) fn refuse(native: &Native<'_>, reason: &str) -> Reply {
    let payload = read(super::HOST, native.payload).unwrap_or_default();
    let refusal = |said: Value| Reply { stdout: said.to_string(), ..say::exit_two(reason) };
    let name = name(native, Fields::of(&payload));
    if say::nothing_to_refuse(name.as_deref().and_then(|name| point(name, ""))) {
        return say::noted(reason);
    }
    match name.as_deref() {
        Some("permissionRequest" | "PermissionRequest") => {
            refusal(json!({"behavior": "deny", "message": reason}))
        }
        Some("postToolUse" | "PostToolUse") => {
            let said = at_post(Move::Refuse(reason.to_owned()));
            said.map_or_else(Reply::default, |said| say::json(&said))
        }
        Some("postToolUseFailure" | "PostToolUseFailure") => {
            say::json(&json!({"additionalContext": reason}))
        }
        // An agent that wants to end does end: nobody could tell it what is left to do.
        Some("agentStop" | "Stop" | "subagentStop" | "SubagentStop") => say::noted(reason),
        _ => refusal(json!({
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
            "behavior": "deny",
            "message": reason,
        })),
    }
}
