//! What a store is opened with.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::minds::Minds;
use air_core::{policy::FailPolicy, rule::Rule};
use air_runtime::Models;
use air_workspace::{Limits, Outside, Service, Shape};

/// Everything about one workspace that a host decides.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Settings {
    /// The directory that the agent works in. Absolute.
    pub workspace: PathBuf,
    /// AIR's own directory for this workspace. The agent never sees it in T2 and T3.
    pub state: PathBuf,
    /// The authored rules.
    pub rules: Vec<Rule>,
    /// What undetermined answers do.
    pub policy: FailPolicy,
    /// What one call may use.
    pub limits: Limits,
    /// Whether tier T1, which contains nothing, will do.
    pub unsandboxed: bool,
    /// Whether tools work on a layer above the workspace, where the machine has that, so that the
    /// user's files change only when the session has ended well.
    pub layered: bool,
    /// Whether guardrails are learned from incidents.
    pub learn: bool,
    /// Whether learned guardrails act; otherwise each is in shadow: it is evaluated and recorded.
    pub enforce: bool,
    /// Whether incidents are responded to; otherwise they are found and learned from, no more.
    pub respond: bool,
    /// The models that take part.
    pub minds: Minds,
    /// How they do.
    pub models: Models,
    /// What the workspace is to tools: a directory, or the whole root file system.
    pub shape: Shape,
    /// Variables of all calls, in the place of defaults of the same name.
    pub environment: Vec<(String, String)>,
    /// Files and directories of the host that tools see, and where.
    pub binds: Vec<(PathBuf, PathBuf)>,
    /// Programs that run beside the agent and are not its own.
    pub services: Vec<Service>,
    /// The program and leading arguments that lead to [`air_workspace::supervisor::main`].
    pub supervisor: Vec<OsString>,
    /// What answers in the place of the outside world. Default: nothing does, and nothing leaves.
    /// Takes tier T3.
    pub outside: Option<Arc<dyn Outside>>,
}

impl Settings {
    /// Settings without rules, for a workspace whose state is kept below `states`, in a directory
    /// of its own.
    pub fn new(workspace: &Path, states: &Path, supervisor: Vec<OsString>) -> Self {
        Self {
            workspace: workspace.to_owned(),
            state: state_of(workspace, states),
            rules: Vec::new(),
            policy: FailPolicy::default(),
            limits: Limits::default(),
            unsandboxed: false,
            layered: true,
            learn: true,
            enforce: true,
            respond: true,
            minds: Minds::default(),
            models: Models::default(),
            shape: Shape::Directory,
            environment: Vec::new(),
            binds: Vec::new(),
            services: Vec::new(),
            supervisor,
            outside: None,
        }
    }

    /// Settings without rules, for the sessions beside all hosts of a user, whose state is `hosts`.
    pub fn of_hosts(hosts: &Path, supervisor: Vec<OsString>) -> Self {
        Self { state: hosts.to_owned(), ..Self::new(hosts, hosts, supervisor) }
    }

    pub(crate) fn journal_path(&self) -> PathBuf {
        self.state.join("journal").join("journal.sqlite")
    }
}

/// One directory a workspace: its name, for people, and a digest of its path.
fn state_of(workspace: &Path, states: &Path) -> PathBuf {
    let digest = blake3::hash(workspace.as_os_str().as_encoded_bytes()).to_hex();
    let digest = digest.get(..12).unwrap_or_default();
    let name = workspace.file_name().map(|name| name.to_string_lossy().into_owned());
    states.join(format!("{}-{digest}", name.unwrap_or_else(|| "root".into())))
}
