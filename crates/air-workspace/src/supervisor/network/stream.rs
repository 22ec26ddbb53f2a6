//! One connection to the sink.

use std::{
    net::SocketAddr,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown, sockopt::set_socket_linger},
};

use super::{
    dns::{Names, Query},
    record::{Id, Log},
    talk::{HEAD_BYTES, Http, Talk, recognize},
};
use crate::protocol::Protocol;

/// How long a stream may say nothing.
const IDLE: Duration = Duration::from_secs(5);
/// How long the other side may take to hang up.
const FAREWELL: Duration = Duration::from_secs(1);
/// Reads in a row, so that no stream holds up the others.
const READS: usize = 64;

#[derive(Debug)]
pub(super) struct Stream {
    fd: OwnedFd,
    /// Its record, if there is one.
    id: Option<Id>,
    head: Vec<u8>,
    total: u64,
    /// The last bytes.
    tail: Vec<u8>,
    stage: Stage,
    last: Instant,
}

#[derive(Debug)]
enum Stage {
    Unclear,
    Names,
    Request(Http),
    Other,
    Answered,
}

/// What reading did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Nothing,
    Some,
    Closed,
}

impl Stream {
    pub(super) fn new(fd: OwnedFd, id: Option<Id>, to: SocketAddr) -> Self {
        let stage = if to.port() == 53 { Stage::Names } else { Stage::Unclear };
        let (head, tail, total, last) = (Vec::new(), Vec::new(), 0, Instant::now());
        Self { fd, id, head, total, tail, stage, last }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(super) fn last(&self) -> Instant {
        self.last
    }

    pub(super) fn is_idle(&self, now: Instant) -> bool {
        let most = if matches!(self.stage, Stage::Answered) { FAREWELL } else { IDLE };
        now.duration_since(self.last) > most
    }

    /// Closes it so that the other side fails at once.
    pub(super) fn cut(self) {
        // If it cannot be reset, it is closed.
        let _ = set_socket_linger(&self.fd, Some(Duration::ZERO));
    }

    /// Takes what has come.
    pub(super) fn read(&mut self, buffer: &mut [u8], log: &mut Log, names: &mut Names) -> Progress {
        let mut progress = Progress::Nothing;
        for _ in 0..READS {
            match recv(&self.fd, &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Progress::Closed,
                Ok((length, _)) => {
                    let content = buffer.get(..length).unwrap_or_default();
                    self.take(content, log, names);
                    progress = Progress::Some;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => return Progress::Closed,
            }
        }
        progress
    }

    fn take(&mut self, content: &[u8], log: &mut Log, names: &mut Names) {
        if !matches!(self.stage, Stage::Answered) {
            self.last = Instant::now();
        }
        log.sent(&mut self.id, content);
        self.total += u64::try_from(content.len()).unwrap_or(u64::MAX);
        let from = content.len().saturating_sub(5);
        self.tail.extend(content.get(from..).unwrap_or_default());
        let from = self.tail.len().saturating_sub(5);
        self.tail.drain(..from);
        if matches!(self.stage, Stage::Unclear | Stage::Names) {
            let room = HEAD_BYTES.saturating_sub(self.head.len());
            self.head.extend(content.iter().take(room));
        }
        match &self.stage {
            Stage::Unclear => self.recognize(log),
            Stage::Names => self.answer_names(log, names),
            Stage::Request(request) => {
                let request = request.clone();
                self.go_on(request);
            }
            Stage::Other | Stage::Answered => {}
        }
    }

    fn recognize(&mut self, log: &mut Log) {
        match recognize(&self.head) {
            Talk::Unclear => return,
            Talk::Other => self.stage = Stage::Other,
            Talk::Tls(host) => {
                if let Some(record) = log.get_mut(self.id) {
                    record.protocol = Some(Protocol::Tls);
                    if let Some(host) = host {
                        record.name(&host);
                    }
                }
                self.hang_up();
            }
            Talk::Http(request) => {
                if let Some(record) = log.get_mut(self.id) {
                    record.protocol = Some(Protocol::Http);
                }
                if request.asks_first {
                    self.send(b"HTTP/1.1 100 Continue\r\n\r\n");
                }
                self.go_on(request);
            }
        }
        self.head = Vec::new();
    }

    fn go_on(&mut self, request: Http) {
        let ended = match request.length {
            Some(length) => self.total >= length,
            None => self.tail == *b"0\r\n\r\n",
        };
        if ended {
            self.send(&request.reply());
            self.hang_up();
        } else {
            self.stage = Stage::Request(request);
        }
    }

    fn answer_names(&mut self, log: &mut Log, names: &mut Names) {
        while let Some((length, rest)) = self.head.split_first_chunk::<2>() {
            let length = usize::from(u16::from_be_bytes(*length));
            let Some(message) = rest.get(..length) else { return };
            let Some(query) = Query::parse(message) else {
                self.stage = Stage::Other;
                return;
            };
            if let Some(record) = log.get_mut(self.id) {
                record.protocol = Some(Protocol::Dns);
                record.name(&query.name);
            }
            let answer = names.answer(&query);
            let length = u16::try_from(answer.len()).unwrap_or(u16::MAX);
            let mut reply = length.to_be_bytes().to_vec();
            reply.extend(answer);
            let taken = message.len() + 2;
            self.send(&reply);
            self.head.drain(..taken);
        }
    }

    fn send(&self, content: &[u8]) {
        // Whoever does not read has no answer.
        let _ = send(&self.fd, content, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
    }

    /// Says no more, and waits for the other side to close: what it still has to read would be
    /// lost otherwise.
    fn hang_up(&mut self) {
        let _ = shutdown(&self.fd, Shutdown::Write);
        self.stage = Stage::Answered;
    }
}
