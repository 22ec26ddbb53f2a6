//! What is answered outside: asks the host for an answerer of each connection, and relays.

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    os::fd::{AsFd, OwnedFd},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags},
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
        sockopt::set_socket_linger,
    },
};

use super::{
    record::{Id, Log},
    relay::{Relay, Turn},
};
use crate::{
    outside::{Destination, PACKET, ask},
    protocol::Transport,
};

/// Connections that are open at once: each takes two descriptors.
const MOST_RELAYS: usize = 128;
/// Senders of datagrams whose answers are awaited.
const MOST_FLOWS: usize = 64;
/// Bytes of datagrams that wait for one answerer; further ones are lost.
const WAITING_BYTES: usize = 4 << 20;

/// Which socket of the sandbox a datagram came from, and which of the sink's it came to.
type Source = (SocketAddr, bool);

#[derive(Debug)]
pub(super) struct Outlet {
    control: OwnedFd,
    ports: Vec<(Transport, u16)>,
    relays: Vec<Relay>,
    flows: Vec<Flow>,
    /// Whether nothing is handed on.
    pub(super) is_held: bool,
    answers: Vec<(bool, SocketAddr, Vec<u8>)>,
}

/// Datagrams of one sender to one destination.
#[derive(Debug)]
struct Flow {
    source: Source,
    to: SocketAddr,
    handler: OwnedFd,
    id: Option<Id>,
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    last: Instant,
}

impl Outlet {
    pub(super) fn new(ports: &[(Transport, u16)]) -> io::Result<Self> {
        Ok(Self {
            control: io::stdin().as_fd().try_clone_to_owned()?,
            ports: ports.to_vec(),
            relays: Vec::new(),
            flows: Vec::new(),
            is_held: false,
            answers: Vec::new(),
        })
    }

    pub(super) fn has_port(&self, transport: Transport, port: u16) -> bool {
        self.ports.contains(&(transport, port))
    }

    pub(super) fn has_streams(&self) -> bool {
        !self.relays.is_empty()
    }

    pub(super) fn poll<'a>(&'a self, polled: &mut Vec<PollFd<'a>>) {
        for relay in &self.relays {
            relay.poll(self.is_held, polled);
        }
        for flow in self.flows.iter().filter(|_| !self.is_held) {
            let writes = if flow.waiting.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
            polled.push(PollFd::from_borrowed_fd(flow.handler.as_fd(), PollFlags::IN | writes));
        }
    }

    fn ask(&self, host: &str, to: SocketAddr, transport: Transport) -> io::Result<OwnedFd> {
        let kind = match transport {
            Transport::Tcp => SocketType::STREAM,
            Transport::Udp => SocketType::SEQPACKET,
        };
        let (ours, theirs) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
        let to = Destination { host: host.to_owned(), port: to.port(), transport };
        ask(self.control.as_fd(), &to, theirs.as_fd())?;
        Ok(ours)
    }

    /// Relays a connection of the sink's. Where nobody can be asked, it is reset.
    pub(super) fn connect(&mut self, program: OwnedFd, id: Option<Id>, to: SocketAddr, host: &str) {
        match self.ask(host, to, Transport::Tcp) {
            Ok(handler) => self.relays.push(Relay::new(program, handler, id)),
            Err(_) => reset(program),
        }
        if self.relays.len() > MOST_RELAYS {
            let idle = self.relays.iter().enumerate().min_by_key(|(_, relay)| relay.last());
            if let Some((at, _)) = idle {
                reset(self.relays.swap_remove(at).into_program());
            }
        }
    }

    /// Hands a datagram on.
    pub(super) fn send(
        &mut self,
        source: Source,
        id: Option<Id>,
        to: SocketAddr,
        host: &str,
        content: &[u8],
        log: &mut Log,
    ) {
        let is_held = self.is_held;
        let known = self.flows.iter().position(|flow| flow.source == source && flow.to == to);
        let flow = match known {
            Some(at) => self.flows.get_mut(at),
            None => self.flow(source, to, host),
        };
        let Some(flow) = flow else { return };
        (flow.id, flow.last) = (id, Instant::now());
        if flow.waiting_bytes + content.len() < WAITING_BYTES {
            flow.waiting_bytes += content.len() + 1;
            flow.waiting.push_back([&[PACKET], content].concat());
        }
        if !is_held {
            flow.flush(log);
        }
    }

    fn flow(&mut self, source: Source, to: SocketAddr, host: &str) -> Option<&mut Flow> {
        let handler = self.ask(host, to, Transport::Udp).ok()?;
        if self.flows.len() >= MOST_FLOWS {
            let idle = self.flows.iter().enumerate().min_by_key(|(_, flow)| flow.last);
            let idle = idle.map(|(at, _)| at)?;
            self.flows.swap_remove(idle);
        }
        let (waiting, last) = (VecDeque::new(), Instant::now());
        self.flows.push(Flow { source, to, handler, id: None, waiting, waiting_bytes: 0, last });
        self.flows.last_mut()
    }

    /// Does what there is to do; whether there was anything.
    pub(super) fn turn(&mut self, buffer: &mut [u8], log: &mut Log) -> bool {
        let mut moved = false;
        for mut relay in std::mem::take(&mut self.relays) {
            let turn = relay.turn(self.is_held, buffer, log);
            moved |= turn != Turn::Nothing;
            if turn != Turn::Ended {
                self.relays.push(relay);
            }
        }
        if self.is_held {
            return moved;
        }
        for mut flow in std::mem::take(&mut self.flows) {
            moved |= flow.flush(log);
            if flow.take(buffer, log, &mut self.answers) {
                self.flows.push(flow);
            }
        }
        moved | !self.answers.is_empty()
    }

    /// Answers that go back to where the sink has them from.
    pub(super) fn answers(&mut self) -> Vec<(bool, SocketAddr, Vec<u8>)> {
        std::mem::take(&mut self.answers)
    }

    /// Ends everything; how many connections there were.
    pub(super) fn cut(&mut self) -> usize {
        let relays = std::mem::take(&mut self.relays);
        let count = relays.len();
        relays.into_iter().map(Relay::into_program).for_each(reset);
        self.flows.clear();
        count
    }
}

/// Closes a connection so that the program fails at once.
#[expect(clippy::needless_pass_by_value, reason = "it is closed")]
fn reset(program: OwnedFd) {
    // If it cannot be reset, it is closed.
    let _ = set_socket_linger(&program, Some(Duration::ZERO));
}

impl Flow {
    fn flush(&mut self, log: &mut Log) -> bool {
        let mut moved = false;
        while let Some(packet) = self.waiting.front() {
            match send(&self.handler, packet, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(_) => {
                    if let Some(record) = log.get_mut(self.id) {
                        record.delivered = true;
                    }
                }
                Err(Errno::AGAIN | Errno::INTR) => break,
                // Nobody takes it.
                Err(_) => {}
            }
            moved = true;
            self.waiting_bytes = self.waiting_bytes.saturating_sub(packet.len());
            self.waiting.pop_front();
        }
        moved
    }

    /// Takes the answers; whether further ones may come.
    fn take(
        &mut self,
        buffer: &mut [u8],
        log: &mut Log,
        answers: &mut Vec<(bool, SocketAddr, Vec<u8>)>,
    ) -> bool {
        for _ in 0..64 {
            match recv(&self.handler, &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return false,
                Ok((length, _)) => {
                    let content = buffer.get(1..length).unwrap_or_default();
                    log.received(&mut self.id, content);
                    answers.push((self.source.1, self.source.0, content.to_vec()));
                    self.last = Instant::now();
                }
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(_) => return false,
            }
        }
        true
    }
}
