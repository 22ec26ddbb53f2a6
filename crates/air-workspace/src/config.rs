//! What a workspace is opened with.

use std::{ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use air_core::{
    fact::{NoLabels, PathLabels},
    port::Tier,
};

/// Where and how a session's tools run.
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    /// The user's directory that the agent works on.
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
    /// Limits of every call.
    pub limits: Limits,
    /// Which paths have labels: an origin with one is preferred.
    pub labels: Arc<dyn PathLabels>,
    /// Files outside of the workspace that may be an origin, such as `/etc/passwd`.
    pub sensitive_paths: Vec<String>,
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
            limits: Limits::default(),
            labels: Arc::new(NoLabels),
            sensitive_paths: Vec::new(),
        }
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
    /// Processes at once; beyond, all are ended. Default 512.
    pub processes: u32,
    /// Size of one file that is written. Default 1 GiB.
    pub file_bytes: u64,
    /// Size of one file that a checkpoint keeps; beyond, its change is irreversible. Default 256 MiB.
    pub retained_file_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_mins(1),
            output_bytes: 1 << 20,
            memory_bytes: 4 << 30,
            processes: 512,
            file_bytes: 1 << 30,
            retained_file_bytes: 256 << 20,
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
