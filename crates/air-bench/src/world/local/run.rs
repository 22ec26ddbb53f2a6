//! How a world is run in, and looked at.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use air_core::{
    id::CallId,
    port::{Tier, ToolBox, ToolError, Workspace},
    step::{Arguments, Observation, ToolCall},
};
use air_workspace::{Limits, LocalWorkspace, OpenError, SandboxConfig, Service, Shape, Tools};
use serde_json::Value;

use super::{CERTIFICATES, LocalWorld, STEP, failed};
use crate::world::{
    WorldError, desktop, instrument, oracle,
    probes::Python,
    processes::{self, Process},
    seen::{Found, Seen},
    sinks::Event,
    snapshot::Snapshot,
};

/// What every service is: a program that does nothing.
const SERVICE: &str = "/usr/bin/sleep";
/// How long a step may take whose connection is kept open until then.
const HELD: Duration = Duration::from_secs(3);
/// How long services that were started again may take to appear.
pub(super) const APPEARING: Duration = Duration::from_millis(100);
/// How long services may take to appear before anything runs.
const STARTING: Duration = Duration::from_secs(5);
/// How long datagrams may take to arrive, and processes to end that were told to.
const SETTLING: Duration = Duration::from_millis(300);
/// How often a run is made whose sender may have been too late.
const ATTEMPTS: usize = 6;
/// The category in which bytes are counted.
const AMPLIFICATION: u32 = 21;
/// The category in which services are ended.
const PROCESSES: u32 = 18;

impl LocalWorld {
    pub(super) fn limits(&self) -> Limits {
        let hold = self.sinks.plan.hold.load(Ordering::Relaxed);
        Limits {
            timeout: if hold { HELD } else { STEP },
            memory_bytes: 2 << 30,
            total_memory_bytes: 3 << 30,
            processes: 256,
            cpu: Duration::from_secs(20),
            file_bytes: 64 << 20,
            entries: 40_000,
            ..Limits::default()
        }
    }

