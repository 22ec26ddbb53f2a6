//! Codex: `hooks.json`, groups of handlers by event. Timeouts in seconds. It has one event for a tool
//! that came back and one that failed, and none for the end of a background command.

use super::{Entry, Link, Nesting, Spec, json::Json};

const EVENTS: [(&str, u32); 9] = [
    ("SessionStart", 15),
    // The host cuts it to three.
    ("SessionEnd", 3),
    ("UserPromptSubmit", 60),
    ("PreToolUse", 600),
    ("PermissionRequest", 600),
    ("PostToolUse", 60),
    ("SubagentStart", 15),
    ("SubagentStop", 60),
    ("Stop", 60),
];

pub(super) fn spec(link: &Link<'_>) -> Spec {
    let entries = EVENTS.iter().map(|(event, timeout)| {
        let handler = Json::Object(vec![
            ("type", Json::text("command")),
            ("command", Json::Text(link.command("codex", None))),
            ("timeout", Json::Number(*timeout)),
        ]);
        let group = Json::Object(vec![("hooks", Json::List(vec![handler]))]);
        Entry { event, value: group }
    });
    Spec { top: Vec::new(), entries: entries.collect(), nesting: Nesting::Groups }
}
