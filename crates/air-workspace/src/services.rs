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
    programs,
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
    /// Those that were not started when they were last to be, and why.
    failed: Vec<String>,
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

    /// Starts all in a sandbox that was just started. One that does not start keeps no other from it.
    pub(crate) fn start_services(&self, running: &mut Running) -> io::Result<()> {
        if self.config.services.is_empty() {
            return Ok(());
        }
        let started = self.start_unchanged(running)?;
        running.services.is_replaced = false;
        let Some(latest) = running.services.latest.clone() else { return Ok(()) };
        // They run before the call that the checkpoint was taken for.
        if let Some(none) = running.services.at.get_mut(&latest).filter(|ran| ran.is_none()) {
            *none = Some(started.into_iter().collect());
            running.network.mark(running.sandbox.as_mut(), &latest);
        }
        Ok(())
    }

    /// Starts those that do not run and whose programs are what they were; which were started.
    fn start_unchanged(&self, running: &mut Running) -> io::Result<Vec<String>> {
        let Running { sandbox, layers, services, .. } = running;
        let Some(sandbox) = sandbox.as_mut() else {
            return Err(io::Error::other("the sandbox did not start"));
        };
        let now = || programs::ways(&self.config.services, layers, &self.view);
        let (first, is_first) = programs::at_first(&self.config.session_dir, now)?;
        let now = if is_first { first.clone() } else { now() };
        let run = running_in(sandbox)?;
        let (mut asked, mut failed) = (Vec::new(), Vec::new());
        for service in self.config.services.iter().filter(|service| !run.contains(&service.name)) {
            let (name, argv) = (service.name.clone(), service.argv.clone());
            let changed = now.get(&name).filter(|_| !is_first);
            match changed.and_then(|now| programs::objection(first.get(&name), now)) {
                Some(why) => failed.push(format!("{name}: {why}")),
                None => asked.push(Service { name, argv }),
            }
        }
        match sandbox.call(&Request::Start { services: asked, touched: !is_first }, PATIENCE)? {
            Reply::Started { started, failed: more } => {
                services.failed = failed;
                services.failed.extend(more);
                Ok(started)
            }
            other => Err(unexpected(other)),
        }
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
        let is_new = self.start_if_needed(&mut running).map_err(failed)?;
        let done = if is_new {
            "started all services with a new sandbox".to_owned()
        } else {
            let started = self.start_again(&mut running).map_err(failed)?;
            if started.is_empty() {
                "all services were running".to_owned()
            } else {
                format!("started {}", few(&started))
            }
        };
        let missing = &running.services.failed;
        if missing.is_empty() {
            return Ok(done);
        }
        Err(WorkspaceError::Incomplete(format!("not started: {}", few(missing))))
    }

    /// While nothing can change a program between the look at it and its start.
    fn start_again(&self, running: &mut Running) -> io::Result<Vec<String>> {
        let Some(sandbox) = running.sandbox.as_mut() else {
            return Err(io::Error::other("the sandbox did not start"));
        };
        let stopped = match sandbox.call(&Request::Quiet {}, PATIENCE)? {
            Reply::Quiet { running: 0, stopped, .. } => Ok(stopped),
            Reply::Quiet { running, stopped, .. } => {
                let why = format!("{running} processes could not be stopped meanwhile");
                Err((stopped, io::Error::other(why)))
            }
            other => Err((false, unexpected(other))),
        };
        let (stopped, started) = match stopped {
            Ok(stopped) => (stopped, self.start_unchanged(running)),
            Err((stopped, why)) => (stopped, Err(why)),
        };
        if let (true, Some(sandbox)) = (stopped, running.sandbox.as_mut()) {
            // What stays stopped is ended with its sandbox at the latest.
            let _ = sandbox.call(&Request::Thaw {}, PATIENCE);
        }
        started
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
