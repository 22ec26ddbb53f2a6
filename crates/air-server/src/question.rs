//! What a question is about, and what it is answered where nothing can be decided.

use std::path::Path;

use air::Told;
use air_protocol::{Answer, Event, Point};

use crate::slot::Key;

/// The session that it belongs to: sub-agents belong to whom they work for.
pub(crate) fn key(event: &Event) -> Key {
    let session = event.session.parent.as_ref().unwrap_or(&event.session.id);
    Key { host: event.host.name.clone(), session: session.clone() }
}

pub(crate) fn is_sub_agent(event: &Event) -> bool {
    event.session.agent_id.is_some() || event.session.parent.is_some()
}

/// Where the call runs. A host that does not tell is nowhere that could be watched.
pub(crate) fn directory(event: &Event) -> &Path {
    let cwd = Path::new(&event.cwd);
    if cwd.is_absolute() { cwd } else { Path::new("/") }
}

/// What a question must say and does not, in words. Without it no rule can be asked.
pub(crate) fn missing(event: &Event) -> Option<&'static str> {
    let is_call = matches!(event.point, Point::PreToolCall | Point::PostToolCall);
    let has_tool = event.tool.as_ref().is_some_and(|tool| !tool.name.is_empty());
    let session = event.session.parent.as_ref().unwrap_or(&event.session.id);
    match event {
        _ if event.host.name.is_empty() => Some("which host asks"),
        _ if session.is_empty() => Some("which session it is about"),
        _ if is_call && !has_tool => Some("which tool is called"),
        _ if is_call && !Path::new(&event.cwd).is_absolute() => Some("where the call runs"),
        _ => None,
    }
}

pub(crate) fn nothing() -> Told {
    Told::Go { notes: Vec::new() }
}

/// The answer where nothing could be decided: a call does not run, and nobody is kept from ending.
pub(crate) fn failed(event: &Event, why: &str) -> Answer {
    match event.point {
        Point::PreToolCall | Point::Approval => Answer::deny(event.id.as_str(), why),
        _ => Answer { user_message: Some(why.to_owned()), ..Answer::allow(event.id.as_str()) },
    }
}
