//! Each dialect, at once and in pieces, against a server of our own codecs and against one that shares
//! nothing with them.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
};

use air_llm::{Call, Client, Key, Model, ModelError, ModelSpec, Options, Purpose};
use air_wire::{
    Answer, Delta, Dialect, Message, Part, Pieces, Request, Role, Stop, Tool, ToolCall, Usage,
    decode_request, encode_answer, encode_error, encode_stream,
};
use futures::executor::block_on;
use serde_json::{Value, json};

use crate::{
    KEY,
    server::{Reply, Seen, Server},
};

const NAMES: [(&str, Dialect, &str); 4] = [
    ("openai-chat:m", Dialect::OpenAiChat, "/v1"),
    ("openai-responses:m", Dialect::OpenAiResponses, "/v1"),
    ("anthropic:m", Dialect::Anthropic, ""),
    ("gemini:m", Dialect::Gemini, ""),
];

fn client(base: &str, name: &str) -> Client {
    let spec = ModelSpec::parse(name, Some(base), &|_| None).unwrap();
    Client::new(spec, Some(Key::new(KEY).unwrap()), Options::default()).unwrap()
}

/// A conversation in which a tool was called, and can be again.
fn conversation() -> Request {
    let call =
        ToolCall { id: "c1".to_owned(), name: "look".to_owned(), arguments: "{}".to_owned() };
    let result = Part::ToolResult {
        call: "c1".to_owned(),
        name: "look".to_owned(),
        content: "two files".to_owned(),
        is_error: false,
    };
    Request {
        system: "You judge.".to_owned(),
        messages: vec![
            Message::user("well?"),
            Message { role: Role::Assistant, parts: vec![Part::ToolCall(call)] },
            Message { role: Role::User, parts: vec![result] },
        ],
        tools: vec![Tool {
            name: "look".to_owned(),
            description: "Looks.".to_owned(),
            parameters: json!({ "type": "object", "properties": { "at": { "type": "string" } } }),
        }],
        ..Request::default()
    }
}

/// The answer, and the text and the calls that were heard.
fn ask(client: &dyn Model, stream: bool) -> (Result<Answer, ModelError>, String, Vec<String>) {
    let heard = Arc::new(Mutex::new((String::new(), Vec::new())));
    let mut call = Call::new(Purpose::Agent, conversation());
    if stream {
        let ear = Arc::clone(&heard);
        call.listener = Some(Arc::new(move |delta: &Delta| {
            let mut heard = ear.lock().unwrap();
            match delta {
                Delta::Text(text) => heard.0.push_str(text),
                Delta::CallBegun { name, .. } => heard.1.push(name.clone()),
                _ => {}
            }
        }));
    }
    let answer = block_on(client.answer(call));
    let (text, calls) = heard.lock().unwrap().clone();
    (answer, text, calls)
}

fn check(answer: &Answer, text: &str, calls: &[String], stream: bool, what: &str) {
    assert_eq!(answer.text(), "I look again.", "{what}");
    let found: Vec<_> = answer.calls().map(|call| (call.name.as_str(), call.parsed())).collect();
    assert_eq!(found.len(), 1, "{what}: {found:?}");
    let (name, arguments) = (found[0].0, found[0].1.clone().unwrap());
    assert_eq!((name, &arguments["at"]), ("look", &json!("/tmp")), "{what}");
    assert_eq!(answer.stop, Stop::ToolUse, "{what}");
    assert!(answer.usage.input > 0 && answer.usage.output > 0, "{what}: {:?}", answer.usage);
    if stream {
        assert_eq!((text, calls), ("I look again.", &["look".to_owned()][..]), "{what}");
    }
}

