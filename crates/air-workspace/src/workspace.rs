//! The workspace of one session on this machine.

use std::{
    ffi::OsStr,
    fmt::Write as _,
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use air_checkpoint::{
    Place, Root, Store, Watches,
    overlay::Shown,
    store::{digest, private_directory},
};
use air_core::{
    effects::{Effects, Observed, OutputEffect, ProcessEffect, ReadEffect},
    id::CheckpointId,
    port::{BoxFuture, Tier, WorkspaceError},
};

use crate::{
    config::{OpenError, Overlay, SandboxConfig, Shape},
    effects::{files, marks},
    escape::unescape,
    image,
    layers::{Layers, Writers},
    layout::{
        check_beside, check_layout, check_settings, choose, find_program, prepare, prepare_overlay,
        roots,
    },
    network::{Network, Seen},
    origin::{Before, Beside, Origins},
    protocol::{Process, Reply, Request},
    python::PythonHome,
    sandbox::Sandbox,
    services::Past,
    stage::Ids,
    view::View,
};

/// How long a supervisor may take to stop what runs.
const PATIENCE: Duration = Duration::from_secs(10);
/// Entries that are named one by one when something could not be done.
const NAMED: usize = 5;

/// A directory of the user, a sandbox around the tools that work on it, and its checkpoints. Clones
/// share all of that. Work runs on threads of its own, one at a time.
#[derive(Debug, Clone)]
pub struct LocalWorkspace {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) config: SandboxConfig,
    pub(crate) tier: Tier,
    /// Whom the sandbox runs as outside, if not as AIR.
    pub(crate) ids: Option<Ids>,
    pub(crate) python: PythonHome,
    pub(crate) roots: Vec<Root>,
    pub(crate) view: View,
    running: Mutex<Running>,
}

#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) sandbox: Option<Sandbox>,
    pub(crate) layers: Layers,
    origins: Origins,
    pub(crate) network: Network,
    pub(crate) services: Past,
    /// Whether the agent's processes may have changed files after the last call.
    pub(crate) runs_on: bool,
    /// Where the last call began whose effects were asked for.
    pub(crate) examined: Option<CheckpointId>,
    /// The checkpoint before the call that ended last: what it left is remembered.
    pub(crate) left: Option<CheckpointId>,
    /// What differed then.
    shown: Vec<Shown>,
    /// What had been connected to when effects were last asked for.
    connected: Vec<Seen>,
    /// What tools have read since the last checkpoint.
    reads: Vec<ReadEffect>,
    pub(crate) steps: u32,
    /// The file name of the last call's source, if it had one.
    pub(crate) source: Option<String>,
}

impl LocalWorkspace {
    /// Opens the workspace at the strongest tier there is. Nothing is started yet; a session that
    /// another process left is taken up.
    ///
    /// # Errors
    ///
    /// [`OpenError::Tier`] if no tier will do, with what makes one available;
    /// [`OpenError::Layout`] if the agent would see AIR's directories.
    pub fn open(mut config: SandboxConfig) -> Result<Self, OpenError> {
        let program = config.supervisor.first().cloned().unwrap_or_default();
        let program = find_program(&program).map_err(OpenError::io(&program))?;
        match config.supervisor.first_mut() {
            Some(first) => *first = program.into_os_string(),
            None => config.supervisor.push(program.into_os_string()),
        }
        make_directories(&mut config)?;
        prepare_overlay(&mut config).map_err(OpenError::io(&config.session_dir))?;
        let python = PythonHome::find(&config);
        check_settings(&config, Tier::T3)?;
        let (tier, ids) = choose(&config, &python)?;
        check_settings(&config, tier)?;
        check_layout(&config, &python)?;
        let steps = prepare(&config).map_err(OpenError::io(&config.session_dir))?;
        if tier != Tier::T3 {
            config.overlay = None;
        }
        Self::assemble(config, tier, ids, python, steps)
    }

    /// Opens a session that has ended, to take back what it did. Its tools cannot be called.
    ///
    /// # Errors
    ///
    /// If its records cannot be read.
    pub fn open_ended(mut config: SandboxConfig) -> Result<Self, OpenError> {
        make_directories(&mut config)?;
        let layer = config.session_dir.join("shown");
        config.overlay = layer.exists().then(|| Overlay::of(&config.session_dir));
        Self::assemble(config, Tier::T1, None, PythonHome::none(), 0)
    }

