//! What the plugin within OpenCode hands over, as events.

use air_protocol::{
    Capability, Event, Idle, InputFrom, Point, SessionRef, Status, Tool, ToolResult,
};
use serde_json::Value;

use super::{HOST, TOOLS};
use crate::{
    DecodeError, Native,
    event::{blank, failure, finished, input, name, result, unknown},
    payload::{Fields, read, said},
    tools::canonical,
};

pub(super) fn decode(native: &Native<'_>) -> Result<Event, DecodeError> {
    let payload = read(HOST, native.payload)?;
    let fields = Fields::of(&payload);
    let hook = name(HOST, native, fields, &["hook"])?;
    let inner = Inner::of(&hook, fields);
    let point = inner
        .point(&hook)
        .ok_or_else(|| unknown(HOST, if hook == "event" { &inner.kind } else { &hook }))?;

    let mut event = blank(HOST, native, point, inner.session(fields));
    let own = inner.about.inner(&["info"]);
    event.host.version =
        fields.name(&["version"]).or_else(|| own.name(&["version"])).or(event.host.version);
    event.cwd =
        fields.name(&["directory"]).or_else(|| own.name(&["directory"])).unwrap_or_default();
    match point {
        Point::Input => {
            // What a sub-agent hears first is the task that its parent gives it.
            let ours = fields.flag(&["ours"]) || event.session.parent.is_some();
            let from = if ours { InputFrom::Host } else { InputFrom::User };
            event.input = Some(input(words(fields), from));
        }
        Point::PreToolCall => {
            event.tool = Some(called(inner.about, fields.inner(&["output"]).args(&["args"])));
        }
        Point::Approval => event.tool = Some(permission(inner.about)),
        Point::PostToolCall if hook == "event" => {
            let part = inner.about.inner(&["part"]);
            event.tool = Some(called(part, part.inner(&["state"]).args(&["input"])));
            event.result = Some(failed_call(part.inner(&["state"])));
        }
        Point::PostToolCall => {
            event.tool = Some(called(inner.about, inner.about.args(&["args"])));
            event.result = Some(came_back(fields.inner(&["output"])));
        }
        Point::Idle => event.idle = Some(Idle::default()),
        _ => {}
    }
    let oneshot = fields.flag(&["oneshot"]);
    Ok(finished(event, caps(point, &hook, oneshot), payload, native.payload.len()))
}

/// What a payload is about: the input of a hook, or the properties of an event.
struct Inner<'a> {
    about: Fields<'a>,
    /// The type of an event.
    kind: String,
}

impl<'a> Inner<'a> {
    fn of(hook: &str, fields: Fields<'a>) -> Self {
        if hook != "event" {
            return Self { about: fields.inner(&["input"]), kind: String::new() };
        }
        let event = fields.inner(&["event"]);
        let kind = event.text(&["type"]).unwrap_or_default();
        Self { about: event.inner(&["properties"]), kind }
    }

    fn point(&self, hook: &str) -> Option<Point> {
        Some(match (hook, self.kind.as_str()) {
            ("chat.message", _) => Point::Input,
            ("tool.execute.before", _) => Point::PreToolCall,
            ("tool.execute.after", _) => Point::PostToolCall,
            ("permission.ask", _) => Point::Approval,
            ("init", _) => Point::Notice,
            ("event", "session.created") if self.parent().is_some() => Point::AgentStart,
            ("event", "session.created") => Point::SessionStart,
            ("event", "session.idle") => Point::Idle,
            ("event", "session.deleted") => Point::SessionEnd,
            ("event", "message.part.updated") if self.tool_failed() => Point::PostToolCall,
            ("event", kind) if kind.contains('.') => Point::Notice,
            _ => return None,
        })
    }

    fn tool_failed(&self) -> bool {
        let part = self.about.inner(&["part"]);
        let is = |fields: Fields<'_>, name: &str, value: &str| {
            fields.text(&[name]).is_some_and(|text| text == value)
        };
        is(part, "type", "tool") && is(part.inner(&["state"]), "status", "error")
    }

    fn parent(&self) -> Option<String> {
        self.about.inner(&["info"]).name(&["parentID"])
    }

    /// A sub-agent has a session of its own.
    fn session(&self, fields: Fields<'_>) -> SessionRef {
        let inner = self.about.inner(&["info"]).name(&["id"]);
        let part = self.about.inner(&["part"]).name(&["sessionID"]);
        let id = self.about.name(&["sessionID"]).or(inner).or(part).unwrap_or_default();
        let parent = fields.name(&["parent"]).or_else(|| self.parent());
        let agent_id = parent.is_some().then(|| id.clone());
        SessionRef { id, turn: None, agent_id, parent }
    }
}

fn words(fields: Fields<'_>) -> String {
    let parts = fields.get(&["parts"]).or_else(|| fields.inner(&["output"]).get(&["parts"]));
    let parts = parts.and_then(Value::as_array).into_iter().flatten();
    let texts = parts.filter_map(|part| Fields::of(part).text(&["text"]));
    texts.collect::<Vec<_>>().join("\n")
}

fn called(about: Fields<'_>, args: serde_json::Map<String, Value>) -> Tool {
    let native = about.text(&["tool"]).unwrap_or_default();
    let (name, args) = canonical(TOOLS, &native, args);
    Tool { name, native, call_id: about.name(&["callID"]), args }
}

fn permission(about: Fields<'_>) -> Tool {
    let native = about.text(&["type", "permission"]).unwrap_or_default();
    let mut args = about.args(&["metadata"]);
    for name in ["pattern", "title"] {
        if let Some(value) = about.get(&[name]) {
            args.entry(name).or_insert_with(|| value.clone());
        }
    }
    let (name, args) = canonical(TOOLS, &native, args);
    let call_id = about.name(&["callID"]).or_else(|| about.inner(&["tool"]).name(&["callID"]));
    Tool { name, native, call_id, args }
}

fn came_back(output: Fields<'_>) -> ToolResult {
    let text = output.get(&["output"]).map(said).unwrap_or_default();
    let exit = output.inner(&["metadata"]).text(&["exit"]);
    let exit_code = exit.and_then(|code| code.parse().ok());
    match exit_code {
        Some(code) if code != 0 => ToolResult { exit_code, ..failure(text) },
        _ => ToolResult { exit_code, ..result(Status::Ok, text) },
    }
}

fn failed_call(state: Fields<'_>) -> ToolResult {
    let error = state.get(&["error"]).map(said).unwrap_or_default();
    let aborted = error.contains("aborted");
    let mut result = failure(error);
    if aborted {
        result.status = Status::Interrupted;
    }
    result
}

fn caps(point: Point, hook: &str, oneshot: bool) -> &'static [Capability] {
    use Capability as C;
    match point {
        Point::Input => &[C::DenyInput],
        Point::PreToolCall => &[C::Deny, C::RewriteArgs],
        Point::PostToolCall if hook == "event" => &[C::Inject, C::StopAtPost],
        Point::PostToolCall => &[C::ReplaceResult, C::Inject, C::StopAtPost],
        Point::Approval => &[C::Deny, C::Interrupt],
        // It exits before it could be told anything more.
        Point::Idle if oneshot => &[C::StopAtIdle],
        Point::Idle => &[C::ForceContinue, C::StopAtIdle],
        _ => &[],
    }
}
