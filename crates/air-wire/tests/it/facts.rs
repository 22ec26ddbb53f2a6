//! What servers are known to do beside their documentation.

use air_wire::{
    Answer, DecodeError, Delta, Dialect, Part, Stop, ToolCall, ToolChoice, decode_answer,
    decode_request, encode_request,
};
use serde_json::{Value, json};

use crate::{events, streamed};

fn read(dialect: Dialect, body: &Value) -> Answer {
    decode_answer(dialect, body.to_string().as_bytes()).expect("an answer")
}

fn chat(message: &Value, reason: &Value) -> Answer {
    let body = json!({
        "id": "chatcmpl-77", "model": "m",
        "choices": [{ "index": 0, "message": message, "finish_reason": reason }],
    });
    read(Dialect::OpenAiChat, &body)
}

fn calls(answer: &Answer) -> Vec<(&str, &str, &str)> {
    answer
        .calls()
        .map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str()))
        .collect()
}

#[test]
fn calls_in_every_form_that_servers_give_them() {
    let message = json!({ "content": null, "tool_calls": [
        { "function": { "name": "a", "arguments": { "x": 1 } } },
        { "id": "", "function": { "name": "b", "arguments": null } },
        { "id": "c7", "type": "function", "function": { "name": "c" }, "more": 1 },
    ] });
    // Some call it `stop` all the same.
    let answer = chat(&message, &json!("stop"));
    let expected =
        [("air-chatcmpl77-0", "a", r#"{"x":1}"#), ("air-chatcmpl77-1", "b", ""), ("c7", "c", "")];
    assert_eq!(calls(&answer), expected);
    assert_eq!(answer.stop, Stop::ToolUse);
    assert!(answer.calls().all(|call| call.parsed().is_ok()));
    let old = chat(
        &json!({ "content": "", "function_call": { "name": "a", "arguments": "{}" } }),
        &json!("function_call"),
    );
    assert_eq!(calls(&old), [("air-chatcmpl77-0", "a", "{}")]);
}

#[test]
fn contents_in_every_form() {
    #[rustfmt::skip]
    let table = [
        (json!({ "content": null }),                                       ""),
        (json!({}),                                                        ""),
        (json!({ "content": "a" }),                                        "a"),
        (json!({ "content": [{ "type": "text", "text": "a" }, { "type": "new", "x": 1 }, "b"] }), "ab"),
    ];
    for (message, text) in table {
        let answer = chat(&message, &Value::Null);
        assert_eq!((answer.text().as_str(), &answer.stop), (text, &Stop::End), "{message}");
    }
}

#[test]
fn the_first_of_several_candidates_counts() {
    let choice = |index: u8, text: &str| json!({ "index": index, "message": { "content": text } });
    let body = json!({ "choices": [choice(1, "second"), choice(0, "first")] });
    assert_eq!(read(Dialect::OpenAiChat, &body).text(), "first");
    let candidate = |index: u8, text: &str| json!({ "index": index, "content": { "parts": [{ "text": text }] }, "finishReason": "STOP" });
    let body = json!({ "candidates": [candidate(1, "second"), candidate(0, "first")] });
    assert_eq!(read(Dialect::Gemini, &body).text(), "first");
    let chunk = |index: u8, text: &str| {
        json!({ "choices": [{ "index": index, "delta": { "content": text }, "finish_reason": "stop" }] }).to_string()
    };
    let stream = events(&[&chunk(1, "second"), &chunk(0, "first"), "[DONE]"]);
    assert_eq!(
        streamed(Dialect::OpenAiChat, stream.as_bytes(), 9).expect("an answer").0.text(),
        "first"
    );
}

#[test]
fn streamed_calls_however_they_are_numbered() {
    let begin = |call: Value| {
        json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] } }] }).to_string()
    };
    let two = [("", "a", "{\"x\":1}"), ("", "b", "{}")];
    #[rustfmt::skip]
    let table = [
        // As documented.
        vec![
            begin(json!({ "index": 0, "id": "1", "function": { "name": "a", "arguments": "" } })),
            begin(json!({ "index": 0, "function": { "arguments": "{\"x\"" } })),
            begin(json!({ "index": 1, "id": "2", "function": { "name": "b", "arguments": "{}" } })),
            begin(json!({ "index": 0, "function": { "arguments": ":1}" } })),
        ],
        // No index, and no id on what follows.
        vec![
            begin(json!({ "id": "1", "function": { "name": "a", "arguments": "{\"x\"" } })),
            begin(json!({ "function": { "arguments": ":1}" } })),
            begin(json!({ "function": { "name": "b", "arguments": {} } })),
        ],
        // One index for all.
        vec![
            begin(json!({ "index": 0, "id": "1", "function": { "name": "a", "arguments": "{\"x\":1}" } })),
            begin(json!({ "index": 0, "id": "2", "function": { "name": "b", "arguments": "{}" } })),
        ],
        // The name again with each piece.
        vec![
            begin(json!({ "index": 0, "id": "1", "function": { "name": "a", "arguments": "{\"x\"" } })),
            begin(json!({ "index": 0, "id": "1", "function": { "name": "a", "arguments": ":1}" } })),
            begin(json!({ "index": 1, "id": "2", "function": { "name": "b", "arguments": "{}" } })),
        ],
    ];
    for chunks in table {
        let end = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;
        let data: Vec<&str> = chunks.iter().map(String::as_str).chain([end]).collect();
        // No `[DONE]`: the reason ends it as well.
        let (answer, _) =
            streamed(Dialect::OpenAiChat, events(&data).as_bytes(), 64).expect("an answer");
        let read: Vec<_> =
            calls(&answer).into_iter().map(|(_, name, arguments)| ("", name, arguments)).collect();
        assert_eq!(read, two, "{chunks:?}");
        let ids: Vec<&str> = calls(&answer).into_iter().map(|(id, ..)| id).collect();
        assert_ne!(ids[0], ids[1], "{chunks:?}");
        assert_eq!(answer.stop, Stop::ToolUse);
    }
}

