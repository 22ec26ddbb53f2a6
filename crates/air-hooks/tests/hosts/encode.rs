//! Answers as each host takes them.

use std::fmt::Write as _;

use air_hooks::{Away, Native, Via, adapter, adapters};
use air_protocol::{
    Answer, Decision, Directive, DirectiveKind, Target, Transform, TypedCall, tool,
};
use serde_json::{Value, json};

use crate::native::{self, decoded, object, word};

pub(crate) fn answers() -> Vec<(&'static str, Answer)> {
    let said = |decision: Decision, kind: DirectiveKind, reason: Option<&str>| Answer {
        decision,
        reason: reason.map(str::to_owned),
        directive: Directive { kind, ..Directive::default() },
        ..Answer::allow("1")
    };
    let to = |target: Target, value: Value| Answer {
        decision: Decision::Transform,
        transform: Some(Transform { target, value }),
        ..Answer::allow("1")
    };
    let none = DirectiveKind::None;
    let rm = json!({"command": "rm ./passwd_copy"});
    let call = TypedCall { name: tool::SHELL.to_owned(), args: object(&rm) };
    vec![
        ("allow", Answer::allow("1")),
        ("allow, with a word", said(Decision::Allow, none, Some("mind the rules"))),
        ("deny", said(Decision::Deny, none, Some("not this"))),
        (
            "deny, told",
            Answer {
                user_message: Some("AIR refused a call".to_owned()),
                ..Answer::deny("1", "not this")
            },
        ),
        ("deny, unexplained", said(Decision::Deny, none, None)),
        ("ask", said(Decision::Ask, none, Some("a person decides"))),
        ("args", to(Target::Args, json!({"command": "ls"}))),
        ("args that are none", to(Target::Args, json!("ls"))),
        ("result", to(Target::Result, json!("[withheld]"))),
        ("remediate", said(Decision::Deny, DirectiveKind::Remediate, Some("delete ./passwd_copy"))),
        ("terminate", said(Decision::Deny, DirectiveKind::Terminate, Some("the task has ended"))),
        (
            "own call",
            Answer {
                directive: Directive {
                    kind: DirectiveKind::Remediate,
                    tool_calls: vec![call],
                    ..Directive::default()
                },
                ..Answer::deny("1", "delete ./passwd_copy")
            },
        ),
    ]
}

#[test]
fn every_answer_at_every_point_of_every_host() {
    for adapter in adapters() {
        let mut lines = String::new();
        for (event, payload) in native::payloads(adapter.host()) {
            let asked = decoded(adapter, event, &payload);
            writeln!(lines, "{} ({})", native::name(event, &payload), word(asked.point))
                .expect("text");
            for (name, answer) in answers() {
                let reply = adapter.encode(&asked, &answer);
                if !reply.stdout.is_empty() {
                    let value: Value = serde_json::from_str(&reply.stdout).expect("JSON");
                    assert!(value.is_object(), "{}", reply.stdout);
                }
                writeln!(lines, "  {name}: {}", shown(&reply)).expect("text");
            }
        }
        insta::assert_snapshot!(format!("{}_answers", adapter.host()), lines);
    }
}

#[test]
fn every_refusal_where_nobody_can_be_asked() {
    for adapter in adapters() {
        let mut lines = String::new();
        let mut all: Vec<_> = native::payloads(adapter.host());
        all.push((None, json!({})));
        for (event, payload) in all {
            let text = payload.to_string();
            for via in [Via::Command, Via::Http] {
                let native = Native { payload: text.as_bytes(), event, via, version: None };
                let reply = adapter.refuse(&native, "AIR is away");
                writeln!(lines, "{} {via:?}: {}", native::name(event, &payload), shown(&reply))
                    .expect("text");
            }
        }
        let cut = Native { payload: b"{\"a\": [1,", event: None, via: Via::Command, version: None };
        writeln!(lines, "cut off: {}", shown(&adapter.refuse(&cut, "AIR is away"))).expect("text");
        insta::assert_snapshot!(format!("{}_refusals", adapter.host()), lines);
    }
}

fn shown(reply: &air_hooks::Reply) -> String {
    let mut parts = Vec::new();
    if reply.exit != 0 {
        parts.push(format!("exit {}", reply.exit));
    }
    if !reply.stdout.is_empty() {
        parts.push(reply.stdout.clone());
    }
    if !reply.stderr.is_empty() {
        parts.push(format!("stderr {:?}", reply.stderr));
    }
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(" ") }
}

/// What Codex admits at an event, by the schemas that it has within it.
const CODEX: [(&str, &[&str], &[&str]); 6] = [
    (
        "UserPromptSubmit",
        &["decision", "reason", "systemMessage", "hookSpecificOutput"],
        &["additionalContext"],
    ),
    (
        "PreToolUse",
        &["hookSpecificOutput"],
        &["permissionDecision", "permissionDecisionReason", "updatedInput"],
    ),
    (
        "PostToolUse",
        &["decision", "reason", "systemMessage", "hookSpecificOutput"],
        &["additionalContext"],
    ),
    ("PermissionRequest", &["systemMessage", "hookSpecificOutput"], &["decision"]),
    ("Stop", &["continue", "stopReason", "decision", "reason", "systemMessage"], &[]),
    ("SubagentStop", &["continue", "stopReason", "decision", "reason", "systemMessage"], &[]),
];

