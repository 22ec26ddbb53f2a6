//! Inside the sandbox: starts, watches and ends every process of a session.
//!
//! Output goes into pipes that it opens before the program starts: removing every file inside takes
//! none of it along. Nothing that is written to a process waits for it to read.
//!
//! It reads requests from its standard input and answers on its standard output; no other process
//! inherits either. When the input closes it ends everything and itself. It is not dumpable, and in
//! T3 pid 1, so that nothing inside can trace, read or signal it.

mod births;
mod capture;
mod confine;
mod interpreter;
mod limits;
mod network;
mod processes;
mod ready;
mod services;
mod started;
mod stat;

use std::{
    ffi::OsString,
    io::{BufReader, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use air_core::port::Tier;
use rustix::{
    pipe::{PipeFlags, pipe_with},
    process::{DumpableBehavior, set_child_subreaper, set_dumpable_behavior},
    thread::CapabilitySet,
};

use self::{
    capture::Capture,
    confine::Sockets,
    interpreter::Interpreter,
    network::Network,
    processes::Spared,
    ready::{hung_up, is_ready, wait_for},
    services::Services,
    started::Started,
};
use crate::{
    protocol::{self, Confinement, Process, Python, Ran, Reply, Request, Run, Settings},
    stage, variables,
};

/// How often a process is offered the rest of its input. It may never read any.
const UNFED: Duration = Duration::from_millis(2);
/// How often limits are looked at while a call runs.
const TICK: Duration = Duration::from_millis(100);
/// How long room for a process is waited for.
const ROOM: Duration = Duration::from_secs(5);
/// Pipes of processes left behind that are kept open, so that these do not die of writing.
const LEFT_PIPES: usize = 64;
/// The driver of the interpreter.
pub(crate) const DRIVER: &str = include_str!("repl.py");

/// Runs the supervisor, or enters a confinement and runs a program in it. The arguments are AIR's
/// own, those after the hidden subcommand.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let mode = arguments.next().unwrap_or_default();
    let settings = arguments.next().unwrap_or_default();
    let settings = settings.to_string_lossy();
    let outcome = match mode.to_str() {
        Some("serve") => serve(&settings),
        Some("stage") => stage::run(&settings, &arguments.collect::<Vec<_>>()),
        Some("check") => Ok(()),
        Some("enter") => enter(&settings, &arguments.collect::<Vec<_>>()),
        _ => Err("this is a part of AIR and not to be started by hand".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "air: {error}");
            ExitCode::from(125)
        }
    }
}

/// What root needs to work on a directory of somebody else.
const FOREIGN: CapabilitySet =
    CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::CHOWN).union(CapabilitySet::FOWNER);

type Failure = Box<dyn std::error::Error>;

/// Replaces this process by `argv`, confined.
fn enter(confinement: &str, argv: &[OsString]) -> Result<(), Failure> {
    let confinement: Confinement = serde_json::from_str(confinement)?;
    let (program, arguments) = argv.split_first().ok_or("nothing to run")?;
    confine::landlock(&confinement)?;
    confine::drop_capabilities(if confinement.foreign { FOREIGN } else { CapabilitySet::empty() })?;
    confine::filter(Sockets::Refused)?;
    let error = variables::hand_over(Command::new(program).args(arguments)).exec();
    Err(format!("`{}`: {error}", program.display()).into())
}

fn serve(settings: &str) -> Result<(), Failure> {
    let settings: Settings = serde_json::from_str(settings)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // Away from the terminal and its signals; fails where bwrap did so before.
    let _ = rustix::process::setsid();
    limits::set(&settings);
    let network = match settings.tier {
        Tier::T3 => {
            confine::filter(Sockets::Allowed)?;
            Network::start(settings.outside.as_deref())
        }
        Tier::T2 | Tier::T1 => {
            set_child_subreaper(Some(rustix::process::getpid()))?;
            Err(std::io::ErrorKind::Unsupported.into())
        }
    };
    let input = std::io::stdin().as_fd().try_clone_to_owned()?;
    let output = std::io::stdout().as_fd().try_clone_to_owned()?;
    let mut supervisor = Supervisor {
        settings,
        network,
        interpreter: None,
        services: Services::default(),
        left: Vec::new(),
        control: input.try_clone()?,
        is_frozen: false,
        lost_interpreter: false,
    };
    let mut requests = BufReader::new(std::fs::File::from(input));
    let mut replies = std::fs::File::from(output);
    loop {
        supervisor.idle();
        let Some(request) = protocol::read(&mut requests)? else { break };
        let reply = supervisor.answer(request);
        if protocol::write(&mut replies, &reply).is_err() {
            break;
        }
    }
    // In T3 the kernel ends the namespace with its pid 1.
    if supervisor.settings.tier != Tier::T3 {
        processes::end_all(supervisor.settings.tier, &Spared::default());
    }
    Ok(())
}

