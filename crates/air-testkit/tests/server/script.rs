//! Scripts: rules, turns, files.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use air_testkit::server::{ModelServer, Regex, Reply, Script, When};
use air_wire::{Answer, Dialect, Schema};
use serde_json::json;

use crate::{
    http::{ask, post},
    talk::{request, tool, ways},
};

fn start(script: Script) -> ModelServer {
    ModelServer::start(script).expect("a port")
}

#[test]
fn the_first_rule_that_fits_replies() {
    let regex = |pattern: &str| Regex::new(pattern).expect("a pattern");
    let script = Script::default()
        .once(When::any().last("once"), Reply::text("first"))
        .rule(When::any().instructions("You judge").last(regex("^b+$")), Reply::text("last"))
        .rule(When::any().text(regex("(?s)judge.*whole")), Reply::text("text"))
        .rule(When::any().schema("verdict"), Reply::text("schema"))
        .rule(When::any().tool("look"), Reply::text("tool"))
        .rule(When::any().model("gpt").dialect(Dialect::OpenAiChat), Reply::text("model"))
        .rule_by(When::any().last("echo"), |seen| Reply::text(seen.last()))
        .otherwise(Reply::text("else"));
    let server = start(script);
    let said = |change: &dyn Fn(&mut air_wire::Request), text: &str| {
        let mut request = request(text, false);
        change(&mut request);
        ask(&server.base_url(Dialect::OpenAiChat), Dialect::OpenAiChat, &request).text()
    };
    let nothing = |_: &mut air_wire::Request| {};
    assert_eq!(said(&nothing, "once"), "first");
    assert_eq!(said(&nothing, "once"), "else");
    assert_eq!(said(&nothing, "bbb"), "last");
    assert_eq!(said(&nothing, "the whole"), "text");
    let schema = Schema { name: "verdict".into(), schema: json!({}) };
    assert_eq!(said(&|request| request.output = Some(schema.clone()), "?"), "schema");
    assert_eq!(said(&|request| request.tools = vec![tool("look")], "?"), "tool");
    assert_eq!(said(&|request| request.model = "gpt-x".into(), "?"), "model");
    assert_eq!(said(&nothing, "echo this"), "echo this");
}

#[test]
fn a_script_file_is_read() {
    let text = r#"{
        "rules": [
            {"if": {"last": "^over.*loaded$"}, "once": true,
             "reply": {"error": 529, "body": {"type": "error", "error": {"message": "scripted"}}}},
            {"if": {"any": "\"temperature\":0.5", "tool_offered": "Bash"}, "reply": {"text": "warm"}}
        ],
        "turns": [
            {"tool": ["Shell", "Bash"], "args": {"command": "echo ${last}"}, "text": "now"},
            {"calls": [{"tool": "Bash", "args": {}}, {"tool": "Bash"}], "sleep_ms": 1}
        ],
        "default": {"text": "done"}
    }"#;
    for (dialect, stream) in ways() {
        let server = start(Script::from_json(text).expect("a script"));
        let base = server.base_url(dialect);
        let mut with_tools = request("he said \"x\"", stream);
        with_tools.tools = vec![tool("Bash")];
        let calls = |answer: &Answer| -> Vec<(String, String)> {
            answer.calls().map(|call| (call.name.clone(), call.arguments.clone())).collect()
        };
        assert_eq!(ask(&base, dialect, &request("hi", stream)).text(), "done");
        let first = ask(&base, dialect, &with_tools);
        let arguments = json!({ "command": "echo he said \"x\"" }).to_string();
        assert_eq!(
            (first.text().as_str(), calls(&first)),
            ("now", vec![("Bash".into(), arguments)])
        );
        let second = ask(&base, dialect, &with_tools);
        let two = vec![("Bash".to_owned(), "{}".to_owned()); 2];
        assert_eq!((second.text().as_str(), calls(&second)), ("", two));
        assert_eq!(ask(&base, dialect, &with_tools).text(), "done");
        with_tools.temperature = Some(0.5);
        assert_eq!(ask(&base, dialect, &with_tools).text(), "warm");
        let overloaded = request("over\nloaded", stream);
        assert_eq!(post(&base, dialect, &overloaded).expect("a reply").status, 529);
        assert_eq!(ask(&base, dialect, &overloaded).text(), "done");
    }
}

#[test]
fn a_server_is_started_by_hand() {
    let directory = env!("CARGO_TARGET_TMPDIR");
    let script = std::path::Path::new(directory).join("model-server.json");
    std::fs::write(&script, r#"{"default": {"text": "by hand"}}"#).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_model-server"));
    command.arg("--script").arg(script).args(["--port", "0"]).stdout(Stdio::piped());
    let mut process = command.spawn().expect("a server");
    let mut address = String::new();
    let output = process.stdout.take().expect("its output");
    BufReader::new(output).read_line(&mut address).expect("its address");
    let answer = ask(address.trim(), Dialect::Anthropic, &request("?", true));
    process.kill().expect("it runs");
    process.wait().expect("it ends");
    assert_eq!(answer.text(), "by hand");
}

#[test]
fn a_script_that_is_none_is_refused() {
    for text in ["", "[]", r#"{"turn": []}"#, r#"{"rules": [{"if": {"last": "("}, "reply": {}}]}"#]
    {
        assert!(Script::from_json(text).is_err(), "{text}");
    }
}
