//! Starts the sandbox when a call needs it, and hands the call in.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use air_core::port::{Tier, WorkspaceError};

use crate::{
    bwrap::{self, Mounts},
    cgroup::{Groups, OWN_PROCESSES},
    config::{Overlay, Shape},
    image,
    network::isolate,
    origin::is_visible,
    protocol::{Confinement, ProcessLimits, Python, Ran, Reply, Request, Run, Settings},
    sandbox::Sandbox,
    stage::Stage,
    variables::carried,
    workspace::{Inner, LocalWorkspace, Running, failed, unexpected},
};

const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty"];
/// The supervisor itself has pipes of many.
const LEAST_FILES: u32 = 256;
const RANDOM: [&str; 2] = ["/dev/random", "/dev/urandom"];

impl LocalWorkspace {
    /// Starts the sandbox and the services in it, which the first call would do otherwise.
    ///
    /// # Errors
    ///
    /// If it does not start; no call will.
    pub fn start(&self) -> Result<(), WorkspaceError> {
        self.inner().warm_up()
    }
}

impl Inner {
    /// Runs a program in the sandbox.
    pub(crate) fn run(&self, argv: &[&str], stdin: &str, timeout: Duration) -> io::Result<Ran> {
        let request = Request::Run(Run {
            argv: argv.iter().map(|part| (*part).to_owned()).collect(),
            stdin: stdin.to_owned(),
            timeout_ms: milliseconds(timeout),
            output_limit_bytes: self.config.limits.output_bytes,
        });
        self.call(&mut self.running(), &request, timeout)
    }

    /// Runs a step in the session's interpreter.
    pub(crate) fn python(&self, source: &str, timeout: Duration) -> io::Result<Ran> {
        let mut running = self.running();
        let request = Request::Python(Python {
            source: source.to_owned(),
            path: self.keep(&mut running, source, "py")?,
            timeout_ms: milliseconds(timeout),
            output_limit_bytes: self.config.limits.output_bytes,
        });
        self.call(&mut running, &request, timeout)
    }

    /// Runs a step as a script of its own: no list of processes tells its source.
    pub(crate) fn bash(&self, source: &str, timeout: Duration) -> io::Result<Ran> {
        let mut running = self.running();
        let request = Request::Run(Run {
            argv: vec!["bash".to_owned(), self.keep(&mut running, source, "sh")?],
            stdin: String::new(),
            timeout_ms: milliseconds(timeout),
            output_limit_bytes: self.config.limits.output_bytes,
        });
        self.call(&mut running, &request, timeout)
    }

    /// Keeps the source of a step beside the session; where it is inside.
    fn keep(&self, running: &mut Running, source: &str, kind: &str) -> io::Result<String> {
        running.steps += 1;
        let name = format!("step{}.{kind}", running.steps);
        let steps = self.config.session_dir.join("steps");
        fs::write(steps.join(&name), source)?;
        running.source = Some(name);
        Ok(self.source_of(running).map(|(inside, _)| inside).unwrap_or_default())
    }

    /// Where the last call's source is inside, and where it is kept.
    pub(crate) fn source_of(&self, running: &Running) -> Option<(String, PathBuf)> {
        let name = running.source.as_ref()?;
        let kept = self.config.session_dir.join("steps").join(name);
        let inside = match self.tier {
            Tier::T3 => Path::new(bwrap::STEPS).join(name),
            Tier::T2 | Tier::T1 => kept.clone(),
        };
        Some((inside.to_string_lossy().into_owned(), kept))
    }

    fn call(&self, running: &mut Running, request: &Request, within: Duration) -> io::Result<Ran> {
        running.layers.outdate();
        self.start_if_needed(running)?;
        let Some(sandbox) = running.sandbox.as_mut() else {
            return Err(io::Error::other("the sandbox did not start"));
        };
        match sandbox.call(request, within) {
            Ok(Reply::Ran(ran)) => Ok(ran),
            Ok(other) => Err(unexpected(other)),
            Err(error) => {
                running.sandbox = None;
                Err(self.explained(&error))
            }
        }
    }

