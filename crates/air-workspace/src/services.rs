//! Programs of the sandbox that are not the agent's: which ran, which run, and starting them again.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    time::Duration,
};

use air_core::{
    effects::{Observed, ServiceEffect},
    id::CheckpointId,
    port::WorkspaceError,
};

use crate::{
    protocol::{Reply, Request, Service},
    sandbox::Sandbox,
    workspace::{Inner, Running, failed, few, unexpected},
};

/// How long the supervisor may take to start all of them, beyond its usual grace.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which ran when.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// Those that ran at a checkpoint; `None`: no sandbox ran yet.
    at: HashMap<CheckpointId, Option<BTreeSet<String>>>,
    latest: Option<CheckpointId>,
    /// Whether AIR has ended a sandbox, so that they run again only with the next one.
    pub(crate) is_replaced: bool,
}

impl Inner {
    /// Remembers which run at a checkpoint.
    pub(crate) fn mark_services(&self, running: &mut Running, id: &CheckpointId) {
        if self.config.services.is_empty() {
            return;
        }
        let now = running.sandbox.as_mut().filter(|sandbox| sandbox.is_running()).map(running_in);
        running.services.latest = Some(id.clone());
        match now.transpose() {
            Ok(now) => drop(running.services.at.insert(id.clone(), now)),
            Err(_) => drop(running.services.at.remove(id)),
        }
    }

    /// Starts all in a sandbox that was just started.
    pub(crate) fn start_services(&self, running: &mut Running) -> io::Result<()> {
        let (Some(sandbox), false) = (running.sandbox.as_mut(), self.config.services.is_empty())
        else {
            return Ok(());
        };
        let service = |service: &crate::config::Service| Service {
            name: service.name.clone(),
            argv: service.argv.clone(),
        };
        let asked = self.config.services.iter().map(service).collect();
        let started = match sandbox.call(&Request::Start(asked), PATIENCE)? {
            Reply::Started(started) => started,
            Reply::Failed(why) => return Err(io::Error::other(format!("service {why}"))),
            other => return Err(unexpected(other)),
        };
        running.services.is_replaced = false;
        let Some(latest) = running.services.latest.clone() else { return Ok(()) };
        // They run before the call that the checkpoint was taken for.
        if let Some(none) = running.services.at.get_mut(&latest).filter(|ran| ran.is_none()) {
            *none = Some(started.into_iter().collect());
            running.network.mark(running.sandbox.as_mut(), &latest);
        }
        Ok(())
    }

    /// Which ran at a checkpoint, and which run now.
    pub(crate) fn service_effects(
        &self,
        running: &mut Running,
        since: &CheckpointId,
    ) -> Observed<ServiceEffect> {
        if self.config.services.is_empty() {
            return Observed::default();
        }
        // They go on with the sandbox that AIR puts in the place of another.
        if running.services.is_replaced
            && let Err(error) = self.start_if_needed(running)
        {
            return Observed::partial(Vec::new(), format!("services do not start: {error}"));
        }
        let now = running.sandbox.as_mut().filter(|sandbox| sandbox.is_running()).map(running_in);
        let now = match now.transpose() {
            Ok(now) => now.unwrap_or_default(),
            Err(error) => return Observed::partial(Vec::new(), error.to_string()),
        };
        let Some(ran) = running.services.at.get(since) else {
            let why = "which services ran before is not known";
            return Observed::partial(Vec::new(), why);
        };
        let ran = ran.clone().unwrap_or_default();
        let effect = |service: &crate::config::Service| ServiceEffect {
            name: service.name.clone(),
            ran: ran.contains(&service.name),
            runs: now.contains(&service.name),
        };
        Observed::whole(self.config.services.iter().map(effect).collect())
    }

    /// Starts those again that do not run.
    pub(crate) fn restart(&self) -> Result<String, WorkspaceError> {
        if self.config.services.is_empty() {
            return Ok("there are no services".to_owned());
        }
        let mut running = self.running();
        if self.start_if_needed(&mut running).map_err(failed)? {
            return Ok("started all services with a new sandbox".to_owned());
        }
        let Some(sandbox) = running.sandbox.as_mut() else {
            return Err(failed("the sandbox did not start"));
        };
        match sandbox.call(&Request::Start(Vec::new()), PATIENCE).map_err(failed)? {
            Reply::Started(started) if started.is_empty() => {
                Ok("all services were running".to_owned())
            }
            Reply::Started(started) => Ok(format!("started {}", few(&started))),
            Reply::Failed(why) => Err(WorkspaceError::Incomplete(format!("not started: {why}"))),
            other => Err(failed(unexpected(other))),
        }
    }
}

fn running_in(sandbox: &mut Sandbox) -> io::Result<BTreeSet<String>> {
    match sandbox.call(&Request::Services {}, Duration::ZERO)? {
        Reply::Services(all) => {
            Ok(all.into_iter().filter(|state| state.runs).map(|state| state.name).collect())
        }
        other => Err(unexpected(other)),
    }
}
