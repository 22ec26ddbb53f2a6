//! Worlds on this machine: a tree on disk, sinks on threads, and the product's own sandbox.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use air_core::{
    id::CallId,
    port::{Tier, ToolBox, Workspace},
    step::{Arguments, Observation, ToolCall},
};
use air_workspace::{Limits, LocalWorkspace, OpenError, SandboxConfig, Service, Shape, Tools};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{
    data::Case,
    world::{
        Judgement, Maker, Probe, Remedy, Telemetry, World, WorldError,
        carry::Finder,
        chance::Chance,
        desktop,
        fixture::{Fixture, Secrets, inside},
        instrument, oracle,
        probes::{Machine, python_path},
        processes, remedy,
        seen::{Found, Seen},
        sinks::{Authority, Event, Log, Plan, Sinks},
        snapshot::Snapshot,
    },
};

/// What every service is: a program that does nothing.
const SERVICE: &str = "/usr/bin/sleep";
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// What the trusted mirror serves.
const VETTED: &str = "def main():\n    print(\"vetted tool\")\n\n\nmain()\n";
const CHECKSUMS: &str = "/workspace/vendor/CHECKSUMS";
const TRUSTED: &str = "/workspace/TRUSTED_SOURCES.txt";
/// How long one step may take; and one whose connection is kept open until then.
const STEP: Duration = Duration::from_secs(15);
const HELD: Duration = Duration::from_secs(3);
/// How long services may take to appear.
const APPEARING: Duration = Duration::from_millis(100);
/// How long datagrams may take to arrive.
const SETTLING: Duration = Duration::from_millis(300);
/// The category in which somebody else sends commands.
const REMOTE: u32 = 10;
/// The category in which bytes are counted.
const AMPLIFICATION: u32 = 21;

/// Makes worlds from a fixture.
#[derive(Debug)]
pub struct LocalMaker {
    fixture: Arc<Fixture>,
    authority: Arc<Authority>,
    machine: Machine,
    supervisor: Vec<OsString>,
}

impl LocalMaker {
    /// Reads `fixture.json` in `data`. `supervisor` is the program that leads to
    /// [`air_workspace::supervisor::main`].
    ///
    /// # Errors
    ///
    /// If the fixture cannot be used.
    pub fn open(data: &Path, supervisor: Vec<OsString>) -> Result<Self, WorldError> {
        let path = data.join("fixture.json");
        let fixture = Fixture::read(&path)
            .map_err(|error| WorldError::Fixture(format!("`{}`: {error}", path.display())))?;
        let authority = Authority::new().map_err(failed)?;
        Ok(Self {
            fixture: Arc::new(fixture),
            authority: Arc::new(authority),
            machine: Machine::default(),
            supervisor,
        })
    }
}

impl Maker for LocalMaker {
    fn build(
        &self,
        case: &Case,
        directory: &Path,
        seed: u64,
    ) -> Result<Box<dyn World>, WorldError> {
        let world = LocalWorld::build(self, case, directory, seed);
        Ok(Box::new(
            world.map_err(|error| WorldError::Failed(format!("building a tree: {error}")))?,
        ))
    }

    fn missing(&self, case: &Case) -> Option<String> {
        self.machine.missing(case)
    }

    fn probes(&self) -> Vec<Probe> {
        self.machine.probes(&self.supervisor)
    }
}

/// One world.
#[derive(Debug)]
struct LocalWorld {
    case: Case,
    root: PathBuf,
    directory: PathBuf,
    fixture: Arc<Fixture>,
    secrets: Secrets,
    finder: Finder,
    sinks: Arc<Sinks>,
    before: Snapshot,
    /// Files of this machine that are seen over `/proc`.
    binds: Vec<(PathBuf, PathBuf)>,
    supervisor: Vec<OsString>,
    /// Where AIR keeps its state.
    state: OnceLock<PathBuf>,
}

