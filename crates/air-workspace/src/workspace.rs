//! The workspace of one session on this machine.

use std::{
    fmt::Write as _,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use air_core::{
    effects::{Effects, Observed, ProcessEffect},
    id::{CheckpointId, IncidentId},
    port::{BoxFuture, Tier, Workspace, WorkspaceError},
};

use crate::{
    config::{OpenError, SandboxConfig},
    effects::{agent_path, differences, files},
    layout::{check_layout, choose, find_program, prepare, roots},
    manifest::Manifest,
    origin::{Cache, Origins, absolute, is_visible},
    protocol::{Process, Reply, Request},
    python::PythonHome,
    quarantine::quarantine,
    restore::Restorer,
    sandbox::Sandbox,
    scan::{Root, Scanner},
    store::{Store, private_directory},
};

/// Entries that are named one by one when something could not be done.
const NAMED: usize = 5;

/// A directory of the user, a sandbox around the tools that work on it, and its checkpoints. Clones
/// share all of that. Work runs on threads of its own, one at a time.
#[derive(Debug, Clone)]
pub struct LocalWorkspace {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) config: SandboxConfig,
    pub(crate) tier: Tier,
    pub(crate) python: PythonHome,
    pub(crate) roots: Vec<Root>,
    store: Store,
    running: Mutex<Running>,
}

#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) sandbox: Option<Sandbox>,
    known: Manifest,
    origins: Cache,
    pub(crate) steps: u32,
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
        let tier = choose(&config)?;
        let session = config.session_dir.clone();
        for directory in [&config.state, &session, &session.join("home"), &session.join("tmp")] {
            private_directory(directory).map_err(OpenError::io(directory))?;
        }
        for path in [&mut config.workspace, &mut config.state, &mut config.session_dir] {
            *path = path.canonicalize().map_err(OpenError::io(&*path))?;
        }
        let python = PythonHome::find();
        check_layout(&config, &python)?;
        let steps = prepare(&config).map_err(OpenError::io(&config.session_dir))?;
        let store = Store::open(&config.state).map_err(OpenError::io(&config.state))?;
        let roots = roots(&config, tier);
        let running =
            Running { sandbox: None, known: Manifest::default(), origins: Cache::new(), steps };
        let running = Mutex::new(running);
        let inner = Inner { config, tier, python, roots, store, running };
        Ok(Self { inner: Arc::new(inner) })
    }

    pub(crate) fn inner(&self) -> Arc<Inner> {
        Arc::clone(&self.inner)
    }

    fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T, WorkspaceError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, WorkspaceError>> {
        let inner = self.inner();
        Box::pin(off_thread(move || work(&inner)))
    }
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

impl Workspace for LocalWorkspace {
    fn tier(&self) -> Tier {
        self.inner.tier
    }

    fn checkpoint(&self) -> BoxFuture<'_, Result<CheckpointId, WorkspaceError>> {
        self.off_thread(Inner::checkpoint)
    }

    fn effects<'a>(
        &'a self,
        since: &'a CheckpointId,
        mentioned: &'a [String],
    ) -> BoxFuture<'a, Result<Effects, WorkspaceError>> {
        let (since, mentioned) = (since.clone(), mentioned.to_vec());
        self.off_thread(move |inner| inner.effects(&since, &mentioned))
    }

    fn kill(&self) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        self.off_thread(Inner::kill)
    }

    fn isolate(&self) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        let cut = match self.inner.tier {
            Tier::T3 => Ok("the sandbox has no network".to_owned()),
            Tier::T2 => Ok("the sandbox can open no socket".to_owned()),
            Tier::T1 => Err(failed("tier T1 cannot cut the network")),
        };
        Box::pin(std::future::ready(cut))
    }

    fn quarantine<'a>(
        &'a self,
        incident: &'a IncidentId,
        paths: &'a [String],
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        let (incident, paths) = (incident.clone(), paths.to_vec());
        self.off_thread(move |inner| inner.quarantine(&incident, &paths))
    }

    fn rollback<'a>(
        &'a self,
        to: &'a CheckpointId,
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        let to = to.clone();
        self.off_thread(move |inner| inner.rollback(&to))
    }
}

