//! A user's machine with a daemon, and a host of an agent that does as it is told.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{airctl, story::said};

const PATIENCE: Duration = Duration::from_mins(1);

/// Finds a copy of a file of the system, which AIR takes back by itself.
pub(crate) const RULES: &str = "rule @copied
trigger shell.exec
severity high
decide effects.files.exists(f, f.change == \"created\" && f.path.endsWith(\"passwd_copy\"))
check
  a file of the system is now in the working directory.
respond
  rollback
remediate
  delete the copy.
end
";

/// A home, a project, and a state, in a directory of their own.
pub(crate) struct Machine {
    directory: TempDir,
}

impl Machine {
    /// One without a daemon.
    pub(crate) fn new(rules: &str) -> Self {
        let directory = TempDir::new().expect("a directory");
        let machine = Self { directory };
        for name in ["home", "project/.git", "project/src", "elsewhere"] {
            fs::create_dir_all(machine.path(name)).expect("a directory");
        }
        let lines = (1..=9).fold(String::new(), |all, number| all + &format!("line {number}\n"));
        for (name, text) in [("notes.md", lines.as_str()), ("src/a", "a\n"), ("src/b", "b\n")] {
            fs::write(machine.path("project").join(name), text).expect("written");
        }
        fs::write(machine.path("rules.air"), rules).expect("written");
        machine
    }

    /// One with a daemon.
    pub(crate) fn attended(rules: &str) -> Self {
        let machine = Self::new(rules);
        machine.start();
        machine
    }

    pub(crate) fn start(&self) {
        let output = self.air(&["daemon", "start", "--rules", "rules.air", "--approval-wait", "1"]);
        assert!(output.status.success(), "{}", said(&output));
    }

    pub(crate) fn stop(&self) {
        let output = self.air(&["daemon", "stop"]);
        assert!(output.status.success(), "{}", said(&output));
    }

    pub(crate) fn root(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// A file of the project; nothing where it is not there.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path("project").join(name)).unwrap_or_default()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path("project").join(name), text).expect("written");
    }

    /// `airctl`, called where the machine is.
    pub(crate) fn air(&self, args: &[&str]) -> Output {
        let mut command = airctl(self.root());
        command.env("AIR_STATE", self.path("state")).args(args).output().expect("it runs")
    }

    /// `airctl`, called about the project.
    pub(crate) fn here(&self, args: &[&str]) -> Output {
        self.air(&[args, &["--workspace", "project"]].concat())
    }

    /// The JSON document of a command about the project.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let output = self.here(&[args, &["--format", "json"]].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.air(&["daemon", "stop"]);
    }
}

/// A host: a process that runs hooks. Hosts are no shells, so `timeout` is it.
pub(crate) struct Agent<'m> {
    machine: &'m Machine,
    session: &'static str,
    name: &'static str,
    host: Child,
    calls: u32,
}

impl<'m> Agent<'m> {
    pub(crate) fn new(machine: &'m Machine, session: &'static str) -> Self {
        Self::of(machine, session, "claude-code")
    }

    /// One of another host whose payloads are alike.
    pub(crate) fn of(machine: &'m Machine, session: &'static str, name: &'static str) -> Self {
        let mut command = Command::new("timeout");
        command.args(["300", "sh"]).stdin(Stdio::piped()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", machine.path("home")).env("AIR_STATE", machine.path("state"));
        command.current_dir(machine.path("project"));
        let host = command.spawn().expect("a host");
        Self { machine, session, name, host, calls: 0 }
    }

    /// Has the host's shell do something; what it printed, and its exit code.
    pub(crate) fn shell(&mut self, line: &str) -> (String, i32) {
        self.calls += 1;
        let out = self.machine.path(&format!("{}-{}.out", self.host.id(), self.calls));
        let code = out.with_extension("code");
        let (shown, done) = (out.display(), code.display());
        let line =
            format!("({line}) >'{shown}' 2>&1; echo $? >'{done}.new'; mv '{done}.new' '{done}'\n");
        let input = self.host.stdin.as_mut().expect("a pipe");
        input.write_all(line.as_bytes()).expect("it listens");
        let until = Instant::now() + PATIENCE;
        while !code.exists() {
            assert!(Instant::now() < until, "`{line}` came to no end");
            std::thread::sleep(Duration::from_millis(5));
        }
        let code = fs::read_to_string(code).expect("a code").trim().parse().expect("a number");
        (fs::read_to_string(out).unwrap_or_default(), code)
    }

    /// What AIR's hook answers to an event.
    pub(crate) fn hook(&mut self, event: &str, more: &Value) -> Value {
        let mut payload = json!({
            "session_id": self.session,
            "cwd": self.machine.path("project"),
            "hook_event_name": event,
        });
        for (name, value) in more.as_object().expect("an object") {
            payload[name] = value.clone();
        }
        let file = self.machine.path(&format!("{}-{}.in", self.host.id(), self.calls + 1));
        fs::write(&file, payload.to_string()).expect("written");
        let shim = env!("CARGO_BIN_EXE_air-hook");
        let (text, code) = self.shell(&format!("'{shim}' {} <'{}'", self.name, file.display()));
        assert_eq!(code, 0, "{text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// A call is about to run.
    pub(crate) fn before(&mut self, id: &str, command: &str) -> Value {
        let call = json!({
            "tool_name": "Bash", "tool_use_id": id, "tool_input": { "command": command },
        });
        self.hook("PreToolUse", &call)
    }

    /// A call has run.
    pub(crate) fn after(&mut self, id: &str, command: &str) -> Value {
        let call = json!({
            "tool_name": "Bash", "tool_use_id": id, "tool_input": { "command": command },
            "tool_response": { "stdout": "", "stderr": "", "interrupted": false },
        });
        self.hook("PostToolUse", &call)
    }

    /// One call of the shell, all of it; what is said afterwards.
    pub(crate) fn call(&mut self, id: &str, command: &str) -> Value {
        let told = self.before(id, command);
        let decision = &told["hookSpecificOutput"]["permissionDecision"];
        assert_ne!(*decision, "deny", "{told}");
        self.shell(command);
        self.after(id, command)
    }

    /// It ends.
    pub(crate) fn leave(mut self) {
        drop(self.host.stdin.take());
        self.host.wait().expect("it ends");
    }
}

impl Drop for Agent<'_> {
    fn drop(&mut self) {
        drop(self.host.stdin.take());
        let _ = self.host.wait();
    }
}
