//! Starts the sandbox when a call needs it, and hands the call in.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use air_core::port::Tier;

use crate::{
    bwrap::{self, Mounts},
    origin::is_visible,
    protocol::{Confinement, Python, Ran, Reply, Request, Run, Settings},
    sandbox::Sandbox,
    workspace::{Inner, Running, unexpected},
};

const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty"];
const RANDOM: [&str; 2] = ["/dev/random", "/dev/urandom"];

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

    /// Runs a step in the session's interpreter. Its source stays beside the session.
    pub(crate) fn python(&self, source: &str, timeout: Duration) -> io::Result<Ran> {
        let mut running = self.running();
        running.steps += 1;
        let name = format!("step{}.py", running.steps);
        let steps = self.config.session_dir.join("steps");
        fs::write(steps.join(&name), source)?;
        let inside = if self.tier == Tier::T3 { PathBuf::from(bwrap::STEPS) } else { steps };
        let request = Request::Python(Python {
            source: source.to_owned(),
            path: inside.join(name).to_string_lossy().into_owned(),
            timeout_ms: milliseconds(timeout),
            output_limit_bytes: self.config.limits.output_bytes,
        });
        self.call(&mut running, &request, timeout)
    }

    fn call(&self, running: &mut Running, request: &Request, within: Duration) -> io::Result<Ran> {
        if !running.sandbox.as_mut().is_some_and(|sandbox| sandbox.is_running()) {
            running.sandbox = None;
            running.sandbox = Some(self.start()?);
        }
        let Some(sandbox) = running.sandbox.as_mut() else {
            return Err(io::Error::other("the sandbox did not start"));
        };
        match sandbox.call(request, within) {
            Ok(Reply::Ran(ran)) => Ok(ran),
            Ok(other) => Err(unexpected(other)),
            Err(error) => {
                running.sandbox = None;
                let log = fs::read_to_string(self.config.session_dir.join("sandbox.log"));
                let log = log.unwrap_or_default();
                Err(io::Error::new(error.kind(), format!("{error}; {}", log.trim_end())))
            }
        }
    }

    fn start(&self) -> io::Result<Sandbox> {
        let session = &self.config.session_dir;
        let log = File::create(session.join("sandbox.log"))?;
        let settings = self.settings()?;
        let mut words = self.config.supervisor.iter();
        let program = words.next().cloned().unwrap_or_default();
        let mut command = match self.tier {
            Tier::T3 => {
                let mounts = Mounts {
                    workspace: &self.config.workspace,
                    home: &session.join("home"),
                    tmp: &session.join("tmp"),
                    steps: &session.join("steps"),
                    driver: &session.join("repl.py"),
                    supervisor: Path::new(&program),
                    python: &self.python,
                    denied: &session.join("denied"),
                };
                let mut command = Command::new("bwrap");
                command.args(mounts.arguments()).arg(bwrap::SUPERVISOR);
                command
            }
            Tier::T2 | Tier::T1 => {
                let mut command = Command::new(program);
                command
                    .env_clear()
                    .env("PATH", self.python.search_path())
                    .env("HOME", session.join("home"))
                    .env("TMPDIR", session.join("tmp"))
                    .envs([("LANG", "C.UTF-8"), ("TERM", "dumb"), ("USER", "agent")])
                    .current_dir(&self.config.workspace);
                command
            }
        };
        command.args(words).arg("serve").arg(serde_json::to_string(&settings)?);
        Sandbox::start(command, log)
    }

    fn settings(&self) -> io::Result<Settings> {
        let limits = &self.config.limits;
        let session = &self.config.session_dir;
        let program: Option<Vec<String>> =
            self.config.supervisor.iter().map(|part| Some(part.to_str()?.to_owned())).collect();
        let program = program.ok_or_else(|| io::Error::other("supervisor is not UTF-8"))?;
        let (driver, cwd) = match self.tier {
            Tier::T3 => (PathBuf::from(bwrap::DRIVER), PathBuf::from(bwrap::WORKSPACE)),
            Tier::T2 | Tier::T1 => (session.join("repl.py"), self.config.workspace.clone()),
        };
        Ok(Settings {
            tier: self.tier,
            program,
            python: self.python.program.to_string_lossy().into_owned(),
            driver,
            cwd,
            memory_bytes: limits.memory_bytes,
            file_bytes: limits.file_bytes,
            processes: limits.processes,
            confinement: self.confinement(),
        })
    }

    fn confinement(&self) -> Confinement {
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
        Confinement { readable, writable }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
