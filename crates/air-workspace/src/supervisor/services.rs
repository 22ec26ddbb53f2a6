//! Programs that run beside the agent's and are not its own.

use std::{
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::process::CommandExt,
    },
    path::Path,
    process::{Command, Stdio},
};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::{is_ready, processes};
use crate::{
    bwrap,
    protocol::{Service, ServiceState},
};

/// What is to run, and what does.
#[derive(Debug, Default)]
pub(super) struct Services(Vec<(Service, Option<Process>)>);

#[derive(Debug)]
struct Process {
    pid: u32,
    ended: OwnedFd,
}

impl Services {
    /// Takes up services that it does not know yet, and starts all that do not run, each until its
    /// program has been loaded. Which were started; the first that was not, and why.
    pub(super) fn start(&mut self, asked: Vec<Service>) -> Result<Vec<String>, String> {
        let known = |service: &Service| self.0.iter().any(|(other, _)| other.name == service.name);
        let new: Vec<Service> = asked.into_iter().filter(|service| !known(service)).collect();
        self.0.extend(new.into_iter().map(|service| (service, None)));
        self.forget_ended();
        let mut started = Vec::new();
        for (service, process) in self.0.iter_mut().filter(|(_, process)| process.is_none()) {
            let running = Process::start(service);
            *process = Some(running.map_err(|error| format!("{}: {error}", service.name))?);
            started.push(service.name.clone());
        }
        Ok(started)
    }

    /// Which run.
    pub(super) fn states(&mut self) -> Vec<ServiceState> {
        self.forget_ended();
        let state = |(service, process): &(Service, Option<Process>)| ServiceState {
            name: service.name.clone(),
            runs: process.is_some(),
        };
        self.0.iter().map(state).collect()
    }

    pub(super) fn pids(&mut self) -> Vec<u32> {
        self.forget_ended();
        self.0.iter().filter_map(|(_, process)| Some(process.as_ref()?.pid)).collect()
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Ready when one has ended.
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().filter_map(|(_, process)| Some(process.as_ref()?.ended.as_fd()))
    }

    /// Takes leave of those that have ended, so that nothing of them is left to be seen.
    pub(super) fn forget_ended(&mut self) {
        for (_, process) in &mut self.0 {
            if let Some(ended) = process.take_if(|process| is_ready(process.ended.as_fd())) {
                processes::reap(ended.pid);
            }
        }
    }
}

impl Process {
    /// The kernel calls a process by the path that it was started with: here, a link of its name.
    fn start(service: &Service) -> std::io::Result<Self> {
        let child = Command::new(Path::new(bwrap::SERVICES).join(&service.name))
            .arg0(&service.name)
            .args(service.argv.iter().skip(1))
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        processes::yield_to_supervisor(child.id());
        let ended = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        Ok(Self { pid: child.id(), ended })
    }
}
