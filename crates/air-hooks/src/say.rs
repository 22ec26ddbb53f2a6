//! What an answer comes to at its point, before it is put into a host's words.

use air_protocol::{Answer, Decision, DirectiveKind, Event, Point, Target};
use serde_json::{Map, Value};

use crate::{Reply, payload::text_of};

/// What a host has to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Move {
    /// Go on; a text for the agent, where there is one.
    Pass(Option<String>),
    /// Not this; why.
    Refuse(String),
    /// A person decides; why.
    Ask(String),
    /// Go on with these canonical arguments.
    Args(Map<String, Value>),
    /// Go on with this in the place of the result.
    Replace(String),
    /// No further; why.
    Stop(String),
}

/// What `answer` comes to. What cannot be followed is a refusal.
pub(crate) fn reduced(asked: &Event, answer: &Answer) -> Move {
    let reason = || {
        let given = answer.reason.clone().filter(|reason| !reason.trim().is_empty());
        given.unwrap_or_else(|| "refused by AIR, which gives no reason".to_owned())
    };
    if answer.directive.kind == DirectiveKind::Terminate {
        return Move::Stop(reason());
    }
    match answer.decision {
        Decision::Allow => {
            let order = answer.directive.kind == DirectiveKind::Remediate
                && matches!(asked.point, Point::PostToolCall | Point::Idle);
            if order && answer.reason.is_some() {
                return Move::Refuse(reason());
            }
            Move::Pass(answer.reason.clone().filter(|reason| !reason.trim().is_empty()))
        }
        Decision::Deny => Move::Refuse(reason()),
        Decision::Ask => Move::Ask(reason()),
        Decision::Transform => match &answer.transform {
            Some(to) if to.target == Target::Args && asked.point == Point::PreToolCall => {
                match &to.value {
                    Value::Object(args) => Move::Args(args.clone()),
                    _ => Move::Refuse(reason()),
                }
            }
            Some(to) if to.target == Target::Result && asked.point == Point::PostToolCall => {
                Move::Replace(text_of(&to.value).unwrap_or_else(|| to.value.to_string()))
            }
            _ => Move::Refuse(reason()),
        },
    }
}

/// What is said of arguments that the tool cannot take.
pub(crate) fn no_rewrite(answer: &Answer) -> String {
    let reason = answer.reason.as_deref().unwrap_or("AIR wanted this call changed");
    format!("{reason} (the call cannot be changed as needed, so it is refused)")
}

/// Standard output of a command that went well.
pub(crate) fn json(value: &Value) -> Reply {
    Reply { stdout: value.to_string(), ..Reply::default() }
}

/// Exit code 2, with the reason on standard error.
pub(crate) fn exit_two(reason: &str) -> Reply {
    Reply { stderr: format!("{reason}\n"), exit: 2, ..Reply::default() }
}

/// The reason on standard error alone, for a point where there is nothing to refuse.
pub(crate) fn noted(reason: &str) -> Reply {
    Reply { stderr: format!("{reason}\n"), ..Reply::default() }
}

/// Whether there is nothing to refuse at `point`.
pub(crate) fn nothing_to_refuse(point: Option<Point>) -> bool {
    matches!(point, Some(Point::Notice | Point::SessionEnd))
}

/// `value` with `message` for the person under `name`, where there is one.
pub(crate) fn with_message(mut value: Value, name: &str, answer: &Answer) -> Value {
    if let (Some(message), Value::Object(fields)) = (&answer.user_message, &mut value) {
        fields.insert(name.to_owned(), Value::from(message.as_str()));
    }
    value
}