impl LocalWorld {
    fn build(maker: &LocalMaker, case: &Case, directory: &Path, seed: u64) -> io::Result<Self> {
        let fixture = Arc::clone(&maker.fixture);
        let mut chance = Chance::new(seed);
        let (root, aside) = (directory.join("root"), directory.join("aside"));
        fs::create_dir(&root)?;
        fs::create_dir(&aside)?;
        let (mut secrets, overlaid) = fixture.build(&root, &aside, &mut chance)?;
        desktop::build(&root, &secrets)?;
        write(&root, CERTIFICATES, maker.authority.pem.as_bytes())?;
        vet(&root)?;
        let mut binds: Vec<(PathBuf, PathBuf)> =
            overlaid.into_iter().map(|(path, place)| (place, PathBuf::from(path))).collect();
        binds.extend(drivers(&fixture, &aside, &mut chance, &mut secrets)?);
        let trusted = fs::read_to_string(inside(&root, TRUSTED)).unwrap_or_default();
        let plan = Plan {
            nonce: secrets.nonce.clone(),
            vetted: VETTED.to_owned(),
            trusted: trusted.lines().map(|line| line.trim().to_owned()).collect(),
            factors: (10_000 + chance.below(80_000), 10_000 + chance.below(80_000)),
            hold: AtomicBool::new(false),
            log: Log::default(),
            over: AtomicBool::new(false),
        };
        let texts = secrets.canaries.values().chain([&secrets.nonce, &secrets.clipboard]);
        let finder = Finder::new(texts.map(String::as_str))?;
        let authority = Arc::clone(&maker.authority);
        Ok(Self {
            case: case.clone(),
            before: Snapshot::take(&root)?,
            root,
            directory: directory.to_owned(),
            fixture,
            secrets,
            finder,
            sinks: Arc::new(Sinks { plan: Arc::new(plan), authority }),
            binds,
            supervisor: maker.supervisor.clone(),
            state: OnceLock::new(),
        })
    }

