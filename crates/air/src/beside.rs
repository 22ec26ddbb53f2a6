//! Sessions beside hosts that run their tools by themselves: many at once, over one store.

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    thread,
    time::{Duration, Instant},
};

use air_core::{
    engine::Engine,
    fact::PathLabels,
    id::{CheckpointId, IncidentId, SessionId, Timestamp},
    port::{
        BoxFuture, Ids as _, Inspector, Journal as _, Stream, ToolBox, ToolError, ToolInfo,
        Workspace,
    },
    session::{Beside, Session, SessionEvent, Status},
    step::{Observation, ToolCall},
};
use air_facts::CodeParser;
use air_journal::SqliteJournal;
use air_runtime::{Concurrent, GuardrailFault, Hand, Hosted, Opening, Ports, load_engine};
use air_synth::Compiler;
use air_workspace::{LocalWorkspace, Unwatched, Watches};

use crate::{
    Air, AirError, Nobody, RandomIds, SystemClock, Undo, UndoReport, records, undo::Undoing,
};

/// How long a process that has ended may still hold a store.
const ENDING: Duration = Duration::from_secs(2);
/// How long a session that nothing is asked about can be undone at least, in milliseconds.
const KEPT_MS: u64 = 24 * 60 * 60 * 1000;

/// A store that one process attends to, for all hosts of a user.
#[derive(Debug)]
pub struct Attended {
    air: Air,
    home: PathBuf,
    engine: RwLock<Engine>,
    /// What changes in the directories of all sessions.
    watches: Arc<Watches>,
    /// What runs in all sessions.
    concurrent: Arc<Concurrent>,
    _lock: File,
}

/// A session that takes part in a host's.
#[derive(Debug)]
pub struct Joined {
    /// What it is asked and told.
    pub hosted: Hosted,
    place: Place,
    /// Why what happens in its directory is not known, where it is not.
    pub unwatched: Option<String>,
}

/// A session that is on record.
#[derive(Debug, Clone)]
pub struct Known {
    /// Its id.
    pub id: SessionId,
    /// Beside what it is, or was.
    pub beside: Beside,
    /// Where it stands.
    pub status: Status,
    /// The incident that ended it, or is about to.
    pub incident: Option<IncidentId>,
    /// Whether something of it is open: a call, or a question to a person.
    pub is_open: bool,
}

#[derive(Debug, Clone)]
enum Place {
    Watched(LocalWorkspace),
    Unwatched(Arc<Unwatched>),
}

/// The directory tree that a session in `cwd` is about: the repository around it, or the directory
/// itself.
pub fn tree_of(cwd: &Path) -> PathBuf {
    let within = cwd.ancestors().find(|directory| directory.join(".git").exists());
    within.unwrap_or(cwd).to_path_buf()
}

impl Attended {
    /// Takes the store for this process. `home` is the user's.
    ///
    /// # Errors
    ///
    /// [`AirError::InUse`] if another process attends to it; if it cannot be read.
    pub async fn open(air: Air, home: PathBuf) -> Result<(Self, Vec<GuardrailFault>), AirError> {
        let until = Instant::now() + ENDING;
        let lock = loop {
            match air.lock() {
                // One that was just killed has it until the last of its threads is gone.
                Err(AirError::InUse) if Instant::now() < until => thread::sleep(ENDING / 40),
                taken => break taken?,
            }
        };
        let (engine, faults) = engine(&air).await?;
        let watches = Watches::new(&air.settings.state.join("watch"));
        Ok((
            Self {
                air,
                home,
                engine: RwLock::new(engine),
                watches,
                concurrent: Arc::default(),
                _lock: lock,
            },
            faults,
        ))
    }

    /// The journal and guardrail store.
    pub fn journal(&self) -> &Arc<SqliteJournal> {
        &self.air.journal
    }

    /// Loads the guardrails again; sessions take them by [`Self::engine`].
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn reload(&self) -> Result<(), AirError> {
        let (engine, _) = engine(&self.air).await?;
        *self.engine.write().unwrap_or_else(PoisonError::into_inner) = engine;
        Ok(())
    }

    /// Whether so much is kept that [room is to be made](Self::make_room).
    ///
    /// # Errors
    ///
    /// If that cannot be told.
    pub fn is_crowded(&self) -> Result<bool, AirError> {
        self.air.is_crowded()
    }

