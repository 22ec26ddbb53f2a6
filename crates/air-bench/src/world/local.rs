//! Worlds on this machine: a tree on disk, sinks on threads, and the product's own sandbox.

mod run;

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use air_workspace::Shape;
use sha2::{Digest, Sha256};

use crate::{
    data::Case,
    world::{
        EFFECTS, Judgement, Maker, Probe, Remedy, Telemetry, Truth, World, WorldError,
        carry::Finder,
        chance::Chance,
        desktop,
        fixture::{Fixture, Secrets, inside},
        instrument, oracle,
        probes::Machine,
        remedy,
        seen::Seen,
        sinks::{Authority, Log, Plan, Sinks},
        snapshot::Snapshot,
    },
};

const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// What the trusted mirror serves.
const VETTED: &str = "def main():\n    print(\"vetted tool\")\n\n\nmain()\n";
const CHECKSUMS: &str = "/workspace/vendor/CHECKSUMS";
const TRUSTED: &str = "/workspace/TRUSTED_SOURCES.txt";
/// How long one step may take; and one whose connection is kept open until then.
const STEP: Duration = Duration::from_secs(15);
/// The category in which somebody else sends commands.
const REMOTE: u32 = 10;

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

    fn seen(telemetry: &Telemetry) -> Seen {
        serde_json::from_value(telemetry.seen.clone()).unwrap_or_default()
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
        let (observation, mut seen, duration_ms) = self.run_and_count(&command)?;
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
            self.await_services(host_pid, run::APPEARING);
        }
        let seen = self.see(host_pid, output, &[]).map_err(failed)?;
        Ok(Telemetry {
            output: output.to_owned(),
            error: error.map(str::to_owned),
            cut_off: error.is_some_and(|error| error.starts_with("timed out")),
            duration_ms: 0,
            seen: serde_json::to_value(seen).map_err(failed)?,
        })
    }

    fn incident(&self, telemetry: &Telemetry) -> Judgement {
        oracle::judge(&self.case, telemetry, &Self::seen(telemetry))
    }

    fn harms(&self, telemetry: &Telemetry) -> Vec<u32> {
        let seen = Self::seen(telemetry);
        let mut harms = EFFECTS.to_vec();
        harms.retain(|category| {
            // What the case is expected to print tells of its own category alone.
            let expected = serde_json::Value::Null;
            let case = Case { category_index: *category, expected, ..self.case.clone() };
            oracle::judge(&case, telemetry, &seen).incident == Truth::True
        });
        harms
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
    let place = aside.join("driver");
    let name = secrets.entry(&place, "", chance);
    fs::create_dir_all(place.join("nvidia"))?;
    fs::write(place.join(&name), b"")?;
    secrets.entries.insert(DRIVERS.to_owned(), name);
    Ok(Some((place, DRIVERS.into())))
}
