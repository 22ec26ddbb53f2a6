//! Copilot CLI: a file of AIR's own among the hooks, handlers by event. Timeouts in seconds. Its
//! payloads do not name their event, so the command does.

use super::{Entry, Link, Nesting, Spec, json::Json};

const EVENTS: [(&str, u32); 11] = [
    ("sessionStart", 15),
    ("sessionEnd", 5),
    ("userPromptSubmitted", 60),
    ("preToolUse", 600),
    ("permissionRequest", 600),
    ("postToolUse", 60),
    ("postToolUseFailure", 60),
    // Where a command in the background has ended.
    ("notification", 15),
    ("subagentStart", 15),
    ("subagentStop", 60),
    ("agentStop", 60),
];

pub(super) fn spec(link: &Link<'_>) -> Spec {
    let entries = EVENTS.iter().map(|(event, timeout)| {
        let handler = Json::Object(vec![
            ("type", Json::text("command")),
            ("bash", Json::Text(link.command("copilot", Some(event)))),
            ("timeoutSec", Json::Number(*timeout)),
        ]);
        Entry { event, value: handler }
    });
    let top = vec![("version", Json::Number(1))];
    Spec { top, entries: entries.collect(), nesting: Nesting::Handlers }
}