    pub(super) fn environment() -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = [
            ("USER", "root"),
            ("LANG", "C.UTF-8"),
            ("TERM", "dumb"),
            ("DISPLAY", ":99"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
            ("REQUESTS_CA_BUNDLE", CERTIFICATES),
            ("SSL_CERT_FILE", CERTIFICATES),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
        all.extend(Python::find().environment(desktop::MODULES));
        all
    }

    pub(super) fn services(&self) -> Vec<Service> {
        let names = self.fixture.decoy_processes.iter();
        names
            .map(|name| Service {
                name: name.clone(),
                argv: vec![SERVICE.to_owned(), "infinity".to_owned()],
            })
            .collect()
    }

    fn config(&self) -> SandboxConfig {
        let state = self.directory.join("baseline");
        let mut config = SandboxConfig::new(&self.root, state, "baseline", self.supervisor.clone());
        config.minimum = Some(Tier::T3);
        config.shape = Shape::System;
        config.limits = self.limits();
        config.environment = Self::environment();
        config.binds.clone_from(&self.binds);
        config.services = self.services();
        config.outside = Some(Arc::clone(&self.sinks) as _);
        config
    }

    /// Runs `command` in the product's sandbox, without a session; and what was seen afterwards.
    pub(super) fn run(&self, command: String) -> Result<(Observation, Seen, u64), WorldError> {
        let workspace = LocalWorkspace::open(self.config()).map_err(|error| match error {
            error @ OpenError::Tier { .. } => WorldError::NoSandbox(error.to_string()),
            error => failed(error),
        })?;
        let tools = Tools::new(workspace.clone());
        let mut arguments = Arguments::default();
        arguments.insert("command".to_owned(), Value::String(command));
        let call = ToolCall {
            id: CallId::from("baseline"),
            tool: "bash".to_owned(),
            arguments,
            native: None,
        };
        workspace.start().map_err(|error| failed(format!("the sandbox: {error}")))?;
        self.await_services(workspace.sandbox_pid(), STARTING);
        let begun = Instant::now();
        let called = futures::executor::block_on(tools.call(&call));
        let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let observation = match called {
            Ok(observation) => observation,
            // A case may end its own sandbox; one that was never there is no telemetry.
            Err(
                error
                @ (ToolError::Failed(_) | ToolError::Arguments { .. } | ToolError::Unknown(_)),
            ) => {
                return Err(failed(format!("the sandbox: {error}")));
            }
            Err(error) => Observation {
                error: Some(error.to_string()),
                duration_ms: took,
                ..Observation::default()
            },
        };
        let own = [instrument::source(self.case.language), instrument::PLACE];
        let seen = self.see(workspace.sandbox_pid(), &observation.content, &own);
        // It ends with the workspace as well; this says so at once.
        let _ = futures::executor::block_on(workspace.kill());
        Ok((observation, seen.map_err(failed)?, took))
    }

    /// As [`Self::run`], again while a sender was too late for its own pipe: `nc -w0` ends at once
    /// where the other side has not written yet, with nothing sent.
    pub(super) fn run_and_count(
        &self,
        command: &str,
    ) -> Result<(Observation, Seen, u64), WorldError> {
        let mut done = self.run(command.to_owned())?;
        for _ in 1..ATTEMPTS {
            let (observation, seen, _) = &done;
            let may_be_late = self.case.category_index == AMPLIFICATION
                && seen.events == 0
                && observation.error.is_none();
            if !may_be_late {
                break;
            }
            done = self.run(command.to_owned())?;
        }
        Ok(done)
    }

    pub(super) fn see(
        &self,
        host_pid: Option<u32>,
        output: &str,
        own: &[&str],
    ) -> io::Result<Seen> {
        self.settle();
        let after = Snapshot::take(&self.root)?;
        let events = self.sinks.plan.log.events();
        let found = Found {
            finder: &self.finder,
            before: &self.before,
            after: &after,
            events: &events,
            output,
            own,
        };
        let mut seen = Seen::of(&self.fixture, &self.secrets, &found);
        let running = || host_pid.map(processes::below).unwrap_or_default();
        let deadline = Instant::now() + SETTLING;
        let ends = self.case.category_index == PROCESSES && host_pid.is_some();
        while ends && self.down(&running()).is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        let running = running();
        let services = &self.fixture.decoy_processes;
        seen.services_down = self.down(&running);
        let is_agents = |process: &&Process| {
            !process.is_of_the_sandbox() && !services.iter().any(|name| process.is_service(name))
        };
        seen.processes =
            running.iter().filter(is_agents).map(|process| process.argv.join(" ")).collect();
        seen.source_in_reach = self.source_in_reach();
        Ok(seen)
    }

    /// Datagrams may arrive after the one who sent them has ended.
    fn settle(&self) {
        let deadline = Instant::now() + SETTLING;
        let counts = self.case.category_index == AMPLIFICATION;
        let counted = || -> usize { self.sinks.plan.log.events().iter().map(Event::counted).sum() };
        while counts && counted() < oracle::AMPLIFIED && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether a source of a step that holds the case's code is where steps are run from.
    fn source_in_reach(&self) -> bool {
        let Some(state) = self.state.get() else { return false };
        let sessions = fs::read_dir(state.join("sessions")).into_iter().flatten().flatten();
        let steps = sessions.flat_map(|session| {
            fs::read_dir(session.path().join("steps")).into_iter().flatten().flatten()
        });
        steps.filter(is_readable).any(|step| {
            fs::read_to_string(step.path()).is_ok_and(|text| text.contains(self.case.code.trim()))
        })
    }

    /// Services that were started need a moment to appear.
    pub(super) fn await_services(&self, host_pid: Option<u32>, patience: Duration) {
        let Some(first) = host_pid else { return };
        let deadline = Instant::now() + patience;
        while !self.down(&processes::below(first)).is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Services that are not among `running`.
    fn down(&self, running: &[Process]) -> Vec<String> {
        let is_down = |name: &&String| !running.iter().any(|process| process.is_service(name));
        self.fixture.decoy_processes.iter().filter(is_down).cloned().collect()
    }
}

fn is_readable(step: &fs::DirEntry) -> bool {
    step.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o444 != 0)
}
