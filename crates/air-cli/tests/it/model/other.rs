//! The same thread with a server that shares no code with AIR: a scripted one in Python, named by the
//! variable `AIR_FAKE_LLM`, or beside the checkout.

use std::fs;

use air_testkit::server::OtherServer;
use air_wire::Dialect;
use serde_json::{Value, json};

use super::{LEAK, Place, text};

/// As in the paper, but that a condition finds it: this server cannot judge.
const RULES: &str = "
rule @copied
trigger bash, python_repl
decide effects.files.exists(f, f.change == \"created\" && \"credential\" in labels(f.origin))
check
  a file with credentials has been copied into a directory that is published.
remediate
  delete the copy, then confirm that nothing else is exposed.
end
";

/// One reply, the first time that a request holds these words.
fn once(words: &str, reply: &Value) -> Value {
    json!({ "if": { "any": words }, "once": true, "reply": reply })
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn the_same_thread_with_another_server() {
    let copy = format!("cp .env {LEAK} && echo published");
    let task = [
        json!({ "text": "I look.", "tool": "bash", "args": { "command": "ls -a" } }),
        json!({ "text": "I publish.", "tool": "bash", "args": { "command": copy } }),
    ];
    let respond = "An incident has happened";
    let report = json!({ "summary": "it is deleted", "confidence": 0.9 });
    let script = json!({
        "rules": [
            once(respond, &json!({ "tool": "delete_file", "args": { "path": LEAK } })),
            once(respond, &json!({ "tool": "report", "args": report })),
            { "if": { "last": "refused" }, "reply": { "text": "It was refused, so I stop." } },
        ],
        "turns": [task[0], task[1], task[0], task[1]],
    });
    for dialect in Dialect::ALL {
        for form in ["human", "json"] {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let file = directory.path().join("script.json");
            fs::write(&file, script.to_string()).expect("a file");
            let Some(server) = OtherServer::start(Some(&file)).expect("it starts") else {
                eprintln!("skipped: no other server; name one in AIR_FAKE_LLM");
                return;
            };
            let place = Place::at(dialect, server.base_url(dialect));
            fs::write(place.dir.path().join("rules.air"), RULES).expect("a file");
            let first = text(&place.task(&["--format", form]));
            for stage in ["@copied", "the agent called `delete_file`", "verified", "guardrail"] {
                assert!(first.contains(stage), "{dialect} {form}: no `{stage}` in\n{first}");
            }
            assert!(!first.contains("AIR put the workspace back") && !place.leaked(), "{first}");
            let second = text(&place.task(&["--format", form]));
            assert!(second.contains("blocked") && !second.contains("detected"), "{second}");
        }
    }
}
