//! The workspace with real sandboxes. Whatever is dangerous runs inside one and nowhere else.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper that fails is a test that fails")]

mod answered;
mod containment;
mod network;
mod outputs;
mod outside;
mod restore;
mod services;
mod state;
mod steps;
mod system;
mod variables;

use std::{
    ffi::OsString,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use air_core::{
    effects::{Change, Effects, FileEffect},
    fact::PathLabels,
    id::{CallId, CheckpointId, IncidentId},
    port::{Tier, ToolBox, ToolError, Workspace},
    step::{Observation, ToolCall},
};
use air_workspace::{
    Archive, Limits, LocalWorkspace, Overlay, SandboxConfig, Service, Tools, detect,
};
use futures::executor::block_on;
use serde_json::{Value, json};

/// `/etc/passwd` is labelled.
#[derive(Debug)]
struct Labels;

impl PathLabels for Labels {
    fn labels(&self, path: &str) -> Vec<Arc<str>> {
        if path == "/etc/passwd" { vec!["system".into()] } else { Vec::new() }
    }
}

/// The supervisor; a copy of it where another user runs the tests.
fn supervisor() -> OsString {
    let built = || env!("CARGO_BIN_EXE_air-supervise").into();
    std::env::var_os("AIR_SUPERVISE").unwrap_or_else(built)
}

/// A workspace of one tier, with its tools.
struct Bench {
    folder: tempfile::TempDir,
    tier: Tier,
    workspace: LocalWorkspace,
    tools: Tools,
}

fn config(folder: &Path, tier: Tier) -> SandboxConfig {
    let supervisor = vec![supervisor()];
    let mut config = SandboxConfig::new(folder.join("ws"), folder.join("state"), "s1", supervisor);
    config.minimum = Some(tier);
    config.maximum = Some(tier);
    config.limits.timeout = Duration::from_secs(20);
    config.labels = Arc::new(Labels);
    config.sensitive_paths = vec!["/etc/passwd".to_owned()];
    config
}

impl Bench {
    /// `None`, with a message, where this machine lacks the tier.
    fn try_new(tier: Tier) -> Option<Self> {
        Self::try_with(tier, |_| {})
    }

    fn try_with(tier: Tier, change: impl FnOnce(&mut SandboxConfig)) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("ws")).unwrap();
        let mut config = config(folder.path(), tier);
        change(&mut config);
        // The places of a layer are there once the workspace is open.
        let bare = SandboxConfig { overlay: None, ..config.clone() };
        let report = detect(&bare).into_iter().find(|report| report.tier == tier).unwrap();
        if !report.available {
            let required = std::env::var("AIR_REQUIRE_TIER").unwrap_or_default();
            assert!(tier.to_string() > required, "{tier} is required: {}", report.why);
            skip(&format!("{tier}: {} (fix: {:?})", report.why, report.fix));
            return None;
        }
        let workspace = LocalWorkspace::open(config).unwrap();
        assert_eq!(workspace.tier(), tier);
        Some(Self { folder, tier, tools: Tools::new(workspace.clone()), workspace })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("ws").join(name)
    }

    fn write(&self, name: &str, content: &str, mode: u32) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn try_call(&self, tool: &str, arguments: Value) -> Result<Observation, ToolError> {
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        let call =
            ToolCall { id: CallId::from("c"), tool: tool.to_owned(), arguments, native: None };
        block_on(self.tools.call(&call))
    }

    fn call(&self, tool: &str, arguments: Value) -> Observation {
        self.try_call(tool, arguments).unwrap()
    }

    fn python(&self, code: &str) -> Observation {
        self.call("python_repl", json!({ "code": code }))
    }

    fn bash(&self, command: &str) -> Observation {
        self.call("bash", json!({ "command": command }))
    }

    fn checkpoint(&self) -> CheckpointId {
        block_on(self.workspace.checkpoint()).unwrap()
    }

    fn effects(&self, since: &CheckpointId) -> Effects {
        block_on(self.workspace.effects(since, &[])).unwrap()
    }

    /// The effect on a file of the workspace, if there is one.
    fn effect(&self, since: &CheckpointId, name: &str) -> Option<FileEffect> {
        let path = self.inside(name);
        self.effects(since).files.items.into_iter().find(|file| file.path == path)
    }

    /// A file of the workspace, as the agent calls it.
    fn inside(&self, name: &str) -> String {
        match self.tier {
            Tier::T3 => format!("/workspace/{name}"),
            _ => self.path(name).to_str().unwrap().to_owned(),
        }
    }

    fn rollback(&self, to: &CheckpointId) -> String {
        block_on(self.workspace.rollback(to)).unwrap()
    }

    fn kill(&self) -> String {
        block_on(self.workspace.kill()).unwrap()
    }
}

#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

/// Runs a test at each tier that contains.
fn at_each_tier(test: impl Fn(Bench)) {
    for tier in [Tier::T3, Tier::T2] {
        if let Some(bench) = Bench::try_new(tier) {
            test(bench);
        }
    }
}

fn at_t3(test: impl FnOnce(Bench)) {
    if let Some(bench) = Bench::try_new(Tier::T3) {
        test(bench);
    }
}

/// Every entry below: name, kind, mode, content or target, mtime.
fn snapshot(root: &Path) -> Vec<String> {
    use std::os::unix::fs::MetadataExt;
    let mut all = Vec::new();
    let mut pending = vec![root.to_path_buf()];
    while let Some(path) = pending.pop() {
        let meta = path.symlink_metadata().unwrap();
        let content = if meta.is_symlink() {
            path.read_link().unwrap().display().to_string()
        } else if meta.is_file() {
            format!("{:?}", std::fs::read(&path).unwrap())
        } else {
            String::new()
        };
        if meta.is_dir() {
            pending.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let (mode, time) = (meta.mode(), (meta.mtime(), meta.mtime_nsec()));
        let path = path.as_os_str().as_encoded_bytes().escape_ascii();
        all.push(format!("{path} {mode:o} {time:?} {content}"));
    }
    all.sort();
    all
}
