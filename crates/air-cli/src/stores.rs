//! Where sessions are on record: those that AIR ran are in the store of their workspace, and those beside
//! hosts of agents in one store of the user. Commands look into both; an id is looked for in both.

use std::path::PathBuf;

use air::{
    Air, AirError, Attended, Joined, Settings,
    records::{self, IncidentRecord},
};
use air_core::id::SessionId;
use air_server::Agents;
use futures::executor::block_on;
use serde::Serialize;

use crate::{
    context::Context,
    daemon::Daemon,
    error::CliError,
    guard::{self, Target},
};

/// Whose sessions a store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    /// Those that AIR ran in one workspace.
    Workspace,
    /// Those beside hosts of agents.
    Hosts,
}

/// One store, to be read.
#[derive(Debug)]
pub struct Store {
    /// Whose.
    pub whose: Whose,
    /// The store.
    pub air: Air,
}

/// All stores in which something about a workspace may be.
#[derive(Debug)]
pub struct Stores {
    /// The workspace, absolute.
    pub workspace: PathBuf,
    /// Those that there are.
    pub all: Vec<Store>,
}

/// Something of one store.
#[derive(Debug)]
pub struct In<T> {
    /// Where it is, in [`Stores::all`].
    pub store: usize,
    /// Whose store that is.
    pub whose: Whose,
    /// What it is.
    pub item: T,
}

impl Stores {
    /// Those of the workspace that the command names.
    ///
    /// # Errors
    ///
    /// If one cannot be read.
    pub fn read(context: &Context<'_>, target: &Target) -> Result<Self, CliError> {
        let workspace = guard::settings(context, target)?.workspace;
        let mut all = Vec::new();
        if let Some(air) = guard::open_read_only(context, target)? {
            all.push(Store { whose: Whose::Workspace, air });
        }
        if let Some(air) = read_hosts(context)? {
            all.push(Store { whose: Whose::Hosts, air });
        }
        Ok(Self { workspace, all })
    }

    /// The store of something.
    ///
    /// # Errors
    ///
    /// Never for what comes from these stores.
    pub fn of<T>(&self, found: &In<T>) -> Result<&Air, CliError> {
        let store = self.all.get(found.store).map(|store| &store.air);
        store.ok_or_else(|| CliError::Usage {
            what: "the store has gone".to_owned(),
            hint: "this is a defect of AIR".to_owned(),
        })
    }

    /// What `list` finds in each store.
    ///
    /// # Errors
    ///
    /// If one cannot be read.
    pub fn each<T, E: Into<CliError>>(
        &self,
        mut list: impl FnMut(&Air) -> Result<Vec<T>, E>,
    ) -> Result<Vec<In<T>>, CliError> {
        let mut found = Vec::new();
        for (at, Store { whose, air }) in self.all.iter().enumerate() {
            let items = list(air).map_err(Into::into)?.into_iter();
            found.extend(items.map(|item| In { store: at, whose: *whose, item }));
        }
        Ok(found)
    }

    /// The incidents of all stores.
    ///
    /// # Errors
    ///
    /// If one cannot be read.
    pub fn incidents(&self) -> Result<Vec<In<IncidentRecord>>, CliError> {
        self.each(|air| block_on(records::incidents(air.journal())))
    }

    /// The one incident whose id starts with `prefix`.
    ///
    /// # Errors
    ///
    /// If there is none, or more than one.
    pub fn incident(&self, prefix: &str) -> Result<In<IncidentRecord>, CliError> {
        let all = self.incidents()?;
        guard::by_prefix(all, |found| found.item.incident.id().as_str(), prefix, "incident")
    }

    /// The one session whose id starts with `prefix`.
    ///
    /// # Errors
    ///
    /// If there is none, or more than one.
    pub fn session(&self, prefix: &str) -> Result<In<SessionId>, CliError> {
        let all = self.each(|air| block_on(records::sessions(air.journal())))?;
        guard::by_prefix(all, |found| found.item.as_str(), prefix, "session")
    }