#[test]
fn refusals_in_all_dialects() {
    let why = Stop::Refused("I cannot".into());
    assert_eq!(chat(&json!({ "content": null, "refusal": "I cannot" }), &json!("stop")).stop, why);
    assert_eq!(
        chat(&json!({ "content": "" }), &json!("content_filter")).stop,
        Stop::Refused("content_filter".into())
    );
    let item =
        json!({ "type": "message", "content": [{ "type": "refusal", "refusal": "I cannot" }] });
    assert_eq!(
        read(Dialect::OpenAiResponses, &json!({ "status": "completed", "output": [item] })).stop,
        why
    );
    let body =
        json!({ "content": [], "stop_reason": "refusal", "stop_details": { "explanation": null } });
    assert_eq!(read(Dialect::Anthropic, &body).stop, Stop::Refused("refusal".into()));
    let body = json!({ "promptFeedback": { "blockReason": "SAFETY" } });
    assert_eq!(read(Dialect::Gemini, &body).stop, Stop::Refused("SAFETY".into()));
    let body = json!({ "candidates": [{ "finishReason": "RECITATION" }] });
    assert_eq!(read(Dialect::Gemini, &body).stop, Stop::Refused("RECITATION".into()));
}

#[test]
fn tokens_are_counted_alike() {
    let chat = json!({ "choices": [{ "message": {} }], "usage": {
        "prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": { "cached_tokens": 4 },
        "completion_tokens_details": { "reasoning_tokens": 2 },
    } });
    let responses = json!({ "output": [], "usage": {
        "input_tokens": 10, "output_tokens": 5, "input_tokens_details": { "cached_tokens": 4 },
        "output_tokens_details": { "reasoning_tokens": 2 },
    } });
    let anthropic = json!({ "content": [], "usage": {
        "input_tokens": 6, "cache_read_input_tokens": 4, "cache_creation_input_tokens": null,
        "output_tokens": 5, "output_tokens_details": { "thinking_tokens": 2 },
    } });
    let gemini = json!({ "candidates": [{}], "usageMetadata": {
        "promptTokenCount": 10, "cachedContentTokenCount": 4, "candidatesTokenCount": 3, "thoughtsTokenCount": 2,
    } });
    for (dialect, body) in Dialect::ALL.into_iter().zip([chat, responses, anthropic, gemini]) {
        let usage = read(dialect, &body).usage;
        assert_eq!(
            (usage.input, usage.cached, usage.output, usage.reasoning),
            (10, 4, 5, 2),
            "{dialect}"
        );
    }
}

