//! Whatever a host sends: nothing panics, and nothing grows.

use std::sync::LazyLock;

use air_hooks::{Adapter, DecodeError, Native, Via, adapters};
use air_protocol::Answer;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{captured, native};

fn tried(adapter: &Adapter, event: Option<&str>, payload: &[u8]) {
    let native = Native { payload, event, via: Via::Command, version: Some("9.9") };
    if let Ok(asked) = adapter.decode(&native) {
        for answer in [Answer::allow("1"), Answer::deny("1", "no")] {
            let reply = adapter.encode(&asked, &answer);
            assert!(
                reply.stdout.is_empty() || serde_json::from_str::<Value>(&reply.stdout).is_ok()
            );
        }
    }
    let reply = adapter.refuse(&native, "no");
    assert!(reply.stdout.is_empty() || serde_json::from_str::<Value>(&reply.stdout).is_ok());
}

/// Every payload that is known, with its host and event.
static KNOWN: LazyLock<Vec<(String, Option<String>, Value)>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for adapter in adapters() {
        for (event, payload) in native::payloads(adapter.host()) {
            all.push((adapter.host().to_owned(), event.map(str::to_owned), payload));
        }
    }
    for (_, payloads) in captured::all() {
        for it in payloads {
            let payload = serde_json::from_slice(&it.payload).unwrap_or_default();
            all.push((it.host.to_owned(), it.event, payload));
        }
    }
    all
});

fn odd() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(json!("*** Add File: x\n--- a\n+++ b\n<a exit code 9>")),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-z_]{1,6}", inner, 0..4)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

/// Puts `new` in the place of the value at step `at` of a walk, or takes it away.
fn changed(value: &mut Value, at: &mut usize, new: Option<&Value>) {
    let swap = |inner: &mut Value, at: &mut usize| {
        if *at == 0 {
            *inner = new.cloned().unwrap_or(Value::Null);
        } else {
            changed(inner, at, new);
        }
        *at = at.wrapping_sub(1);
    };
    match value {
        Value::Object(fields) => fields.values_mut().for_each(|inner| swap(inner, at)),
        Value::Array(items) => items.iter_mut().for_each(|inner| swap(inner, at)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn changed_payloads_are_borne(
        which in any::<prop::sample::Index>(),
        places in prop::collection::vec((0_usize..40, prop::option::of(odd())), 1..4),
    ) {
        let (host, event, mut payload) = which.get(&KNOWN).clone();
        for (at, new) in &places {
            changed(&mut payload, &mut at.clone(), new.as_ref());
        }
        let text = payload.to_string();
        for adapter in adapters() {
            let event = event.as_deref().filter(|_| adapter.host() == host);
            tried(adapter, event, text.as_bytes());
        }
    }

    #[test]
    fn damaged_bytes_are_borne(
        which in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let (host, event, payload) = which.get(&KNOWN).clone();
        let mut bytes = payload.to_string().into_bytes();
        if let Some(place) = bytes.get_mut(at.index(payload.to_string().len())) {
            *place = byte;
        }
        for adapter in adapters().filter(|adapter| adapter.host() == host) {
            tried(adapter, event.as_deref(), &bytes);
            bytes.truncate(cut.index(bytes.len()));
            tried(adapter, event.as_deref(), &bytes);
        }
    }
}

#[test]
fn a_long_result_is_cut_and_says_so() {
    // The first as long as results get, the others long enough.
    let lengths = [50 << 20, 3 << 20, 3 << 20, 3 << 20, 3 << 20, 3 << 20];
    let [claude, codex, gemini, copilot, opencode, cursor] =
        lengths.map(|length| "é".repeat(length / 2));
    let payloads = [
        (
            "claude-code",
            None,
            json!({"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Bash",
            "tool_input": {"command": "cat x"}, "tool_response": {"stdout": claude, "stderr": ""}}),
        ),
        (
            "codex",
            None,
            json!({"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Bash", "tool_response": codex}),
        ),
        (
            "gemini",
            None,
            json!({"hook_event_name": "AfterTool", "session_id": "s", "tool_name": "run_shell_command",
            "tool_response": {"llmContent": gemini}}),
        ),
        (
            "copilot",
            Some("postToolUse"),
            json!({"sessionId": "s", "toolName": "bash", "toolResult": {"textResultForLlm": copilot}}),
        ),
        (
            "opencode",
            None,
            json!({"hook": "tool.execute.after", "input": {"tool": "bash", "sessionID": "s"}, "output": {"output": opencode}}),
        ),
        (
            "cursor",
            None,
            json!({"hook_event_name": "postToolUse", "conversation_id": "s", "tool_name": "Shell", "tool_output": cursor}),
        ),
    ];
    for ((host, event, payload), length) in payloads.into_iter().zip(lengths) {
        let adapter = air_hooks::adapter(host).expect("known");
        let bytes = payload.to_string().into_bytes();
        let native = Native { payload: &bytes, event, via: Via::Command, version: None };
        let asked = adapter.decode(&native).expect("decodes");
        let result = asked.result.as_ref().expect("a result");
        assert_eq!(result.text.len(), 1 << 20, "{host}");
        assert_eq!(
            usize::try_from(result.omitted).expect("small") + result.text.len(),
            length,
            "{host}"
        );
        assert!(serde_json::to_string(&asked).expect("JSON").len() < 4 << 20, "{host}");
        let reply = adapter.encode(&asked, &Answer::deny("1", "not this"));
        assert!(reply.stdout.contains("not this"), "{host}");
    }
}

#[test]
fn what_is_no_text_and_what_is_too_deep() {
    for adapter in adapters() {
        let (event, payload) = native::payloads(adapter.host()).remove(1);
        let mut bytes = payload.to_string().replace("do it", "d\u{1}o it").into_bytes();
        for byte in &mut bytes {
            if *byte == 1 {
                *byte = 0xff;
            }
        }
        let native = Native { payload: &bytes, event, via: Via::Command, version: None };
        let asked = adapter.decode(&native).expect("decodes");
        assert_eq!(asked.input.expect("words").text, "d\u{fffd}o it", "{}", adapter.host());

        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        let deep = format!("{{\"hook_event_name\": \"PreToolUse\", \"tool_input\": {deep}}}");
        let native = Native { payload: deep.as_bytes(), ..native };
        assert!(matches!(adapter.decode(&native), Err(DecodeError::Malformed { .. })));
        assert_ne!(adapter.refuse(&native, "no"), air_hooks::Reply::default());

        let long = "x".repeat(1 << 16);
        let unknown = json!({"hook_event_name": long, "hook": long}).to_string();
        let native = Native { payload: unknown.as_bytes(), event: None, ..native };
        match adapter.decode(&native) {
            Err(DecodeError::UnknownEvent { event, .. }) => assert!(event.len() <= 64),
            other => panic!("{other:?}"),
        }
    }
}
