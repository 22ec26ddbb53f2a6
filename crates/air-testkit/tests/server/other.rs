//! The client's codecs with a server that does not share them: a scripted one in Python, named by the
//! variable `AIR_FAKE_LLM`, or beside the checkout.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use air_wire::{Delta, Dialect, Message, Part, Role, Schema, Stop, ToolCall, decode_error};
use serde_json::json;

use crate::{
    http::{ask, post, read, send},
    talk::{request, tool, ways},
};

struct Server {
    process: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    fn start() -> Option<Self> {
        let beside =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/tools/fake_llm.py");
        let named = std::env::var_os("AIR_FAKE_LLM").map(PathBuf::from);
        let Some(script) = named.or(Some(beside)).filter(|path| path.exists()) else {
            eprintln!("skipped: no other server; name one in AIR_FAKE_LLM");
            return None;
        };
        let mut command = Command::new("python3");
        command.arg(script).args(["--port", "0"]).stdout(Stdio::piped());
        let mut process = command.spawn().expect("python3");
        let output = process.stdout.take().expect("its output");
        let mut port = String::new();
        BufReader::new(output).read_line(&mut port).expect("its port");
        Some(Self { process, address: format!("http://127.0.0.1:{}", port.trim()) })
    }

    fn script(&self, script: &serde_json::Value) {
        let body = script.to_string();
        let reply = send("POST", &self.address, "/_script", &[], body.as_bytes(), 9999);
        assert_eq!(reply.expect("a reply").status, 200);
    }

    fn base(&self, dialect: Dialect) -> String {
        match dialect {
            Dialect::OpenAiChat | Dialect::OpenAiResponses => format!("{}/v1", self.address),
            Dialect::Anthropic | Dialect::Gemini => self.address.clone(),
        }
    }
}

#[test]
fn another_server_is_understood_and_understands() {
    let Some(server) = Server::start() else { return };
    for (dialect, stream) in ways() {
        let call = json!({ "tool": "look", "args": { "path": "é" } });
        server.script(&json!({
            "turns": [{ "text": "Looking.", "calls": [call, call] }],
            "rules": [
                { "if": { "last": "inside of b" }, "reply": { "text": "Grüße 🙂" } },
                { "if": { "last": "overloaded" }, "reply": { "error": 529 } },
                { "if": { "last": "broken" }, "reply": { "error": 400, "body": { "error": { "message": "no" } } } },
                { "if": { "any": "\"title\": \"verdict\"|\"name\": \"verdict\"" }, "reply": { "text": "{\"harm\": true}" } },
            ],
        }));
        let base = server.base(dialect);
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
