//! A user's machine with a daemon.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use air_hook::client::{self, Question};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A daemon with a state of its own.
pub(crate) struct Stage {
    directory: TempDir,
}

impl Stage {
    /// With these rules, or those that ship with AIR.
    pub(crate) fn start(rules: Option<&str>) -> Self {
        let stage = Self { directory: TempDir::new().unwrap() };
        fs::create_dir_all(stage.path("home")).unwrap();
        let mut command = stage.airctl();
        command.args(["daemon", "start"]);
        if let Some(rules) = rules {
            fs::write(stage.path("rules.air"), rules).unwrap();
            command.arg("--rules").arg(stage.path("rules.air"));
        }
        assert!(command.status().unwrap().success(), "the daemon starts");
        stage
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// A program with this machine's environment.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.path("home")).env("AIR_STATE", self.state());
        command.env("PATH", "/usr/bin:/bin").current_dir(self.directory.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn airctl(&self) -> Command {
        let other = env::var_os("AIR_BENCH_AIRCTL").map(PathBuf::from);
        self.command(&other.unwrap_or_else(|| env!("CARGO_BIN_EXE_airctl").into()))
    }

    /// A repository with so many files.
    pub(crate) fn tree(&self, name: &str, files: usize, bytes: usize) -> PathBuf {
        let root = self.path(name);
        fs::create_dir_all(root.join(".git")).unwrap();
        let mut content = vec![b'x'; bytes];
        for file in 0..files {
            let directory = root.join(format!("d{}", file / 20));
            fs::create_dir_all(&directory).unwrap();
            let number = file.to_string();
            let at = number.len().min(content.len());
            content.splice(..at, number.bytes().take(at));
            fs::write(directory.join(format!("f{file}")), &content).unwrap();
        }
        root
    }

    /// Asks by `air-hook/1`; the answer.
    pub(crate) fn ask(&self, event: &Value) -> Value {
        let body = event.to_string();
        let question = Question { method: "POST", path: "/v1/event", body: body.as_bytes() };
        let until = Instant::now() + Duration::from_mins(2);
        let answer = client::ask(&self.state(), question, until).unwrap();
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        serde_json::from_slice(&answer.body).unwrap()
    }

    /// As [`Self::ask`], of what may be done.
    pub(crate) fn allowed(&self, event: &Value) -> Duration {
        let answer = self.ask(event);
        let decision = answer.get("decision").and_then(Value::as_str);
        assert_eq!(decision, Some("allow"), "{answer}");
        let took = answer.get("latency_us").and_then(Value::as_u64);
        Duration::from_micros(took.unwrap_or_default())
    }

    /// The daemon's process.
    pub(crate) fn pid(&self) -> u64 {
        let address = fs::read(self.state().join("hosts/run/address.json")).unwrap();
        let address: Value = serde_json::from_slice(&address).unwrap();
        address.get("pid").and_then(Value::as_u64).unwrap()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // `airctl daemon stop` is not heard from whoever has run the shim.
        let _ = Command::new("kill").arg(self.pid().to_string()).status();
    }
}

/// A call of a session, before (`pre_tool_call`) or after it.
pub(crate) struct Call<'a> {
    pub(crate) session: &'a str,
    pub(crate) tree: &'a Path,
    pub(crate) tool: &'a str,
    pub(crate) args: Value,
    pub(crate) number: usize,
}

impl Call<'_> {
    pub(crate) fn pre(&self) -> Value {
        self.event("pre_tool_call")
    }

    pub(crate) fn post(&self) -> Value {
        let mut event = self.event("post_tool_call");
        let result = json!({"status": "ok", "text": "done"});
        event.as_object_mut().unwrap().insert("result".to_owned(), result);
        event
    }

    fn event(&self, point: &str) -> Value {
        let Self { session, tree, tool, args, number } = self;
        json!({
            "v": 1,
            "id": format!("{session}-{number}-{point}"),
            "point": point,
            "host": {"name": "bench", "adapter": "sdk", "caps": ["deny"]},
            "session": {"id": session},
            "cwd": tree,
            "tool": {"name": tool, "native": tool, "call_id": format!("{session}-{number}"), "args": args},
        })
    }
}