/// What a server of our own makes of a request.
fn play(dialect: Dialect, seen: &Seen) -> Reply {
    let path = seen.head.split(' ').nth(1).unwrap();
    let body: Value = serde_json::from_str(&seen.body).unwrap();
    let request = decode_request(dialect, path, &body).unwrap();
    assert_eq!((request.model.as_str(), request.system.as_str()), ("m", "You judge."));
    let call = ToolCall {
        id: "c2".to_owned(),
        name: request.tools[0].name.clone(),
        arguments: json!({ "at": "/tmp" }).to_string(),
    };
    let answer = Answer {
        model: "m-1".to_owned(),
        parts: vec![Part::Text("I look again.".to_owned()), Part::ToolCall(call)],
        stop: Stop::ToolUse,
        usage: Usage { input: 30, output: 9, ..Usage::default() },
        ..Answer::default()
    };
    if !request.stream {
        return Reply::Whole(200, "", encode_answer(dialect, &answer).to_string());
    }
    let events = encode_stream(dialect, &answer, Pieces { most: 4, usage: true });
    let text: String = events.iter().map(ToString::to_string).collect();
    Reply::Raw(format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{text}"))
}

#[test]
fn every_dialect_is_spoken_at_once_and_in_pieces() {
    for (name, dialect, base) in NAMES {
        for stream in [false, true] {
            let server = Server::start(move |_, seen| play(dialect, seen));
            let client = client(&format!("{}{base}", server.base), name);
            let (answer, text, calls) = ask(&client, stream);
            check(&answer.unwrap(), &text, &calls, stream, &format!("{name} {stream}"));
            let head = server.seen()[0].head.clone();
            assert_eq!(head.matches(KEY).count(), 1, "{head}");
            let line = head.lines().next().unwrap();
            assert!(!line.contains(KEY) && !server.seen()[0].body.contains(KEY), "{line}");
        }
    }
}

#[test]
fn errors_of_every_dialect_are_told() {
    for (name, dialect, base) in NAMES {
        for stream in [false, true] {
            let error = encode_error(dialect, 404, "no model `m`").to_string();
            let server = Server::start(move |_, _| Reply::Whole(404, "", error.clone()));
            let client = client(&format!("{}{base}", server.base), name);
            let error = ask(&client, stream).0.unwrap_err();
            let message = "no model `m`".to_owned();
            assert_eq!(error, ModelError::Rejected { status: 404, message }, "{name}");
        }
    }
}

#[test]
fn a_version_in_the_base_url_is_not_said_twice() {
    for (name, base, path) in [
        ("anthropic:m", "", "/v1/messages"),
        ("anthropic:m", "/v1", "/v1/messages"),
        ("anthropic:m", "/proxy/v1/", "/proxy/v1/messages"),
        ("gemini:m", "/v1beta", "/v1beta/models/m:generateContent"),
        ("openai:m", "/v1", "/v1/chat/completions"),
        ("openai:m", "", "/chat/completions"),
    ] {
        let server = Server::start(|_, _| Reply::Whole(404, "", String::new()));
        let client = client(&format!("{}{base}", server.base), name);
        let error = ask(&client, false).0.unwrap_err().to_string();
        let line = server.seen()[0].head.lines().next().unwrap().to_owned();
        assert_eq!(line, format!("POST {path} HTTP/1.1"), "{name} {base}");
        assert_eq!(error.contains("lack `/v1`"), name == "openai:m" && base.is_empty(), "{error}");
    }
}

/// An error in the place of an answer, after status 200.
#[test]
fn an_error_that_comes_as_an_answer_is_an_error() {
    let overloaded =
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "busy" } });
    for stream in [false, true] {
        let body = overloaded.to_string();
        let server = Server::start(move |number, seen| match number {
            0 if stream => Reply::Events(vec![body.clone()]),
            0 => Reply::Whole(200, "", body.clone()),
            _ => play(Dialect::Anthropic, seen),
        });
        // Nothing was heard yet, so it is tried again.
        let (answer, text, calls) = ask(&client(&server.base, "anthropic:m"), stream);
        check(&answer.unwrap(), &text, &calls, stream, "anthropic");
        assert_eq!(server.seen().len(), 2);
    }
}

/// A server written by others.
struct Fake {
    child: Child,
    base: String,
}

impl Fake {
    fn start() -> Option<Self> {
        let place = std::env::var_os("AIR_SHARED").map_or_else(
            || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
            PathBuf::from,
        );
        let program = place.join("tools/fake_llm.py");
        if !program.exists() {
            return None;
        }
        let mut child = Command::new("python3")
            .args([program.as_os_str(), "--port".as_ref(), "0".as_ref()])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut port = String::new();
        BufReader::new(child.stdout.take()?).read_line(&mut port).ok()?;
        Some(Self { child, base: format!("http://127.0.0.1:{}", port.trim()) })
    }

    /// Sets its script, through a client that was never made for that.
    fn script(&self, script: &Value) {
        use std::io::{Read, Write};
        let body = script.to_string();
        let address = self.base.trim_start_matches("http://");
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let length = body.len();
        let head = format!("POST /_script HTTP/1.0\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all((head + &body).as_bytes()).unwrap();
        // It keeps the connection open: the first bytes are enough.
        let _ = stream.read(&mut [0; 64]).unwrap();
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn a_server_that_shares_no_code_is_understood() {
    let Some(fake) = Fake::start() else {
        eprintln!(
            "skipped: no tools/fake_llm.py in ../shared, and AIR_SHARED names no other place"
        );
        return;
    };
    let turn = json!({ "tool": "look", "args": { "at": "/tmp" }, "text": "I look again." });
    for (name, _, base) in NAMES {
        let client = client(&format!("{}{base}", fake.base), name);
        for stream in [false, true] {
            fake.script(&json!({ "turns": [turn] }));
            let (answer, text, calls) = ask(&client, stream);
            check(&answer.unwrap(), &text, &calls, stream, &format!("{name} {stream}"));
            fake.script(&json!({ "turns": [{ "error": 529 }, turn] }));
            let (answer, text, calls) = ask(&client, stream);
            check(&answer.unwrap(), &text, &calls, stream, &format!("{name} {stream} again"));
        }
    }
}
