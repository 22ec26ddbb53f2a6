//! What `airctl doctor` asks to see whether a host's hooks lead here. Nothing of it is on record, and it is no
//! sign of life: the doctor is no host. In such a session nothing runs but a call that does nothing.

use air_protocol::{Answer, Event, Point};

/// How the doctor's sessions begin: no host names one so.
pub const DOCTOR: &str = "air-doctor-";
/// A command that is refused.
pub const CANARY: &str = "air-canary";
/// A command that may run.
pub const CONTROL: &str = "air-canary --control";

/// The answer to the doctor; `None` for everybody else.
pub(crate) fn answer(event: &Event) -> Option<Answer> {
    if !event.session.id.starts_with(DOCTOR) {
        return None;
    }
    let id = event.id.as_str();
    let command = event.tool.as_ref().and_then(|tool| tool.args.get("command")?.as_str());
    Some(match event.point {
        Point::PreToolCall | Point::Approval if command != Some(CONTROL) => Answer {
            rules: vec!["@air_canary".to_owned()],
            ..Answer::deny(id, "AIR refused this call: it is the canary of `airctl doctor`")
        },
        _ => Answer::allow(id),
    })
}
