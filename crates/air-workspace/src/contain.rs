//! Stops harm: processes, the network, files.

use std::time::Duration;

use air_core::{
    id::IncidentId,
    port::{Tier, WorkspaceError},
};

use crate::{
    network::isolate,
    protocol::{Reply, Request},
    quarantine::{Reach, quarantine, seize},
    workspace::{Inner, Running, counted, failed, few, unexpected},
};

impl Inner {
    /// Ends all processes, the interpreter too: the agent's task is over, and its threads are not seen.
    pub(crate) fn kill(&self) -> String {
        if self.config.beside.is_some() {
            return "the host's processes are left alone".to_owned();
        }
        let mut running = self.running();
        let alive = running.sandbox.as_mut().filter(|sandbox| sandbox.is_running());
        let Some(sandbox) = alive else { return "no process was running".to_owned() };
        match sandbox.call(&Request::Kill {}, Duration::from_secs(5)) {
            Ok(Reply::Killed { ended: 0, left: 0 }) => "no process was running".to_owned(),
            Ok(Reply::Killed { ended, left: 0 }) => {
                format!("ended {}", counted(usize::try_from(ended).unwrap_or(0), "process"))
            }
            Ok(_) | Err(_) => {
                // Without its supervisor nothing of it goes on.
                running.sandbox = None;
                running.services.is_replaced = true;
                "ended the sandbox".to_owned()
            }
        }
    }

    pub(crate) fn freeze_in(running: &mut Running) -> Result<String, WorkspaceError> {
        match Self::ask(running, &Request::Freeze {})? {
            None | Some(Reply::Frozen { stopped: 0, running: 0 }) => {
                Ok("no process was running".to_owned())
            }
            Some(Reply::Frozen { stopped, running: 0 }) => {
                Ok(format!("stopped {}", counted(usize::try_from(stopped).unwrap_or(0), "process")))
            }
            Some(Reply::Frozen { running, .. }) => {
                let left = counted(usize::try_from(running).unwrap_or(0), "process");
                Err(WorkspaceError::Incomplete(format!("not stopped: {left}")))
            }
            Some(other) => Err(failed(unexpected(other))),
        }
    }

    pub(crate) fn thaw_in(running: &mut Running) -> Result<String, WorkspaceError> {
        match Self::ask(running, &Request::Thaw {})? {
            None | Some(Reply::Thawed(0)) => Ok("no process was running".to_owned()),
            Some(Reply::Thawed(number)) => Ok(format!(
                "let {} go on",
                counted(usize::try_from(number).unwrap_or(0), "process")
            )),
            Some(other) => Err(failed(unexpected(other))),
        }
    }

    /// Asks the supervisor of a sandbox that runs.
    fn ask(running: &mut Running, request: &Request) -> Result<Option<Reply>, WorkspaceError> {
        let alive = running.sandbox.as_mut().filter(|sandbox| sandbox.is_running());
        let Some(sandbox) = alive else { return Ok(None) };
        sandbox.call(request, Duration::from_secs(5)).map(Some).map_err(failed)
    }

    pub(crate) fn quarantine(
        &self,
        incident: &IncidentId,
        paths: &[String],
    ) -> Result<String, WorkspaceError> {
        let running = self.running();
        let lower = self.config.overlay.is_some().then_some(self.config.workspace.as_path());
        let reach = Reach { roots: &self.roots, view: &self.view, lower };
        let meant = |path: &String| self.view.meant(path).to_string_lossy().into_owned();
        let paths: Vec<String> = paths.iter().map(meant).collect();
        let mut done = quarantine(reach, &self.config.state, incident, &paths).map_err(failed)?;
        if let Some((inside, kept)) = self.source_of(&running) {
            match seize(&self.config.state, incident, &kept) {
                Ok(true) => done.moved.push(inside),
                // It was moved before.
                Ok(false) => {}
                Err(error) => done.failed.push(format!("{inside}: {error}")),
            }
        }
        if !done.failed.is_empty() {
            let failures = few(&done.failed);
            return Err(WorkspaceError::Incomplete(format!("not moved: {failures}")));
        }
        if done.moved.is_empty() {
            return Ok("nothing was left to move".to_owned());
        }
        Ok(format!("moved {} into the evidence", few(&done.moved)))
    }

    pub(crate) fn isolate_in(&self, running: &mut Running) -> Result<String, WorkspaceError> {
        match self.tier {
            Tier::T3 => {
                running.network.cut();
                isolate(running.sandbox.as_mut()).map_err(failed)
            }
            Tier::T2 => Ok("the sandbox can open no socket".to_owned()),
            Tier::T1 => Err(failed("tier T1 cannot cut the network")),
        }
    }
}
