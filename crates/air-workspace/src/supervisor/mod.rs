//! Inside the sandbox: starts, watches and ends every process of a session.
//!
//! It reads requests from its standard input and answers on its standard output; no other process
//! inherits either. When the input closes it ends everything and itself. It is not dumpable, and in
//! T3 pid 1, so that nothing inside can trace, read or signal it.

mod capture;
mod confine;
mod interpreter;
mod processes;

use std::{
    ffi::OsString,
    io::{BufReader, Write},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::process::{CommandExt, ExitStatusExt},
    },
    process::{Child, Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use air_core::port::Tier;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    pipe::{PipeFlags, pipe_with},
    process::{
        DumpableBehavior, Pid, PidfdFlags, Resource, Rlimit, pidfd_open, set_child_subreaper,
        set_dumpable_behavior, setrlimit,
    },
};

use self::{
    capture::{Capture, set_nonblocking},
    confine::Sockets,
    interpreter::Interpreter,
};
use crate::protocol::{self, Confinement, Process, Python, Ran, Reply, Request, Run, Settings};

/// How often the number of processes is looked at while a call runs.
const TICK: Duration = Duration::from_millis(100);
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

type Failure = Box<dyn std::error::Error>;

/// Replaces this process by `argv`, confined.
fn enter(confinement: &str, argv: &[OsString]) -> Result<(), Failure> {
    let confinement: Confinement = serde_json::from_str(confinement)?;
    let (program, arguments) = argv.split_first().ok_or("nothing to run")?;
    confine::landlock(&confinement)?;
    confine::filter(Sockets::Refused)?;
    let error = Command::new(program).args(arguments).exec();
    Err(format!("`{}`: {error}", program.display()).into())
}

fn serve(settings: &str) -> Result<(), Failure> {
    let settings: Settings = serde_json::from_str(settings)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // Away from the terminal and its signals; fails where bwrap did so before.
    let _ = rustix::process::setsid();
    limit(&settings);
    match settings.tier {
        Tier::T3 => confine::filter(Sockets::Allowed)?,
        Tier::T2 | Tier::T1 => set_child_subreaper(Some(rustix::process::getpid()))?,
    }
    let input = std::io::stdin().as_fd().try_clone_to_owned()?;
    let output = std::io::stdout().as_fd().try_clone_to_owned()?;
    let mut supervisor =
        Supervisor { settings, interpreter: None, left: Vec::new(), control: input.try_clone()? };
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
    processes::end_all(supervisor.settings.tier, None);
    Ok(())
}

/// Limits that every process inherits. One that cannot be set was lower before.
fn limit(settings: &Settings) {
    let set = |resource, value| {
        let _ = setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) });
    };
    set(Resource::Core, 0);
    set(Resource::As, settings.memory_bytes);
    set(Resource::Fsize, settings.file_bytes);
    if settings.tier == Tier::T3 {
        // Elsewhere it would count all that the user runs.
        set(Resource::Nproc, settings.processes.into());
    }
}

#[derive(Debug)]
struct Supervisor {
    settings: Settings,
    interpreter: Option<Interpreter>,
    left: Vec<Capture>,
    control: OwnedFd,
}

/// Why waiting ended.
enum Wait {
    Ended,
    Expired,
    TooMany,
    HungUp,
}

impl Supervisor {
    fn answer(&mut self, request: Request) -> Reply {
        match request {
            Request::Run(run) => self.run(&run).map_or_else(failed, Reply::Ran),
            Request::Python(step) => self.python(&step).map_or_else(failed, Reply::Ran),
            Request::Processes {} => Reply::Processes(self.processes()),
            Request::Kill {} => {
                let spared = self.interpreter.as_ref().map(Interpreter::pid);
                let (ended, left) = processes::end_all(self.settings.tier, spared);
                Reply::Killed { ended, left }
            }
        }
    }

