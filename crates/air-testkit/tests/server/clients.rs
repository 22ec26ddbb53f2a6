//! The providers' own clients with the server: `AIR_SDK_PYTHON` names a Python interpreter that has the
//! packages `openai`, `anthropic` and `google-genai`.

use std::process::Command;

use air_testkit::server::{ModelServer, Reply, Script, When};
use air_wire::{Answer, Dialect, Part, TokenProbability, ToolChoice};
use serde_json::{Value, json};

#[test]
fn the_clients_of_the_providers_are_understood_and_understand() {
    let Some(python) = std::env::var_os("AIR_SDK_PYTHON") else {
        eprintln!("skipped: name a Python interpreter with the clients in AIR_SDK_PYTHON");
        return;
    };
    let tokens =
        vec![TokenProbability { token: "hi".into(), log: -0.5, top: vec![("hi".into(), -0.5)] }];
    let script = Script::default()
        .key("right")
        .turn(
            Reply::answer(thoughtful())
                .and_call("look", &json!({ "path": "a" }))
                .and_call("look", &json!({ "path": "b" })),
        )
        .turn(Reply::text("Seen both."))
        .rule(When::any().schema("verdict"), Reply::json(&json!({ "harm": true })))
        .rule(When::any().last("fail"), Reply::error(400, "as scripted"))
        .otherwise(Reply::text("Grüße 🙂, and more of it").with_probabilities(tokens));
    for (dialect, stream) in crate::talk::ways() {
        let server = ModelServer::start(script.clone()).expect("a port");
        let output = Command::new(&python)
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/server/clients.py"))
            .args([
                dialect.name(),
                &server.base_url(dialect),
                if stream { "stream" } else { "once" },
            ])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .output()
            .expect("an interpreter");
        if output.status.code() == Some(3) {
            eprintln!("skipped: the client for {dialect} is not installed");
            continue;
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{dialect} {stream}: {errors}");
        let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let call = |path: &str| json!({ "name": "look", "arguments": { "path": path } });
        let expected = json!({
            "text": "Grüße 🙂, and more of it",
            "first": { "text": "Looking.", "calls": [call("a"), call("b")] },
            "second": "Seen both.",
            "verdict": { "harm": true },
            "error": 400,
            "wrong key": 401,
        });
        assert_eq!(said, expected, "{dialect} {stream}");
        check(dialect, stream, &server);
    }
}

/// What each provider wants back.
fn signed(dialect: Dialect) -> Option<Part> {
    let item = match dialect {
        Dialect::OpenAiChat => return None,
        Dialect::OpenAiResponses => json!({
            "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2ln",
        }),
        Dialect::Anthropic => json!({ "type": "thinking", "thinking": "hm", "signature": "c2ln" }),
        Dialect::Gemini => json!({ "thoughtSignature": "c2ln" }),
    };
    Some(Part::Opaque { dialect, item })
}

fn thoughtful() -> Answer {
    let mut parts: Vec<Part> = Dialect::ALL.into_iter().filter_map(signed).collect();
    parts.push(Part::Text("Looking.".into()));
    Answer { parts, ..Answer::default() }
}

/// What the server understood.
fn check(dialect: Dialect, stream: bool, server: &ModelServer) {
    let seen = server.requests();
    assert_eq!((seen.len(), server.refused()), (5, 1), "{dialect}");
    assert!(seen.iter().all(|seen| seen.request.model == "scripted"));
    assert!(seen.iter().take(4).all(|seen| seen.request.stream == stream), "{dialect}");
    let first = &seen[0].request;
    assert_eq!((first.system.as_str(), seen[0].last().as_str()), ("You judge.", "Say hi."));
    assert_eq!((seen[0].images(), first.max_output_tokens), (1, Some(100)), "{dialect}");
    let called = &seen[1].request;
    assert_eq!(called.tools[0].description, "Looks.");
    assert_eq!(
        called.tools[0].parameters.pointer("/properties/path/type"),
        Some(&json!("string")),
        "{dialect}: {}",
        seen[1].body
    );
    assert_eq!(called.tool_choice, ToolChoice::Required, "{dialect}");
    let results: Vec<(&str, &str)> = seen[2]
        .request
        .messages
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(|part| match part {
            Part::ToolResult { name, content, .. } => Some((name.as_str(), content.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(results, [("look", "inside of a"), ("look", "inside of b")], "{dialect}");
    let back = seen[2].request.messages.iter().flat_map(|message| &message.parts);
    let back = back.filter(|part| matches!(part, Part::Opaque { .. })).cloned();
    assert_eq!(back.collect::<Vec<_>>(), Vec::from_iter(signed(dialect)), "{dialect}");
    assert_eq!(seen[3].schema(), Some("verdict"), "{dialect}");
}