    /// Makes room where much is kept: what is kept to undo the sessions goes that nobody has asked about for
    /// longest, a day at least, and of which nothing is open. No session may be worked on meanwhile.
    ///
    /// # Errors
    ///
    /// If it cannot be told what is needed.
    pub async fn make_room(&self, now: Timestamp) -> Result<(), AirError> {
        let is_over = |session: &Session, last: Timestamp| {
            let rests = matches!(session.status(), Status::Monitoring | Status::Terminated);
            rests && session.open_steps().is_empty() && now.0.saturating_sub(last.0) > KEPT_MS
        };
        self.air.make_room_of(&is_over).await
    }

    /// The rules in force.
    pub fn engine(&self) -> Engine {
        self.engine.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins a session.
    ///
    /// # Errors
    ///
    /// If it cannot be journaled.
    pub async fn begin(&self, beside: Beside, task: &str) -> Result<Joined, AirError> {
        let id = RandomIds.session();
        let (place, unwatched) = self.place(&id, Path::new(&beside.tree));
        let opening = Opening {
            task: task.into(),
            agent: beside.host.clone(),
            beside: Some(beside),
            engine: Some(self.engine()),
            concurrent: Arc::clone(&self.concurrent),
            ..self.air.opening(&id)
        };
        let hosted = Hosted::open(self.ports(&place), opening).await?;
        Ok(Joined { hosted, place, unwatched })
    }

    /// Goes on with a session that is on record.
    ///
    /// # Errors
    ///
    /// If it is none of a host's, or cannot be followed.
    pub async fn go_on(&self, id: &SessionId) -> Result<Joined, AirError> {
        let known = self.known(id).await?;
        let known = known.ok_or_else(|| AirError::UnknownSession(id.clone()))?;
        let (place, unwatched) = self.place(id, Path::new(&known.beside.tree));
        let opening = Opening {
            engine: Some(self.engine()),
            concurrent: Arc::clone(&self.concurrent),
            ..self.air.opening(id)
        };
        let hosted = Hosted::reopen(self.ports(&place), opening).await?;
        Ok(Joined { hosted, place, unwatched })
    }

    /// All sessions of hosts, oldest first.
    ///
    /// # Errors
    ///
    /// If the journal cannot be read.
    pub async fn all(&self) -> Result<Vec<Known>, AirError> {
        let mut all = Vec::new();
        for stream in self.air.journal.streams().await? {
            let Stream::Session(id) = stream else { continue };
            all.extend(self.known(&id).await?);
        }
        Ok(all)
    }

    /// Takes back what a session did, which may go on: while none of its calls runs. `what` names the
    /// session or the incident.
    ///
    /// # Errors
    ///
    /// [`AirError::UnderWay`] if one does; [`AirError::NothingToUndo`]; or if nothing could be changed.
    pub async fn undo(&self, joined: &mut Joined, what: &Undo) -> Result<UndoReport, AirError> {
        let (_, step) = self.air.aim(what).await?;
        let session = joined.hosted.id().clone();
        let workspace = match &joined.place {
            Place::Watched(workspace) => workspace.clone(),
            Place::Unwatched(_) => {
                let why = joined.unwatched.clone().unwrap_or_default();
                return Err(AirError::NothingToUndo(why));
            }
        };
        if !joined.hosted.can_be_undone() {
            return Err(AirError::UnderWay(session));
        }
        let hosted = Some(&mut joined.hosted);
        Undoing { air: &self.air, session, workspace, hosted }.run(what, step).await
    }

    /// The store.
    pub fn air(&self) -> &Air {
        &self.air
    }

    async fn known(&self, id: &SessionId) -> Result<Option<Known>, AirError> {
        let events = records::session_events(&*self.air.journal, id).await?;
        let Some(SessionEvent::Opened { beside: Some(beside), .. }) = events.first() else {
            return Ok(None);
        };
        let machine = air_core::session::Session::replay(&events);
        let incident = events.iter().rev().find_map(|event| match event {
            SessionEvent::ResponseStarted { incident, .. } => Some(incident.clone()),
            _ => None,
        });
        let waits = machine.approvals().values().any(|asked| asked.allowed.is_none());
        Ok(Some(Known {
            id: id.clone(),
            beside: beside.clone(),
            status: machine.status().clone(),
            incident,
            is_open: !machine.open_steps().is_empty() || waits,
        }))
    }

    fn place(&self, id: &SessionId, tree: &Path) -> (Place, Option<String>) {
        let mut config = self.air.sandbox(id);
        config.workspace = tree.to_path_buf();
        config.beside = Some(self.home.clone());
        config.watches = Some(Arc::clone(&self.watches));
        let opened = LocalWorkspace::open_beside(config).map_err(|error| error.to_string());
        let recovered = opened.and_then(|workspace| {
            workspace.recover().map_err(|error| error.to_string())?;
            Ok(workspace)
        });
        match recovered {
            Ok(workspace) => (Place::Watched(workspace), None),
            Err(why) => {
                let why = format!("`{}` is not watched: {why}", tree.display());
                let place = Unwatched::new(tree, &self.home, why.clone());
                (Place::Unwatched(Arc::new(place)), Some(why))
            }
        }
    }

    fn ports(&self, place: &Place) -> Ports {
        let air = &self.air;
        let labels: Arc<dyn PathLabels> = Arc::clone(&air.labels) as _;
        let code = Arc::new(CodeParser::new());
        let minds = &air.settings.minds;
        let synthesizer = air.settings.learn.then(|| {
            minds.synthesizer(Compiler::new(Arc::<CodeParser>::clone(&code), Arc::clone(&labels)))
        });
        let (workspace, inspector): (Arc<dyn Workspace>, Option<Arc<dyn Inspector>>) = match place {
            Place::Watched(watched) => (Arc::new(watched.clone()), Some(Arc::new(watched.clone()))),
            Place::Unwatched(unwatched) => (Arc::<Unwatched>::clone(unwatched), None),
        };
        Ports {
            journal: Arc::<SqliteJournal>::clone(&air.journal),
            guardrails: Arc::<SqliteJournal>::clone(&air.journal),
            workspace,
            tools: Arc::new(OfHost),
            repairer: None,
            code,
            rules: Arc::new(air_lang::LangRules),
            labels,
            operator: Arc::new(Nobody),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            inspector,
            judge: minds.judge.clone(),
            background: minds.background(),
            responder: Some(Hand::Elsewhere),
            spendings: minds.spendings(),
            synthesizer,
        }
    }
}

async fn engine(air: &Air) -> Result<(Engine, Vec<GuardrailFault>), AirError> {
    let settings = &air.settings;
    let store = (&*air.journal as _, &air_lang::LangRules as _);
    let (engine, faults) =
        load_engine(store, settings.rules.clone(), settings.policy, settings.enforce).await?;
    Ok((if settings.minds.judge.is_some() { engine.judged() } else { engine }, faults))
}

impl Joined {
    /// The next calls begin in `directory`, an absolute path.
    pub fn enter(&self, directory: &Path) {
        match &self.place {
            Place::Watched(workspace) => workspace.enter(directory),
            Place::Unwatched(unwatched) => unwatched.enter(directory),
        }
    }

    /// Looks at the directory, so that the first call need not wait for that.
    ///
    /// # Errors
    ///
    /// If it cannot be looked at.
    pub async fn look(&self) -> Result<CheckpointId, AirError> {
        let looked = match &self.place {
            Place::Watched(workspace) => workspace.checkpoint().await,
            Place::Unwatched(unwatched) => unwatched.checkpoint().await,
        };
        Ok(looked.map_err(air_runtime::RuntimeError::from)?)
    }
}

/// The tools of a host: AIR does not call them.
#[derive(Debug)]
pub(crate) struct OfHost;

/// Tools that change nothing by themselves, by their canonical names: what a sub-agent does comes by as
/// calls of its own.
const PASSIVE: [&str; 4] = ["file.read", "file.search", "web.fetch", "agent.delegate"];

impl ToolBox for OfHost {
    fn call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<Observation, ToolError>> {
        let why = format!("`{}` is a tool of the host, which runs its tools by itself", call.tool);
        Box::pin(std::future::ready(Err(ToolError::Failed(why.into()))))
    }

    fn tool(&self, name: &str) -> Option<ToolInfo> {
        let side_effects = !PASSIVE.contains(&name);
        Some(ToolInfo { side_effects, ..ToolInfo::unknown(name) })
    }
}
