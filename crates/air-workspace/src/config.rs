//! What a workspace is opened with.

use std::{ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use air_checkpoint::Watches;
use air_core::{
    fact::{ContentMarks, NoLabels, NoMarks, PathLabels},
    port::Tier,
};

use crate::outside::Outside;

/// Where and how a session's tools run.
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    /// The user's directory that the agent works on.
    ///
    /// Where AIR is root, a sandbox of T3 runs outside as the owner of this directory, or in the
    /// place of root as nobody (65534), through a mount that maps the owner. So what the agent makes
    /// belongs on disk to the owner. Through such a mount the agent reads files of other owners as
    /// their mode lets everybody, and never changes, renames or deletes one, whatever its mode.
    pub workspace: PathBuf,
    /// AIR's own directory: checkpoints and evidence. The agent never sees it.
    pub state: PathBuf,
    /// The session's own directory, inside `state`: scratch home, scratch tmp, sources of steps.
    pub session_dir: PathBuf,
    /// The program and leading arguments that lead to [`crate::supervisor::main`].
    pub supervisor: Vec<OsString>,
    /// The weakest tier that will do. Default T2.
    pub minimum: Option<Tier>,
    /// The strongest tier to use, for those who want no more. Default: any.
    pub maximum: Option<Tier>,
    /// Whether T1, which contains nothing, will do.
    pub unsandboxed: bool,
    /// Layers in which the agent's changes of the workspace are kept instead. Default: none, and the
    /// agent works on the directory itself. Only in T3.
    pub overlay: Option<Overlay>,
    /// Limits of every call.
    pub limits: Limits,
    /// Which paths have labels: an origin with one is preferred.
    pub labels: Arc<dyn PathLabels>,
    /// Files outside of the workspace that may be an origin, such as `/etc/passwd`.
    pub sensitive_paths: Vec<String>,
    /// What the workspace is to tools. Default [`Shape::Directory`].
    pub shape: Shape,
    /// Variables of all calls; one of the same name as a default takes its place. `python3` is the
    /// one that `PATH` leads to, on the host and not in a directory that the agent can write to.
    pub environment: Vec<(String, String)>,
    /// Files and directories of the host, and where they are seen, read-only. Only in T3. They are
    /// read as their mode lets everybody; one below `/proc` takes the place of what is there.
    pub binds: Vec<(PathBuf, PathBuf)>,
    /// Programs that run beside the agent and are not its own. Only in T3.
    pub services: Vec<Service>,
    /// What answers in the place of the outside world. Default: nothing does, and nothing leaves.
    /// Takes T3.
    pub outside: Option<Arc<dyn Outside>>,
    /// What is notable about text that files gain. Default: nothing.
    pub marks: Arc<dyn ContentMarks>,
    /// The home of whoever works on the directory, where that is another program that runs its tools by
    /// itself: AIR watches and restores, and contains nothing. Default: AIR runs the tools.
    pub beside: Option<PathBuf>,
    /// What is watched for other sessions of this process too. Default: for this one alone.
    pub watches: Option<Arc<Watches>>,
}

/// What the workspace is to tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// One directory: `/workspace`, beside a scratch home and a scratch `/tmp`, in the system of the
    /// host.
    #[default]
    Directory,
    /// The whole root file system `/`, such as that of a container. Only in T3 and without a layer.
    ///
    /// Calls begin in `/workspace` of it, as user 0 whose home is `/root`. The programs and libraries
    /// of the host (`/usr/bin`, `/usr/lib` and their like) are seen in the place of its own,
    /// read-only, as are `/proc` and `/dev`. Directories that are missing for that are made.
    System,
}

/// A program that the sandbox starts before the first call, such as a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// What the process is called: a plain file name, unique.
    pub name: String,
    /// The program's absolute path inside, and its arguments. It has to stay in the foreground.
    pub argv: Vec<String>,
}