#[test]
fn codex_is_told_nothing_that_it_rejects() {
    let codex = adapter("codex").expect("known");
    for (event, payload) in native::payloads("codex") {
        let asked = decoded(codex, event, &payload);
        let name = payload["hook_event_name"].as_str().expect("a name");
        for (_, answer) in answers() {
            let reply = codex.encode(&asked, &answer);
            assert!(answer != Answer::allow("1") || reply.stdout.is_empty(), "leave is silence");
            if reply.stdout.is_empty() {
                continue;
            }
            let (_, outer, inner) = CODEX
                .iter()
                .find(|(event, ..)| *event == name)
                .expect("an event that takes answers");
            let said = object(&serde_json::from_str(&reply.stdout).expect("JSON"));
            assert!(said.keys().all(|key| outer.contains(&key.as_str())), "{name}: {said:?}");
            if let Some(own) = said.get("hookSpecificOutput") {
                let own = object(own);
                assert_eq!(own["hookEventName"], name);
                let admitted =
                    |key: &String| key == "hookEventName" || inner.contains(&key.as_str());
                assert!(own.keys().all(admitted), "{name}: {own:?}");
                let decided = own.get("permissionDecision").and_then(Value::as_str);
                assert!(decided != Some("ask"), "{own:?}");
                assert!(decided != Some("allow") || own.contains_key("updatedInput"), "{own:?}");
            }
            let blocks = said.get("decision").is_some_and(|decision| decision == "block");
            let reason = said.get("reason").and_then(Value::as_str).unwrap_or_default();
            assert!(!blocks || !reason.trim().is_empty(), "a reason has to be given");
        }
    }
}

/// What each host's tool gets for canonical arguments.
#[test]
fn arguments_are_given_back_under_native_names() {
    let table = [
        (
            "claude-code",
            "Write",
            json!({"file_path": "a", "content": "x"}),
            json!({"content": "y"}),
            Some(json!({"file_path": "a", "content": "y"})),
        ),
        (
            "claude-code",
            "MultiEdit",
            json!({"file_path": "a", "edits": [{"old_string": "1", "new_string": "2"}]}),
            json!({"edits": [{"old": "1", "new": "3"}]}),
            Some(json!({"file_path": "a", "edits": [{"old_string": "1", "new_string": "3"}]})),
        ),
        (
            "claude-code",
            "MultiEdit",
            json!({"file_path": "a", "edits": [{"old_string": "1", "new_string": "2"}]}),
            json!({"new": "3"}),
            None,
        ),
        (
            "claude-code",
            "mcp__fs__write_file",
            json!({"path": "a", "n": 1}),
            json!({"path": "b"}),
            Some(json!({"path": "b", "n": 1})),
        ),
        (
            "codex",
            "shell",
            json!({"command": ["bash", "-lc", "rm x"], "workdir": "w"}),
            json!({"command": "ls"}),
            Some(json!({"command": ["bash", "-lc", "ls"], "workdir": "w"})),
        ),
        (
            "codex",
            "apply_patch",
            json!({"command": "*** Add File: a\n"}),
            json!({"paths": ["b"]}),
            None,
        ),
        (
            "gemini",
            "replace",
            json!({"file_path": "a", "old_string": "1", "new_string": "2"}),
            json!({"new": "3"}),
            Some(json!({"file_path": "a", "old_string": "1", "new_string": "3"})),
        ),
        (
            "gemini",
            "web_fetch",
            json!({"prompt": "read https://a.example/x now"}),
            json!({"url": "https://b.example"}),
            None,
        ),
        (
            "copilot",
            "create",
            json!({"path": "a", "file_text": "x"}),
            json!({"content": "y"}),
            Some(json!({"path": "a", "file_text": "y"})),
        ),
        (
            "opencode",
            "edit",
            json!({"filePath": "a", "oldString": "1", "newString": "2"}),
            json!({"old": "0", "new": "3"}),
            Some(json!({"filePath": "a", "oldString": "0", "newString": "3"})),
        ),
        (
            "cursor",
            "StrReplace",
            json!({"path": "a", "old_string": "1", "new_string": "2"}),
            json!({"path": "b"}),
            Some(json!({"path": "b", "old_string": "1", "new_string": "2"})),
        ),
    ];
    for (host, tool, given, wanted, expected) in table {
        let host = adapter(host).expect("known");
        let (event, payload) = native::call(host.host(), tool, &given);
        let asked = decoded(host, event, &payload);
        let answer = Answer {
            decision: Decision::Transform,
            transform: Some(Transform { target: Target::Args, value: wanted }),
            ..Answer::allow("1")
        };
        let reply = host.encode(&asked, &answer);
        let said: Value = serde_json::from_str(&reply.stdout).expect("JSON");
        let places = [
            "/hookSpecificOutput/updatedInput",
            "/hookSpecificOutput/tool_input",
            "/modifiedArgs",
            "/args",
            "/updated_input",
        ];
        let found = places.iter().find_map(|place| said.pointer(place)).cloned();
        assert_eq!(found, expected, "{} {tool}: {said}", host.host());
    }
}

#[test]
fn the_plugin_is_filled_in() {
    for away in Away::ALL {
        let text = air_hooks::opencode_plugin("/home/x/\"air\"", "/opt/air/air-hook", away);
        assert!(text.contains(r#"const STATE = "/home/x/\"air\"""#), "{text}");
        assert!(text.contains(r#"const PROGRAM = "/opt/air/air-hook""#), "{text}");
        assert!(!text.contains("{{"));
        assert_eq!(air_hooks::opencode_away(&text), Some(away));
    }
    assert_eq!(air_hooks::opencode_away("const AWAY = \"sometimes\""), None);
}