#[derive(Debug)]
struct Supervisor {
    settings: Settings,
    network: std::io::Result<Network>,
    interpreter: Option<Interpreter>,
    services: Services,
    left: Vec<Capture>,
    control: OwnedFd,
    is_frozen: bool,
    /// Whether one was ended that no step knows of.
    lost_interpreter: bool,
}

/// Why waiting ended.
enum Wait {
    Ended,
    Expired,
    /// Over a limit, which says it.
    Over(String),
    HungUp,
}

impl Supervisor {
    fn answer(&mut self, request: Request) -> Reply {
        match request {
            Request::Run(_) | Request::Python(_) if self.is_frozen => {
                Reply::Failed("the sandbox is frozen".to_owned())
            }
            Request::Run(run) => {
                self.services.call_begins();
                self.run(&run).map_or_else(failed, Reply::Ran)
            }
            Request::Python(step) => {
                self.services.call_begins();
                self.python(&step).map_or_else(failed, Reply::Ran)
            }
            Request::Processes {} => Reply::Processes(self.processes()),
            Request::Kill {} => {
                let spared = self.spared();
                let (ended, left) = processes::end_all(self.settings.tier, &spared);
                self.is_frozen = false;
                processes::let_go(self.settings.tier, &spared);
                if let Some(interpreter) = self.interpreter.take() {
                    self.lost_interpreter = true;
                    interpreter.end();
                }
                Reply::Killed { ended, left }
            }
            Request::Freeze {} => {
                let (stopped, running) = processes::freeze(self.settings.tier);
                self.is_frozen = true;
                Reply::Frozen { stopped, running }
            }
            Request::Thaw {} => {
                self.is_frozen = false;
                Reply::Thawed(processes::thaw(self.settings.tier))
            }
            Request::Quiet {} => self.quiet(),
            Request::Start { services, touched } => {
                let (started, failed) = self.services.start(services, touched);
                Reply::Started { started, failed }
            }
            Request::Services {} => Reply::Services(self.services.states()),
            Request::Mark {} => self.of_network(|network| network.mark().map(Reply::Marked)),
            Request::Connections { since } => {
                self.of_network(|network| network.connections(since).map(Reply::Connections))
            }
            Request::Isolate {} => self
                .of_network(|network| network.isolate().map(|closed| Reply::Isolated { closed })),
        }
    }

    fn quiet(&mut self) -> Reply {
        let tier = self.settings.tier;
        let was_frozen = self.is_frozen;
        self.is_frozen |= processes::may_write(tier, &self.spared());
        // What was frozen before may run all the same.
        let (_, running) = if self.is_frozen { processes::freeze(tier) } else { (0, 0) };
        let stopped = self.is_frozen && !was_frozen;
        Reply::Quiet { stopped, running, mapped: processes::mapped(tier) }
    }

    /// What is not the agent's, and its interpreter.
    fn spared(&mut self) -> Spared {
        let interpreter = self.interpreter.as_ref().map(Interpreter::pid);
        Spared { interpreter, services: self.services.own() }
    }

    fn of_network(&self, ask: impl Fn(&Network) -> std::io::Result<Reply>) -> Reply {
        let reply = self.network.as_ref().map_err(ToString::to_string);
        let reply = reply.and_then(|network| ask(network).map_err(|why| why.to_string()));
        reply.unwrap_or_else(|why| Reply::Failed(format!("connections are not observed: {why}")))
    }

    fn processes(&mut self) -> Vec<Process> {
        self.lost_interpreter |= self.drop_ended_interpreter();
        let awaited = self.interpreter.as_ref().map(Interpreter::pid);
        processes::reap_orphans(awaited.as_slice());
        processes::describe_all(self.settings.tier, &self.spared())
    }