    /// Starts a sandbox where none runs, ahead of a call.
    pub(crate) fn warm_up(&self) -> Result<(), WorkspaceError> {
        let mut running = self.running();
        self.start_if_needed(&mut running).map(|_| ()).map_err(failed)
    }

    /// Starts a sandbox where none runs; whether it did.
    pub(crate) fn start_if_needed(&self, running: &mut Running) -> io::Result<bool> {
        if running.sandbox.as_mut().is_some_and(|sandbox| sandbox.is_running()) {
            return Ok(false);
        }
        running.sandbox = None;
        running.sandbox = Some(self.start()?);
        running.network.started();
        if running.network.is_cut()
            && let Err(error) = isolate(running.sandbox.as_mut())
        {
            running.sandbox = None;
            return Err(self.explained(&error));
        }
        if let Err(error) = self.start_services(running) {
            running.sandbox = None;
            return Err(self.explained(&error));
        }
        Ok(true)
    }

    /// With what the sandbox said before it ended.
    fn explained(&self, error: &io::Error) -> io::Error {
        let log = fs::read_to_string(self.config.session_dir.join("sandbox.log"));
        let log = log.unwrap_or_default();
        io::Error::new(error.kind(), format!("{error}; {}", log.trim_end()))
    }

    fn start(&self) -> io::Result<Sandbox> {
        if self.config.shape == Shape::System {
            image::complete(&self.config, &self.view, &self.python)?;
        }
        let session = &self.config.session_dir;
        let limits = &self.config.limits;
        let is_bound = self.ids.is_some() || !rustix::process::geteuid().is_root();
        let groups = Groups::make(limits.total_memory_bytes, limits.processes, is_bound);
        let log = File::create(session.join("sandbox.log"))?;
        let settings = self.settings()?;
        let mut stage = Stage::new(self.ids);
        let mut words = self.config.supervisor.iter();
        let program = words.next().cloned().unwrap_or_default();
        let mut command = match self.tier {
            Tier::T3 => {
                let mut command = Command::new("bwrap");
                let mounts = self.mounts(&mut stage, Path::new(&program))?;
                command.args(mounts.arguments()).arg(bwrap::SUPERVISOR);
                command
            }
            Tier::T2 | Tier::T1 => Command::new(program),
        };
        command.args(words).arg("serve").arg(serde_json::to_string(&settings)?);
        for file in groups.files() {
            stage.enter(&file);
        }
        if stage.is_needed() {
            command = stage.command(&self.config.supervisor, &command)?;
        }
        if self.tier != Tier::T3 {
            command
                .env_clear()
                .env("PATH", self.python.search_path())
                .env("HOME", session.join("home"))
                .env("TMPDIR", session.join("tmp"))
                .envs([("LANG", "C.UTF-8"), ("TERM", "dumb"), ("USER", "agent")])
                .envs(carried(&self.config.environment))
                .current_dir(&self.config.workspace);
        }
        Sandbox::start(command, log, groups, self.config.outside.clone())
    }

