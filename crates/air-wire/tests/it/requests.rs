use air_wire::{
    Dialect, Message, Part, Request, Role, Schema, Tool, ToolCall, ToolChoice, authorization,
    decode_error, decode_request, dialect_of, encode_error, encode_request,
};
use serde_json::json;

fn look() -> Tool {
    Tool {
        name: "look".into(),
        description: "Looks at a file.".into(),
        parameters: json!({ "type": "object", "properties": { "path": { "type": "string" } } }),
    }
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

fn call(id: &str) -> Part {
    let arguments = r#"{"path":"/etc/passwd"}"#.to_owned();
    Part::ToolCall(ToolCall { id: id.into(), name: "look".into(), arguments })
}

fn result(id: &str, is_error: bool) -> Part {
    let content = "root:x:0:0".to_owned();
    Part::ToolResult { call: id.into(), name: "look".into(), content, is_error }
}

fn asked() -> Request {
    let image =
        Part::Image { media_type: "image/png".into(), data: b"\x89PNG\xff\xfe".as_slice().into() };
    Request {
        model: "m-1".into(),
        system: "You judge.".into(),
        messages: vec![
            Message { role: Role::User, parts: vec![Part::Text("What is this?".into()), image] },
            Message {
                role: Role::Assistant,
                parts: vec![Part::Text("Looking.".into()), call("c1"), call("c2")],
            },
            Message {
                role: Role::User,
                parts: vec![Part::Text("Well?".into()), result("c1", false)],
            },
            Message { role: Role::User, parts: vec![result("c2", true)] },
        ],
        tools: vec![look()],
        tool_choice: ToolChoice::Named("look".into()),
        output: Some(verdict()),
        max_output_tokens: Some(100),
        temperature: Some(0.5),
        seed: Some(7),
        top_logprobs: Some(3),
        stream: true,
    }
}

#[test]
fn requests_in_all_dialects() {
    for dialect in Dialect::ALL {
        let encoded = encode_request(dialect, &asked());
        let shown = json!({
            "path": encoded.path, "headers": encoded.headers, "body": encoded.body,
        });
        insta::assert_json_snapshot!(dialect.name(), shown);
    }
}

#[test]
fn the_smallest_request_in_all_dialects() {
    let request =
        Request { model: "m-1".into(), messages: vec![Message::user("hi")], ..Request::default() };
    let all = Dialect::ALL.map(|dialect| encode_request(dialect, &request).body.to_string());
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn the_limit_and_the_reasoning_are_asked_for_as_the_model_takes_them() {
    #[rustfmt::skip]
    let table = [
        // model            own limit  reasoning
        ("gpt-5-mini",       true,  true),
        ("openai/gpt-5",     true,  true),
        ("o3",               true,  true),
        ("gpt-4o",           true,  false),
        ("gpt-oss:20b",      false, false),
        ("openai/gpt-oss-20b", false, false),
        ("llama3.2",         false, false),
        ("olmo-2",           false, false),
    ];
    for (model, own, reasons) in table {
        let request =
            Request { model: model.into(), max_output_tokens: Some(9), ..Request::default() };
        let chat = encode_request(Dialect::OpenAiChat, &request).body;
        assert_eq!(chat.get("max_completion_tokens").is_some(), own, "{model}");
        assert_eq!(chat.get("max_tokens").is_some(), !own, "{model}");
        let responses = encode_request(Dialect::OpenAiResponses, &request).body;
        assert_eq!(responses.get("include").is_some(), reasons, "{model}");
    }
}

#[test]
fn a_schema_beside_tools_is_left_out_where_the_model_refuses_it() {
    for (model, both) in [("gemini-2.5-flash", false), ("gemini-3-pro", true)] {
        let mut request =
            Request { model: model.into(), output: Some(verdict()), ..Request::default() };
        let schema = "/generationConfig/responseJsonSchema/title";
        let alone = encode_request(Dialect::Gemini, &request).body;
        assert_eq!(alone.pointer(schema), Some(&json!("verdict")), "{model}");
        request.tools = vec![look()];
        let beside = encode_request(Dialect::Gemini, &request).body;
        assert_eq!(beside.pointer(schema).is_some(), both, "{model}");
    }
}

#[test]
fn a_model_is_one_segment_of_a_path() {
    for model in ["models/gemini-3-pro", "../../x?key=1#é"] {
        let request = Request { model: model.into(), ..Request::default() };
        let path = encode_request(Dialect::Gemini, &request).path;
        assert_eq!(path.matches('/').count(), 3, "{path}");
        assert!(!path.contains(['?', '#']), "{path}");
        assert_eq!(dialect_of(&path), Some(Dialect::Gemini));
        let read = decode_request(Dialect::Gemini, &path, &json!({ "contents": [] })).expect(model);
        assert_eq!(read.model, model.trim_start_matches("models/"));
    }
}

#[test]
fn signed_reasoning_goes_back_to_its_own_dialect_alone() {
    let kept = [
        (Dialect::OpenAiChat, json!({ "reasoning_content": "hm" })),
        (
            Dialect::OpenAiResponses,
            json!({ "type": "reasoning", "id": "r", "encrypted_content": "e", "summary": [] }),
        ),
        (Dialect::Anthropic, json!({ "type": "thinking", "thinking": "hm", "signature": "s" })),
        (Dialect::Gemini, json!({ "thoughtSignature": "s" })),
    ];
    for (owner, item) in kept {
        let parts = vec![Part::Opaque { dialect: owner, item }, call("c1")];
        let messages = vec![Message { role: Role::Assistant, parts }];
        let request = Request { model: "m".into(), messages, ..Request::default() };
        for dialect in Dialect::ALL {
            let body = encode_request(dialect, &request).body.to_string();
            let sent = ["encrypted_content", "thinking", "thoughtSignature", "reasoning_content"]
                .iter()
                .any(|key| body.contains(key));
            assert_eq!(sent, dialect == owner, "{owner} to {dialect}: {body}");
        }
    }
}

#[test]
fn arguments_that_are_no_object_do_not_go_back() {
    for arguments in ["", " ", r#"{"path": "/et"#, "7", "{}"] {
        let call = ToolCall { id: "c".into(), name: "look".into(), arguments: arguments.into() };
        let message = Message { role: Role::Assistant, parts: vec![Part::ToolCall(call)] };
        let request = Request { model: "m".into(), messages: vec![message], ..Request::default() };
        for dialect in Dialect::ALL {
            let encoded = encode_request(dialect, &request);
            let read = decode_request(dialect, &encoded.path, &encoded.body);
            let messages = read.expect("a request").messages;
            let [Part::ToolCall(sent)] = messages[0].parts.as_slice() else { panic!("one call") };
            assert_eq!(sent.arguments, "{}", "{dialect}: {arguments}");
        }
    }
}

#[test]
fn keys_stand_where_each_provider_looks_for_them() {
    let all = Dialect::ALL.map(|dialect| authorization(dialect, "k"));
    let expected = [
        ("authorization", "Bearer k"),
        ("authorization", "Bearer k"),
        ("x-api-key", "k"),
        ("x-goog-api-key", "k"),
    ];
    assert_eq!(all, expected.map(|(name, value)| (name, value.to_owned())));
}

#[test]
fn errors_are_read_as_they_are_written() {
    for dialect in Dialect::ALL {
        for status in [400, 401, 403, 404, 408, 429, 500, 503, 529] {
            let body = encode_error(dialect, status, "not now\nplease").to_string();
            assert_eq!(decode_error(dialect, status, body.as_bytes()), "not now please");
        }
    }
    #[rustfmt::skip]
    let table: [(&[u8], &str); 7] = [
        (b"",                                     "HTTP 500 without a message"),
        (b"<html>bad gateway</html>",             "<html>bad gateway</html>"),
        (br#"{"error":"model `x` not found"}"#,   "model `x` not found"),
        (br#"{"detail":"no"}"#,                   "no"),
        (br#"[{"error":{"message":"in a list"}}]"#, "in a list"),
        (br#"{"error":{"code":7}}"#,              r#"{"code":7}"#),
        (b"\xff\x00",                             "\u{fffd} "),
    ];
    for (body, said) in table {
        assert_eq!(decode_error(Dialect::OpenAiChat, 500, body), said);
    }
    let long = decode_error(Dialect::Gemini, 500, "é".repeat(100_000).as_bytes());
    assert!(long.chars().count() <= 501);
}