    /// Waits for a request. What processes left behind write meanwhile is taken and dropped.
    fn idle(&mut self) {
        loop {
            for capture in &mut self.left {
                capture.drain();
                capture.take();
            }
            self.left.retain(Capture::is_open);
            if let Some(interpreter) = &mut self.interpreter {
                interpreter.output.drain();
            }
            let mut watched = vec![self.control.as_fd()];
            watched.extend(self.left.iter().map(Capture::fd));
            let outputs = self.interpreter.iter().map(|running| &running.output);
            watched.extend(outputs.filter(|output| output.is_open()).map(Capture::fd));
            watched.extend(self.services.fds());
            if wait_for(&watched, Duration::from_secs(1)).first() == Some(&true) {
                return;
            }
            self.services.forget_ended();
            self.end_if_over(None);
        }
    }

    fn drop_ended_interpreter(&mut self) -> bool {
        match self.interpreter.take() {
            Some(interpreter) if interpreter.has_ended() => {
                interpreter.end();
                true
            }
            running => {
                self.interpreter = running;
                false
            }
        }
    }

    /// Ends everything that is over a limit, and says over which. `awaited` is who a call waits for.
    fn end_if_over(&self, awaited: Option<u32>) -> Option<String> {
        let interpreter = self.interpreter.as_ref().map(Interpreter::pid);
        let awaited: Vec<u32> = awaited.into_iter().chain(interpreter).collect();
        processes::reap_orphans(&awaited);
        let why = limits::exceeded(&self.settings, self.services.count())?;
        processes::end_all(self.settings.tier, &Spared::default());
        Some(why)
    }

    /// Starts a process. Everything else is ended where the limit of processes leaves no room for one:
    /// what they left may wait for an interpreter that never asks how its children ended. The kernel
    /// counts ended processes for a little while, so that it is tried for some time.
    fn start<T>(&mut self, mut start: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
        let deadline = Instant::now() + ROOM;
        loop {
            match start() {
                Err(error)
                    if error.raw_os_error() == Some(libc::EAGAIN) && Instant::now() < deadline =>
                {
                    processes::end_all(self.settings.tier, &Spared::default());
                    self.lost_interpreter |= self.drop_ended_interpreter();
                    std::thread::sleep(UNFED);
                }
                started => return started,
            }
        }
    }

