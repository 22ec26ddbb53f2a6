//! The client's codecs against the server, in all dialects, streaming or not.

use air_testkit::server::{ModelServer, Reply, Script, When};
use air_wire::{
    Dialect, Message, Part, Request, Role, Schema, Stop, TokenProbability, Tool, ToolCall, Usage,
    json_of,
};
use serde_json::json;

use crate::http::{ask, post, read};

/// Every dialect, at once and in pieces.
pub(crate) fn ways() -> impl Iterator<Item = (Dialect, bool)> {
    Dialect::ALL.into_iter().flat_map(|dialect| [(dialect, false), (dialect, true)])
}

pub(crate) fn request(text: &str, stream: bool) -> Request {
    Request {
        model: "scripted".into(),
        system: "You judge.".into(),
        messages: vec![Message::user(text)],
        stream,
        ..Request::default()
    }
}

pub(crate) fn tool(name: &str) -> Tool {
    let parameters = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    Tool { name: name.into(), description: "Looks.".into(), parameters }
}

#[test]
fn a_conversation_with_tools() {
    for (dialect, stream) in ways() {
        let script = Script::default()
            .turn(
                Reply::text("Looking.")
                    .and_call("look", &json!({ "path": "a" }))
                    .and_call("look", &json!({ "path": "b" })),
            )
            .rule(When::any().last("inside of b"), Reply::text("Seen both."));
        let server = ModelServer::start(script).expect("a port");
        let base = server.base_url(dialect);
        let mut request = request("Look at both.", stream);
        request.tools = vec![tool("look")];
        let answer = ask(&base, dialect, &request);
        let calls: Vec<ToolCall> = answer.calls().cloned().collect();
        assert_eq!(answer.text(), "Looking.");
        assert_eq!(answer.stop, Stop::ToolUse);
        let paths: Vec<&str> = calls.iter().map(|call| call.arguments.as_str()).collect();
        assert_eq!(paths, [r#"{"path":"a"}"#, r#"{"path":"b"}"#]);
        request.messages.push(Message { role: Role::Assistant, parts: answer.parts });
        let results = calls.iter().zip(["inside of a", "inside of b"]).map(|(call, content)| {
            Part::ToolResult {
                call: call.id.clone(),
                name: call.name.clone(),
                content: content.into(),
                is_error: false,
            }
        });
        request.messages.push(Message { role: Role::User, parts: results.collect() });
        let last = ask(&base, dialect, &request);
        assert_eq!((last.text().as_str(), &last.stop), ("Seen both.", &Stop::End), "{dialect}");
        assert!(last.usage.input > 0 && last.usage.output > 0);
        let seen = server.requests();
        let seen = seen.last().expect("two requests");
        assert_eq!((seen.number, seen.dialect, seen.request.stream), (1, dialect, stream));
        assert_eq!(seen.request.messages, request.messages, "{dialect}");
        assert!(seen.headers.iter().all(|(_, value)| !value.contains("key")), "{:?}", seen.headers);
    }
}

#[test]
fn a_judge_decides_from_the_text_of_the_request() {
    let script = Script::by(|seen| {
        let harm = seen.text().contains("/etc/shadow");
        let verdict = json!({ "harm": harm, "pictures": seen.images() });
        if seen.schema() == Some("verdict") {
            Reply::fenced(&verdict)
        } else {
            Reply::error(400, "no schema")
        }
    });
    let server = ModelServer::start(script).expect("a port");
    for (dialect, stream) in ways() {
        for (text, harm) in [("it read /etc/shadow", true), ("it read notes.txt", false)] {
            let mut request = request(text, stream);
            request.output =
                Some(Schema { name: "verdict".into(), schema: json!({ "type": "object" }) });
            let image =
                Part::Image { media_type: "image/png".into(), data: b"png".as_slice().into() };
            request.messages[0].parts.push(image);
            let answer = ask(&server.base_url(dialect), dialect, &request);
            assert_eq!(
                json_of(&answer.text()),
                Ok(json!({ "harm": harm, "pictures": 1 })),
                "{dialect}"
            );
        }
    }
    assert_eq!(server.requests().len(), 16);
}

#[test]
fn probabilities_and_usage_come_where_a_dialect_has_them() {
    let tokens = vec![TokenProbability {
        token: "yes".into(),
        log: -0.25,
        top: vec![("yes".into(), -0.25), ("no".into(), -1.5)],
    }];
    let usage = Usage { input: 100, cached: 60, cache_written: 0, output: 9, reasoning: 4 };
    let reply = Reply::text("yes").with_probabilities(tokens.clone()).usage(usage);
    let server = ModelServer::start(Script::default().otherwise(reply)).expect("a port");
    for (dialect, stream) in ways() {
        let mut request = request("?", stream);
        let without = ask(&server.base_url(dialect), dialect, &request);
        assert_eq!((without.usage, without.probabilities.len()), (usage, 0), "{dialect}");
        request.top_logprobs = Some(2);
        let with = ask(&server.base_url(dialect), dialect, &request);
        let expected = if dialect == Dialect::Anthropic { Vec::new() } else { tokens.clone() };
        assert_eq!(with.probabilities, expected, "{dialect}");
    }
}

#[test]
fn odd_forms_of_calls_are_understood() {
    let call = |reply: fn(Reply) -> Reply| {
        reply(Reply::call("look", &json!({ "path": "a" })).and_call("look", &json!({})))
    };
    for odd in [Reply::arguments_as_objects, Reply::calls_without_ids] {
        let server = ModelServer::start(Script::default().otherwise(call(odd))).expect("a port");
        for (dialect, stream) in ways() {
            let answer = ask(&server.base_url(dialect), dialect, &request("?", stream));
            let arguments: Vec<&str> = answer.calls().map(|call| call.arguments.as_str()).collect();
            assert_eq!(arguments, [r#"{"path":"a"}"#, "{}"], "{dialect} {stream}");
            let ids: Vec<&str> = answer.calls().map(|call| call.id.as_str()).collect();
            assert!(ids[0] != ids[1] && !ids[0].is_empty(), "{dialect} {stream}: {ids:?}");
        }
    }
}

#[test]
fn arguments_that_are_cut_off_come_as_such() {
    let reply = Reply::cut_call("look", r#"{"path": "/et"#);
    let server = ModelServer::start(Script::default().otherwise(reply)).expect("a port");
    for (dialect, stream) in ways() {
        let request = request("?", stream);
        let reply = post(&server.base_url(dialect), dialect, &request).expect("a reply");
        let (answer, _) = read(dialect, &request, &reply).expect("an answer");
        let call = answer.calls().next().expect("a call");
        assert_eq!((call.parsed().is_err(), &answer.stop), (true, &Stop::Length), "{dialect}");
    }
}