impl SandboxConfig {
    /// The default configuration of a session: at least T2, default limits, no labels.
    pub fn new(
        workspace: impl Into<PathBuf>,
        state: impl Into<PathBuf>,
        session: &str,
        supervisor: Vec<OsString>,
    ) -> Self {
        let state = state.into();
        Self {
            workspace: workspace.into(),
            session_dir: state.join("sessions").join(session),
            state,
            supervisor,
            minimum: None,
            maximum: None,
            unsandboxed: false,
            overlay: None,
            limits: Limits::default(),
            labels: Arc::new(NoLabels),
            sensitive_paths: Vec::new(),
            outside: None,
            marks: Arc::new(NoMarks),
            shape: Shape::Directory,
            environment: Vec::new(),
            binds: Vec::new(),
            services: Vec::new(),
            beside: None,
            watches: None,
        }
    }
}

/// The writable layers of an overlay over the workspace: two directories of AIR's beside each other
/// on one file system, with plain ASCII names.
///
/// `upper` holds what differs from the workspace, in the format of overlayfs with its attributes in
/// the `user.` name space: a character device 0:0 stands for what was deleted. Its own mode and owner
/// are those of the agent's workspace. Neither may be changed while a sandbox runs.
#[derive(Debug, Clone)]
pub struct Overlay {
    /// What differs.
    pub upper: PathBuf,
    /// Of the kernel's own, and empty at first.
    pub work: PathBuf,
}

impl Overlay {
    /// Layers in the directory of a session.
    pub fn of(session_dir: &std::path::Path) -> Self {
        Self { upper: session_dir.join("upper"), work: session_dir.join("work") }
    }
}

/// Limits of every call. None of them is a promise to the agent.
#[derive(Debug, Clone)]
pub struct Limits {
    /// How long a call may take. Default 60 s.
    pub timeout: Duration,
    /// Bytes of output that are kept. Default 1 MiB.
    pub output_bytes: u64,
    /// Address space of one process. Default 4 GiB.
    pub memory_bytes: u64,
    /// Memory of all processes together; beyond, all are ended. Default 4 GiB.
    pub total_memory_bytes: u64,
    /// Processes at once; beyond, all are ended. Default 512.
    pub processes: u32,
    /// Processor time of one process, the session's interpreter among them. Default 10 minutes.
    pub cpu: Duration,
    /// Files that one process has open at once; never less than 256. Default 1024.
    pub open_files: u32,
    /// Size of one file that is written. Default 1 GiB.
    pub file_bytes: u64,
    /// Size of one file that a checkpoint keeps; beyond, its change is irreversible. Default 256 MiB.
    pub retained_file_bytes: u64,
    /// What the contents of all checkpoints of a workspace may take on disk, in bytes; beyond, changes
    /// are irreversible. Default 4 GiB.
    pub store_bytes: u64,
    /// Files, directories and links of the workspace that are looked at; beyond, what the agent did
    /// is not wholly known. Default 2,000,000.
    pub entries: usize,
}

impl Limits {
    /// What the store of a workspace may take. One content may be as large as a file that a tool
    /// writes: it is kept when it is handed over.
    pub(crate) fn budget(&self) -> air_checkpoint::Budget {
        air_checkpoint::Budget {
            bytes: self.store_bytes,
            content_bytes: self.file_bytes.max(self.retained_file_bytes),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_mins(1),
            output_bytes: 1 << 20,
            memory_bytes: 4 << 30,
            total_memory_bytes: 4 << 30,
            processes: 512,
            cpu: Duration::from_mins(10),
            open_files: 1024,
            file_bytes: 1 << 30,
            retained_file_bytes: 256 << 20,
            store_bytes: 4 << 30,
            entries: 2_000_000,
        }
    }
}

/// A workspace could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No tier that will do is available.
    #[error("tier {wanted} is not available: {why}; to fix it: {fix}")]
    Tier {
        /// The weakest that will do.
        wanted: Tier,
        /// What is missing.
        why: String,
        /// What makes it available.
        fix: String,
    },
    /// The directories do not fit together.
    #[error("{0}")]
    Layout(String),
    /// A directory or program could not be used.
    #[error("`{path}`: {source}")]
    Io {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

impl OpenError {
    pub(crate) fn io(path: impl AsRef<std::path::Path>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.as_ref().display().to_string();
        move |source| Self::Io { path, source }
    }
}