    /// Watches the directory of a host that runs its tools by itself, with `config.beside`. Nothing is
    /// contained: tier T1. A session that another process left is taken up.
    ///
    /// # Errors
    ///
    /// [`OpenError::Layout`] if the directory cannot be watched.
    pub fn open_beside(mut config: SandboxConfig) -> Result<Self, OpenError> {
        make_directories(&mut config)?;
        check_beside(&config)?;
        config.overlay = None;
        Self::assemble(config, Tier::T1, None, PythonHome::none(), 0)
    }

    /// The next calls begin in `directory`, an absolute path: relative paths in them are meant from there.
    pub fn enter(&self, directory: &Path) {
        self.inner.view.enter(directory);
    }

    fn assemble(
        config: SandboxConfig,
        tier: Tier,
        ids: Option<Ids>,
        python: PythonHome,
        steps: u32,
    ) -> Result<Self, OpenError> {
        let store = Store::open_with(&config.state, config.limits.budget())
            .map_err(|error| OpenError::io(&config.state)(error.into()))?;
        let roots = roots(&config, tier);
        let view = View::of(&config, tier, &python, &roots);
        if config.shape == Shape::System && tier == Tier::T3 {
            image::complete(&config, &view, &python).map_err(OpenError::io(&config.workspace))?;
        }
        let lower = config.overlay.is_some().then(|| config.workspace.clone());
        let layers = Layers::open(&config.session_dir, roots.clone(), lower, store, &config.limits);
        let mut layers = layers.map_err(|error| OpenError::Layout(error.to_string()))?;
        let own = || Watches::new(&config.session_dir.join("watch"));
        layers.watch(&config.watches.clone().unwrap_or_else(own));
        layers.share(match config.beside {
            // The store is for many.
            Some(_) => config.state.join(format!("known-{}", named(&config.workspace)?)),
            None => config.state.join("known"),
        });
        let origins = Origins::new(Arc::clone(&config.labels), layers.workspace());
        let running = Running {
            sandbox: None,
            layers,
            origins,
            network: Network::new(config.outside.is_some()),
            services: Past::default(),
            runs_on: false,
            examined: None,
            left: None,
            shown: Vec::new(),
            connected: Vec::new(),
            reads: Vec::new(),
            steps,
            source: None,
        };
        let running = Mutex::new(running);
        let inner = Inner { config, tier, ids, python, roots, view, running };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Whether tools work on a layer above the workspace, which is handed over at the end.
    pub fn is_layered(&self) -> bool {
        self.inner.config.overlay.is_some()
    }

    /// The sandbox's first process, as the host calls it, while it runs. Only in T3.
    pub fn sandbox_pid(&self) -> Option<u32> {
        let mut running = self.inner.running();
        let alive = running.sandbox.as_mut().filter(|sandbox| sandbox.is_running());
        alive.filter(|_| self.inner.tier == Tier::T3)?.first_process()
    }

    pub(crate) fn inner(&self) -> Arc<Inner> {
        Arc::clone(&self.inner)
    }

    /// Stops all processes of the sandbox where they are, the interpreter too. Calls fail until
    /// [`Self::thaw`]; [`kill`](air_core::port::Workspace::kill) and [`rollback`](air_core::port::Workspace::rollback) work.
    pub fn freeze(&self) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        self.off_thread(|inner| Inner::freeze_in(&mut inner.running()))
    }

    /// Lets what was frozen go on.
    pub fn thaw(&self) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        self.off_thread(|inner| Inner::thaw_in(&mut inner.running()))
    }

    pub(crate) fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T, WorkspaceError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, WorkspaceError>> {
        let inner = self.inner();
        Box::pin(off_thread(move || work(&inner)))
    }
}

/// A name for a directory, as its digest.
fn named(directory: &Path) -> Result<String, OpenError> {
    let digest = digest(&mut directory.as_os_str().as_bytes()).map_err(OpenError::io(directory))?;
    Ok(digest.to_string())
}

fn make_directories(config: &mut SandboxConfig) -> Result<(), OpenError> {
    let session = config.session_dir.clone();
    for directory in [&config.state, &session, &session.join("home"), &session.join("tmp")] {
        private_directory(directory).map_err(OpenError::io(directory))?;
    }
    for path in [&mut config.workspace, &mut config.state, &mut config.session_dir] {
        *path = path.canonicalize().map_err(OpenError::io(&*path))?;
    }
    Ok(())
}

