//! What all events have, whatever the host.

use air_protocol::{
    Capability, Event, Host, Input, InputFrom, Point, SessionRef, Status, ToolResult, VERSION,
};
use serde_json::Value;

use crate::{
    DecodeError, Native, Via,
    payload::{Fields, clipped, read},
};

/// The longest id that is made of what a host says, in bytes.
const MAX_ID: usize = 1024;

/// The longest name of an unknown event that is repeated, in characters.
const MAX_NAME: usize = 64;

/// An event of `host` at `point`, with nothing in it yet.
pub(crate) fn blank(host: &str, native: &Native<'_>, point: Point, session: SessionRef) -> Event {
    let adapter = match native.via {
        Via::Command => "hook-command",
        Via::Http => "hook-http",
        Via::Plugin => "plugin",
    };
    Event {
        v: VERSION,
        id: String::new(),
        ts: None,
        point,
        host: Host {
            name: host.to_owned(),
            version: native.version.map(str::to_owned),
            adapter: adapter.to_owned(),
            caps: Vec::new(),
            continue_cap: None,
        },
        session,
        cwd: String::new(),
        input: None,
        tool: None,
        result: None,
        plan: None,
        idle: None,
        native: Value::Null,
    }
}

/// `event` with its powers, its id and the payload.
pub(crate) fn finished(
    mut event: Event,
    caps: &[Capability],
    payload: Value,
    length: usize,
) -> Event {
    event.host.caps = caps.to_vec();
    event.id = id(&event);
    event.native = crate::payload::native(payload, length);
    event
}

/// The same for a repetition of the same call at the same point; empty where there is no call id.
fn id(event: &Event) -> String {
    let Some(call) = event.tool.as_ref().and_then(|tool| tool.call_id.as_deref()) else {
        return String::new();
    };
    let point = match event.point {
        Point::PreToolCall => "pre",
        Point::PostToolCall => "post",
        Point::Approval => "approval",
        _ => return String::new(),
    };
    let session = &event.session;
    let part = |part: Option<&str>| {
        let part = part.unwrap_or_default();
        part.replace('%', "%25").replace('/', "%2f")
    };
    let parts = [
        part(Some(&session.id)),
        part(session.turn.as_deref()),
        part(session.agent_id.as_deref()),
        point.to_owned(),
        part(Some(call)),
    ];
    let id = parts.join("/");
    if id.len() > MAX_ID { String::new() } else { id }
}

/// The name of the event: of the payload, else as it came otherwise.
pub(crate) fn name(
    host: &'static str,
    native: &Native<'_>,
    fields: Fields<'_>,
    names: &[&str],
) -> Result<String, DecodeError> {
    let name = fields.name(names).or_else(|| native.event.map(str::to_owned));
    name.ok_or_else(|| DecodeError::Malformed { host, why: "it names no event".to_owned() })
}

/// As [`name`], of a payload that need not be readable.
pub(crate) fn guessed_name(
    host: &'static str,
    native: &Native<'_>,
    names: &[&str],
) -> Option<String> {
    let named = read(host, native.payload).ok().and_then(|it| Fields::of(&it).name(names));
    named.or_else(|| native.event.map(str::to_owned))
}

pub(crate) fn unknown(host: &'static str, event: &str) -> DecodeError {
    DecodeError::UnknownEvent { host, event: event.chars().take(MAX_NAME).collect() }
}

/// What came back, with as much of `text` as an event carries.
pub(crate) fn result(status: Status, text: String) -> ToolResult {
    let (text, omitted) = clipped(text);
    ToolResult {
        status,
        text,
        omitted,
        error: None,
        exit_code: None,
        duration_ms: None,
        background_id: None,
        before: None,
    }
}

/// What came back from a call that failed.
pub(crate) fn failure(error: String) -> ToolResult {
    let result = result(Status::Error, error);
    ToolResult { error: Some(result.text.clone()), ..result }
}

pub(crate) fn input(text: String, from: InputFrom) -> Input {
    Input { text: clipped(text).0, from }
}

/// The number after `label` at the start of `text`.
pub(crate) fn number_after(text: &str, label: &str) -> Option<i32> {
    let rest = text.trim_start().strip_prefix(label)?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '-');
    rest.get(..end.unwrap_or(rest.len()))?.parse().ok()
}
