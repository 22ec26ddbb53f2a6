//! One connection that is answered outside.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Instant,
};

use rustix::{
    event::{PollFd, PollFlags},
    io::Errno,
    net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown},
};

use super::{
    record::{Id, Log},
    talk::{HEAD_BYTES, Talk, recognize},
};
use crate::protocol::Protocol;

/// Bytes that wait for a side that does not read.
const WAITING_BYTES: usize = 256 << 10;
/// Reads in a row, so that no connection holds up the others.
const READS: usize = 16;

/// Bytes on their way from one side to the other.
#[derive(Debug, Default)]
struct Way {
    waiting: Vec<u8>,
    /// Whether the one has ended.
    ended: bool,
    /// Whether the other knows.
    told: bool,
    /// Whether the other takes nothing any more.
    refused: bool,
}

impl Way {
    fn reads(&self) -> bool {
        !self.ended && self.waiting.len() < WAITING_BYTES
    }

    fn read(&mut self, from: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Errno> {
        if !self.reads() {
            return Err(Errno::AGAIN);
        }
        let (length, _) = recv(from, &mut *buffer, RecvFlags::DONTWAIT)?;
        self.ended = length == 0;
        if !self.refused {
            self.waiting.extend(buffer.iter().take(length));
        }
        Ok(length)
    }

    /// Bytes that the other side took.
    fn write(&mut self, to: &OwnedFd) -> usize {
        let mut written = 0;
        if !self.waiting.is_empty() {
            match send(to, &self.waiting, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(length) => {
                    self.waiting.drain(..length);
                    written = length;
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => {
                    self.refused = true;
                    self.waiting = Vec::new();
                }
            }
        }
        if self.ended && self.waiting.is_empty() && !self.told {
            self.told = true;
            // Fails where there is nobody to tell.
            let _ = shutdown(to, Shutdown::Write);
        }
        written
    }
}

#[derive(Debug)]
pub(super) struct Relay {
    program: OwnedFd,
    handler: OwnedFd,
    /// Its record, if there is one.
    id: Option<Id>,
    out: Way,
    back: Way,
    /// What was sent first, until it is clear what is spoken.
    head: Option<Vec<u8>>,
    last: Instant,
}

/// What a turn did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Nothing,
    Moved,
    Ended,
}

impl Relay {
    pub(super) fn new(program: OwnedFd, handler: OwnedFd, id: Option<Id>) -> Self {
        let (out, back) = (Way::default(), Way::default());
        let (head, last) = (Some(Vec::new()), Instant::now());
        Self { program, handler, id, out, back, head, last }
    }

    pub(super) fn last(&self) -> Instant {
        self.last
    }

    /// Adds what there is to wait for.
    pub(super) fn poll<'a>(&'a self, is_held: bool, polled: &mut Vec<PollFd<'a>>) {
        let mut add = |fd: BorrowedFd<'a>, reads: bool, writes: bool| {
            let flags = [(reads, PollFlags::IN), (writes, PollFlags::OUT)];
            let flags = flags.into_iter().filter(|(wanted, _)| *wanted).map(|(_, flag)| flag);
            let flags = flags.fold(PollFlags::empty(), PollFlags::union);
            if !flags.is_empty() {
                polled.push(PollFd::from_borrowed_fd(fd, flags));
            }
        };
        add(self.program.as_fd(), self.out.reads(), !self.back.waiting.is_empty());
        let writes = !is_held && !self.out.waiting.is_empty();
        add(self.handler.as_fd(), !is_held && self.back.reads(), writes);
    }

    /// Takes what has come, and hands it on unless `is_held`.
    pub(super) fn turn(&mut self, is_held: bool, buffer: &mut [u8], log: &mut Log) -> Turn {
        let mut moved = false;
        for _ in 0..READS {
            let (taken, is_lost) = self.step(is_held, buffer, log);
            if is_lost {
                return Turn::Ended;
            }
            moved |= taken;
            if !taken {
                break;
            }
        }
        if moved {
            self.last = Instant::now();
        }
        let (out, back) = (&self.out, &self.back);
        match ((out.told || out.refused) && back.told, moved) {
            (true, _) => Turn::Ended,
            (false, true) => Turn::Moved,
            (false, false) => Turn::Nothing,
        }
    }

    /// Whether anything moved, and whether a side is lost.
    fn step(&mut self, is_held: bool, buffer: &mut [u8], log: &mut Log) -> (bool, bool) {
        let mut moved = false;
        match self.out.read(&self.program, buffer) {
            Ok(length) => {
                moved = true;
                let content = buffer.get(..length).unwrap_or_default();
                if !content.is_empty() {
                    log.sent(&mut self.id, content);
                    self.recognize(content, log);
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return (true, true),
        }
        if !is_held {
            let handed = self.out.write(&self.handler) > 0;
            match self.back.read(&self.handler, buffer) {
                Ok(length) => {
                    moved = true;
                    let content = buffer.get(..length).unwrap_or_default();
                    if !content.is_empty() {
                        log.received(&mut self.id, content);
                    }
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                // It ended without having read everything.
                Err(_) => self.back.ended = true,
            }
            if handed && let Some(record) = log.get_mut(self.id) {
                record.delivered = true;
            }
            moved |= handed;
        }
        moved |= self.back.write(&self.program) > 0;
        (moved, self.back.refused)
    }

    fn recognize(&mut self, content: &[u8], log: &mut Log) {
        let Some(head) = &mut self.head else { return };
        let room = HEAD_BYTES.saturating_sub(head.len());
        head.extend(content.iter().take(room));
        let (protocol, host) = match recognize(head) {
            Talk::Unclear => return,
            Talk::Http(_) => (Protocol::Http, None),
            Talk::Tls(host) => (Protocol::Tls, host),
            Talk::Other => (Protocol::Other, None),
        };
        self.head = None;
        if let Some(record) = log.get_mut(self.id) {
            record.protocol = Some(protocol);
            if let Some(host) = host {
                record.name(&host);
            }
        }
    }

    /// The program's side: the other is closed.
    pub(super) fn into_program(self) -> OwnedFd {
        self.program
    }
}
