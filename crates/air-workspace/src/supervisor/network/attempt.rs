//! Answers one call that names another side.

use std::{
    net::SocketAddr,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use air_kernel::notify::{Answer, Notification};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
    net::{
        AddressFamily, SendFlags, SocketType, connect, connect_unspec, getpeername, getsockname,
        listen, send, sendto,
        sockopt::{socket_domain, socket_error, socket_type},
    },
};

use super::{
    Worker, listeners,
    record::{Id, Record},
    sink::{is_inside, socket_address, unknown},
    target::{Message, Target, Who, who},
};
use crate::protocol::Transport;

/// Bytes of a `mmsghdr`, and where in it the kernel says what was sent.
const HEADER_BYTES: u64 = 64;
const SENT_AT: u64 = 56;
/// Messages that the kernel takes at once.
const MOST_MESSAGES: u64 = 1024;

/// Each keeps a descriptor.
const MOST_DEFERRED: usize = 256;

/// A call that waits until its connection is made.
#[derive(Debug)]
pub(super) struct Deferred {
    call: u64,
    socket: OwnedFd,
    id: Option<Id>,
}

impl Deferred {
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// An answer, or `None` when it comes later.
type Answered = Result<Option<Answer>, Errno>;

impl Worker {
    pub(super) fn call(&mut self, call: &Notification) {
        let answer = match Target::open(call.tid) {
            // What was opened may belong to another by now.
            Ok(_) if !self.listener.is_waiting(call.id) => return,
            Ok(target) => self.inspect(call, &target),
            Err(_) => self.refuse(call),
        };
        match answer {
            Ok(Some(answer)) => self.listener.answer(call.id, answer),
            Ok(None) => {}
            Err(errno) => self.listener.answer(call.id, Answer::Failure(errno)),
        }
    }

    /// Whoever does not let itself be looked at gets no connection.
    fn refuse(&mut self, call: &Notification) -> Answered {
        if self.listener.is_waiting(call.id) {
            self.sink.log.open(unknown(Transport::Tcp, who(call.tid)));
        }
        Err(Errno::PERM)
    }

    fn inspect(&mut self, call: &Notification, target: &Target) -> Answered {
        let [fd, second, ..] = call.arguments;
        let socket = match target.socket(fd) {
            Err(Errno::PERM) => return self.refuse(call),
            socket => socket?,
        };
        let family = socket_domain(&socket)?;
        if family != AddressFamily::INET && family != AddressFamily::INET6 {
            return Ok(Some(Answer::Continue));
        }
        let is_connect = i64::from(call.call) == libc::SYS_connect;
        if i64::from(call.call) == libc::SYS_listen {
            self.listens = true;
            // As the kernel takes it: too many are as many as may be.
            let backlog = i32::try_from(second & 0xffff_ffff).unwrap_or(i32::MAX);
            return listen(&socket, backlog).map(|()| Some(Answer::Value(0)));
        }
        match (socket_type(&socket)?, is_connect) {
            (SocketType::STREAM, true) => {
                let Some(to) = destination(call, target, &socket)? else {
                    return Ok(Some(Answer::Value(0)));
                };
                self.connect_stream(call.id, target, socket, family, to)
            }
            (SocketType::DGRAM, true) => {
                let Some(to) = destination(call, target, &socket)? else {
                    return Ok(Some(Answer::Value(0)));
                };
                self.connect_datagrams(target, &socket, family, to)
            }
            (SocketType::STREAM, false) => self.send_stream(call, target),
            (SocketType::DGRAM, false) if i64::from(call.call) == libc::SYS_sendmmsg => {
                self.send_many(target, &socket, family, second, call.arguments)
            }
            (SocketType::DGRAM, false) => {
                let message = message(call, target)?;
                let length = self.send(&target.who(), &socket, family, &message)?;
                Ok(Some(Answer::Value(i64::try_from(length).unwrap_or(i64::MAX))))
            }
            _ => self.refuse(call),
        }
    }