    /// What bubblewrap binds from where.
    fn mounts(&self, stage: &mut Stage, program: &Path) -> io::Result<Mounts<'_>> {
        let session = &self.config.session_dir;
        let (workspace, overlay) = (&self.config.workspace, self.config.overlay.as_ref());
        let is_staged = self.ids.is_some() || overlay.is_some();
        let mut place = |name: &str, path: &Path, mapped| {
            if is_staged { stage.add(name, path, mapped) } else { path.to_path_buf() }
        };
        let directories = self.python.directories.iter().enumerate();
        let binds = self.config.binds.iter().enumerate();
        let mut mounts = Mounts {
            workspace: place("workspace", workspace, true),
            home: place("home", &session.join("home"), true),
            tmp: place("tmp", &session.join("tmp"), true),
            steps: place("steps", &session.join("steps"), true),
            driver: place("driver", &session.join("repl.py"), true),
            services: place("services", &session.join("services"), true),
            supervisor: place("supervisor", program, false),
            binds: binds
                .map(|(at, (host, inside))| {
                    (place(&format!("bind{at}"), host, false), inside.clone())
                })
                .collect(),
            shape: self.config.shape,
            system: &self.view.system,
            environment: &self.config.environment,
            python_sources: directories
                .map(|(at, path)| place(&format!("python{at}"), path, false))
                .collect(),
            python: &self.python,
            denied: (!is_staged).then(|| session.join("denied")),
        };
        if let Some(Overlay { upper, work }) = overlay {
            mounts.workspace = stage.overlay("workspace", upper, work)?;
        }
        Ok(mounts)
    }

    fn settings(&self) -> io::Result<Settings> {
        let limits = &self.config.limits;
        let session = &self.config.session_dir;
        let program: Option<Vec<String>> =
            self.config.supervisor.iter().map(|part| Some(part.to_str()?.to_owned())).collect();
        let program = program.ok_or_else(|| io::Error::other("supervisor is not UTF-8"))?;
        let (driver, cwd) = match self.tier {
            Tier::T3 => (PathBuf::from(bwrap::DRIVER), PathBuf::from(bwrap::WORKSPACE)),
            Tier::T2 | Tier::T1 => (session.join("repl.py"), self.view.cwd()),
        };
        Ok(Settings {
            tier: self.tier,
            program,
            python: self.python.program.to_string_lossy().into_owned(),
            isolated: !self.config.environment.iter().any(|(name, _)| name.starts_with("PYTHON")),
            driver,
            cwd,
            limits: ProcessLimits {
                memory_bytes: limits.memory_bytes,
                total_memory_bytes: limits.total_memory_bytes,
                file_bytes: limits.file_bytes,
                open_files: limits.open_files.max(LEAST_FILES).into(),
                cpu_s: limits.cpu.as_secs().max(1),
                processes: limits.processes,
                nproc: self.nproc(),
            },
            confinement: self.confinement(),
            outside: self.config.outside.as_ref().map(|outside| outside.local_ports()),
        })
    }

    /// The kernel counts a user's threads in each user namespace by itself since Linux 5.14, before
    /// and without a namespace on the whole machine.
    fn nproc(&self) -> u64 {
        let own = u64::from(self.config.limits.processes) + u64::from(OWN_PROCESSES);
        if self.tier == Tier::T3 && kernel() >= Some((5, 14)) {
            return own;
        }
        let user = self.ids.map_or_else(|| rustix::process::getuid().as_raw(), |ids| ids.user);
        own + threads_of(user)
    }

    fn confinement(&self) -> Confinement {
        if self.tier == Tier::T3 {
            return Confinement::default();
        }
        let session = &self.config.session_dir;
        let mut readable: Vec<PathBuf> = bwrap::SYSTEM.iter().map(PathBuf::from).collect();
        if rustix::process::geteuid().is_root() {
            // Landlock cannot except a file, and nothing else keeps root from reading it.
            readable.retain(|directory| directory != Path::new("/etc"));
            let entries = fs::read_dir("/etc").into_iter().flatten().flatten();
            let entries = entries.map(|entry| entry.path());
            readable.extend(entries.filter(|path| is_visible(path, &[])));
        }
        readable.extend(["/proc".into(), session.join("steps"), session.join("repl.py")]);
        readable.extend(RANDOM.map(PathBuf::from));
        readable.extend(self.python.directories.iter().cloned());
        let mut writable: Vec<PathBuf> = self.roots.iter().map(|root| root.host.clone()).collect();
        writable.extend(DEVICES.map(PathBuf::from));
        let foreign = fs::metadata(&self.config.workspace).is_ok_and(|meta| meta.uid() != 0);
        Confinement { readable, writable, foreign }
    }
}

/// The version of the running kernel.
fn kernel() -> Option<(u32, u32)> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    let mut parts = release.split(|letter: char| !letter.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn threads_of(user: u32) -> u64 {
    let threads = |entry: fs::DirEntry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        let field = |name| status.lines().find_map(|line| line.strip_prefix(name));
        let real = field("Uid:")?.split_whitespace().next()?.parse::<u32>().ok()?;
        if real == user { field("Threads:")?.trim().parse::<u64>().ok() } else { None }
    };
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(threads).sum()
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
