//! Claude Code: `hooks` in `settings.json`, groups of handlers by event. Timeouts in seconds.

use crate::Away;

use super::{Entry, Link, Nesting, Spec, json::Json};

/// Every event on which AIR decides or looks again, and the seconds it has for that.
const EVENTS: [(&str, u32); 10] = [
    ("SessionStart", 15),
    ("SessionEnd", 5),
    ("UserPromptSubmit", 60),
    ("PreToolUse", 600),
    ("PermissionRequest", 600),
    ("PostToolUse", 60),
    ("PostToolUseFailure", 60),
    ("SubagentStart", 15),
    ("SubagentStop", 60),
    ("Stop", 60),
];
/// Events that are about a tool, which a matcher can name.
const OF_TOOLS: [&str; 4] =
    ["PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure"];
/// HTTP hooks never come for these.
const COMMAND_ONLY: [&str; 2] = ["SessionStart", "SessionEnd"];

/// What the host does where nobody answers over HTTP; without it the call runs.
pub(super) const ON_FAILURE: &str = "onFailure";
/// It does not run.
pub(super) const BLOCK: &str = "block";

pub(super) fn spec(link: &Link<'_>) -> Spec {
    let entries = EVENTS.iter().map(|(event, timeout)| {
        let handler = match link {
            Link::Http { url, away, .. } if !COMMAND_ONLY.contains(event) => {
                http(url, *timeout, *away)
            }
            _ => Json::Object(vec![
                ("type", Json::text("command")),
                ("command", Json::Text(link.command("claude-code", None))),
                ("timeout", Json::Number(*timeout)),
            ]),
        };
        let mut group = vec![("hooks", Json::List(vec![handler]))];
        if OF_TOOLS.contains(event) {
            group.insert(0, ("matcher", Json::text("*")));
        }
        Entry { event, value: Json::Object(group) }
    });
    Spec { top: Vec::new(), entries: entries.collect(), nesting: Nesting::Groups }
}

/// The token is never in the file: the host takes it from its environment.
fn http(url: &str, timeout: u32, away: Away) -> Json {
    let mut handler = vec![
        ("type", Json::text("http")),
        ("url", Json::text(url)),
        ("headers", Json::Object(vec![("Authorization", Json::text("Bearer $AIR_TOKEN"))])),
        ("allowedEnvVars", Json::List(vec![Json::text("AIR_TOKEN")])),
        ("timeout", Json::Number(timeout)),
    ];
    if away != Away::Open {
        handler.push((ON_FAILURE, Json::text(BLOCK)));
    }
    Json::Object(handler)
}
