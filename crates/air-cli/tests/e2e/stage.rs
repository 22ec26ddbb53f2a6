//! A user's machine: a home, a project, AIR with its daemon, and a model that says what it is told to.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

use air::{
    Air, Settings,
    records::{self, IncidentRecord},
};
use air_core::session::SessionEvent;
use air_facts::LabelTable;
use air_testkit::server::{ModelServer, Script};
use futures::executor::block_on;
use tempfile::TempDir;

use crate::clients::Client;

/// How long a client may take for a task.
const PATIENCE: Duration = Duration::from_secs(55);

/// Finds a copy of a file of the system, told by its effects; the agent has to delete it.
pub(crate) const RULE: &str = "rule @copy_sensitive_file
trigger shell.exec, file.write
severity high
decide effects.files.exists(f,
  (f.change == \"created\" || f.change == \"modified\") &&
  f.origin != null &&
  f.origin.startsWith(\"/etc/\"))
check
  a file of the system is now in the working directory.
remediate
  delete the copy, then confirm that no other copy of it remains.
end
";

/// What is other than what a user has who has just installed AIR.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a thing of its own that may be so")]
pub(crate) struct Setup {
    /// More in the user's `air.toml`.
    pub(crate) settings: &'static str,
    /// More words in the command of each hook.
    pub(crate) hook: &'static str,
    /// No `airctl` is where the hook looks for one.
    pub(crate) alone: bool,
    /// The daemon does not run yet.
    pub(crate) away: bool,
    /// More words after `daemon start`.
    pub(crate) daemon: &'static [&'static str],
    /// The host's own settings forbid `rm`.
    pub(crate) no_rm: bool,
    /// The hook keeps what is asked before a call and what AIR answers, and refuses by itself. Copilot
    /// only.
    pub(crate) nothing_runs: bool,
}

/// What a hook does where nothing may run, before it does what it always does.
const NOTHING_RUNS: &str = "if [ \"$2\" = preToolUse ]; then
  file='ASKED/'$$
  cat > \"$file.in\"
  'HOOK' \"$@\" < \"$file.in\" > \"$file.out\"
  echo '{\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"nothing runs here\"}'
  exit 0
fi
exec";

/// One machine.
pub(crate) struct Stage {
    directory: TempDir,
    pub(crate) client: Client,
    pub(crate) setup: Setup,
    pub(crate) model: ModelServer,
    /// What the client runs in the background.
    server: Mutex<Option<(Child, u16)>>,
}

/// What a client did.
#[derive(Debug)]
pub(crate) struct Ran {
    /// What it printed.
    pub(crate) said: String,
}

impl Stage {
    /// A machine with the client set up and AIR installed for it; `None` where the client is not there.
    pub(crate) fn new(client: Client, rules: &str, script: Script) -> Option<Self> {
        Self::set_up(client, rules, Setup::default(), script)
    }

    /// The same, with something other than usual.
    pub(crate) fn set_up(
        client: Client,
        rules: &str,
        setup: Setup,
        script: Script,
    ) -> Option<Self> {
        if client.program().is_none() {
            let required = env::var("AIR_REQUIRE_CLIENTS").unwrap_or_default();
            let is_required = required.split_whitespace().any(|name| name == client.name());
            assert!(!is_required, "{} has to be installed here", client.name());
            println!("skipped: {} is not installed; see tests/e2e/README.md", client.name());
            return None;
        }
        let directory = TempDir::new().expect("a directory");
        let model = ModelServer::start(script).expect("a server");
        let stage = Self { directory, client, setup, model, server: Mutex::default() };
        for name in ["home/.config/air", "project", "state", "bin"] {
            fs::create_dir_all(stage.path(name)).expect("a directory");
        }
        fs::write(stage.path("rules.air"), rules).expect("written");
        let settings =
            format!("rules = ['{}']\n{}", stage.path("rules.air").display(), setup.settings);
        fs::write(stage.home().join(".config/air/air.toml"), settings).expect("written");
        let git = Command::new("git").args(["init", "-q"]).current_dir(stage.project()).status();
        assert!(git.expect("git runs").success());
        fs::write(stage.project().join("notes.txt"), "keep me\n").expect("written");
        client.prepare(&stage);
        stage.install();
        if !setup.away {
            stage.start();
        }
        *stage.server.lock().expect("whole") = client.serve(&stage);
        Some(stage)
    }

    fn install(&self) {
        let mut words = vec!["install", self.client.name()];
        if self.client == Client::Codex {
            words.push("--trust");
        }
        let real = PathBuf::from(env!("CARGO_BIN_EXE_air-hook"));
        let hook = self.path("bin/air-hook");
        let Setup { hook: more, alone, nothing_runs, .. } = self.setup;
        if alone || nothing_runs || !more.is_empty() {
            let mut run = real;
            if alone {
                fs::create_dir(self.path("alone")).expect("a directory");
                run = self.path("alone/air-hook");
                fs::copy(env!("CARGO_BIN_EXE_air-hook"), &run).expect("copied");
            }
            let mut text = format!("#!/bin/sh\nexec '{}' \"$@\" {more}\n", run.display());
            if nothing_runs {
                let asked = self.path("asked");
                fs::create_dir(&asked).expect("a directory");
                let keep = NOTHING_RUNS.replace("ASKED", asked.to_str().expect("a path"));
                text = text.replace("exec", &keep.replace("HOOK", run.to_str().expect("a path")));
            }
            fs::write(&hook, text).expect("written");
            fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("set");
            words.extend(["--hook", hook.to_str().expect("a path")]);
        }
        self.air(&words);
        if self.client == Client::OpenCode && more.contains("--away open") {
            let plugin = self.home().join(".config/opencode/plugin/air.js");
            let text = fs::read_to_string(&plugin).expect("it is installed");
            fs::write(&plugin, text.replace("\"closed\"", "\"open\"")).expect("written");
        }
    }

    /// Where the client's own server listens.
    pub(crate) fn port(&self) -> u16 {
        self.server.lock().expect("whole").as_ref().expect("it serves").1
    }

    /// Starts the daemon.
    pub(crate) fn start(&self) {
        let mut words = vec!["daemon", "start"];
        words.extend(self.setup.daemon);
        self.air(&words);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Whether a file of the project is there.
    pub(crate) fn has(&self, file: &str) -> bool {
        self.project().join(file).exists()
    }

    /// A program with the machine's environment.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let rest = env::var_os("PATH").unwrap_or_default();
        let client = self.client.program().and_then(|path| path.parent().map(Path::to_path_buf));
        let path = env::join_paths(client.into_iter().chain(env::split_paths(&rest)));
        let path = path.expect("a search path");
        command.env_clear().env("PATH", path).env("HOME", self.home()).env("LANG", "C.UTF-8");
        command.env("AIR_STATE", self.path("state")).current_dir(self.project());
        command.stdin(Stdio::null());
        command
    }

    /// `airctl`, which has to succeed.
    pub(crate) fn air(&self, arguments: &[&str]) -> Output {
        let output = self.try_air(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "airctl {arguments:?}: {said}");
        output
    }

    /// `airctl`, whatever comes of it.
    pub(crate) fn try_air(&self, arguments: &[&str]) -> Output {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_airctl"));
        let mut command = self.command(&program);
        command.args(arguments).current_dir(self.directory.path());
        command.output().expect("airctl runs")
    }

    /// The client at a task, to its end.
    pub(crate) fn task(&self, prompt: &str, resumed: Option<&str>) -> Ran {
        let out = self.path("said");
        let file = fs::File::create(&out).expect("a file");
        let mut command = self.client.task(self, prompt, resumed);
        command.stdout(file.try_clone().expect("a file")).stderr(file);
        let mut child = command.spawn().expect("the client starts");
        let until = Instant::now() + PATIENCE;
        while child.try_wait().expect("it can be waited for").is_none() {
            if Instant::now() > until {
                child.kill().expect("it can be ended");
                child.wait().expect("it ends");
                let said = fs::read_to_string(&out).unwrap_or_default();
                panic!("{} came to no end: {said}", self.client.name());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ran { said: fs::read_to_string(out).unwrap_or_default() }
    }

    /// What AIR has on record of incidents, oldest first, once each is at rest.
    pub(crate) fn incidents(&self) -> Vec<IncidentRecord> {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let all = self.incidents_now();
            let rests = |record: &IncidentRecord| {
                use air_core::incident::State;
                let state = record.incident.state();
                state.is_terminal() || matches!(state, State::Escalated(_))
            };
            if all.iter().all(rests) || Instant::now() > until {
                return all;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn store(&self) -> Air {
        let mut settings = Settings::new(&self.project(), &self.path("state"), Vec::new());
        settings.state = self.path("state/hosts");
        Air::open_read_only(settings, LabelTable::built_in().expect("labels")).expect("a store")
    }

    pub(crate) fn incidents_now(&self) -> Vec<IncidentRecord> {
        block_on(records::incidents(self.store().journal())).expect("a journal")
    }

    /// The host's own id of its first session that AIR has on record.
    pub(crate) fn session(&self) -> String {
        let store = self.store();
        let journal = store.journal();
        let sessions = block_on(records::sessions(journal)).expect("a journal");
        let opened = sessions.iter().find_map(|id| {
            let events = block_on(records::session_events(journal, id)).expect("a journal");
            events.into_iter().find_map(|event| match event {
                SessionEvent::Opened { beside, .. } => beside.map(|beside| beside.session),
                _ => None,
            })
        });
        opened.expect("a session beside the host")
    }

    /// All that the model was shown, as text: what the agent was told is in it.
    pub(crate) fn shown(&self) -> String {
        let all = self.model.requests();
        all.iter().map(|seen| seen.body.to_string()).collect::<Vec<_>>().join("\n")
    }
}

/// Ends the daemon of a state directory as nothing can withstand.
pub(crate) fn kill(state: &Path) {
    assert!(try_kill(state), "it runs");
}

/// The same, where there is one. Whether there was.
pub(crate) fn try_kill(state: &Path) -> bool {
    let Ok(address) = fs::read(state.join("hosts/run/address.json")) else { return false };
    let address: serde_json::Value = serde_json::from_slice(&address).unwrap_or_default();
    let pid = address["pid"].to_string();
    let killed = Command::new("kill").args(["-9", &pid]).status();
    let until = Instant::now() + Duration::from_secs(5);
    while Path::new("/proc").join(&pid).join("exe").exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    killed.is_ok_and(|status| status.success())
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some((mut server, _)) = self.server.lock().expect("whole").take() {
            let _ = server.kill();
            let _ = server.wait();
            if std::thread::panicking() {
                println!("{}", fs::read_to_string(self.path("served")).unwrap_or_default());
            }
        }
        let _ = self.try_air(&["daemon", "stop"]);
    }
}
