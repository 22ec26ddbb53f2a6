//! Answers as Gemini CLI takes them.

use air_protocol::{Answer, DirectiveKind, Event, Point};
use serde_json::{Map, Value, json};

use super::{HOST, TOOLS, decode::point};
use crate::{
    Native, Reply,
    event::guessed_name,
    payload::Fields,
    say::{self, Move},
    tools::{native_call, rewritten},
};

pub(super) fn encode(asked: &Event, answer: &Answer) -> Reply {
    let wanted = say::reduced(asked, answer);
    let said = match asked.point {
        Point::Input => at_input(wanted),
        Point::PreToolCall => at_pre(asked, answer, wanted),
        Point::PostToolCall => at_post(answer, wanted),
        Point::PostModelCall | Point::Idle => at_end(wanted),
        _ => None,
    };
    said.map_or_else(Reply::default, |said| {
        say::json(&say::with_message(said, "systemMessage", answer))
    })
}

fn deny(reason: &str) -> Value {
    json!({"decision": "deny", "reason": reason})
}

fn halt(reason: &str) -> Value {
    json!({"continue": false, "stopReason": reason, "decision": "deny", "reason": reason})
}

fn context(name: &str, text: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}})
}

fn at_input(wanted: Move) -> Option<Value> {
    match wanted {
        Move::Pass(text) => text.map(|text| context("BeforeAgent", &text)),
        Move::Refuse(reason) | Move::Ask(reason) | Move::Stop(reason) => Some(deny(&reason)),
        Move::Args(_) | Move::Replace(_) => None,
    }
}

/// It asks nobody: what a person should decide is refused.
fn at_pre(asked: &Event, answer: &Answer, wanted: Move) -> Option<Value> {
    match wanted {
        Move::Pass(_) => None,
        Move::Refuse(reason) | Move::Ask(reason) => Some(deny(&reason)),
        Move::Stop(reason) => Some(halt(&reason)),
        Move::Replace(_) => Some(deny(&say::no_rewrite(answer))),
        Move::Args(args) => Some(match rewritten(TOOLS, asked, &original(asked), &args) {
            Some(args) => json!({"hookSpecificOutput": {
                "hookEventName": "BeforeTool",
                "tool_input": args,
            }}),
            None => deny(&say::no_rewrite(answer)),
        }),
    }
}

/// The native arguments, where the payload is at hand.
fn original(asked: &Event) -> Map<String, Value> {
    Fields::of(&asked.native).args(&["tool_input"])
}

fn at_post(answer: &Answer, wanted: Move) -> Option<Value> {
    if answer.directive.kind != DirectiveKind::Terminate
        && let Some(call) = answer.directive.tool_calls.first()
        && let Some((name, args)) = native_call(TOOLS, call)
    {
        // One call an answer: its result takes the place of this one, and comes back here.
        return Some(json!({"hookSpecificOutput": {
            "hookEventName": "AfterTool",
            "tailToolCallRequest": {"name": name, "args": args},
        }}));
    }
    match wanted {
        Move::Pass(text) => text.map(|text| context("AfterTool", &text)),
        Move::Refuse(reason) | Move::Ask(reason) | Move::Replace(reason) => Some(deny(&reason)),
        Move::Stop(reason) => Some(halt(&reason)),
        Move::Args(_) => None,
    }
}

fn at_end(wanted: Move) -> Option<Value> {
    match wanted {
        Move::Refuse(reason) | Move::Ask(reason) => Some(deny(&reason)),
        Move::Stop(reason) => Some(json!({"continue": false, "stopReason": reason})),
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
        Some("AfterAgent") => say::json(&json!({"continue": false, "stopReason": reason})),
        _ => say::exit_two(reason),
    }
}