    fn command(&self, argv: &[String]) -> Result<Command, Failure> {
        let mut all: Vec<String> = Vec::new();
        if self.settings.tier == Tier::T2 {
            all.extend(self.settings.program.iter().cloned());
            all.push("enter".to_owned());
            all.push(serde_json::to_string(&self.settings.confinement)?);
        }
        all.extend(argv.iter().cloned());
        let (program, arguments) = all.split_first().ok_or("nothing to run")?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.settings.cwd).process_group(0);
        // The confinement is entered before there is anything of them.
        if self.settings.tier != Tier::T2 {
            variables::hand_over(&mut command);
        }
        Ok(command)
    }

    fn run(&mut self, run: &Run) -> Result<Ran, Failure> {
        let (output, write_output) = pipe_with(PipeFlags::CLOEXEC)?;
        let mut command = self.command(&run.argv)?;
        command
            .stdin(if run.stdin.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::from(write_output.try_clone()?))
            .stderr(Stdio::from(write_output));
        let child = self
            .start(|| command.spawn())
            .map_err(|error| format!("`{}`: {error}", run.argv.join(" ")))?;
        drop(command);
        let mut capture = Capture::new(output, run.output_limit_bytes)?;
        let mut child = Started::new(child, run.stdin.as_bytes())?;
        let waited = self.wait(run.timeout_ms, &mut child, &mut capture);
        capture.drain();
        let error = match waited {
            Wait::Ended => child.failure(),
            Wait::Expired => Some(format!("timed out after {} s", seconds(run.timeout_ms))),
            Wait::Over(ref why) => Some(why.clone()),
            Wait::HungUp => Some("AIR has ended".to_owned()),
        };
        child.end(matches!(waited, Wait::Ended));
        let ran = Ran { error, ..capture.take() };
        if capture.is_open() && self.left.len() < LEFT_PIPES {
            self.left.push(capture);
        }
        Ok(ran)
    }

    fn wait(&mut self, timeout_ms: u64, child: &mut Started, capture: &mut Capture) -> Wait {
        let deadline = Instant::now() + Duration::from_millis(timeout_ms);
        let mut tick = Instant::now() + TICK;
        loop {
            child.feed();
            capture.drain();
            for left in &mut self.left {
                left.drain();
                left.take();
            }
            self.left.retain(Capture::is_open);
            let now = Instant::now();
            if is_ready(child.ended.as_fd()) {
                return Wait::Ended;
            }
            if now >= deadline {
                return Wait::Expired;
            }
            if hung_up(self.control.as_fd()) {
                return Wait::HungUp;
            }
            if now >= tick {
                tick = now + TICK;
                if let Some(why) = self.end_if_over(Some(child.pid())) {
                    return Wait::Over(why);
                }
            }
            self.services.forget_ended();
            let mut watched = vec![child.ended.as_fd()];
            if capture.is_open() {
                watched.push(capture.fd());
            }
            watched.extend(self.services.fds());
            // Its input is fed whenever it may have read some.
            let pause = if child.is_fed() { TICK } else { UNFED };
            wait_for(&watched, pause.min(deadline - now));
        }
    }

    fn python(&mut self, step: &Python) -> Result<Ran, Failure> {
        let replaced = self.drop_ended_interpreter() | std::mem::take(&mut self.lost_interpreter);
        let mut interpreter = match self.interpreter.take() {
            Some(interpreter) => interpreter,
            None => self.start_interpreter(step)?,
        };
        let deadline = Instant::now() + Duration::from_millis(step.timeout_ms);
        let mut tick = Instant::now() + TICK;
        let failure = if interpreter.ask(step).is_err() {
            Some("the interpreter ended".to_owned())
        } else {
            loop {
                interpreter.feed();
                interpreter.output.drain();
                match interpreter.answer() {
                    Ok(Some(answer)) => {
                        interpreter.output.drain();
                        let ended = if answer.ended { " ended the interpreter" } else { "" };
                        let error = answer.error.map(|error| format!("{error}{ended}"));
                        let ran = Ran { error, note: note(replaced), ..interpreter.output.take() };
                        if answer.ended {
                            interpreter.end();
                        } else {
                            self.interpreter = Some(interpreter);
                        }
                        return Ok(ran);
                    }
                    Ok(None) => {}
                    Err(why) => {
                        // Its pipes close a little before it has ended.
                        wait_for(&[interpreter.ended.as_fd()], TICK);
                        break Some(if interpreter.has_ended() {
                            "the interpreter ended".to_owned()
                        } else {
                            format!("the interpreter was lost: {why}")
                        });
                    }
                }
                let now = Instant::now();
                if interpreter.has_ended() {
                    break Some("the interpreter ended".to_owned());
                }
                if now >= deadline {
                    break Some(format!("timed out after {} s", seconds(step.timeout_ms)));
                }
                if hung_up(self.control.as_fd()) {
                    break Some("AIR has ended".to_owned());
                }
                if now >= tick {
                    tick = now + TICK;
                    if let Some(why) = self.end_if_over(Some(interpreter.pid())) {
                        break Some(why);
                    }
                }
                self.services.forget_ended();
                let mut watched = vec![interpreter.ended.as_fd(), interpreter.answers.as_fd()];
                if interpreter.output.is_open() {
                    watched.push(interpreter.output.fd());
                }
                watched.extend(self.services.fds());
                let pause = if interpreter.is_fed() { TICK } else { UNFED };
                wait_for(&watched, pause.min(deadline - now));
            }
        };
        interpreter.output.drain();
        let error = failure.map(|why| format!("{why}; the interpreter was replaced"));
        let ran = Ran { error, note: note(replaced), ..interpreter.output.take() };
        interpreter.end();
        Ok(ran)
    }

    fn start_interpreter(&mut self, step: &Python) -> Result<Interpreter, Failure> {
        let driver = self.settings.driver.to_string_lossy().into_owned();
        // Variables that are meant for Python are read, and nothing of the agent's.
        let isolation = if self.settings.isolated { "-I" } else { "-s" };
        let argv = [self.settings.python.clone(), isolation.into(), "-u".into(), driver];
        let limit = step.output_limit_bytes;
        let mut command = self.command(&argv)?;
        Ok(self.start(|| Interpreter::start(&mut command, limit))?)
    }
}

fn note(replaced: bool) -> Option<String> {
    replaced.then(|| {
        "the interpreter had ended and was replaced: earlier variables are gone".to_owned()
    })
}

#[expect(clippy::needless_pass_by_value, reason = "it is the last use of an error")]
fn failed(error: Failure) -> Reply {
    Reply::Failed(error.to_string())
}

fn seconds(milliseconds: u64) -> f64 {
    Duration::from_millis(milliseconds).as_secs_f64()
}