/// Runs `work` on a thread, so that no executor is held up.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, WorkspaceError> {
    let (done, on_done) = futures::channel::oneshot::channel();
    std::thread::Builder::new()
        .name("air-workspace".to_owned())
        .spawn(move || {
            // Whoever waited may have given up.
            let _ = done.send(work());
        })
        .map_err(failed)?;
    on_done.await.map_err(failed)?
}

impl Inner {
    pub(crate) fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn checkpoint(&self) -> Result<CheckpointId, WorkspaceError> {
        let mut running = self.running();
        self.look(&mut running);
        let id = running.layers.checkpoint().map_err(failed)?;
        if !running.layers.is_layered() {
            // What the call may change is read before.
            let (outside, _) = self.named(&[]);
            let Running { layers, origins, .. } = &mut *running;
            origins.refresh(layers, &outside);
        }
        running.reads.clear();
        running.runs_on = false;
        running.source = None;
        let running = &mut *running;
        running.network.mark(running.sandbox.as_mut(), &id);
        self.mark_services(running, &id);
        Ok(id)
    }

    pub(crate) fn effects(
        &self,
        since: &CheckpointId,
        mentioned: &[String],
    ) -> Result<Effects, WorkspaceError> {
        let mut running = self.running();
        self.look(&mut running);
        let changes = running.layers.since(since).map_err(failed)?;
        running.examined = Some(since.clone());
        let (outside, inside) = self.named(mentioned);
        let Running { layers, origins, network, sandbox, connected, .. } = &mut *running;
        origins.refresh(layers, &outside);
        let found = origins.of(layers, &changes.shown, &outside, &inside);
        let marks = marks(&*self.config.marks, layers, &changes.shown);
        let files = files(&self.roots, &changes, &found, &marks);
        let connections = match self.tier {
            Tier::T3 => {
                let seen = network.since(sandbox.as_mut(), since);
                connected.clone_from(&seen.items);
                seen.observed(|payload, truncated| origins.of_payload(payload, truncated))
            }
            Tier::T1 | Tier::T2 => Observed::partial(Vec::new(), "not observed at this tier"),
        };
        let processes = if self.config.beside.is_some() {
            Observed::partial(Vec::new(), "processes of a host are not watched")
        } else {
            let processes = Self::process_effects(&mut running);
            running.runs_on |= !processes.items.is_empty() || processes.incomplete.is_some();
            processes
        };
        let services = self.service_effects(&mut running, since);
        running.shown = changes.shown;
        Ok(Effects {
            files,
            reads: Observed::partial(running.reads.clone(), "what processes read is not observed"),
            processes,
            connections,
            services,
            output: Observed::partial(Vec::new(), "the output was not examined"),
        })
    }

    /// What the call that began at a checkpoint left is what was looked at last.
    pub(crate) fn left(&self, by: &CheckpointId) -> Result<(), WorkspaceError> {
        let mut running = self.running();
        running.layers.mark_after(by).map_err(failed)?;
        running.left = Some(by.clone());
        Ok(())
    }

    /// What the output of the call repeats whose effects were asked for last.
    pub(crate) fn output(
        &self,
        since: &CheckpointId,
        output: &str,
        mentioned: &[String],
    ) -> Result<Observed<OutputEffect>, WorkspaceError> {
        let running = self.running();
        let is_current = running.examined.as_ref() == Some(since);
        let differing;
        let shown = if is_current {
            &running.shown
        } else {
            differing = running.layers.differing(since).map_err(failed)?.shown;
            &differing
        };
        let (beside, mentioned_places) = self.named(mentioned);
        let before = Before {
            layers: &running.layers,
            shown,
            beside: &beside,
            mentioned: &mentioned_places,
            connections: if is_current { &running.connected } else { &[] },
            cwd: &self.view.cwd(),
        };
        Ok(running.origins.of_output(&before, output))
    }

