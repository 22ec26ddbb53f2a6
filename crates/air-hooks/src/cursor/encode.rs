//! Answers as Cursor takes them. It ends no turn: a task that is over gets no further word, and no call.

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
    let name = Fields::of(&asked.native).text(&["hook_event_name"]).unwrap_or_default();
    let wanted = say::reduced(asked, answer);
    let said = match asked.point {
        Point::Input => at_input(answer, wanted),
        Point::PreToolCall => at_pre(&name, asked, answer, wanted),
        Point::AgentStart => at_gate(answer, wanted),
        Point::PostToolCall => at_post(&name, wanted),
        Point::Idle => at_idle(wanted),
        _ => json!({}),
    };
    say::json(&said)
}

fn at_input(answer: &Answer, wanted: Move) -> Value {
    match wanted {
        Move::Pass(_) | Move::Args(_) | Move::Replace(_) => json!({"continue": true}),
        Move::Refuse(reason) | Move::Ask(reason) | Move::Stop(reason) => {
            let message = answer.user_message.clone().unwrap_or(reason);
            json!({"continue": false, "user_message": message})
        }
    }
}

fn decided(decision: &str, reason: &str, answer: &Answer) -> Value {
    let message = answer.user_message.as_deref().unwrap_or(reason);
    json!({"permission": decision, "agent_message": reason, "user_message": message})
}

fn at_gate(answer: &Answer, wanted: Move) -> Value {
    match wanted {
        Move::Pass(_) => json!({"permission": "allow"}),
        Move::Refuse(reason) | Move::Ask(reason) | Move::Stop(reason) => {
            decided("deny", &reason, answer)
        }
        Move::Args(_) | Move::Replace(_) => decided("deny", &say::no_rewrite(answer), answer),
    }
}

/// Only the events of commands and of MCP calls have a question for a person.
fn at_pre(name: &str, asked: &Event, answer: &Answer, wanted: Move) -> Value {
    match wanted {
        Move::Ask(reason) if matches!(name, "beforeShellExecution" | "beforeMCPExecution") => {
            decided("ask", &reason, answer)
        }
        Move::Args(args) if name == "preToolUse" => {
            match rewritten(TOOLS, asked, &original(asked), &args) {
                Some(args) => json!({"permission": "allow", "updated_input": args}),
                None => decided("deny", &say::no_rewrite(answer), answer),
            }
        }
        wanted => at_gate(answer, wanted),
    }
}

/// The native arguments, where the payload is at hand.
fn original(asked: &Event) -> Map<String, Value> {
    Fields::of(&asked.native).args(&["tool_input"])
}

fn at_post(name: &str, wanted: Move) -> Value {
    let text = match wanted {
        Move::Pass(None) | Move::Args(_) => return json!({}),
        Move::Pass(Some(text)) if name == "afterMCPExecution" => {
            return json!({"additional_context": text});
        }
        Move::Pass(Some(text))
        | Move::Refuse(text)
        | Move::Ask(text)
        | Move::Stop(text)
        | Move::Replace(text) => text,
    };
    match name {
        "afterMCPExecution" => json!({"updated_mcp_tool_output": text}),
        _ => json!({"additional_context": text}),
    }
}

fn at_idle(wanted: Move) -> Value {
    match wanted {
        Move::Refuse(reason) | Move::Ask(reason) => json!({"followup_message": reason}),
        Move::Pass(_) | Move::Stop(_) | Move::Args(_) | Move::Replace(_) => json!({}),
    }
}

/// An agent that wants to end does end: nobody could tell it what is left to do.
pub(super) fn refuse(native: &Native<'_>, reason: &str) -> Reply {
    let name = guessed_name(HOST, native, &["hook_event_name"]);
    if say::nothing_to_refuse(name.as_deref().and_then(point)) {
        return say::noted(reason);
    }
    let said = match name.as_deref() {
        Some("stop" | "subagentStop") => {
            return Reply { stderr: format!("{reason}\n"), ..say::json(&json!({})) };
        }
        Some("beforeSubmitPrompt") => json!({"continue": false, "user_message": reason}),
        Some("postToolUse" | "postToolUseFailure" | "afterMCPExecution") => {
            return say::json(&json!({"additional_context": reason}));
        }
        _ => json!({"permission": "deny", "agent_message": reason, "user_message": reason}),
    };
    Reply { stdout: said.to_string(), ..say::exit_two(reason) }
}