#[test]
fn errors_where_an_answer_should_be() {
    #[rustfmt::skip]
    let table = [
        (Dialect::OpenAiChat,      r#"{"error":{"message":"slow down","code":429}}"#,              429),
        (Dialect::OpenAiChat,      r#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#, 429),
        (Dialect::OpenAiChat, r#"{"error":{"message":"slow down","code":1}}"#, 0),
        (Dialect::OpenAiResponses, r#"{"type":"error","code":"rate_limit_exceeded","message":"slow down"}"#, 429),
        (Dialect::OpenAiResponses, r#"{"type":"response.failed","response":{"error":{"code":"server_error","message":"slow down"}}}"#, 500),
        (Dialect::Anthropic,       r#"{"type":"error","error":{"type":"overloaded_error","message":"slow down"}}"#, 529),
        (Dialect::Gemini,          r#"{"error":{"code":503,"message":"slow down","status":"UNAVAILABLE"}}"#, 503),
        (Dialect::Gemini,          r#"[{"error":{"code":503,"message":"slow down"}}]"#, 503),
    ];
    for (dialect, data, status) in table {
        let status = (status > 0).then_some(status);
        let reported = DecodeError::Reported { status, message: "slow down".into() };
        let stream = streamed(dialect, events(&[data]).as_bytes(), 5);
        assert_eq!(stream.err(), Some(reported.clone()), "{dialect} {data}");
        if !data.contains("\"type\":\"response") && dialect != Dialect::OpenAiResponses {
            assert_eq!(decode_answer(dialect, data.as_bytes()), Err(reported), "{dialect} {data}");
        }
    }
}

#[test]
fn a_response_that_failed_is_no_answer() {
    let expected = DecodeError::Reported { status: None, message: "no reason is given".into() };
    let failed = r#"{"status":"failed","error":null,"output":[]}"#;
    let whole = decode_answer(Dialect::OpenAiResponses, failed.as_bytes());
    assert_eq!(whole, Err(expected.clone()));
    let stream = events(&[&format!(r#"{{"type":"response.failed","response":{failed}}}"#)]);
    assert_eq!(streamed(Dialect::OpenAiResponses, stream.as_bytes(), 9).err(), Some(expected));
}

#[test]
fn a_response_that_says_nothing_at_its_end_has_said_it_before() {
    let stream = events(&[
        r#"{"type":"response.output_text.delta","output_index":0,"delta":"hi"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"hi"}]}}"#,
        r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#,
    ]);
    let (answer, heard) =
        streamed(Dialect::OpenAiResponses, stream.as_bytes(), 3).expect("an answer");
    assert_eq!(
        (answer.text().as_str(), heard.as_slice()),
        ("hi", [Delta::Text("hi".into())].as_slice())
    );
}

#[test]
fn thoughts_are_heard_and_go_back_signed() {
    let stream = events(&[
        r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"look","args":{}},"thoughtSignature":"U0lH"}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"RU5E"}]},"finishReason":"STOP"}]}"#,
    ]);
    let (answer, heard) = streamed(Dialect::Gemini, stream.as_bytes(), 11).expect("an answer");
    assert_eq!(heard.first(), Some(&Delta::Reasoning("hm".into())));
    let message = air_wire::Message { role: air_wire::Role::Assistant, parts: answer.parts };
    let request = air_wire::Request { messages: vec![message], ..air_wire::Request::default() };
    let body = encode_request(Dialect::Gemini, &request).body;
    let expected = json!([
        { "functionCall": { "name": "look", "args": {} }, "thoughtSignature": "U0lH" },
        { "text": "", "thoughtSignature": "RU5E" },
    ]);
    assert_eq!(body.pointer("/contents/0/parts"), Some(&expected));
}

#[test]
fn both_spellings_of_gemini_are_read() {
    let body = json!({
        "system_instruction": { "parts": [{ "text": "You judge." }] },
        "contents": [{ "role": "model", "parts": [
            { "function_call": { "name": "look", "args": {} }, "thought_signature": "U0lH" },
        ] }],
        "tools": [{ "function_declarations": [{ "name": "look", "parameters_json_schema": { "a": 1 } }] }],
        "tool_config": { "function_calling_config": { "mode": "ANY", "allowed_function_names": ["look"] } },
        "generation_config": { "max_output_tokens": 7, "response_json_schema": { "title": "verdict" } },
    });
    let path = "/v1beta/models/m:generateContent";
    let request = decode_request(Dialect::Gemini, path, &body).expect("a request");
    assert_eq!((request.system.as_str(), request.max_output_tokens), ("You judge.", Some(7)));
    assert_eq!(request.tools[0].parameters, json!({ "a": 1 }));
    assert_eq!(request.tool_choice, ToolChoice::Named("look".into()));
    assert_eq!(request.output.map(|schema| schema.name), Some("verdict".to_owned()));
    let item = json!({ "thoughtSignature": "U0lH" });
    assert_eq!(request.messages[0].parts[0], Part::Opaque { dialect: Dialect::Gemini, item });
}

#[test]
fn kinds_that_are_not_known_are_left_out() {
    let body = json!({ "content": [
        { "type": "server_tool_use", "id": "s" }, { "type": "text", "text": "hi", "citations": [] },
        { "type": "redacted_thinking", "data": "x" }, 7, { "type": 5 },
    ], "stop_reason": "pause_turn" });
    let answer = read(Dialect::Anthropic, &body);
    let item = json!({ "type": "redacted_thinking", "data": "x" });
    let kept = vec![Part::Text("hi".into()), Part::Opaque { dialect: Dialect::Anthropic, item }];
    assert_eq!((answer.parts, answer.stop), (kept, Stop::Other("pause_turn".into())));
    let body = json!({ "output": [
        { "type": "web_search_call" }, { "type": "reasoning", "id": "r", "summary": [] },
        { "type": "function_call", "call_id": "c", "name": "a", "arguments": "{}" },
    ] });
    let call = ToolCall { id: "c".into(), name: "a".into(), arguments: "{}".into() };
    assert_eq!(read(Dialect::OpenAiResponses, &body).parts, [Part::ToolCall(call)]);
}
