//! Cursor: `hooks.json`, handlers by event. Timeouts in seconds. One event that it does not know makes
//! it reject the whole file, so only documented ones are written.

use super::{Entry, Link, Nesting, Spec, json::Json};

/// Also whether the host can be held there, so that it has to fail closed.
const EVENTS: [(&str, u32, bool); 12] = [
    ("sessionStart", 15, false),
    ("sessionEnd", 5, false),
    ("beforeSubmitPrompt", 60, true),
    ("preToolUse", 600, true),
    ("beforeShellExecution", 600, true),
    ("beforeMCPExecution", 600, true),
    ("beforeReadFile", 60, true),
    ("subagentStart", 60, true),
    ("postToolUse", 60, false),
    ("postToolUseFailure", 60, false),
    ("subagentStop", 60, false),
    ("stop", 60, false),
];

pub(super) fn spec(link: &Link<'_>) -> Spec {
    let entries = EVENTS.iter().map(|(event, timeout, gate)| {
        let mut handler = vec![
            ("command", Json::Text(link.command("cursor", Some(event)))),
            ("timeout", Json::Number(*timeout)),
        ];
        if *gate {
            handler.push(("failClosed", Json::Flag(true)));
        }
        Entry { event, value: Json::Object(handler) }
    });
    let top = vec![("version", Json::Number(1))];
    Spec { top, entries: entries.collect(), nesting: Nesting::Handlers }
}
