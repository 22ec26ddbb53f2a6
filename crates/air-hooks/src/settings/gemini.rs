//! Gemini CLI: `hooks` in `settings.json`, groups of handlers by event. Timeouts in milliseconds.
//! The name is what `/hooks disable` takes, and what the host keeps a trusted hook by.

use super::{Entry, Link, Nesting, Spec, json::Json};

const EVENTS: [(&str, u32); 6] = [
    ("SessionStart", 15_000),
    ("SessionEnd", 5_000),
    ("BeforeAgent", 60_000),
    ("BeforeTool", 600_000),
    ("AfterTool", 60_000),
    ("AfterAgent", 60_000),
];
const OF_TOOLS: [&str; 2] = ["BeforeTool", "AfterTool"];

pub(super) fn spec(link: &Link<'_>) -> Spec {
    let entries = EVENTS.iter().map(|(event, timeout)| {
        let handler = Json::Object(vec![
            ("name", Json::text("air")),
            ("type", Json::text("command")),
            ("command", Json::Text(link.command("gemini", None))),
            ("timeout", Json::Number(*timeout)),
        ]);
        let mut group = vec![("hooks", Json::List(vec![handler]))];
        if OF_TOOLS.contains(event) {
            group.insert(0, ("matcher", Json::text("*")));
        }
        Entry { event, value: Json::Object(group) }
    });
    Spec { top: Vec::new(), entries: entries.collect(), nesting: Nesting::Groups }
}
