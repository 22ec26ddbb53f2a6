//! Watches every connection that something inside attempts, and lets none out.
//!
//! The network namespace has no way out; this is about seeing. A filter stops each call that names
//! another side, and a thread of the supervisor answers it: what is meant for inside is done with the
//! caller's own socket, the rest is led to a sink that reads and answers as little as it can. An
//! address is read once and acted on by this side, so that changing it meanwhile has no effect.

mod attempt;
mod dns;
mod filter;
mod listeners;
mod outlet;
mod record;
mod relay;
mod sink;
mod stream;
mod talk;
mod target;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashSet, VecDeque},
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    sync::mpsc,
    time::{Duration, Instant},
};

use air_kernel::notify::{self, Listener};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    pipe::{PipeFlags, pipe_with},
    process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open},
};

use self::{attempt::Deferred, listeners::Waiting, outlet::Outlet, record::Id, sink::Sink};
use crate::protocol::{Connection, Connections, Direction, Transport};

/// How long the thread may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long what has been sent may take to arrive.
const SETTLE: Duration = Duration::from_secs(2);
/// How long nothing may come before one looks whether anything is on its way.
const QUIET: Duration = Duration::from_millis(3);
/// Marks whose listening sockets are remembered.
const MARKS: usize = 64;
/// Calls answered in a row.
const CALLS: usize = 256;

/// The supervisor's hold on the thread.
#[derive(Debug)]
pub(super) struct Network {
    commands: mpsc::Sender<Command>,
    wake: OwnedFd,
}

enum Command {
    Mark(mpsc::Sender<Id>),
    Connections(Id, mpsc::Sender<Connections>),
    Isolate(mpsc::Sender<usize>),
}

impl Network {
    /// Starts watching what this thread starts from now on.
    /// With `outside`, the ports of loopback that lead there too, what answers there is asked for.
    pub(super) fn start(outside: Option<&[(Transport, u16)]>) -> io::Result<Self> {
        check()?;
        let sink = Sink::open(outside.map(Outlet::new).transpose()?)?;
        let (woken, wake) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let (commands, on_command) = mpsc::channel();
        let (listening, on_listener) = mpsc::channel::<Listener>();
        // Before there is a filter, so that it has none.
        std::thread::Builder::new().name("air-network".to_owned()).spawn(move || {
            let Ok(listener) = on_listener.recv() else { return };
            let (commands, deferred, marks) = (on_command, Vec::new(), VecDeque::new());
            let listens = false;
            Worker { listener, commands, woken, sink, deferred, listens, marks }.run();
        })?;
        let program = filter::program().map_err(io::Error::other)?;
        listening.send(notify::install(&program)?).map_err(io::Error::other)?;
        Ok(Self { commands, wake })
    }

    /// Separates what was from what comes.
    pub(super) fn mark(&self) -> io::Result<Id> {
        self.ask(Command::Mark)
    }

    /// All connections since a mark.
    pub(super) fn connections(&self, since: Id) -> io::Result<Connections> {
        self.ask(|reply| Command::Connections(since, reply))
    }

    /// Ends all connections to outside, and refuses later ones; how many there were.
    pub(super) fn isolate(&self) -> io::Result<usize> {
        self.ask(Command::Isolate)
    }

    fn ask<T>(&self, command: impl FnOnce(mpsc::Sender<T>) -> Command) -> io::Result<T> {
        let (reply, on_reply) = mpsc::channel();
        self.commands.send(command(reply)).map_err(|_| ended())?;
        // A full pipe wakes as well.
        let _ = rustix::io::write(&self.wake, &[0]);
        on_reply.recv_timeout(PATIENCE).map_err(|_| ended())
    }
}

/// Whether the kernel lets this process look at its children: without that none could connect.
fn check() -> io::Result<()> {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    if matches!(scope.trim(), "2" | "3") {
        return Err(io::Error::other("`kernel.yama.ptrace_scope` is above 1: set it to 1"));
    }
    let myself = pidfd_open(getpid(), PidfdFlags::empty())?;
    let input = io::stdin().as_raw_fd();
    pidfd_getfd(&myself, input, PidfdGetfdFlags::empty())?;
    Ok(())
}

fn ended() -> io::Error {
    io::Error::other("the network is not watched any more")
}

struct Worker {
    listener: Listener,
    commands: mpsc::Receiver<Command>,
    woken: OwnedFd,
    sink: Sink,
    /// Calls that wait until their connection is made.
    deferred: Vec<Deferred>,
    /// Whether a TCP socket may be listening.
    listens: bool,
    /// What was listening when.
    marks: VecDeque<(Id, HashSet<u64>)>,
}

impl Worker {
    fn run(mut self) {
        loop {
            let idle = self.sink.has_streams() || !self.deferred.is_empty();
            if self.turn(idle.then_some(Duration::from_secs(1))).is_err() {
                return;
            }
            let mut drained = [0; 64];
            while rustix::io::read(&self.woken, &mut drained).is_ok_and(|length| length > 0) {}
            loop {
                match self.commands.try_recv() {
                    Ok(command) => self.obey(command),
                    Err(mpsc::TryRecvError::Empty) => break,
                    Err(mpsc::TryRecvError::Disconnected) => return,
                }
            }
        }
    }

