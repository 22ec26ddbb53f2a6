//! What must not be lost, torn or missed: origins, databases, edits of the user, and the guarantees of
//! checkpoints. With real sandboxes; whatever an agent does runs inside one.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a helper that fails is a test that fails"
)]

mod benign;
mod databases;
mod edits;
mod guarantees;
mod origins;
mod ways;

use std::{
    ffi::OsString,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use air_core::{
    effects::{Effects, FileEffect},
    fact::PathLabels,
    id::{CallId, CheckpointId},
    port::{Tier, ToolBox, Workspace, WorkspaceError},
    step::{Observation, ToolCall},
};
use air_workspace::{LocalWorkspace, OpenError, Overlay, SandboxConfig, Tools};
use futures::executor::block_on;
use serde_json::{Value, json};

/// The system's accounts, and files of the workspace by their names.
#[derive(Debug)]
struct Labels;

impl PathLabels for Labels {
    fn labels(&self, path: &str) -> Vec<Arc<str>> {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name {
            _ if path == "/etc/passwd" => vec!["system".into()],
            "credentials.json" | ".env" | "id_rsa" => vec!["secret".into()],
            _ => Vec::new(),
        }
    }
}

/// Where tools act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// T3, on a layer above the workspace.
    Layered,
    /// T3, on the workspace itself.
    Direct,
    /// T2, on the workspace itself.
    Landlock,
}

const MODES: [Mode; 3] = [Mode::Layered, Mode::Direct, Mode::Landlock];

impl Mode {
    fn tier(self) -> Tier {
        if self == Self::Landlock { Tier::T2 } else { Tier::T3 }
    }
}

struct Bench {
    folder: tempfile::TempDir,
    mode: Mode,
    workspace: LocalWorkspace,
    tools: Tools,
}

impl Bench {
    /// `None`, with a message, where this machine lacks the tier. `prepare` fills the workspace.
    fn open(mode: Mode, prepare: impl FnOnce(&Path)) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("ws")).unwrap();
        prepare(&folder.path().join("ws"));
        let workspace = match LocalWorkspace::open(config(folder.path(), mode)) {
            Err(OpenError::Tier { wanted, why, fix }) => {
                let required = std::env::var("AIR_REQUIRE_TIER").unwrap_or_default();
                assert!(wanted.to_string() > required, "{mode:?} is required: {why}");
                skip(&format!("{mode:?}: {why} (fix: {fix})"));
                return None;
            }
            opened => opened.unwrap(),
        };
        assert_eq!(workspace.is_layered(), mode == Mode::Layered);
        Some(Self { folder, mode, tools: Tools::new(workspace.clone()), workspace })
    }

    /// A file of the user's directory.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("ws").join(name)
    }

    /// A file of the workspace, on the host, as the agent's changes are kept.
    fn changed(&self, name: &str) -> PathBuf {
        match self.mode {
            Mode::Layered => self.session().join("upper").join(name),
            Mode::Direct | Mode::Landlock => self.path(name),
        }
    }

    fn session(&self) -> PathBuf {
        self.folder.path().join("state/sessions/s1")
    }

    /// A file of the workspace, as the agent calls it.
    fn inside(&self, name: &str) -> String {
        match self.mode {
            Mode::Layered | Mode::Direct => format!("/workspace/{name}"),
            Mode::Landlock => self.path(name).to_str().unwrap().to_owned(),
        }
    }

    fn call(&self, tool: &str, arguments: Value) -> Observation {
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        let call =
            ToolCall { id: CallId::from("c"), tool: tool.to_owned(), arguments, native: None };
        block_on(self.tools.call(&call)).unwrap()
    }

    fn python(&self, code: &str) -> Observation {
        let seen = self.call("python_repl", json!({ "code": code }));
        assert_eq!(seen.error, None, "{seen:?}");
        seen
    }

    fn bash(&self, command: &str) -> Observation {
        let seen = self.call("bash", json!({ "command": command }));
        assert_eq!(seen.error, None, "{command}: {seen:?}");
        seen
    }

    fn checkpoint(&self) -> CheckpointId {
        block_on(self.workspace.checkpoint()).unwrap()
    }

    /// What the call that began at `since`, and has ended, did.
    fn effects(&self, since: &CheckpointId) -> Effects {
        let effects = block_on(self.workspace.effects(since, &[])).unwrap();
        block_on(self.workspace.left(since)).unwrap();
        effects
    }

    /// The effect on a file of the workspace, if there is one.
    fn effect(&self, since: &CheckpointId, name: &str) -> Option<FileEffect> {
        let path = self.inside(name);
        self.effects(since).files.items.into_iter().find(|file| file.path == path)
    }

    fn try_rollback(&self, to: &CheckpointId) -> Result<String, WorkspaceError> {
        block_on(self.workspace.rollback(to))
    }

    fn rollback(&self, to: &CheckpointId) -> String {
        self.try_rollback(to).unwrap()
    }
}

fn config(folder: &Path, mode: Mode) -> SandboxConfig {
    let built = || OsString::from(env!("CARGO_BIN_EXE_air-supervise"));
    let supervisor = vec![std::env::var_os("AIR_SUPERVISE").unwrap_or_else(built)];
    let mut config = SandboxConfig::new(folder.join("ws"), folder.join("state"), "s1", supervisor);
    config.minimum = Some(mode.tier());
    config.maximum = Some(mode.tier());
    config.overlay = (mode == Mode::Layered).then(|| Overlay::of(&config.session_dir));
    config.limits.timeout = Duration::from_mins(1);
    config.labels = Arc::new(Labels);
    config.sensitive_paths = vec!["/etc/passwd".to_owned()];
    config
}

fn write(path: &Path, content: impl AsRef<[u8]>, mode: u32) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

/// Waits until something holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Numbers that look like chance and are the same in each run.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn text(&mut self, length: usize) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let letter = |_| char::from(LETTERS[usize::try_from(self.next()).unwrap() % LETTERS.len()]);
        (0..length).map(letter).collect()
    }
}