    /// Looks at the roots while nothing inside writes to them.
    pub(crate) fn look(&self, running: &mut Running) {
        let Running { layers, sandbox, .. } = running;
        let Some(sandbox) = sandbox.as_mut().filter(|sandbox| sandbox.is_running()) else {
            layers.look(&Writers::default());
            return;
        };
        let (stopped, writers) = match sandbox.call(&Request::Quiet {}, PATIENCE) {
            Ok(Reply::Quiet { stopped, running, mapped: Some(mapped) }) => {
                // So the kernel calls a file whose name is gone; it may have others.
                let plain = |path: &str| path.strip_suffix(" (deleted)").map(str::to_owned);
                let paths =
                    mapped.iter().flat_map(|path| plain(path).into_iter().chain([path.clone()]));
                let places = paths.filter_map(|path| {
                    let path = unescape(&path);
                    self.view.place(layers.roots(), Path::new(OsStr::from_bytes(&path)))
                });
                let left = || format!("{running} processes could not be stopped while it looked");
                let unknown = (running > 0).then(left);
                (stopped, Writers { mapped: places.collect(), unknown })
            }
            Ok(Reply::Quiet { stopped, mapped: None, .. }) => (stopped, Writers::unknown()),
            Ok(_) | Err(_) => (false, Writers::unknown()),
        };
        layers.look(&writers);
        if stopped {
            // One that stays stopped is ended with its sandbox at the latest.
            let _ = sandbox.call(&Request::Thaw {}, PATIENCE);
        }
    }

    fn process_effects(running: &mut Running) -> Observed<ProcessEffect> {
        match Self::processes_of(running) {
            Ok(processes) => {
                let effect = |one: Process| ProcessEffect { pid: one.pid, argv: one.argv };
                Observed::whole(processes.into_iter().map(effect).collect())
            }
            Err(error) => Observed::partial(Vec::new(), error.to_string()),
        }
    }

    pub(crate) fn processes_of(running: &mut Running) -> io::Result<Vec<Process>> {
        let Some(sandbox) = running.sandbox.as_mut().filter(|sandbox| sandbox.is_running()) else {
            return Ok(Vec::new());
        };
        match sandbox.call(&Request::Processes {}, Duration::ZERO)? {
            Reply::Processes(processes) => Ok(processes),
            other => Err(unexpected(other)),
        }
    }

    /// Processes that calls left running.
    pub(crate) fn processes(&self) -> io::Result<Vec<Process>> {
        Self::processes_of(&mut self.running())
    }

    /// A tool has read a file, by the name that the agent gave it.
    /// What a path may stand for, as the agent calls it.
    pub(crate) fn followed(&self, path: &str) -> Vec<String> {
        let path = self.view.meant(path);
        let parent = path.parent().zip(path.file_name());
        let of_parent = parent.map_or_else(
            || path.canonicalize().ok(),
            |(parent, name)| Some(parent.canonicalize().ok()?.join(name)),
        );
        let Some(of_parent) = of_parent else { return Vec::new() };
        let whole = path.canonicalize().ok().filter(|whole| *whole != of_parent);
        let shown = |real: PathBuf| {
            let mut roots = self.roots.iter();
            let below = roots.find_map(|root| {
                let host = root.host.canonicalize().ok()?;
                Some(root.agent.join(real.strip_prefix(host).ok()?))
            });
            below.unwrap_or(real).to_string_lossy().into_owned()
        };
        [of_parent].into_iter().chain(whole).map(shown).collect()
    }

    pub(crate) fn note_read(&self, path: &str) {
        let path = self.view.meant(path).to_string_lossy().into_owned();
        self.running().reads.push(ReadEffect { path });
    }

    /// Files that a content may come from: outside of the roots, and inside.
    fn named(&self, mentioned: &[String]) -> (Vec<Beside>, Vec<Place>) {
        let (mut outside, mut inside) = (Vec::new(), Vec::new());
        for path in self.config.sensitive_paths.iter().chain(mentioned) {
            let path = self.view.meant(path);
            match self.view.place(&self.roots, &path) {
                Some(place) => inside.push(place),
                None => outside.extend(self.view.beside(&path).map(|host| {
                    let shown = path.to_string_lossy().into_owned();
                    Beside { host, shown }
                })),
            }
        }
        let mut seen = std::collections::HashSet::new();
        outside.retain(|path| seen.insert(path.clone()));
        (outside, inside)
    }
}

pub(crate) fn failed(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> WorkspaceError {
    WorkspaceError::Failed(cause.into())
}

pub(crate) fn unexpected(reply: Reply) -> io::Error {
    match reply {
        Reply::Failed(why) => io::Error::other(why),
        _ => io::Error::other("the supervisor answered something else"),
    }
}

pub(crate) fn counted(number: usize, what: &str) -> String {
    let plural = if what.ends_with('s') { "es" } else { "s" };
    format!("{number} {what}{}", if number == 1 { "" } else { plural })
}

pub(crate) fn few(all: &[String]) -> String {
    let mut text = all.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if let Some(more) = all.len().checked_sub(NAMED).filter(|more| *more > 0) {
        let _ = write!(text, " and {more} more");
    }
    text
}