    /// Waits for something to happen, and does what there is to do; whether something had happened.
    fn turn(&mut self, pause: Option<Duration>) -> io::Result<bool> {
        let mut polled = vec![
            PollFd::from_borrowed_fd(self.listener.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.woken.as_fd(), PollFlags::IN),
        ];
        polled.extend(self.sink.polled());
        let waiting = self.deferred.iter().map(Deferred::fd);
        polled.extend(waiting.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::OUT)));
        let pause = pause.and_then(|pause| Timespec::try_from(pause).ok());
        // Interrupted is the same as not ready.
        let ready = poll(&mut polled, pause.as_ref()).unwrap_or_default();
        let asked = polled.first().is_some_and(|listener| !listener.revents().is_empty());
        drop(polled);
        if ready == 0 {
            self.sink.turn();
            return Ok(false);
        }
        let mut moved = false;
        if asked {
            moved = true;
            self.answer_calls()?;
        }
        moved |= self.finish_deferred();
        moved |= self.sink.turn();
        Ok(moved)
    }

    fn answer_calls(&mut self) -> io::Result<()> {
        for _ in 0..CALLS {
            if let Some(call) = self.listener.receive()? {
                self.call(&call);
            }
            let mut polled = [PollFd::from_borrowed_fd(self.listener.as_fd(), PollFlags::IN)];
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            if !matches!(poll(&mut polled, Some(&now)), Ok(ready) if ready > 0) {
                break;
            }
        }
        Ok(())
    }

    /// Takes what has been sent until nothing more comes; whether that was so in time.
    fn settle(&mut self) -> bool {
        let deadline = Instant::now() + SETTLE;
        while Instant::now() < deadline {
            let pause = if self.sink.has_streams() { QUIET } else { Duration::ZERO };
            match self.turn(Some(pause)) {
                Ok(false) if !self.sink.is_awaiting() => return true,
                Ok(_) => {}
                Err(_) => return false,
            }
        }
        false
    }

    fn obey(&mut self, command: Command) {
        // Whoever asked may have given up.
        match command {
            Command::Mark(reply) => {
                self.settle();
                let id = self.sink.mark();
                let inodes = self.waiting().unwrap_or_default();
                self.marks.push_back((id, inodes.into_iter().map(|one| one.inode).collect()));
                if self.marks.len() > MARKS {
                    self.marks.pop_front();
                }
                let _ = reply.send(id);
            }
            Command::Connections(since, reply) => {
                let settled = self.settle();
                let mut seen = self.connections(since);
                if !settled {
                    seen.incomplete.get_or_insert("more was being sent".to_owned());
                }
                let _ = reply.send(seen);
            }
            Command::Isolate(reply) => {
                self.sink.hold(true);
                self.settle();
                let _ = reply.send(self.sink.cut());
            }
        }
    }

    /// Sockets that wait for others, the sink's among them.
    fn waiting(&mut self) -> io::Result<Vec<Waiting>> {
        let mut found = listeners::of(Transport::Udp)?;
        if self.listens {
            let streams = listeners::of(Transport::Tcp)?;
            self.listens = streams.iter().any(|one| !self.sink.inodes.contains(&one.inode));
            found.extend(streams);
        }
        Ok(found)
    }

    fn connections(&mut self, since: Id) -> Connections {
        let (mut items, mut incomplete) = self.sink.log.since(since);
        let waiting = self.waiting();
        let before = self.marks.iter().rev().find(|(id, _)| *id <= since).map(|(_, open)| open);
        match waiting {
            Ok(found) => {
                let (ours, others): (Vec<_>, Vec<_>) =
                    found.into_iter().partition(|one| self.sink.inodes.contains(&one.inode));
                if ours.iter().any(|one| one.dropped > 0) {
                    incomplete.get_or_insert("datagrams came too fast to be recorded".to_owned());
                }
                let new = others
                    .into_iter()
                    .filter(|one| !before.is_some_and(|open| open.contains(&one.inode)));
                items.extend(new.map(|one| listen(&one)));
            }
            Err(error) => {
                incomplete.get_or_insert(format!("listening sockets are unknown: {error}"));
            }
        }
        Connections { items, incomplete }
    }
}

fn listen(socket: &Waiting) -> Connection {
    Connection {
        host: socket.at.ip().to_string(),
        address: socket.at.ip(),
        port: socket.at.port(),
        transport: socket.transport,
        direction: Direction::Listen,
        bytes_sent: 0,
        payload: Vec::new(),
        truncated: false,
        bytes_received: 0,
        received: Vec::new(),
        received_truncated: false,
        turns: 0,
        protocol: None,
        delivered: false,
        pid: 0,
        argv: Vec::new(),
    }
}