impl Inner {
    pub(crate) fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn scanner<'a>(&'a self, known: &'a Manifest, store: Option<&'a Store>) -> Scanner<'a> {
        let retained_file_bytes = self.config.limits.retained_file_bytes;
        Scanner { roots: &self.roots, known, store, retained_file_bytes }
    }

    fn load(&self, id: &CheckpointId) -> Result<Manifest, WorkspaceError> {
        let held = Manifest::load(&self.config.state, id).map_err(failed)?;
        held.ok_or_else(|| WorkspaceError::UnknownCheckpoint(id.clone()))
    }

    fn checkpoint(&self) -> Result<CheckpointId, WorkspaceError> {
        let mut running = self.running();
        let now = self.scanner(&running.known, Some(&self.store)).scan();
        let id = now.save(&self.config.state).map_err(failed)?;
        running.known = now;
        Ok(id)
    }

    fn effects(
        &self,
        since: &CheckpointId,
        mentioned: &[String],
    ) -> Result<Effects, WorkspaceError> {
        let before = self.load(since)?;
        let mut running = self.running();
        let now = self.scanner(&before, None).scan();
        let outside = self.outside(mentioned);
        let labels = &*self.config.labels;
        let mut cache = std::mem::take(&mut running.origins);
        let mut origins =
            Origins::new(&self.roots, labels, &before, outside.into_iter(), &mut cache);
        let files = files(&self.roots, &before, &now, |difference| origins.of(difference));
        running.origins = cache;
        Ok(Effects {
            files,
            processes: Self::process_effects(&mut running),
            connections: match self.tier {
                // Nothing can leave.
                Tier::T3 => Observed::whole(Vec::new()),
                Tier::T1 | Tier::T2 => Observed::partial(Vec::new(), "not observed at this tier"),
            },
        })
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

    fn processes_of(running: &mut Running) -> io::Result<Vec<Process>> {
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

    /// Files outside of the roots that a content may come from.
    fn outside(&self, mentioned: &[String]) -> Vec<PathBuf> {
        let agent = |at: usize| self.roots.get(at).map(|root| root.agent.clone());
        let (cwd, home) = (agent(0).unwrap_or_default(), agent(1).unwrap_or_default());
        let named = self.config.sensitive_paths.iter().chain(mentioned);
        let mut paths: Vec<PathBuf> = named
            .map(|path| absolute(&cwd, &home, path))
            .filter(|path| !self.roots.iter().any(|root| path.starts_with(&root.agent)))
            .filter(|path| self.tier == Tier::T1 || is_visible(path, &self.python.directories))
            .collect();
        let mut seen = std::collections::HashSet::new();
        paths.retain(|path| seen.insert(path.clone()));
        paths
    }

    fn kill(&self) -> Result<String, WorkspaceError> {
        let mut running = self.running();
        let alive = running.sandbox.as_mut().filter(|sandbox| sandbox.is_running());
        let Some(sandbox) = alive else { return Ok("no process was running".to_owned()) };
        match sandbox.call(&Request::Kill {}, Duration::from_secs(5)).map_err(failed)? {
            Reply::Killed { ended: 0, .. } => Ok("no process was running".to_owned()),
            Reply::Killed { ended, left: 0 } => {
                Ok(format!("ended {}", counted(usize::try_from(ended).unwrap_or(0), "process")))
            }
            Reply::Killed { .. } => {
                // Without its supervisor nothing of it goes on.
                running.sandbox = None;
                Ok("ended the sandbox".to_owned())
            }
            other => Err(failed(unexpected(other))),
        }
    }

    fn quarantine(
        &self,
        incident: &IncidentId,
        paths: &[String],
    ) -> Result<String, WorkspaceError> {
        let _running = self.running();
        let done = quarantine(&self.roots, &self.config.state, incident, paths).map_err(failed)?;
        if !done.failed.is_empty() {
            let failures = few(&done.failed);
            return Err(WorkspaceError::Incomplete(format!("not moved: {failures}")));
        }
        if done.moved.is_empty() {
            return Ok("nothing was left to move".to_owned());
        }
        Ok(format!("moved {} into the evidence", few(&done.moved)))
    }

    fn rollback(&self, to: &CheckpointId) -> Result<String, WorkspaceError> {
        let before = self.load(to)?;
        let mut running = self.running();
        running.sandbox = None;
        let scanner = self.scanner(&before, None);
        let restorer =
            Restorer { roots: &self.roots, store: &self.store, before: &before, scanner };
        let done = restorer.run();
        running.known = Manifest::default();
        let now = self.scanner(&before, None).scan();
        let left = differences(&before, &now);
        let left: Vec<String> =
            left.iter().map(|left| agent_path(&self.roots, left.place)).collect();
        if !left.is_empty() || !done.failed.is_empty() {
            let mut why = done.failed;
            why.extend(left.iter().map(|path| format!("{path}: differs")));
            return Err(WorkspaceError::Incomplete(format!("not restored: {}", few(&why))));
        }
        let (restored, removed) = (done.put_back, done.removed);
        Ok(match (restored, removed) {
            (0, 0) => "nothing differed".to_owned(),
            (_, 0) => format!("restored {}", counted(restored, "file")),
            (0, _) => format!("removed {}", counted(removed, "file")),
            _ => format!("restored {}, removed {removed}", counted(restored, "file")),
        })
    }
}

fn failed(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> WorkspaceError {
    WorkspaceError::Failed(cause.into())
}

pub(crate) fn unexpected(reply: Reply) -> io::Error {
    match reply {
        Reply::Failed(why) => io::Error::other(why),
        _ => io::Error::other("the supervisor answered something else"),
    }
}

fn counted(number: usize, what: &str) -> String {
    let plural = if what.ends_with('s') { "es" } else { "s" };
    format!("{number} {what}{}", if number == 1 { "" } else { plural })
}

fn few(all: &[String]) -> String {
    let mut text = all.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if let Some(more) = all.len().checked_sub(NAMED).filter(|more| *more > 0) {
        let _ = write!(text, " and {more} more");
    }
    text
}
