//! What a server refuses by name is left out, once, and from then on.

use air_llm::{Call, Model, ModelError, Options, Purpose};
use air_wire::{Message, Request, Schema, Tool, ToolChoice};
use futures::executor::block_on;
use serde_json::{Value, json};

use crate::{
    client,
    server::{Reply, Server, chat, refused, said},
};

fn full() -> Request {
    Request {
        messages: vec![Message::user("well?")],
        tools: vec![Tool {
            name: "look".to_owned(),
            description: String::new(),
            parameters: json!({ "type": "object", "properties": {} }),
        }],
        tool_choice: ToolChoice::Named("look".to_owned()),
        output: Some(Schema { name: "verdict".to_owned(), schema: json!({ "type": "object" }) }),
        max_output_tokens: Some(50),
        temperature: Some(0.0),
        seed: Some(7),
        top_logprobs: Some(5),
        ..Request::default()
    }
}

#[test]
fn what_is_refused_by_name_is_left_out() {
    type Check = fn(&Value) -> bool;
    #[rustfmt::skip]
    let table: [(u16, &str, Check); 10] = [
        (400, "tool_choice: value must be a string",                                          |b| b["tool_choice"] == "required"),
        (422, "Input should be 'auto', 'none' (field tool_choice)",                           |b| b["tool_choice"] == "required"),
        (400, "Unsupported value: 'temperature' does not support 0 with this model.",         |b| b.get("temperature").is_none()),
        (400, "Unrecognized request argument supplied: seed",                                 |b| b.get("seed").is_none()),
        (400, "logprobs is not supported by this model",                                      |b| b.get("logprobs").is_none() && b.get("top_logprobs").is_none()),
        (400, "top_logprobs requires logprobs to be set to true",                             |b| b.get("logprobs").is_none() && b.get("top_logprobs").is_none()),
        (422, "response_format: Extra inputs are not permitted",                              |b| b.get("response_format").is_none()),
        (400, "'response_format' of type 'json_schema' is not supported",                     |b| b.get("response_format").is_none()),
        (400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", |b| b["max_completion_tokens"] == 50 && b.get("max_tokens").is_none()),
        (400, "unknown field max_completion_tokens",                                          |b| b["max_tokens"] == 50 && b.get("max_completion_tokens").is_none()),
    ];
    for (status, message, fixed) in table {
        let server = Server::start(move |_, seen| {
            let body: Value = serde_json::from_str(&seen.body).unwrap();
            if fixed(&body) { said("yes") } else { refused(status, "", message) }
        });
        let client = client(&server, Options::default());
        for _ in 0..2 {
            let answer = block_on(client.answer(Call::new(Purpose::Check, full())));
            assert_eq!(answer.unwrap().text(), "yes", "{message}");
        }
        // Either it was never sent so, or it was found out once.
        assert!(server.seen().len() <= 3, "{message}: {}", server.seen().len());
    }
}

#[test]
fn a_demand_for_a_tool_that_is_ignored_is_made_in_another_way() {
    let server = Server::start(|_, seen| {
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        if body["tool_choice"] != "required" {
            return said("I would rather talk.");
        }
        assert_eq!(body["tools"].as_array().unwrap().len(), 1);
        let call = r#""tool_calls":[{"id":"1","type":"function","function":{"name":"look","arguments":"{}"}}]"#;
        let role = "\"role\":\"assistant\"";
        Reply::Whole(200, "", chat("").replace(role, &format!("{role},{call}")))
    });
    let client = client(&server, Options::default());
    let mut request = Request { max_output_tokens: None, ..full() };
    request.tools.push(Tool { name: "touch".to_owned(), ..request.tools[0].clone() });
    for requests in [2, 3] {
        let answer = block_on(client.answer(Call::new(Purpose::Check, request.clone()))).unwrap();
        assert_eq!(answer.calls().next().unwrap().name, "look");
        assert_eq!(server.seen().len(), requests);
    }
    let total = client.ledger().spent().total();
    assert_eq!((total.calls, total.requests, total.answered), (2, 3, 2));
    assert_eq!(total.usage.input, 3000);

    // A server that never calls a tool is not asked for ever.
    let stubborn = Server::start(|_, _| said("I would rather talk."));
    let client = crate::client(&stubborn, Options::default());
    let answer = block_on(client.answer(Call::new(Purpose::Check, request))).unwrap();
    assert_eq!((answer.text().as_str(), stubborn.seen().len()), ("I would rather talk.", 2));
}

#[test]
fn several_are_found_one_after_the_other() {
    let server = Server::start(|_, seen| {
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        let refuse = |what: &str| refused(400, "", &format!("Unsupported parameter: {what}"));
        match () {
            () if body.get("temperature").is_some() => refuse("temperature"),
            () if body.get("seed").is_some() => refuse("seed"),
            () => said("yes"),
        }
    });
    let client = client(&server, Options::default());
    let answer = block_on(client.answer(Call::new(Purpose::Check, full())));
    assert_eq!(answer.unwrap().text(), "yes");
    assert_eq!(server.seen().len(), 3);
}

#[test]
fn a_server_that_refuses_all_the_same_is_not_asked_for_ever() {
    let message = "unsupported: tool_choice, temperature, seed, logprobs, response_format, \
        max_completion_tokens, stream_options";
    let server = Server::start(move |_, _| refused(400, "", message));
    let client = client(&server, Options::default());
    for times in 1..3 {
        let error = block_on(client.answer(Call::new(Purpose::Check, full()))).unwrap_err();
        assert!(matches!(error, ModelError::Rejected { status: 400, .. }), "{error}");
        assert!(server.seen().len() <= 9 * times, "{}", server.seen().len());
    }
}

#[test]
fn a_refusal_for_another_reason_changes_nothing() {
    let server = Server::start(|_, _| {
        refused(400, "", "max_tokens is too large: 50. temperature must be at most 2")
    });
    let client = client(&server, Options::default());
    block_on(client.answer(Call::new(Purpose::Check, full()))).unwrap_err();
    assert_eq!(server.seen().len(), 1);
}