    fn connect_stream(
        &mut self,
        call: u64,
        target: &Target,
        socket: OwnedFd,
        family: AddressFamily,
        to: SocketAddr,
    ) -> Answered {
        let flags = fcntl_getfl(&socket)?;
        let waits = !flags.contains(OFlags::NONBLOCK);
        if getpeername(&socket).is_ok() {
            // Asking again how it went.
            let led = self.sink.stand_in(Transport::Tcp, family, to);
            return connect(&socket, &led).map(|()| Some(Answer::Value(0)));
        }
        if family == AddressFamily::INET && to.is_ipv6() {
            return Err(Errno::AFNOSUPPORT);
        }
        let inside = is_inside(to) && to.port() != 53 && !self.leads_out(to);
        let record = Record::new(&self.sink.host(to), to, Transport::Tcp, target.who());
        let id =
            if inside { self.sink.merge(record.local(false)) } else { self.sink.log.open(record) };
        if inside && self.sink.is_own(Transport::Tcp, to.port()) {
            return Err(Errno::CONNREFUSED);
        }
        if !inside && self.sink.is_cut {
            return Err(Errno::NETUNREACH);
        }
        let led = if inside { to } else { self.sink.stand_in(Transport::Tcp, family, to) };
        fcntl_setfl(&socket, flags | OFlags::NONBLOCK)?;
        let begun = connect(&socket, &led);
        fcntl_setfl(&socket, flags)?;
        if !matches!(begun, Ok(()) | Err(Errno::INPROGRESS)) {
            return begun.map(|()| None);
        }
        if !inside && let Some(source) = socket_address(&getsockname(&socket)?) {
            self.sink.expect(source, id, to);
        }
        if waits {
            let deferred = Deferred { call, socket, id };
            return match self.finish(&deferred) {
                None if self.deferred.len() >= MOST_DEFERRED => Err(Errno::TIMEDOUT),
                None => {
                    self.deferred.push(deferred);
                    Ok(None)
                }
                Some(answer) => Ok(Some(answer)),
            };
        }
        self.note_local(&socket, id);
        begun.map(|()| Some(Answer::Value(0)))
    }

    /// Whether a connection there leads outside.
    fn leads_out(&mut self, to: SocketAddr) -> bool {
        let is_ours = |inode| self.sink.inodes.contains(&inode);
        let listens = || {
            listeners::of(Transport::Tcp).is_ok_and(|found| {
                found.iter().any(|one| one.at.port() == to.port() && !is_ours(one.inode))
            })
        };
        self.sink.leads_out(Transport::Tcp, to) && !(is_inside(to) && self.listens && listens())
    }

    /// A connection inside has reached the other side once there is one.
    fn note_local(&mut self, socket: &OwnedFd, id: Option<Id>) {
        if let Some(record) = self.sink.log.get_mut(id) {
            record.delivered |= record.is_local() && getpeername(socket).is_ok();
        }
    }