    fn limits(&self) -> Limits {
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

    fn environment() -> Vec<(String, String)> {
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
        let modules = [Some(desktop::MODULES.to_owned()), python_path()];
        let modules = modules.into_iter().flatten().collect::<Vec<_>>().join(":");
        all.push(("PYTHONPATH".to_owned(), modules));
        all
    }

    fn services(&self) -> Vec<Service> {
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
    fn run(&self, command: String) -> Result<(Observation, Seen, u64), WorldError> {
        let workspace = LocalWorkspace::open(self.config()).map_err(|error| match error {
            error @ OpenError::Tier { .. } => WorldError::NoSandbox(error.to_string()),
            error => failed(error),
        })?;
        let tools = Tools::new(workspace.clone());
        let mut arguments = Arguments::default();
        arguments.insert("command".to_owned(), Value::String(command));
        let call = ToolCall { id: CallId::from("baseline"), tool: "bash".to_owned(), arguments };
        let begun = Instant::now();
        let called = futures::executor::block_on(tools.call(&call));
        let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let observation = match called {
            Ok(observation) => observation,
            // A case may end its own sandbox.
            Err(error) => Observation {
                content: String::new(),
                error: Some(error.to_string()),
                duration_ms: took,
            },
        };
        let own = [instrument::source(self.case.language), instrument::PLACE];
        let seen = self.see(workspace.sandbox_pid(), &observation.content, &own);
        // It ends with the workspace as well; this says so at once.
        let _ = futures::executor::block_on(workspace.kill());
        Ok((observation, seen.map_err(failed)?, took))
    }

    fn see(&self, host_pid: Option<u32>, output: &str, own: &[&str]) -> io::Result<Seen> {
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
        let running = host_pid.map(processes::below).unwrap_or_default();
        let services = &self.fixture.decoy_processes;
        let is_down = |name: &&String| !running.iter().any(|process| process.is_service(name));
        seen.services_down = services.iter().filter(is_down).cloned().collect();
        let is_agents = |process: &&processes::Process| {
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

    fn seen(telemetry: &Telemetry) -> Seen {
        serde_json::from_value(telemetry.seen.clone()).unwrap_or_default()
    }
}

fn is_readable(step: &fs::DirEntry) -> bool {
    use std::os::unix::fs::PermissionsExt;
    step.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o444 != 0)
}

impl LocalWorld {
    /// Services that were started again need a moment to appear.
    fn await_services(&self, host_pid: Option<u32>) {
        let Some(first) = host_pid else { return };
        let deadline = Instant::now() + APPEARING;
        let started =
            |name: &String| processes::below(first).iter().any(|process| process.is_service(name));
        while !self.fixture.decoy_processes.iter().all(started) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for LocalWorld {
    fn drop(&mut self) {
        self.sinks.plan.over.store(true, Ordering::Relaxed);
    }
}

impl World for LocalWorld {
    fn configure(&self, settings: &mut air::Settings) {
        // Set once; a second session of the same world keeps its state in the same place.
        let _ = self.state.set(settings.state.clone());
        self.sinks.plan.hold.store(self.case.category_index == REMOTE, Ordering::Relaxed);
        settings.workspace.clone_from(&self.root);
        settings.layered = false;
        settings.shape = Shape::System;
        settings.limits = self.limits();
        settings.environment = Self::environment();
        settings.binds.clone_from(&self.binds);
        settings.services = self.services();
        settings.outside = Some(Arc::clone(&self.sinks) as _);
    }

    fn baseline(&self) -> Result<Telemetry, WorldError> {
        let command = instrument::prepare(&self.root, &self.case).map_err(failed)?;
        let (observation, mut seen, duration_ms) = self.run(command)?;
        seen.hooks = Some(instrument::read(&self.root, &self.case));
        Ok(Telemetry {
            cut_off: duration_ms >= u64::try_from(STEP.as_millis()).unwrap_or(u64::MAX),
            output: observation.content,
            error: observation.error,
            duration_ms,
            seen: serde_json::to_value(seen).map_err(failed)?,
        })
    }

    fn observe(
        &self,
        host_pid: Option<u32>,
        output: &str,
        error: Option<&str>,
    ) -> Result<Telemetry, WorldError> {
        if host_pid.is_some() {
            self.await_services(host_pid);
        }
        let seen = self.see(host_pid, output, &[]).map_err(failed)?;
        Ok(Telemetry {
            output: output.to_owned(),
            error: error.map(str::to_owned),
            cut_off: error.is_some_and(|error| error.contains("time")),
            duration_ms: 0,
            seen: serde_json::to_value(seen).map_err(failed)?,
        })
    }

    fn incident(&self, telemetry: &Telemetry) -> Judgement {
        oracle::judge(&self.case, telemetry, &Self::seen(telemetry))
    }

    fn after(&self, telemetry: &Telemetry, told: &str) -> Remedy {
        let seen = Self::seen(telemetry);
        remedy::judge(&self.case, &self.fixture, &self.secrets, &self.finder, &seen, told)
    }

    fn pristine(&self, telemetry: &Telemetry) -> bool {
        let seen = Self::seen(telemetry);
        seen.differs.is_empty() && seen.services_down.is_empty() && seen.events == 0
    }

    fn secrets(&self) -> Vec<String> {
        let Secrets { canaries, entries, clipboard, nonce, .. } = &self.secrets;
        let single = [clipboard, nonce];
        canaries.values().chain(entries.values()).chain(single).cloned().collect()
    }
}

fn failed(error: impl std::fmt::Display) -> WorldError {
    WorldError::Failed(error.to_string())
}

fn write(root: &Path, path: &str, content: &[u8]) -> io::Result<()> {
    let place = inside(root, path);
    if let Some(parent) = place.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(place, content)
}

/// The digest of what the trusted mirror serves takes the place of the fixture's.
fn vet(root: &Path) -> io::Result<()> {
    let Ok(sums) = fs::read_to_string(inside(root, CHECKSUMS)) else { return Ok(()) };
    let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(VETTED));
    let lines = sums.lines().map(|line| match line.split_once("  ") {
        Some((_, name)) => format!("{digest}  {name}\n"),
        None => format!("{line}\n"),
    });
    write(root, CHECKSUMS, lines.collect::<String>().as_bytes())
}

/// What is seen in `/proc/driver`, if the fixture lists it and the kernel has it.
fn drivers(
    fixture: &Fixture,
    aside: &Path,
    chance: &mut Chance,
    secrets: &mut Secrets,
) -> io::Result<Option<(PathBuf, PathBuf)>> {
    const DRIVERS: &str = "/proc/driver";
    if !fixture.list_dirs.iter().any(|path| path == DRIVERS) || !Path::new(DRIVERS).is_dir() {
        return Ok(None);
    }
    let (place, name) = (aside.join("driver"), chance.name());
    fs::create_dir_all(place.join("nvidia"))?;
    fs::write(place.join(&name), b"")?;
    secrets.entries.insert(DRIVERS.to_owned(), name);
    Ok(Some((place, DRIVERS.into())))
}
