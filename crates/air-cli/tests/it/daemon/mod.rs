//! The daemon and its shim, whatever they are told.

mod away;
mod crowd;
mod disk;
mod doors;
mod order;
mod others;
mod payloads;

use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use air::{Air, Settings, records};
use air_core::{
    id::SessionId,
    port::{Journal as _, Stream},
    session::SessionEvent,
};
use air_facts::LabelTable;
use air_hook::client::{self, Question};
use futures::executor::block_on;
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// Refuses one word, and finds a copy of a file of the system.
const RULES: &str = "rule @forbidden
trigger shell.exec
decide args.command == \"forbidden\"
check
  the word is forbidden.
block
end

rule @copy_sensitive_file
trigger shell.exec
severity high
decide effects.files.exists(f, f.change == \"created\" && f.origin != null && f.origin.startsWith(\"/etc/\"))
check
  a file of the system is now in the working directory.
remediate
  delete the copy.
end
";

/// A user with a project and AIR's state.
struct Stage {
    directory: TempDir,
}

impl Stage {
    /// No daemon runs yet.
    fn new() -> Self {
        let directory = TempDir::new().expect("a directory");
        for name in ["home/.config/air", "project/.git"] {
            fs::create_dir_all(directory.path().join(name)).expect("a directory");
        }
        fs::write(directory.path().join("rules.air"), RULES).expect("written");
        Self { directory }
    }

    /// A daemon runs.
    fn started() -> Self {
        let stage = Self::new();
        stage.start();
        stage
    }

    fn start(&self) {
        // Who has asked as a host may not name other rules than the user's.
        let rules = format!("rules = [{:?}]\n", self.path("rules.air").display().to_string());
        fs::write(self.path("home/.config/air/air.toml"), rules).expect("written");
        let output = self.airctl(&["daemon", "start"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.path("home")).env("AIR_STATE", self.path("state"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.current_dir(self.directory.path()).stdin(Stdio::null());
        command
    }

    fn airctl(&self, arguments: &[&str]) -> Output {
        self.command(env!("CARGO_BIN_EXE_airctl")).args(arguments).output().expect("it runs")
    }

    /// The shim of Claude Code, told `payload`.
    fn shim(&self, arguments: &[&str], payload: &[u8]) -> Output {
        let child = self.shim_begins(arguments, payload);
        child.wait_with_output().expect("it ends")
    }

    fn shim_begins(&self, arguments: &[&str], payload: &[u8]) -> Child {
        let mut command = self.command(env!("CARGO_BIN_EXE_air-hook"));
        command.arg("claude-code").args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut input = child.stdin.take().expect("an input");
        // One that has its answer reads no further.
        let _ = input.write_all(payload);
        child
    }

    /// Asks by `air-hook/1`.
    fn ask(&self, event: &Value) -> Value {
        let (status, body) = self.post("/v1/event", event.to_string().as_bytes());
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).expect("an answer")
    }

    fn decision(&self, event: &Value) -> String {
        self.ask(event)["decision"].as_str().expect("a decision").to_owned()
    }

    fn post(&self, path: &str, body: &[u8]) -> (u16, String) {
        let question = Question { method: "POST", path, body };
        let answer = client::ask(&self.path("state"), question, Instant::now() + PATIENCE);
        let answer = answer.expect("an answer");
        (answer.status, String::from_utf8_lossy(&answer.body).into_owned())
    }

    fn socket(&self) -> UnixStream {
        UnixStream::connect(self.path("state/hosts/run/air.sock")).expect("the socket")
    }

    fn address(&self) -> Value {
        let json = fs::read(self.path("state/hosts/run/address.json")).expect("an address");
        serde_json::from_slice(&json).expect("an address")
    }

    fn pid(&self) -> String {
        self.address()["pid"].to_string()
    }

    /// Ends the daemon where it stands.
    fn kill(&self) {
        self.end("-9");
    }

    /// Asks the daemon to end. `airctl daemon stop` is not heard from whoever has run the shim.
    fn stop(&self) {
        self.end("-15");
    }

    fn end(&self, signal: &str) {
        let pid = self.pid();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("it runs").success());
        let process = PathBuf::from(format!("/proc/{pid}/stat"));
        wait_until("the daemon is gone", || match fs::read_to_string(&process) {
            // Whoever started it has not looked after it yet.
            Ok(stat) => stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')),
            Err(_) => true,
        });
    }

    /// The journal of each session.
    fn journal(&self) -> Vec<(SessionId, Vec<SessionEvent>)> {
        let mut settings = Settings::new(&self.path("project"), &self.path("state"), Vec::new());
        settings.state = self.path("state/hosts");
        let air = Air::open_read_only(settings, LabelTable::built_in().expect("labels"));
        let air = air.expect("a store");
        block_on(async {
            let mut all = Vec::new();
            for stream in air.journal().streams().await.expect("streams") {
                let Stream::Session(id) = stream else { continue };
                let events = records::session_events(air.journal(), &id).await.expect("events");
                all.push((id, events));
            }
            all
        })
    }

    /// How many steps were begun, and how many examined.
    fn steps(&self) -> (usize, usize) {
        let events: Vec<_> = self.journal().into_iter().flat_map(|(_, events)| events).collect();
        let count = |is: fn(&&SessionEvent) -> bool| events.iter().filter(is).count();
        (
            count(|event| matches!(event, SessionEvent::StepStarted { .. })),
            count(|event| matches!(event, SessionEvent::StepReviewed { .. })),
        )
    }

    /// A question of a host at a call.
    fn event(&self, point: &str, call: &str, command: &str) -> Value {
        let mut event = json!({
            "v": 1,
            "id": format!("{point}-{call}"),
            "point": point,
            "host": {"name": "test", "adapter": "sdk", "caps": ["deny"]},
            "session": {"id": "one"},
            "cwd": self.path("project"),
            "tool": {
                "name": "shell.exec", "native": "Bash", "call_id": call, "args": {"command": command},
            },
        });
        if point == "post_tool_call" {
            event["result"] = json!({"status": "ok", "text": "done"});
        }
        event
    }

    /// A payload of Claude Code.
    fn payload(&self, event: &str, call: &str, command: &str) -> Value {
        let mut payload = json!({
            "session_id": "s1",
            "transcript_path": "/nonexistent.jsonl",
            "cwd": self.path("project"),
            "hook_event_name": event,
            "tool_name": "Bash",
            "tool_input": {"command": command},
            "tool_use_id": call,
        });
        if event == "PostToolUse" {
            payload["tool_response"] = json!({"stdout": "done", "stderr": ""});
        }
        payload
    }

    /// The daemon is there and does what it is for.
    #[track_caller]
    fn is_well(&self, what: &str) {
        let forbidden = self.payload("PreToolUse", what, "forbidden").to_string();
        let output = self.shim(&["--no-start"], forbidden.as_bytes());
        assert!(said(&output).contains("the word is forbidden"), "{what}: {}", said(&output));
        let fine = self.payload("PreToolUse", &format!("{what} fine"), "ls").to_string();
        let output = self.shim(&["--no-start"], fine.as_bytes());
        assert!(passed(&output), "{what}: {}", said(&output));
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if self.path("state/hosts/run/address.json").exists() {
            let _ = Command::new("kill").arg(self.pid()).status();
        }
    }
}

fn said(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said));
    format!("{:?} {out} {err}", output.status.code())
}

/// Whether the host was not kept from anything.
fn passed(output: &Output) -> bool {
    let out = String::from_utf8_lossy(&output.stdout);
    output.status.success() && !out.contains("\"deny\"") && !out.contains("\"block\"")
}

#[track_caller]
fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is() {
        assert!(Instant::now() < until, "it did not come: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// All that comes until the other end has no more.
fn rest_of(stream: &mut impl std::io::Read) -> String {
    let mut all = Vec::new();
    // A reset comes after what was said.
    let _ = stream.take(1 << 20).read_to_end(&mut all);
    String::from_utf8_lossy(&all).into_owned()
}