    /// Whether a session is about the workspace: beside hosts it may be about another one.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn is_here(&self, found: &In<SessionId>) -> Result<bool, CliError> {
        if found.whose == Whose::Workspace {
            return Ok(true);
        }
        Ok(block_on(self.of(found)?.is_about(&found.item, &self.workspace))?)
    }

    /// The session that a person means who names none: the last one in the workspace that has changed
    /// something.
    ///
    /// # Errors
    ///
    /// If there is none, or a store cannot be read.
    pub fn last(&self) -> Result<In<SessionId>, CliError> {
        let last = self.each(|air| {
            let beside = air.is_of_hosts().then_some(self.workspace.as_path());
            block_on(air.last_session(beside)).map(|last| last.into_iter().collect())
        })?;
        let last = last.into_iter().max_by_key(|found| found.item.key());
        let In { store, whose, item } = last.ok_or_else(|| {
            let why = "no session has worked in this workspace; `--workspace` names another";
            AirError::NothingToUndo(why.to_owned())
        })?;
        Ok(In { store, whose, item: item.id })
    }
}

/// The store of all hosts, to be read, where there is one.
///
/// # Errors
///
/// If it cannot be read.
pub fn read_hosts(context: &Context<'_>) -> Result<Option<Air>, CliError> {
    if !Daemon::of(context)?.hosts().join("journal").is_dir() {
        return Ok(None);
    }
    Ok(Some(Air::open_read_only(of_hosts(context)?, context.config.label_table()?)?))
}

/// The store of all hosts.
///
/// # Errors
///
/// If it cannot be used.
pub fn open_hosts(context: &Context<'_>) -> Result<Air, CliError> {
    Ok(Air::open(of_hosts(context)?, context.config.label_table()?)?)
}

/// The store of all hosts, to work on its sessions while no daemon does.
///
/// # Errors
///
/// If a daemon has it, or it cannot be used.
pub fn attend(context: &Context<'_>) -> Result<Attended, CliError> {
    let air = open_hosts(context)?;
    let home = context.environment.home.clone().unwrap_or_else(|| PathBuf::from("/"));
    let (attended, _) = block_on(Attended::open(air, home))?;
    // What is learned now is not in the copy; the next daemon makes it anew.
    let hosts = Daemon::of(context)?.hosts();
    air::forget_critical(&hosts).map_err(CliError::file("change", hosts))?;
    Ok(attended)
}

/// One session of that store.
///
/// # Errors
///
/// If it cannot be followed without the rules that its open call ran under.
pub fn join(attended: &Attended, session: &SessionId) -> Result<Joined, CliError> {
    let known = block_on(attended.all())?.into_iter().find(|known| known.id == *session);
    if known.is_some_and(|known| known.is_open) {
        return Err(CliError::Usage {
            what: format!("a call of session {session} has not been examined yet"),
            hint: "`airctl daemon start`, then the same again: the daemon examines it first"
                .to_owned(),
        });
    }
    Ok(block_on(attended.go_on(session))?)
}

/// Settings of the store of all hosts, without rules.
///
/// # Errors
///
/// If there is no place for state.
pub fn of_hosts(context: &Context<'_>) -> Result<Settings, CliError> {
    let program = std::env::current_exe().map_err(CliError::file("find", "airctl"))?;
    let supervisor = vec![program.into(), "__supervise".into()];
    let hosts = Daemon::of(context)?.hosts();
    let mut settings = Settings::of_hosts(&hosts, supervisor);
    settings.policy = context.config.policy;
    settings.learn = context.config.learn;
    settings.models = context.config.models.models(None);
    Ok(settings)
}

/// Refuses whoever runs below a host that has asked AIR: an agent may not decide for its user. One that means
/// harm can leave its host's processes: this is a rule among those who keep to it.
///
/// # Errors
///
/// If this process does.
pub fn person(context: &Context<'_>) -> Result<(), CliError> {
    let agents = Agents::read(&Daemon::of(context)?.hosts());
    match agents.above(std::process::id()) {
        None => Ok(()),
        Some(host) => Err(CliError::Usage {
            what: format!("this runs below {host}: an agent may not tell AIR what to do"),
            hint: "run it in a terminal of your own".to_owned(),
        }),
    }
}
