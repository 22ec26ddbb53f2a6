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

use super::{
    is_ready,
    processes::{self, Known},
};
use crate::{
    bwrap,
    protocol::{Service, ServiceState},
    variables,
};

/// What is to run, and what does.
#[derive(Debug, Default)]
pub(super) struct Services {
    all: Vec<(Service, Option<Process>)>,
    /// Whether the agent has called: from then on what they start may be its doing.
    has_called: bool,
}

#[derive(Debug)]
struct Process {
    pid: u32,
    ended: OwnedFd,
    /// Itself and what it had started when it had begun to run.
    own: Vec<Known>,
}

impl Services {
    /// Starts those of `asked` that do not run, each until it waits for something to do. Which were
    /// started; which were not, and why. Where files may have been `touched` since the session began,
    /// whatever they start themselves may be of the agent's making.
    pub(super) fn start(
        &mut self,
        asked: Vec<Service>,
        touched: bool,
    ) -> (Vec<String>, Vec<String>) {
        self.has_called |= touched;
        self.forget_ended();
        let (mut started, mut failed) = (Vec::new(), Vec::new());
        for service in asked {
            let known = self.all.iter().position(|(other, _)| other.name == service.name);
            let known = known.and_then(|at| self.all.get_mut(at));
            if known.as_ref().is_some_and(|(_, process)| process.is_some()) {
                continue;
            }
            let process = match Process::start(&service) {
                Ok(process) => Some(process),
                Err(error) => {
                    failed.push(format!("{}: {error}", service.name));
                    None
                }
            };
            if process.is_some() {
                started.push(service.name.clone());
            }
            match known {
                Some((_, ended)) => *ended = process,
                None => self.all.push((service, process)),
            }
        }
        if started.is_empty() {
            return (started, failed);
        }
        let new = self.all.iter_mut().filter(|(service, _)| started.contains(&service.name));
        let mut new: Vec<&mut Process> = new.filter_map(|(_, process)| process.as_mut()).collect();
        let pids: Vec<u32> = new.iter().map(|process| process.pid).collect();
        processes::settle(&pids);
        for process in &mut new {
            process.own = processes::with_descendants(process.pid);
            if touched {
                process.own.retain(|(pid, _)| *pid == process.pid);
            }
        }
        self.forget_ended();
        started.retain(|name| {
            let runs = self.runs(name);
            if !runs {
                failed.push(format!("{name}: it ended at once"));
            }
            runs
        });
        (started, failed)
    }

    fn runs(&self, name: &str) -> bool {
        self.all.iter().any(|(service, process)| service.name == name && process.is_some())
    }

    /// A call of the agent's is about to run.
    pub(super) fn call_begins(&mut self) {
        if std::mem::replace(&mut self.has_called, true) {
            return;
        }
        for process in self.all.iter_mut().filter_map(|(_, process)| process.as_mut()) {
            process.own = processes::with_descendants(process.pid);
        }
    }

    /// Which run.
    pub(super) fn states(&mut self) -> Vec<ServiceState> {
        self.forget_ended();
        let state = |(service, process): &(Service, Option<Process>)| ServiceState {
            name: service.name.clone(),
            runs: process.is_some(),
        };
        self.all.iter().map(state).collect()
    }

    /// Processes that are not the agent's: what services have started during a call or after one is
    /// not among them.
    pub(super) fn own(&mut self) -> Vec<Known> {
        self.forget_ended();
        let running = self.all.iter().filter_map(|(_, process)| process.as_ref());
        running.flat_map(|process| process.own.iter().copied()).collect()
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// Ready when one has ended.
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.all.iter().filter_map(|(_, process)| Some(process.as_ref()?.ended.as_fd()))
    }

    /// Takes leave of those that have ended, so that nothing of them is left to be seen.
    pub(super) fn forget_ended(&mut self) {
        for (_, process) in &mut self.all {
            if let Some(ended) = process.take_if(|process| is_ready(process.ended.as_fd())) {
                processes::reap(ended.pid);
            }
        }
    }
}

impl Process {
    /// The kernel calls a process by the path that it was started with: here, a link of its name.
    fn start(service: &Service) -> std::io::Result<Self> {
        let mut command = Command::new(Path::new(bwrap::SERVICES).join(&service.name));
        command
            .arg0(&service.name)
            .args(service.argv.iter().skip(1))
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = variables::hand_over(&mut command).spawn()?;
        processes::yield_to_supervisor(child.id());
        let ended = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        Ok(Self { pid: child.id(), ended, own: Vec::new() })
    }
}
