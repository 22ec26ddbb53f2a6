//! The client's codecs with a server that does not share them: a scripted one in Python, named by the
//! variable `AIR_FAKE_LLM`, or beside the checkout.

use air_testkit::server::OtherServer;
use air_wire::{Delta, Message, Part, Role, Schema, Stop, ToolCall, decode_error};
use serde_json::json;

use crate::{
    http::{ask, post, read, send},
    talk::{request, tool, ways},
};

fn script(server: &OtherServer, script: &serde_json::Value) {
    let body = script.to_string();
    let reply = send("POST", &server.url, "/_script", &[], body.as_bytes(), 9999);
    assert_eq!(reply.expect("a reply").status, 200);
}

#[test]
fn another_server_is_understood_and_understands() {
    let Some(server) = OtherServer::start(None).expect("it starts") else {
        eprintln!("skipped: no other server; name one in AIR_FAKE_LLM");
        return;
    };
    for (dialect, stream) in ways() {
        let call = json!({ "tool": "look", "args": { "path": "é" } });
        script(
            &server,
            &json!({
                "turns": [{ "text": "Looking.", "calls": [call, call] }],
                "rules": [
                    { "if": { "last": "inside of b" }, "reply": { "text": "Grüße 🙂" } },
                    { "if": { "last": "overloaded" }, "reply": { "error": 529 } },
                    { "if": { "last": "broken" }, "reply": { "error": 400, "body": { "error": { "message": "no" } } } },
                    { "if": { "any": "\"title\": \"verdict\"|\"name\": \"verdict\"" }, "reply": { "text": "{\"harm\": true}" } },
                ],
            }),
        );
        let base = server.base_url(dialect);
        let mut talk = request("Look.", stream);
        talk.tools = vec![tool("look")];
        let reply = post(&base, dialect, &talk).expect("a reply");
        let (answer, heard) = read(dialect, &talk, &reply).expect("an answer");
        let calls: Vec<ToolCall> = answer.calls().cloned().collect();
        assert_eq!(
            (answer.text().as_str(), calls.len(), &answer.stop),
            ("Looking.", 2, &Stop::ToolUse),
            "{dialect}"
        );
        assert_eq!((answer.usage.input, answer.usage.output), (10, 10), "{dialect}");
        assert_eq!(calls[1].parsed().expect("an object").get("path"), Some(&json!("é")));
        let begun = heard.iter().filter(|delta| matches!(delta, Delta::CallBegun { .. })).count();
        assert_eq!(begun, if stream { 2 } else { 0 }, "{dialect}");
        talk.messages.push(Message { role: Role::Assistant, parts: answer.parts });
        let results =
            calls.into_iter().zip(["inside of a", "inside of b"]).map(|(call, content)| {
                Part::ToolResult {
                    call: call.id,
                    name: call.name,
                    content: content.into(),
                    is_error: false,
                }
            });
        talk.messages.push(Message { role: Role::User, parts: results.collect() });
        assert_eq!(ask(&base, dialect, &talk).text(), "Grüße 🙂", "{dialect}");
        let mut judged = request("?", stream);
        judged.output =
            Some(Schema { name: "verdict".into(), schema: json!({ "type": "object" }) });
        assert_eq!(ask(&base, dialect, &judged).text(), r#"{"harm": true}"#, "{dialect}");
        for (text, status, said) in [("overloaded", 529, "scripted"), ("broken", 400, "no")] {
            let reply = post(&base, dialect, &request(text, stream)).expect("a reply");
            assert_eq!(reply.status, status);
            assert_eq!(decode_error(dialect, status, &reply.body()), said, "{dialect}");
        }
    }
}
