//! What a host is answered, by the powers it has at that point.

use air::{Issued, Reach, Told, Waiting};
use air_core::{evaluation::FindingRecord, id::RuleName};
use air_protocol::{
    Answer, Capability, Decision, Directive, DirectiveKind, Event, Point, TypedCall,
};

/// The answer to `event` for what the session says.
pub(crate) fn answer(event: &Event, told: Told) -> Answer {
    let id = event.id.as_str();
    match told {
        Told::Go { notes } => Answer { reason: noted(event.point, &notes), ..Answer::allow(id) },
        Told::Ask { question } if can(event, Capability::Ask) => {
            let reason = Some(format!("AIR: {question}"));
            Answer { decision: Decision::Ask, reason, ..Answer::allow(id) }
        }
        Told::Ask { question } => Answer::deny(id, format!("AIR: {question}")),
        Told::Waiting(waiting) => Answer::deny(id, waits(&waiting)),
        Told::Refused { rules, message } => Answer {
            rules: at(rules.iter().map(RuleName::as_str)),
            user_message: Some(format!("AIR refused a call: {message}")),
            ..Answer::deny(id, format!("AIR refused this call: {message}"))
        },
        Told::Held { message } => match event.point {
            Point::Idle | Point::BackgroundEnd => {
                Answer { user_message: Some(message), ..Answer::allow(id) }
            }
            _ => Answer { user_message: Some(message.clone()), ..Answer::deny(id, message) },
        },
        Told::Ordered(ordered) => {
            let directive = Directive {
                kind: DirectiveKind::Remediate,
                incident: Some(ordered.incident.to_string()),
                tries_left: Some(ordered.tries_left),
                tool_calls: ordered.calls.iter().map(typed).collect(),
            };
            let decision = match event.point {
                Point::PreToolCall if ordered.refused.is_none() => Decision::Allow,
                // The agent has to hear the order.
                Point::Input | Point::AgentStart | Point::Approval => Decision::Allow,
                _ => Decision::Deny,
            };
            Answer {
                decision,
                reason: Some(ordered.message.clone()),
                user_message: Some(format!(
                    "AIR: incident {}; {}",
                    ordered.incident,
                    if ordered.calls.is_empty() {
                        "the agent has been told to put it right"
                    } else {
                        "AIR removes what it created, by the agent's own tools"
                    }
                )),
                rules: at(ordered.rules.iter().map(RuleName::as_str)),
                directive,
                ..Answer::allow(id)
            }
        }
        Told::Over { incident, rules, message } => {
            let directive = Directive {
                kind: DirectiveKind::Terminate,
                incident: incident.map(|incident| incident.to_string()),
                ..Directive::default()
            };
            let decision = match event.point {
                Point::Idle | Point::SessionEnd => Decision::Allow,
                _ => Decision::Deny,
            };
            Answer {
                decision,
                reason: Some(message.clone()),
                user_message: Some(message),
                rules: at(rules.iter().map(RuleName::as_str)),
                directive,
                ..Answer::allow(id)
            }
        }
    }
}

/// What can be given to the host at this point.
pub(crate) fn reach(event: &Event) -> Reach {
    if can(event, Capability::IssueToolCall) { Reach::Calls } else { Reach::Words }
}

fn typed(call: &Issued) -> TypedCall {
    TypedCall { name: call.tool.clone(), args: call.arguments.clone() }
}

fn can(event: &Event, power: Capability) -> bool {
    event.host.caps.contains(&power)
}

fn at<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names.map(|name| format!("@{name}")).collect()
}

/// What an agent is told beside a call that runs. What could not be decided is on record and no word for
/// it.
fn noted(point: Point, notes: &[FindingRecord]) -> Option<String> {
    if point != Point::PreToolCall {
        return None;
    }
    let holds =
        |note: &&FindingRecord| note.verdict.outcome == air_core::outcome::Outcome::Satisfied;
    let names: Vec<_> = notes.iter().filter(holds).map(|note| format!("@{}", note.rule)).collect();
    (!names.is_empty()).then(|| format!("AIR warns: {} holds on this call", names.join(", ")))
}

fn waits(waiting: &Waiting) -> String {
    format!(
        "AIR: {} It waits for a person: `airctl approvals allow {}`. Once that was done, make the same \
         call again.",
        waiting.question, waiting.approval
    )
}