    fn processes(&mut self) -> Vec<Process> {
        self.drop_ended_interpreter();
        processes::reap();
        let mut pids = processes::alive(self.settings.tier);
        if let Some(interpreter) = &self.interpreter {
            pids.remove(&interpreter.pid());
        }
        pids.into_iter().map(processes::describe).collect()
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
            if wait_for(&watched, Duration::from_secs(1)).first() == Some(&true) {
                return;
            }
            // Not while an interpreter may still be asked how it ended.
            self.drop_ended_interpreter_quietly();
            self.end_if_too_many();
        }
    }

    fn drop_ended_interpreter_quietly(&self) {
        if self.interpreter.is_none() {
            processes::reap();
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

    fn end_if_too_many(&self) -> bool {
        let limit = usize::try_from(self.settings.processes).unwrap_or(usize::MAX);
        if !processes::are_more_than(self.settings.tier, limit) {
            return false;
        }
        processes::end_namespace();
        processes::end_all(self.settings.tier, None);
        true
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
        Ok(command)
    }

    fn run(&mut self, run: &Run) -> Result<Ran, Failure> {
        let (output, write_output) = pipe_with(PipeFlags::CLOEXEC)?;
        let mut command = self.command(&run.argv)?;
        let child = command
            .stdin(if run.stdin.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::from(write_output.try_clone()?))
            .stderr(Stdio::from(write_output))
            .spawn()
            .map_err(|error| format!("`{}`: {error}", run.argv.join(" ")))?;
        drop(command);
        let mut capture = Capture::new(output, run.output_limit_bytes)?;
        let mut child = Started::new(child, run.stdin.as_bytes())?;
        let waited = self.wait(run.timeout_ms, &mut child, &mut capture);
        capture.drain();
        let error = match waited {
            Wait::Ended => child.failure(),
            Wait::Expired => Some(format!("timed out after {} s", seconds(run.timeout_ms))),
            Wait::TooMany => Some(self.too_many()),
            Wait::HungUp => Some("AIR has ended".to_owned()),
        };
        child.end(matches!(waited, Wait::Ended));
        let ran = Ran { error, ..capture.take() };
        if capture.is_open() && self.left.len() < LEFT_PIPES {
            self.left.push(capture);
        }
        Ok(ran)
    }

    fn too_many(&self) -> String {
        format!("more than {} processes: all were ended", self.settings.processes)
    }

    fn wait(&mut self, timeout_ms: u64, child: &mut Started<'_>, capture: &mut Capture) -> Wait {
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
                if self.end_if_too_many() {
                    return Wait::TooMany;
                }
            }
            let mut watched = vec![child.ended.as_fd()];
            if capture.is_open() {
                watched.push(capture.fd());
            }
            // Its input is fed whenever it may have read some.
            let pause = if child.is_fed() { TICK } else { Duration::from_millis(2) };
            wait_for(&watched, pause.min(deadline - now));
        }
    }

    fn python(&mut self, step: &Python) -> Result<Ran, Failure> {
        let replaced = self.drop_ended_interpreter();
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
                    if self.end_if_too_many() {
                        break Some(self.too_many());
                    }
                }
                let mut watched = vec![interpreter.ended.as_fd(), interpreter.answers.as_fd()];
                if interpreter.output.is_open() {
                    watched.push(interpreter.output.fd());
                }
                wait_for(&watched, TICK.min(deadline - now));
            }
        };
        interpreter.output.drain();
        let error = failure.map(|why| format!("{why}; the interpreter was replaced"));
        let ran = Ran { error, note: note(replaced), ..interpreter.output.take() };
        interpreter.end();
        Ok(ran)
    }

    fn start_interpreter(&self, step: &Python) -> Result<Interpreter, Failure> {
        let driver = self.settings.driver.to_string_lossy().into_owned();
        let argv = [self.settings.python.clone(), "-I".into(), "-u".into(), driver];
        Ok(Interpreter::start(self.command(&argv)?, step.output_limit_bytes)?)
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

/// A process that a call waits for.
struct Started<'a> {
    child: Child,
    ended: OwnedFd,
    input: Option<OwnedFd>,
    rest: &'a [u8],
}

impl<'a> Started<'a> {
    fn new(mut child: Child, rest: &'a [u8]) -> Result<Self, Failure> {
        let ended = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        let input = child.stdin.take().map(OwnedFd::from);
        if let Some(input) = &input {
            set_nonblocking(input)?;
        }
        Ok(Self { child, ended, input, rest })
    }

    fn is_fed(&self) -> bool {
        self.input.is_none()
    }

    fn feed(&mut self) {
        while let Some(input) = &self.input {
            match rustix::io::write(input, self.rest) {
                Ok(length) => self.rest = self.rest.get(length..).unwrap_or_default(),
                Err(rustix::io::Errno::AGAIN) => return,
                Err(_) => self.rest = &[],
            }
            if self.rest.is_empty() {
                self.input = None;
            }
        }
    }

    /// Why it failed, if it did.
    fn failure(&mut self) -> Option<String> {
        let status = self.child.wait().ok()?;
        match (status.code(), status.signal()) {
            (Some(0), _) => None,
            (Some(code), _) => Some(format!("exit code {code}")),
            (None, Some(signal)) => Some(format!("ended by signal {signal}")),
            (None, None) => Some("ended".to_owned()),
        }
    }

    fn end(mut self, ended: bool) {
        if !ended {
            processes::signal_group(self.child.id());
            processes::signal(self.child.id());
            let _ = self.child.wait();
        }
    }
}

/// Which of `fds` are ready, waiting at most `pause`.
fn wait_for(fds: &[BorrowedFd<'_>], pause: Duration) -> Vec<bool> {
    let mut polled: Vec<_> =
        fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let pause = Timespec::try_from(pause).ok();
    // Interrupted is the same as not ready.
    let _ = poll(&mut polled, pause.as_ref());
    polled.iter().map(|fd| !fd.revents().is_empty()).collect()
}

fn is_ready(fd: BorrowedFd<'_>) -> bool {
    wait_for(&[fd], Duration::ZERO).first() == Some(&true)
}

fn hung_up(fd: BorrowedFd<'_>) -> bool {
    debug_assert!(fd.as_raw_fd() >= 0);
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::empty())];
    let _ = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    polled.iter().any(|fd| fd.revents().intersects(PollFlags::HUP | PollFlags::ERR))
}
