//! Answers as Codex takes them: leave is silence, and no field that it does not know.

use air_protocol::{Answer, Event, Point};
use serde_json::{Map, Value, json};

use super::{HOST, TOOLS, decode::point};
use crate::{
    Native, Reply,
    event::guessed_name,
    payload::Fields,
    say::{self, Move},
    tools::rewritten,
};

pub(super) fn encode(asked: &Event, answer: &Answer) -> Reply {
    let wanted = say::reduced(asked, answer);
    let said = match asked.point {
        Point::Input => at_input(wanted),
        Point::PreToolCall => return at_pre(asked, answer, wanted),
        Point::PostToolCall => at_post(wanted),
        Point::Approval => at_approval(wanted),
        Point::Idle => at_idle(wanted),
        _ => None,
    };
    said.map_or_else(Reply::default, |said| {
        say::json(&say::with_message(said, "systemMessage", answer))
    })
}

fn block(reason: &str) -> Value {
    json!({"decision": "block", "reason": reason})
}

fn context(name: &str, text: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}})
}

fn at_input(wanted: Move) -> Option<Value> {
    match wanted {
        Move::Pass(text) => text.map(|text| context("UserPromptSubmit", &text)),
        Move::Refuse(reason) | Move::Ask(reason) | Move::Stop(reason) => Some(block(&reason)),
        Move::Args(_) | Move::Replace(_) => None,
    }
}

/// It asks nobody: what a person should decide is refused.
fn at_pre(asked: &Event, answer: &Answer, wanted: Move) -> Reply {
    let denied = |reason: &str| {
        say::json(&json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }}))
    };
    match wanted {
        Move::Pass(_) => Reply::default(),
        Move::Refuse(reason) | Move::Ask(reason) | Move::Stop(reason) => denied(&reason),
        Move::Replace(_) => denied(&say::no_rewrite(answer)),
        Move::Args(args) => match rewritten(TOOLS, asked, &original(asked), &args) {
            Some(args) => say::json(&json!({"hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "allow",
                "updatedInput": args,
            }})),
            None => denied(&say::no_rewrite(answer)),
        },
    }
}

/// The native arguments, where the payload is at hand.
fn original(asked: &Event) -> Map<String, Value> {
    Fields::of(&asked.native).args(&["tool_input"])
}

/// The reason takes the place of the result; the turn cannot be ended here.
fn at_post(wanted: Move) -> Option<Value> {
    match wanted {
        Move::Pass(text) => text.map(|text| context("PostToolUse", &text)),
        Move::Refuse(text) | Move::Ask(text) | Move::Stop(text) | Move::Replace(text) => {
            Some(block(if text.is_empty() { "(nothing)" } else { &text }))
        }
        Move::Args(_) => None,
    }
}

fn at_approval(wanted: Move) -> Option<Value> {
    match wanted {
        Move::Pass(_) | Move::Ask(_) | Move::Args(_) | Move::Replace(_) => None,
        Move::Refuse(reason) | Move::Stop(reason) => Some(json!({"hookSpecificOutput": {
            "hookEventName": "PermissionRequest",
            "decision": {"behavior": "deny", "message": reason},
        }})),
    }
}

fn at_idle(wanted: Move) -> Option<Value> {
    match wanted {
        Move::Stop(reason) => Some(json!({"continue": false, "stopReason": reason})),
        Move::Refuse(reason) | Move::Ask(reason) => Some(block(&reason)),
        Move::Pass(_) | Move::Args(_) | Move::Replace(_) => None,
    }
}

/// An agent that wants to end does end: nobody could tell it what is left to do.
pub(super) fn refuse(native: &Native<'_>, reason: &str) -> Reply {
    let name = guessed_name(HOST, native, &["hook_event_name"]);
    if say::nothing_to_refuse(name.as_deref().and_then(point)) {
        return say::noted(reason);
    }
    match name.as_deref() {
        Some("Stop" | "SubagentStop") => {
            say::json(&json!({"continue": false, "stopReason": reason}))
        }
        _ => say::exit_two(reason),
    }
}
