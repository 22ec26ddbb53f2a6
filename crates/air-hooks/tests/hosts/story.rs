//! One story in the payloads of every host comes to the same events.

use air_hooks::{Native, Via, adapters};
use air_protocol::{Event, InputFrom, ToolResult};
use serde_json::{Map, Value, json};

use crate::native::{object, story, word};

#[test]
fn all_hosts_tell_the_same_story() {
    let expected = story("story");
    for adapter in adapters() {
        let host = adapter.host();
        let told = story(host);
        assert_eq!(told.len(), expected.len(), "{host}");
        let mut ids = Vec::new();
        let mut background = Map::new();
        for (step, line) in expected.iter().zip(&told) {
            assert_eq!(step["step"], line["step"], "{host}");
            if line["lacks"].is_string() {
                continue;
            }
            let payload = line["payload"].to_string();
            let native = Native {
                payload: payload.as_bytes(),
                event: line["event"].as_str(),
                via: Via::Command,
                version: None,
            };
            let event = adapter.decode(&native).unwrap_or_else(|error| panic!("{step}: {error}"));
            let again = adapter.decode(&native).expect("as before");
            assert_eq!(event, again, "{host}: the same payload, the same event");
            assert!(event.id.is_empty() || !ids.contains(&event.id), "{host}: {step}");
            ids.push(event.id.clone());
            assert_eq!(
                event.session.parent.as_deref().unwrap_or(&event.session.id),
                "s1",
                "{host}: {step}"
            );
            if !matches!(word(event.point).as_str(), "background_end" | "session_end") {
                assert_eq!(event.cwd, "/home/dev/proj", "{host}: {step}");
            }
            assert_eq!(
                told_by(&event, step, line, &mut background),
                plain(step, line),
                "{host}: {step}"
            );
        }
    }
}

/// `event` in the terms of the story, as far as `step` says anything of it.
fn told_by(
    event: &Event,
    step: &Value,
    line: &Value,
    background: &mut Map<String, Value>,
) -> Value {
    let mut out = json!({"point": word(event.point)});
    out["who"] = json!(if event.session.agent_id.is_some() { "sub" } else { "main" });
    if let Some(input) = event.input.as_ref().filter(|_| step["input"].is_object()) {
        let from = if input.from == InputFrom::User { "user" } else { "host" };
        out["input"] = json!({"text": input.text, "from": from});
    }
    if let Some(tool) = &event.tool {
        let asked = |name: &String| step["tool"]["args"].get(name).is_some();
        let args = tool.args.iter().filter(|(name, _)| asked(name));
        let args: Map<_, _> = args.map(|(name, value)| (name.clone(), value.clone())).collect();
        out["tool"] = json!({"name": tool.name, "args": args});
    }
    if let Some(result) = &event.result {
        out["result"] = result_told(result, step, line, background);
    }
    if let Some(idle) = &event.idle {
        assert_eq!(idle.background, Vec::<String>::new());
        out["idle"] = json!({"continued": idle.continued});
    }
    out
}

fn result_told(
    result: &ToolResult,
    step: &Value,
    line: &Value,
    background: &mut Map<String, Value>,
) -> Value {
    let contains = step["result"]["contains"].as_str().expect("a part");
    assert!(result.text.contains(contains), "{step}: {}", result.text);
    let mut out = json!({"status": result.status, "contains": contains});
    if let Some(code) = result.exit_code.filter(|_| step["result"]["exit_code"].is_number()) {
        out["exit_code"] = json!(code);
    }
    if let Some(id) = &result.background_id {
        // Whatever the host calls it, it is the same from its start to its end.
        assert_eq!(*background.entry("b1").or_insert(json!(id)), json!(id), "{step}");
        out["background_id"] = json!("b1");
    }
    for part in line["untold"].as_array().into_iter().flatten() {
        let part = part.as_str().expect("a part");
        let unknown = part == "exit_code" || out["status"] == "unknown";
        assert!(unknown && out.get("exit_code").is_none(), "it is told after all: {step}");
    }
    without_untold(&out, line)
}

fn plain(step: &Value, line: &Value) -> Value {
    let mut plain = step.clone();
    plain.as_object_mut().expect("an object").remove("step");
    if plain["result"].is_object() {
        plain["result"] = without_untold(&plain["result"].take(), line);
    } else {
        plain.as_object_mut().expect("an object").remove("result");
    }
    plain
}

fn without_untold(result: &Value, line: &Value) -> Value {
    let mut result = object(result);
    for part in line["untold"].as_array().into_iter().flatten() {
        result.remove(part.as_str().expect("a part"));
    }
    Value::Object(result)
}