    /// The answer to a call that waited, if it is known.
    fn finish(&mut self, deferred: &Deferred) -> Option<Answer> {
        let mut polled = [PollFd::new(&deferred.socket, PollFlags::OUT)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        if !matches!(poll(&mut polled, Some(&now)), Ok(ready) if ready > 0) {
            return None;
        }
        self.note_local(&deferred.socket, deferred.id);
        Some(match socket_error(&deferred.socket) {
            Ok(Ok(())) => Answer::Value(0),
            Ok(Err(errno)) | Err(errno) => Answer::Failure(errno),
        })
    }

    /// Answers those whose connection is made; whether there were any.
    pub(super) fn finish_deferred(&mut self) -> bool {
        let before = self.deferred.len();
        for deferred in std::mem::take(&mut self.deferred) {
            match self.finish(&deferred) {
                Some(answer) => self.listener.answer(deferred.call, answer),
                None if self.listener.is_waiting(deferred.call) => self.deferred.push(deferred),
                None => {}
            }
        }
        self.deferred.len() < before
    }

    /// Nothing is sent yet, so nothing is recorded, unless it fails.
    fn connect_datagrams(
        &mut self,
        target: &Target,
        socket: &OwnedFd,
        family: AddressFamily,
        to: SocketAddr,
    ) -> Answered {
        let who = target.who();
        self.sink.take_datagrams();
        if self.takes_datagrams(to) {
            connect(socket, &to)?;
            let record = Record::new(&self.sink.host(to), to, Transport::Udp, who);
            self.sink.sent(record.local(true), &[]);
            if let Some(source) = socket_address(&getsockname(socket)?) {
                self.sink.pair(source, None);
            }
            return Ok(Some(Answer::Value(0)));
        }
        if self.sink.is_cut {
            self.sink.sent(Record::new(&self.sink.host(to), to, Transport::Udp, who), &[]);
            return Err(Errno::NETUNREACH);
        }
        connect(socket, &self.sink.stand_in(Transport::Udp, family, to))?;
        if let Some(source) = socket_address(&getsockname(socket)?) {
            self.sink.pair(source, Some((to, who)));
        }
        Ok(Some(Answer::Value(0)))
    }

    /// Whether something inside takes datagrams there.
    fn takes_datagrams(&self, to: SocketAddr) -> bool {
        is_inside(to) && listeners::takes_datagrams(to.port(), &self.sink.inodes)
    }

    /// On a stream the address counts only when it opens the connection at the same time.
    fn send_stream(&mut self, call: &Notification, target: &Target) -> Answered {
        let is_many = i64::from(call.call) == libc::SYS_sendmmsg;
        let flags = call.arguments.get(if is_sendmsg(call) { 2 } else { 3 });
        let fast = u64::from(libc::MSG_FASTOPEN.unsigned_abs());
        if flags.is_none_or(|flags| flags & fast == 0) {
            return Ok(Some(Answer::Continue));
        }
        let message =
            if is_many { target.message(call.arguments[1])? } else { message(call, target)? };
        if let Some(to) = message.to {
            let record = Record::new(&self.sink.host(to), to, Transport::Tcp, target.who());
            self.sink.sent(record, &message.content);
        }
        // Programs connect in the usual way then.
        Err(Errno::OPNOTSUPP)
    }

    fn send_many(
        &mut self,
        target: &Target,
        socket: &OwnedFd,
        family: AddressFamily,
        at: u64,
        [_, _, count, ..]: [u64; 6],
    ) -> Answered {
        let who = target.who();
        let mut sent = 0;
        for number in 0..(count & 0xffff_ffff).min(MOST_MESSAGES) {
            let at = at.checked_add(number * HEADER_BYTES).ok_or(Errno::FAULT)?;
            let done = target.message(at).and_then(|message| {
                let length = self.send(&who, socket, family, &message)?;
                target.set_sent(at + SENT_AT, length)
            });
            match done {
                Ok(()) => sent += 1,
                Err(errno) if sent == 0 => return Err(errno),
                Err(_) => break,
            }
        }
        Ok(Some(Answer::Value(sent)))
    }

    /// Sends or takes one datagram; its length.
    fn send(
        &mut self,
        who: &Who,
        socket: &OwnedFd,
        family: AddressFamily,
        Message { to, content }: &Message,
    ) -> Result<usize, Errno> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let Some(to) = *to else { return send(socket, content, flags) };
        let record = Record::new(&self.sink.host(to), to, Transport::Udp, who.clone());
        if self.takes_datagrams(to) {
            self.sink.sent(record.local(true), content);
            return sendto(socket, content, flags, &to);
        }
        if self.sink.is_cut || to.port() != 53 && !self.sink.leads_out(Transport::Udp, to) {
            let record = if is_inside(to) { record.local(false) } else { record };
            self.sink.sent(record, content);
            let refused = self.sink.is_cut && !is_inside(to);
            return if refused { Err(Errno::NETUNREACH) } else { Ok(content.len()) };
        }
        // It goes where it is answered.
        self.sink.take_datagrams();
        let length =
            sendto(socket, content, flags, &self.sink.stand_in(Transport::Udp, family, to))?;
        let own = socket_address(&getsockname(socket)?).ok_or(Errno::INVAL)?;
        let source = if own.ip().is_unspecified() { sources(own) } else { vec![own] };
        let peer = (to, who.clone());
        let before: Vec<_> =
            source.iter().map(|source| self.sink.pair(*source, Some(peer.clone()))).collect();
        self.sink.take_datagrams();
        for (source, before) in source.into_iter().zip(before) {
            self.sink.pair(source, before);
        }
        Ok(length)
    }
}

/// What a socket bound to every address sends from.
fn sources(own: SocketAddr) -> Vec<SocketAddr> {
    let loopback: [std::net::IpAddr; 2] =
        [std::net::Ipv4Addr::LOCALHOST.into(), std::net::Ipv6Addr::LOCALHOST.into()];
    loopback.map(|address| SocketAddr::new(address, own.port())).to_vec()
}

/// Where a `connect` leads; `None` if it only ended what was, and that is done.
fn destination(
    call: &Notification,
    target: &Target,
    socket: &OwnedFd,
) -> Result<Option<SocketAddr>, Errno> {
    let [_, at, length, ..] = call.arguments;
    let (family, address) = target.address(at, length)?;
    if i32::from(family) == libc::AF_UNSPEC {
        return connect_unspec(socket).map(|()| None);
    }
    address.map(Some).ok_or(Errno::AFNOSUPPORT)
}

fn is_sendmsg(call: &Notification) -> bool {
    i64::from(call.call) == libc::SYS_sendmsg
}

fn message(call: &Notification, target: &Target) -> Result<Message, Errno> {
    let [_, at, ..] = call.arguments;
    if is_sendmsg(call) { target.message(at) } else { target.plain_message(call.arguments) }
}
