//! What is published and what was released.
#![expect(clippy::disallowed_methods, reason = "tests read fixtures and schemas")]

use std::{fs, path::Path};

use schemars::schema_for;
use serde_json::{Value, json};

use crate::{Answer, Event, VERSION};

/// `AIR_WRITE_SCHEMAS=1` writes them anew.
#[test]
fn the_published_schemas_are_those_of_the_types() {
    let published = [
        ("event", serde_json::to_value(schema_for!(Event)).unwrap()),
        ("answer", serde_json::to_value(schema_for!(Answer)).unwrap()),
    ];
    let schemas = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas"));
    for (name, mut schema) in published {
        schema["$id"] = json!(format!("urn:air-hook:{VERSION}:{name}"));
        let path = schemas.join(format!("air-hook-{VERSION}.{name}.json"));
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("AIR_WRITE_SCHEMAS").is_some() {
            fs::create_dir_all(schemas).unwrap();
            fs::write(&path, &text).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        let mend = "`AIR_WRITE_SCHEMAS=1 cargo test -p air-protocol`";
        assert_eq!(written, text, "{}: {mend}", path.display());
    }
}

/// What version 1 wrote is read for ever, and means the same.
#[test]
fn questions_and_answers_of_every_released_version_are_read() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let read = |name: &str| fs::read_to_string(fixtures.join(name)).unwrap();
    let (events, answers) = (read("v1.events.jsonl"), read("v1.answers.jsonl"));
    for line in events.lines() {
        let before: Value = serde_json::from_str(line).unwrap();
        let event: Event = serde_json::from_value(before.clone()).unwrap();
        assert_eq!(event.v, 1);
        assert_eq!(serde_json::to_value(&event).unwrap(), before, "nothing is lost or added");
    }
    for line in answers.lines() {
        let before: Value = serde_json::from_str(line).unwrap();
        let answer: Answer = serde_json::from_value(before.clone()).unwrap();
        assert_eq!(serde_json::to_value(&answer).unwrap(), before, "nothing is lost or added");
    }
    assert!(events.lines().count() >= 11 && answers.lines().count() >= 5);
}

/// A later minor version may say more.
#[test]
fn what_is_not_known_is_passed_over() {
    let event: Event = serde_json::from_value(json!({
        "v": 1, "id": "e1", "point": "pre_tool_call", "news": { "a": [1] },
        "host": { "name": "h", "adapter": "sdk", "caps": ["deny", "levitate"] },
        "session": { "id": "s1", "mood": "good" }, "cwd": "/w",
        "tool": { "name": "shell.exec", "native": "Bash", "args": { "command": "ls" }, "colour": 3 },
    }))
    .unwrap();
    assert_eq!(event.host.caps, [crate::Capability::Deny, crate::Capability::Unknown]);
    let missing =
        json!({ "v": 1, "id": "e1", "point": "idle", "host": { "name": "h" }, "cwd": "/" });
    assert!(serde_json::from_value::<Event>(missing).is_err(), "what is needed is asked for");
}
