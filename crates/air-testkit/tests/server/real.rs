//! The client's codecs with a real server: llama.cpp with random weights. Whatever it says must be read,
//! or be a known error.

use std::{fs, path::Path};

use air_testkit::llama::Llama;
use air_wire::{
    DecodeError, Dialect, Message, Part, Role, Schema, Stop, ToolCall, ToolChoice, decode_error,
    json_of,
};
use serde_json::json;

use crate::{
    http::{post, read},
    talk::{request, tool, ways},
};

#[test]
fn a_real_server_is_understood() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("real");
    fs::create_dir_all(&folder).expect("a folder");
    let Some(server) = Llama::start(&folder).expect("it starts") else {
        eprintln!("skipped: AIR_SDK_PYTHON names no interpreter that has `xllamacpp`");
        return;
    };
    let address = server.url();
    let mut answers = Vec::new();
    for (dialect, stream) in ways().filter(|(dialect, _)| *dialect != Dialect::Gemini) {
        for kind in ["text", "schema", "tools", "call", "results"] {
            let mut asked = request("Is it harmful?", stream);
            asked.max_output_tokens = Some(60);
            asked.seed = Some(1);
            asked.temperature = Some(0.0);
            match kind {
                "schema" => asked.output = Some(verdict()),
                "tools" => asked.tools = vec![tool("look")],
                "call" => {
                    asked.tools = vec![tool("look")];
                    asked.tool_choice = ToolChoice::Required;
                }
                "results" => {
                    asked.tools = vec![tool("look")];
                    asked.messages.extend(called());
                }
                _ if dialect == Dialect::OpenAiChat => asked.top_logprobs = Some(3),
                _ => {}
            }
            let version = if dialect == Dialect::Anthropic { "" } else { "/v1" };
            let reply = post(&format!("{address}{version}"), dialect, &asked).expect("a reply");
            let outcome = if reply.status == 200 {
                read(dialect, &asked, &reply).map(|(answer, _)| answer)
            } else {
                let message = decode_error(dialect, reply.status, &reply.body());
                Err(DecodeError::Reported { status: Some(reply.status), message })
            };
            let Ok(answer) = outcome else {
                assert!(
                    matches!(outcome, Err(DecodeError::Reported { .. })),
                    "{dialect}: {outcome:?}"
                );
                continue;
            };
            assert!(answer.usage.output > 0, "{dialect} {stream} {kind}: {answer:?}");
            assert_eq!(answer.probabilities.is_empty(), asked.top_logprobs.is_none(), "{dialect}");
            // llama.cpp knows the schema in this dialect alone, and calls answers of Responses complete
            // that are cut off.
            let held = dialect == Dialect::OpenAiChat && answer.stop == Stop::End;
            let json = json_of(&answer.text());
            assert!(kind != "schema" || !held || json.is_ok(), "{dialect} {stream}: {json:?}");
            answers.push((dialect, stream));
        }
    }
    assert!(answers.contains(&(Dialect::OpenAiChat, true)));
    assert!(answers.contains(&(Dialect::OpenAiChat, false)));
}

/// Two calls, one with arguments that were cut off, and their results.
fn called() -> [Message; 2] {
    let call = |id: &str, arguments: &str| {
        let (id, arguments) = (id.to_owned(), arguments.to_owned());
        Part::ToolCall(ToolCall { id, name: "look".into(), arguments })
    };
    let result = |call: &str| Part::ToolResult {
        call: call.into(),
        name: "look".into(),
        content: "nothing".into(),
        is_error: false,
    };
    let calls = vec![call("a", r#"{"path":"x"}"#), call("b", r#"{"path": "/et"#)];
    [
        Message { role: Role::Assistant, parts: calls },
        Message { role: Role::User, parts: vec![result("a"), result("b")] },
    ]
}

fn verdict() -> Schema {
    let schema = json!({
        "type": "object",
        "properties": { "harm": { "type": "boolean" } },
        "required": ["harm"],
        "additionalProperties": false,
    });
    Schema { name: "verdict".into(), schema }
}
