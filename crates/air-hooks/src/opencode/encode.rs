//! Answers as the plugin within OpenCode takes them: `throw`, `args`, `output`, `append`, `status`,
//! `prompt`, `abort`.

use air_protocol::{Answer, Event, Point};
use serde_json::{Map, Value, json};

use super::{HOST, TOOLS};
use crate::{
    Native, Reply,
    event::guessed_name,
    payload::Fields,
    say::{self, Move},
    tools::rewritten,
};

pub(super) fn encode(asked: &Event, answer: &Answer) -> Reply {
    let wanted = say::reduced(asked, answer);
    let by_event = Fields::of(&asked.native).text(&["hook"]).is_some_and(|hook| hook == "event");
    let said = match asked.point {
        Point::Input => at_input(wanted),
        Point::PreToolCall => at_pre(asked, answer, wanted),
        Point::PostToolCall if by_event => at_failure(wanted),
        Point::PostToolCall => at_post(wanted),
        Point::Approval => at_approval(&wanted),
        Point::Idle => at_idle(wanted),
        _ => json!({}),
    };
    say::json(&said)
}

fn at_input(wanted: Move) -> Value {
    match wanted {
        Move::Refuse(reason) | Move::Ask(reason) | Move::Stop(reason) => json!({"throw": reason}),
        Move::Pass(_) | Move::Args(_) | Move::Replace(_) => json!({}),
    }
}

/// It asks nobody: what a person should decide is refused.
fn at_pre(asked: &Event, answer: &Answer, wanted: Move) -> Value {
    match wanted {
        Move::Pass(_) => json!({}),
        Move::Refuse(reason) | Move::Ask(reason) => json!({"throw": reason}),
        Move::Stop(reason) => json!({"throw": reason, "abort": true}),
        Move::Replace(_) => json!({"throw": say::no_rewrite(answer)}),
        Move::Args(args) => match rewritten(TOOLS, asked, &original(asked), &args) {
            Some(args) => json!({"args": args}),
            None => json!({"throw": say::no_rewrite(answer)}),
        },
    }
}

/// The native arguments, where the payload is at hand.
fn original(asked: &Event) -> Map<String, Value> {
    Fields::of(&asked.native).inner(&["output"]).args(&["args"])
}

fn at_post(wanted: Move) -> Value {
    match wanted {
        Move::Pass(Some(text)) => json!({"append": text}),
        Move::Pass(None) | Move::Args(_) => json!({}),
        Move::Refuse(text) | Move::Ask(text) | Move::Replace(text) => json!({"output": text}),
        Move::Stop(reason) => json!({"output": reason, "abort": true}),
    }
}

/// The agent has seen the error already; a word comes after it.
fn at_failure(wanted: Move) -> Value {
    match wanted {
        Move::Pass(Some(text)) | Move::Refuse(text) | Move::Ask(text) => json!({"prompt": text}),
        Move::Pass(None) | Move::Args(_) | Move::Replace(_) => json!({}),
        Move::Stop(_) => json!({"abort": true}),
    }
}

fn at_approval(wanted: &Move) -> Value {
    match wanted {
        Move::Pass(_) | Move::Args(_) | Move::Replace(_) => json!({}),
        Move::Ask(_) => json!({"status": "ask"}),
        Move::Refuse(_) => json!({"status": "deny"}),
        Move::Stop(_) => json!({"status": "deny", "abort": true}),
    }
}

fn at_idle(wanted: Move) -> Value {
    match wanted {
        Move::Refuse(reason) | Move::Ask(reason) => json!({"prompt": reason}),
        Move::Pass(_) | Move::Stop(_) | Move::Args(_) | Move::Replace(_) => json!({}),
    }
}

/// An event is no question; everything else throws, or gives the reason in the place of the result.
pub(super) fn refuse(native: &Native<'_>, reason: &str) -> Reply {
    match guessed_name(HOST, native, &["hook"]).as_deref() {
        Some("event" | "init") => say::json(&json!({})),
        Some("tool.execute.after") => say::json(&json!({"output": reason})),
        Some("permission.ask") => say::json(&json!({"status": "deny"})),
        _ => say::json(&json!({"throw": reason})),
    }
}
