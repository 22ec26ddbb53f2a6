//! A host that asks over HTTP, as plugins and HTTP hooks do: no shim says whose process it is.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use super::machine::Machine;
use crate::story::said;

const AIRCTL: &str = env!("CARGO_BIN_EXE_airctl");

/// A person decides about whatever deploys.
const RULES: &str = "rule @deploys
trigger shell.exec
decide args.command.matches(r\"deploy\")
check
  the call deploys.
ask
end
";

/// Asks over one connection, or runs what it is told to, a line of JSON each.
const HOST: &str = r#"
import http.client, json, subprocess, sys
line = None
for text in sys.stdin:
    order = json.loads(text)
    if "run" in order:
        ended = subprocess.run(order["run"], capture_output=True, text=True)
        told = {"text": ended.stdout + ended.stderr, "code": ended.returncode}
    else:
        if line is None or order.get("anew"):
            line = http.client.HTTPConnection(order["at"])
        head = {"authorization": "Bearer " + order["token"], "content-type": "application/json"}
        line.request("POST", order["path"], json.dumps(order["ask"]), head)
        answer = line.getresponse()
        told = {"status": answer.status, "body": answer.read().decode()}
    print(json.dumps(told), flush=True)
"#;

struct Host<'m> {
    machine: &'m Machine,
    process: Child,
    told: BufReader<ChildStdout>,
}

impl<'m> Host<'m> {
    fn new(machine: &'m Machine) -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", HOST]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", machine.path("home")).env("AIR_STATE", machine.path("state"));
        command.current_dir(machine.path("project"));
        let mut process = command.spawn().expect("a host");
        let told = BufReader::new(process.stdout.take().expect("a pipe"));
        Self { machine, process, told }
    }

    fn order(&mut self, order: &Value) -> Value {
        let input = self.process.stdin.as_mut().expect("a pipe");
        writeln!(input, "{order}").expect("it listens");
        let mut line = String::new();
        self.told.read_line(&mut line).expect("it answers");
        serde_json::from_str(&line).expect("an answer")
    }

    fn ask(&mut self, path: &str, ask: &Value, more: &Value) -> Value {
        let address = std::fs::read(self.machine.path("state/hosts/run/address.json"));
        let address: Value = serde_json::from_slice(&address.expect("a daemon")).expect("JSON");
        let at = address["url"].as_str().expect("HTTP").trim_start_matches("http://");
        let mut order = json!({ "at": at, "token": address["token"], "path": path, "ask": ask });
        for (name, value) in more.as_object().expect("an object") {
            order[name] = value.clone();
        }
        let told = self.order(&order);
        assert_eq!(told["status"], 200, "{told}");
        serde_json::from_str(told["body"].as_str().expect("a text")).unwrap_or_default()
    }

    /// OpenCode's plugin asks before a command.
    fn plugin(&mut self, id: &str, command: &str) -> Value {
        let call = json!({
            "hook": "tool.execute.before",
            "directory": self.machine.path("project"),
            "oneshot": false,
            "input": { "tool": "bash", "sessionID": "s1", "callID": id },
            "output": { "args": { "command": command } },
        });
        self.ask("/hook/opencode", &call, &json!({}))
    }

    fn air(&mut self, args: &[&str]) -> (String, i64) {
        let run: Vec<&str> = [&[AIRCTL], args].concat();
        let told = self.order(&json!({ "run": run }));
        (told["text"].as_str().unwrap_or_default().to_owned(), told["code"].as_i64().unwrap_or(-1))
    }
}

impl Drop for Host<'_> {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

#[test]
fn an_agent_in_a_host_that_asks_over_http_may_not_allow_its_own_call() {
    let machine = Machine::attended(RULES);
    let mut host = Host::new(&machine);
    let told = host.plugin("c1", "deploy");
    assert!(told["throw"].as_str().is_some_and(|why| why.contains("deploys")), "{told}");
    let waiting = machine.air(&["approvals", "list", "--format", "json"]);
    let waiting: Value = serde_json::from_slice(&waiting.stdout).expect("a document");
    let id = waiting["approvals"][0]["id"].as_str().expect("one waits").to_owned();

    // Its own child is no person, and neither is that of a shell.
    let (text, code) = host.air(&["approvals", "allow", &id]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("below opencode: an agent may not"), "{text}");
    let line = format!("setsid '{AIRCTL}' approvals allow {id}; setsid '{AIRCTL}' daemon stop");
    let told = host.order(&json!({ "run": ["sh", "-c", line] }));
    assert_eq!(told["code"], 2, "{told}");
    assert!(host.plugin("c1", "deploy")["throw"].is_string(), "nobody has allowed it");

    let allowed = machine.air(&["approvals", "allow", &id]);
    assert!(allowed.status.success(), "{}", said(&allowed));
    assert_eq!(host.plugin("c1", "deploy")["throw"], Value::Null, "a person has");
}

#[test]
fn each_host_over_http_is_known_from_its_first_question_on() {
    let machine = Machine::attended(RULES);
    let hook = json!({
        "session_id": "s2", "cwd": machine.path("project"), "hook_event_name": "SessionStart",
    });
    let event = json!({
        "v": 1, "id": "", "point": "session_start", "cwd": machine.path("project"),
        "host": { "name": "sdk", "adapter": "sdk", "caps": [] }, "session": { "id": "s3" },
    });
    for (path, payload, name) in
        [("/hook/claude-code", &hook, "claude-code"), ("/v1/event", &event, "sdk")]
    {
        let mut host = Host::new(&machine);
        let (text, _) = host.air(&["approvals", "allow", "a1"]);
        assert!(text.contains("no call waits"), "it has not asked yet: {text}");
        host.ask(path, payload, &json!({}));
        let (text, code) = host.air(&["approvals", "allow", "a1"]);
        assert_eq!(code, 2, "{text}");
        assert!(text.contains(&format!("below {name}: an agent may not")), "{text}");
        host.ask(path, payload, &json!({ "anew": true }));
        let known = machine.path("state/hosts/run/agents.json");
        let known: Value =
            serde_json::from_slice(&std::fs::read(known).expect("agents")).expect("JSON");
        let pid = host.process.id();
        let own = known.as_array().expect("a list").iter().filter(|agent| agent["pid"] == pid);
        assert_eq!(own.count(), 1, "{known}");
    }
    // The test's own process is none of them.
    assert!(said(&machine.air(&["approvals", "allow", "a1"])).contains("no call waits"));
}
