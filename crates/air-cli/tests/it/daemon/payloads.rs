//! What hosts hand over that is not as it should be.

use serde_json::{Value, json};

use super::{Stage, passed, said};

/// What comes of it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Comes {
    /// Nobody is kept from anything.
    Through,
    /// The call does not run, and it is said why.
    Refused(&'static str),
}
use Comes::{Refused, Through};

#[test]
fn what_cannot_be_read_is_refused_and_what_is_not_needed_is_ignored() {
    let stage = Stage::started();
    let pre = stage.payload("PreToolUse", "c", "ls");
    let with = |name: &str, value: Value| {
        let mut payload = stage.payload("PreToolUse", &format!("{name} {value}"), "ls");
        match value {
            Value::Null => drop(payload.as_object_mut().expect("an object").remove(name)),
            value => payload[name] = value,
        }
        payload.to_string().into_bytes()
    };
    let mut invalid = with("extra", json!("@@"));
    let at = invalid.iter().position(|byte| *byte == b'@').expect("a mark");
    invalid[at] = 0xff;
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep = pre.to_string().replace("\"Bash\"", &format!("\"Bash\",\"deep\":{deep}"));
    let cases: Vec<(&str, Vec<u8>, Comes)> = vec![
        ("as it should be", pre.to_string().into_bytes(), Through),
        ("nothing", Vec::new(), Refused("AIR")),
        ("no JSON", b"PreToolUse".to_vec(), Refused("AIR")),
        ("half of it", pre.to_string().into_bytes()[..40].to_vec(), Refused("AIR")),
        ("a list", b"[]".to_vec(), Refused("AIR")),
        ("invalid UTF-8", invalid, Through),
        ("too deep", deep.into_bytes(), Refused("AIR")),
        ("an unknown event", with("hook_event_name", json!("Later")), Through),
        ("no event", with("hook_event_name", Value::Null), Refused("AIR")),
        ("fields that nobody knows", with("new_field", json!({"a": [1, 2]})), Through),
        ("another version", with("version", json!("99.0")), Through),
        ("no tool", with("tool_name", Value::Null), Refused("which tool")),
        ("no session", with("session_id", Value::Null), Refused("which session")),
        ("no directory", with("cwd", Value::Null), Refused("where the call runs")),
        ("a relative directory", with("cwd", json!("../..")), Refused("where the call runs")),
        ("a directory that is gone", with("cwd", json!("/nonexistent/project")), Through),
        ("numbers for texts", with("tool_use_id", json!(7)), Through),
        ("no arguments", with("tool_input", Value::Null), Through),
        ("a NUL", with("tool_input", json!({"command": "ls \u{0}"})), Through),
    ];
    for (name, payload, comes) in cases {
        let output = stage.shim(&[], &payload);
        match comes {
            Through => assert!(passed(&output), "{name}: {}", said(&output)),
            Refused(why) => {
                assert!(!passed(&output), "{name}: {}", said(&output));
                assert!(said(&output).contains(why), "{name}: {}", said(&output));
            }
        }
    }
    stage.is_well("afterwards");
}

#[test]
fn questions_of_another_protocol_are_refused() {
    let stage = Stage::started();
    let with = |name: &str, value: Value| {
        let mut event = stage.event("pre_tool_call", name, "ls");
        match value {
            Value::Null => drop(event.as_object_mut().expect("an object").remove(name)),
            value => event[name] = value,
        }
        event.to_string()
    };
    for (name, value, status) in [
        ("v", json!(2), 200),
        ("v", json!(0), 200),
        ("v", Value::Null, 400),
        ("v", json!("1"), 400),
        ("point", json!("later"), 400),
        ("point", Value::Null, 400),
        ("session", Value::Null, 400),
        ("session", json!({"id": ""}), 200),
        ("host", json!({"name": "", "adapter": "sdk"}), 200),
        ("tool", Value::Null, 200),
        ("cwd", json!("here"), 200),
    ] {
        let (got, body) = stage.post("/v1/event", with(name, value.clone()).as_bytes());
        assert_eq!(got, status, "{name} {value}: {body}");
        let answer: Value = serde_json::from_str(&body).unwrap_or_default();
        assert_ne!(answer["decision"], "allow", "{name} {value}: {body}");
    }
    let more = with("something_new", json!([1, {"a": null}]));
    assert_eq!(stage.post("/v1/event", more.as_bytes()).0, 200);
    assert_eq!(stage.post("/v1/native/nobody", b"{}").0, 404);
    stage.is_well("afterwards");
}

#[test]
fn fifty_megabytes_that_a_tool_said_are_read() {
    let stage = Stage::started();
    let pre = stage.payload("PreToolUse", "c", "cat big").to_string();
    assert!(passed(&stage.shim(&[], pre.as_bytes())));
    let mut post = stage.payload("PostToolUse", "c", "cat big");
    post["tool_response"] = json!({"stdout": "x\u{e9}\n".repeat(50 << 18), "stderr": ""});
    let post = post.to_string();
    assert!(post.len() > 50_000_000, "{}", post.len());
    let output = stage.shim(&[], post.as_bytes());
    assert!(passed(&output), "{}", said(&output));
    assert_eq!(stage.steps(), (1, 1));
    stage.is_well("afterwards");
}
