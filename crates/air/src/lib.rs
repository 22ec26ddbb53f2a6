//! AIR as a library: the one place where ports meet their implementations.
//!
//! [`Air::open`] opens the store of one workspace. [`Air::host`] begins a session whose tools run in
//! AIR's sandbox; [`Air::resume`] goes on where a process ended. The store's reading side is in
//! [`records`].

mod adapters;
mod archive;
mod beside;
mod critical;
mod host;
mod minds;
pub mod records;
mod replay;
mod settings;
mod stage;
mod timing;
mod undo;

use std::{path::PathBuf, sync::Arc};

use air_agent::Conversation;
use air_core::{
    fact::PathLabels,
    id::{IncidentId, SessionId},
    incident::Incident,
    port::{Ids as _, Journal as _, Operator, Stream, Tier},
    session::Status,
};
use air_facts::{CodeParser, LabelTable};
use air_journal::SqliteJournal;
use air_runtime::{Opening, Ports, Session};
use air_synth::Compiler;
use air_workspace::{LocalWorkspace, Overlay, SandboxConfig, Tools};
use timing::{Meter, Metered};

pub use adapters::{Nobody, RandomIds, SystemClock};
pub use air_runtime::{Asking, Hosted, Issued, Ordered, Reach, Told, Waiting};
pub use air_runtime::{
    Attention, Decision, GateReply, GuardrailFault, Models, Remediation, ReviewMode, ReviewReply,
    RuntimeError,
    replay::{Change, ReplayedStep, Trial},
};
pub use air_workspace::{Service, Shape, Undone, UndoneAs};
pub use beside::{Attended, Joined, Known, tree_of};
pub use critical::{CopyError, Critical, forget_critical};
pub use host::{Host, StepOutcome};
pub use minds::Minds;
pub use settings::Settings;
pub use stage::{Minutes, Stage, Watcher};
pub use timing::Timings;
pub use undo::{Last, Undo, UndoReport};

/// AIR could not do it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AirError {
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] air_journal::OpenError),
    /// What is kept of sessions cannot be used.
    #[error(transparent)]
    Archive(#[from] air_workspace::ArchiveError),
    /// The workspace cannot be opened: the message says what would make it so.
    #[error(transparent)]
    Workspace(#[from] air_workspace::OpenError),
    /// A session failed.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The workspace is in use by another process: what it changes could not be told apart.
    #[error("another process of AIR works in this workspace; wait until it ends")]
    InUse,
    /// A session must be examined first, or looked at by a person.
    #[error(
        "session {0} is open: `airctl resume` examines what an ended process left, and \
         `airctl resume --release {0}` lets a held one go"
    )]
    Open(SessionId),
    /// What is taken back could not be told from what is being done.
    #[error(
        "a call of session {0} runs, or AIR responds to its incident: try again when that has ended"
    )]
    UnderWay(SessionId),
    /// These could not be resumed, and why; all others were.
    #[error(
        "{}; put that right and run `airctl resume` again, or give up what is kept of it with \
         `airctl store --forget ID` first",
        told(.0)
    )]
    NotResumed(Vec<(SessionId, Box<AirError>)>),
    /// A file of the store could not be used.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is nothing to take back.
    #[error("{0}")]
    NothingToUndo(String),
    /// No session of that name has been journaled.
    #[error("unknown session {0}; `airctl store` lists those of which something is kept")]
    UnknownSession(SessionId),
}

fn told(failed: &[(SessionId, Box<AirError>)]) -> String {
    let each = failed.iter().map(|(id, why)| format!("session {id} was not resumed: {why}"));
    each.collect::<Vec<_>>().join("; ")
}

impl From<air_core::port::JournalError> for AirError {
    fn from(error: air_core::port::JournalError) -> Self {
        Self::Runtime(error.into())
    }
}

/// The store of one workspace, and the settings to work on it.
#[derive(Debug)]
pub struct Air {
    settings: Settings,
    journal: Arc<SqliteJournal>,
    labels: Arc<LabelTable>,
}

impl Air {
    /// Opens the store, and makes it if there is none.
    ///
    /// # Errors
    ///
    /// If it cannot be used; nothing in it is changed then.
    pub fn open(settings: Settings, labels: LabelTable) -> Result<Self, AirError> {
        let journal = Arc::new(SqliteJournal::open(&settings.journal_path())?);
        Ok(Self { settings, journal, labels: Arc::new(labels) })
    }

    /// Opens the store to read it.
    ///
    /// # Errors
    ///
    /// If it is not there or cannot be used.
    pub fn open_read_only(settings: Settings, labels: LabelTable) -> Result<Self, AirError> {
        let journal = Arc::new(SqliteJournal::open_read_only(&settings.journal_path())?);
        Ok(Self { settings, journal, labels: Arc::new(labels) })
    }

    /// The journal and guardrail store.
    pub fn journal(&self) -> &SqliteJournal {
        &self.journal
    }

