//! The daemon is killed while something is under way: the next hook starts another, nothing that happened
//! is lost, and nothing that was done is done again.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use air::{
    Air, Settings,
    records::{self, IncidentRecord},
};
use air_core::incident::{Ending, IncidentEvent};
use air_facts::LabelTable;
use futures::executor::block_on;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::stage::{self, RULE};

const COPY: &str = "cp /etc/passwd ./passwd_copy";

/// Hooks as Copilot runs them, without Copilot.
struct Hooks {
    directory: TempDir,
    session: &'static str,
}

impl Hooks {
    fn new(settings: &str) -> Self {
        let directory = TempDir::new().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        for name in ["home/.config/air", "project", "state"] {
            fs::create_dir_all(path(name)).expect("a directory");
        }
        fs::write(path("rules.air"), RULE).expect("written");
        let settings = format!("rules = ['{}']\n{settings}", path("rules.air").display());
        fs::write(path("home/.config/air/air.toml"), settings).expect("written");
        fs::write(path("project/notes.txt"), "keep me\n").expect("written");
        Self { directory, session: "one" }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("HOME", self.path("home"));
        command.env("AIR_STATE", self.path("state")).current_dir(self.path("project"));
        command
    }

    /// What the host is told: whether it goes on, and the text.
    fn ask(&self, event: &str, mut payload: Value) -> (bool, String) {
        payload["sessionId"] = json!(self.session);
        payload["cwd"] = json!(self.path("project"));
        let mut command = self.command(env!("CARGO_BIN_EXE_air-hook"));
        command.args(["copilot", event]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(payload.to_string().as_bytes()).expect("written");
        drop(stdin);
        let out = child.wait_with_output().expect("it ends");
        let text = [out.stdout, out.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        let refused = !out.status.success() || text.contains("deny") || text.contains("block");
        (!refused, text)
    }

    fn before(&self, command: &str) -> (bool, String) {
        let args = json!({ "command": command, "description": "c" });
        self.ask("preToolUse", json!({ "toolName": "bash", "toolArgs": args }))
    }

    fn run(&self, command: &str) {
        assert!(self.command("sh").args(["-c", command]).status().expect("sh runs").success());
    }

    fn after(&self, command: &str) -> (bool, String) {
        let args = json!({ "command": command, "description": "c" });
        let result = json!({ "resultType": "success",
            "textResultForLlm": "<shellId: 0 completed with exit code 0>" });
        let payload = json!({ "toolName": "bash", "toolArgs": args, "toolResult": result });
        self.ask("postToolUse", payload)
    }

    fn idle(&self) -> (bool, String) {
        self.ask("agentStop", json!({ "stopReason": "end_turn", "stop_hook_active": false }))
    }

    fn kill(&self) {
        stage::kill(&self.path("state"));
    }

    fn incidents(&self) -> Vec<IncidentRecord> {
        let mut settings = Settings::new(&self.path("project"), &self.path("state"), Vec::new());
        settings.state = self.path("state/hosts");
        let air = Air::open_read_only(settings, LabelTable::built_in().expect("labels"));
        block_on(records::incidents(air.expect("a store").journal())).expect("a journal")
    }

    /// The only incident, once it is closed.
    fn closed(&self) -> IncidentRecord {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let mut all = self.incidents();
            assert!(all.len() <= 1, "one harm is one incident");
            if let Some(record) = all.pop()
                && (record.incident.state().is_terminal() || Instant::now() > until)
            {
                return record;
            }
            assert!(Instant::now() < until, "nothing is lost");
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn has(&self, file: &str) -> bool {
        Path::exists(&self.path("project").join(file))
    }
}

impl Drop for Hooks {
    fn drop(&mut self) {
        // It takes the test for the agent, which may not end it.
        stage::try_kill(&self.path("state"));
    }
}

fn names(record: &IncidentRecord) -> Vec<String> {
    let name = |event: &IncidentEvent| {
        let text = format!("{event:?}");
        text.split([' ', '(']).next().unwrap_or_default().to_owned()
    };
    record.events.iter().map(|(_, event)| name(event)).collect()
}

/// The whole way; `kill` is called wherever the daemon may be away.
fn story(kill: &dyn Fn(&Hooks)) -> Vec<String> {
    let mut hooks = Hooks::new("");
    assert!(hooks.before(COPY).0);
    kill(&hooks);
    hooks.run(COPY);
    kill(&hooks);
    let (_, told) = hooks.after(COPY);
    assert!(told.contains("Do this, and nothing else"), "{told}");
    kill(&hooks);
    assert!(!hooks.before("echo ignored > other.txt").0, "other calls are refused");
    kill(&hooks);
    let (goes_on, told) = hooks.before("rm ./passwd_copy");
    assert!(goes_on, "{told}");
    kill(&hooks);
    hooks.run("rm ./passwd_copy");
    let (_, told) = hooks.after("rm ./passwd_copy");
    assert!(told.contains("AIR has ended this task"), "{told}");
    kill(&hooks);
    hooks.idle();
    let record = hooks.closed();
    assert_eq!(record.incident.endings().recovery, Some(Ending::Done), "{:?}", record.incident);
    assert!(!hooks.before("echo more > more.txt").0, "the session is closed");
    kill(&hooks);
    hooks.session = "two";
    assert!(!hooks.before(COPY).0, "a guardrail was learned");
    names(&record)
}

#[test]
fn the_story_is_the_same_without_the_daemon_that_began_it() {
    let whole = story(&|_| {});
    let killed = story(&|hooks| {
        if hooks.path("state/hosts/run/address.json").exists() {
            hooks.kill();
            let _ = fs::remove_file(hooks.path("state/hosts/run/address.json"));
        }
    });
    assert_eq!(killed, whole);
}

/// AIR puts it right by itself, and is killed at some point of it.
#[test]
fn killed_while_it_responds() {
    for milliseconds in [3, 10, 25, 50, 90, 150, 250] {
        let hooks = Hooks::new("[response]\nby = \"air\"\n");
        assert!(hooks.before(COPY).0);
        hooks.run(COPY);
        thread::scope(|scope| {
            scope.spawn(|| hooks.after(COPY));
            thread::sleep(Duration::from_millis(milliseconds));
            hooks.kill();
        });
        // Whatever comes next starts another daemon.
        hooks.idle();
        let record = hooks.closed();
        let incident = &record.incident;
        assert_eq!(incident.endings().recovery, Some(Ending::Done), "{milliseconds}: {incident:?}");
        assert!(!hooks.has("passwd_copy"), "{milliseconds}: {:?}", names(&record));
        assert!(hooks.has("notes.txt"));
        let mut done = Vec::new();
        for (_, event) in &record.events {
            if let IncidentEvent::ActionFinished { action, .. } = event {
                assert!(!done.contains(action), "{milliseconds}: done twice: {:?}", names(&record));
                done.push(action.clone());
            }
        }
    }
}