    /// Guardrails whose last version cannot be used, and what is in force in their place.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn guardrail_faults(&self) -> Result<Vec<GuardrailFault>, AirError> {
        let loaded = air_runtime::load_guardrails(&*self.journal, &air_lang::LangRules).await?;
        Ok(loaded.faults)
    }

    /// Begins a session whose tools run in AIR's sandbox.
    ///
    /// # Errors
    ///
    /// If no tier that will do is there, or the session cannot be journaled.
    pub async fn host(
        &self,
        task: &str,
        agent: &str,
        operator: Arc<dyn Operator>,
    ) -> Result<Host, AirError> {
        let lock = self.lock()?;
        self.make_room().await?;
        for stream in self.journal.streams().await? {
            let Stream::Session(id) = stream else { continue };
            let session = records::session(&*self.journal, &id).await?;
            let open = !session.open_steps().is_empty() || session.held();
            if open || matches!(session.status(), Status::Responding { .. }) {
                return Err(AirError::Open(id));
            }
        }
        let id = RandomIds.session();
        let (workspace, without_layer) = self.workspace(&id)?;
        let meter = Meter::default();
        let (ports, tools) = self.ports(workspace, operator, &meter);
        let opening = Opening { task: task.into(), agent: agent.into(), ..self.opening(&id) };
        let session = Session::open(ports, opening).await?;
        Ok(Host::new(session, tools, meter, without_layer, lock))
    }

    /// Goes on with a session whose process has ended: examines what it left open first. The host is
    /// there to be told what that found, also where the task is over.
    ///
    /// # Errors
    ///
    /// If the session is unknown or in use, or cannot be followed.
    pub async fn host_again(
        &self,
        id: &SessionId,
        operator: Arc<dyn Operator>,
    ) -> Result<(Host, Attention), AirError> {
        let lock = self.lock()?;
        if self.journal.read(&Stream::Session(id.clone())).await?.is_empty() {
            return Err(AirError::UnknownSession(id.clone()));
        }
        let (workspace, without_layer) = self.workspace(id)?;
        let meter = Meter::default();
        let (ports, tools) = self.ports(workspace, operator, &meter);
        let mut session = Session::reopen(ports, self.opening(id)).await?;
        let attention = session.resume().await?;
        Ok((Host::new(session, tools, meter, without_layer, lock), attention))
    }

    /// Begins to keep what is said in a session.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn minutes(&self, id: &SessionId) -> Result<Minutes, AirError> {
        let directory = self.sandbox(id).session_dir;
        Minutes::begin(&directory).map_err(|source| AirError::Io { path: directory, source })
    }

    /// What was said in a session, and what goes on keeping it.
    ///
    /// # Errors
    ///
    /// If nothing was kept, or it cannot be read.
    pub fn minutes_again(&self, id: &SessionId) -> Result<(Minutes, Conversation), AirError> {
        let directory = self.sandbox(id).session_dir;
        Minutes::go_on(&directory).map_err(|source| AirError::Io { path: directory, source })
    }

    /// Examines what ended processes left open, and drives every incident to its rest.
    ///
    /// # Errors
    ///
    /// [`AirError::NotResumed`] after all others were resumed.
    pub async fn resume(&self) -> Result<Vec<Attention>, AirError> {
        let _lock = self.lock()?;
        let (mut all, mut failed) = (Vec::new(), Vec::new());
        for stream in self.journal.streams().await? {
            let Stream::Session(id) = stream else { continue };
            let status = records::session(&*self.journal, &id).await?;
            if *status.status() == Status::Terminated {
                continue;
            }
            match self.resume_one(&id).await {
                Ok(attention) => all.push(attention),
                Err(error) => failed.push((id, Box::new(error))),
            }
        }
        if !failed.is_empty() {
            return Err(AirError::NotResumed(failed));
        }
        all.retain(|attention| {
            let changed = attention.publication.as_ref().is_some_and(|it| it.changed > 0);
            let left = attention.incident.is_some() || attention.held;
            left || !attention.examined.is_empty() || changed
        });
        Ok(all)
    }

    async fn resume_one(&self, id: &SessionId) -> Result<Attention, AirError> {
        let mut session = self.reopen(id).await?;
        let attention = session.resume().await?;
        // Nobody goes on with it here: its task is over.
        session.end().await?;
        Ok(Attention { publication: session.publication().cloned(), ..attention })
    }

    /// Carries out what a person decided about an escalated incident.
    ///
    /// # Errors
    ///
    /// If the incident does not admit it, its session is in use, or the journal fails.
    pub async fn decide(&self, id: &IncidentId, decision: Decision) -> Result<Incident, AirError> {
        let incident = records::incident(&*self.journal, id).await?;
        let session = incident.incident.detection().session.clone();
        let _lock = self.lock()?;
        let mut session = self.reopen(&session).await?;
        Ok(session.decide(id, decision).await?)
    }

    /// A person has looked at a held session.
    ///
    /// # Errors
    ///
    /// If it is not held, or the journal fails.
    pub async fn release(&self, id: &SessionId) -> Result<(), AirError> {
        let _lock = self.lock()?;
        if self.journal.read(&Stream::Session(id.clone())).await?.is_empty() {
            return Err(AirError::UnknownSession(id.clone()));
        }
        Ok(self.reopen(id).await?.release().await?)
    }

    async fn reopen(&self, id: &SessionId) -> Result<Session, AirError> {
        let (workspace, _) = self.workspace(id)?;
        let (ports, _) = self.ports(workspace, Arc::new(Nobody), &Meter::default());
        Ok(Session::reopen(ports, self.opening(id)).await?)
    }

    fn opening(&self, id: &SessionId) -> Opening {
        let mut digest = blake3::Hasher::new();
        for rule in &self.settings.rules {
            digest.update(rule.source.as_bytes()).update(b"\n");
        }
        Opening {
            beside: None,
            engine: None,
            concurrent: Arc::default(),
            session: id.clone(),
            task: String::new(),
            agent: String::new(),
            rules: self.settings.rules.clone(),
            rules_digest: digest.finalize().to_hex().to_string(),
            policy: self.settings.policy,
            enforce: self.settings.enforce,
            respond: self.settings.respond,
            models: self.settings.models.clone(),
            judge: self.settings.minds.about_judge.clone(),
        }
    }

    fn ports(
        &self,
        workspace: LocalWorkspace,
        operator: Arc<dyn Operator>,
        meter: &Meter,
    ) -> (Ports, Arc<Tools>) {
        let labels: Arc<dyn PathLabels> = Arc::<LabelTable>::clone(&self.labels);
        let tools = Arc::new(Tools::new(workspace.clone()));
        let code = Arc::new(CodeParser::new());
        let learn = self.settings.learn;
        let synthesizer = learn.then(|| {
            let compiler = Compiler::new(Arc::<CodeParser>::clone(&code), Arc::clone(&labels));
            self.settings.minds.synthesizer(compiler)
        });
        let repairer = Arc::new(air_facts::Mender::new(Arc::<CodeParser>::clone(&code)));
        let inspector = Arc::new(workspace.clone());
        let ports = Ports {
            journal: Arc::<SqliteJournal>::clone(&self.journal),
            guardrails: Arc::<SqliteJournal>::clone(&self.journal),
            workspace: Arc::new(Metered { inner: workspace, meter: meter.clone() }),
            tools: Arc::<Tools>::clone(&tools),
            code,
            rules: Arc::new(air_lang::LangRules),
            labels,
            operator,
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            inspector: Some(inspector),
            judge: self.settings.minds.judge.clone(),
            background: self.settings.minds.background(),
            responder: self.settings.minds.responder(),
            spendings: self.settings.minds.spendings(),
            repairer: Some(repairer),
            synthesizer,
        };
        (ports, tools)
    }

    /// The session's workspace: layered where that is wanted and to be had, and always as it was
    /// begun; why it is without a layer where one was wanted. What a process that ended began to
    /// change is brought to its end.
    pub(crate) fn workspace(
        &self,
        id: &SessionId,
    ) -> Result<(LocalWorkspace, Option<String>), AirError> {
        let config = self.sandbox(id);
        let begun = config.session_dir.join("timeline").exists();
        let was_layered = config.session_dir.join("shown").exists();
        let is_system = config.shape == Shape::System;
        let mut without = (is_system && self.settings.layered)
            .then(|| "a root file system has no layer above it".to_owned());
        let workspace = if was_layered || (self.settings.layered && !is_system && !begun) {
            let mut layered = config.clone();
            layered.minimum = Some(Tier::T3);
            layered.overlay = Some(Overlay::of(&config.session_dir));
            match LocalWorkspace::open(layered) {
                Err(error) if was_layered => return Err(error.into()),
                Err(error) => {
                    without = Some(error.to_string());
                    LocalWorkspace::open(config)?
                }
                Ok(workspace) => workspace,
            }
        } else {
            LocalWorkspace::open(config)?
        };
        workspace.recover().map_err(RuntimeError::from)?;
        Ok((workspace, without))
    }

    /// The sandbox of a session.
    pub fn sandbox(&self, id: &SessionId) -> SandboxConfig {
        let settings = &self.settings;
        let mut config = SandboxConfig::new(
            &settings.workspace,
            &settings.state,
            id.as_str(),
            settings.supervisor.clone(),
        );
        config.unsandboxed = settings.unsandboxed;
        config.limits = settings.limits.clone();
        config.outside.clone_from(&settings.outside);
        config.marks = Arc::new(air_facts::Marks);
        config.shape = settings.shape;
        config.environment.clone_from(&settings.environment);
        config.binds.clone_from(&settings.binds);
        config.services.clone_from(&settings.services);
        config.labels = Arc::<LabelTable>::clone(&self.labels);
        config.sensitive_paths = self.labels.known_paths().into_iter().map(Into::into).collect();
        config
    }

    /// Takes the workspace for this process, until the file is closed.
    fn lock(&self) -> Result<std::fs::File, AirError> {
        let path = self.settings.state.join("lock");
        let io = |source| AirError::Io { path: path.clone(), source };
        let mut options = std::fs::OpenOptions::new();
        let file = options.create(true).truncate(false).write(true).open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(std::fs::TryLockError::WouldBlock) => Err(AirError::InUse),
            Err(std::fs::TryLockError::Error(source)) => Err(io(source)),
        }
    }
}
