//! What answers in the place of the outside world.
//!
//! A sandbox has no way out. With an [`Outside`], its supervisor passes the host one end of a socket
//! for each connection that was meant for outside, and relays; what is relayed is recorded as before.
//! Whatever comes from there is untrusted: who asks may be a supervisor that an agent has broken.

use std::{
    collections::BTreeMap,
    fmt,
    io::{IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::{
    fs::{OFlags, fcntl_setfl},
    io::Errno,
    net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, Shutdown, SocketType, recv, recvmsg, send, sendmsg,
        shutdown,
        sockopt::{socket_domain, socket_type},
    },
};
use serde::{Deserialize, Serialize};

/// Bytes of a request. A host has at most 255 characters.
const REQUEST_BYTES: usize = 4096;
const HOST_CHARS: usize = 255;
/// Connections that are answered at once, each on a thread of its own with two descriptors: more
/// than a supervisor has open.
const MOST: usize = 256;
/// What no datagram is longer than, with the byte before it.
pub(crate) const PACKET_BYTES: usize = 1 << 16;
/// Stands before each datagram: one without content is not the end.
pub(crate) const PACKET: u8 = 1;

/// Answers what tools send to the outside world. Only sandboxes of T3 lead there.
///
/// Names are answered by the sandbox: each has an address that leads here. TLS is between the tool
/// and whoever answers.
pub trait Outside: Send + Sync + fmt::Debug {
    /// Ports of the sandbox's own loopback that lead here as well, where nothing inside listens.
    fn local_ports(&self) -> Vec<(Transport, u16)>;

    /// A tool has connected. Called on a thread of its own, which the connection may take as long as
    /// it likes; it ends when the tool, the sandbox or [`isolate`] ends it.
    ///
    /// [`isolate`]: air_core::port::Workspace::isolate
    fn stream(&self, to: &Destination, stream: UnixStream);

    /// A tool has sent a datagram; the answer goes back to it.
    fn datagram(&self, to: &Destination, content: &[u8]) -> Option<Vec<u8>>;
}

/// Where a tool meant to connect to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Destination {
    /// The name that was asked for, or the address. At most 255 printable characters.
    pub host: String,
    /// The port.
    pub port: u16,
    /// How.
    pub transport: Transport,
}

/// How bytes are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// As a stream.
    Tcp,
    /// As datagrams.
    Udp,
}

impl Transport {
    /// Its name in conditions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

/// A name as it may be asked for: whatever else a tool has put into it is replaced, or cut.
fn plain(host: &str) -> String {
    let host = if host.is_empty() { "?" } else { host };
    let plain = |letter: char| if letter.is_ascii_graphic() { letter } else { '?' };
    host.chars().take(HOST_CHARS).map(plain).collect()
}

/// Hands `socket` over to who answers `to`. Does not wait.
pub(crate) fn ask(
    control: BorrowedFd<'_>,
    to: &Destination,
    socket: BorrowedFd<'_>,
) -> std::io::Result<()> {
    let request = serde_json::to_vec(&Destination { host: plain(&to.host), ..to.clone() })?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let handed = [socket];
    ancillary.push(SendAncillaryMessage::ScmRights(&handed));
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    let sent = sendmsg(control, &[IoSlice::new(&request)], &mut ancillary, flags)?;
    // So short a message goes as a whole. Were it cut, the socket went with the part, which is no
    // request: the host drops both, and takes up the next.
    if sent == request.len() { Ok(()) } else { Err(Errno::MSGSIZE.into()) }
}

/// Connections of one sandbox that are answered now. A supervisor that an agent has broken may hand
/// over both ends of one: nobody but the host ends it then.
#[derive(Debug)]
pub(crate) struct Answered {
    /// `None`: nothing is answered any more.
    sockets: Mutex<Option<BTreeMap<u64, OwnedFd>>>,
    next: AtomicU64,
}

impl Answered {
    pub(crate) fn new() -> Self {
        Self { sockets: Mutex::new(Some(BTreeMap::new())), next: AtomicU64::new(0) }
    }

    /// Ends all connections, and answers no more.
    pub(crate) fn end(&self) {
        for socket in self.sockets().take().unwrap_or_default().values() {
            // Its other side may have ended it.
            let _ = shutdown(socket, Shutdown::Both);
        }
    }

    fn sockets(&self) -> MutexGuard<'_, Option<BTreeMap<u64, OwnedFd>>> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its entry for as long as it is answered; `None` where it is not to be.
    fn begin(self: &Arc<Self>, socket: &OwnedFd) -> Option<Entry> {
        let mut sockets = self.sockets();
        let sockets = sockets.as_mut().filter(|sockets| sockets.len() < MOST)?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        sockets.insert(number, socket.try_clone().ok()?);
        Some(Entry { answered: Arc::clone(self), number })
    }
}

/// Taken out however a handler ends.
struct Entry {
    answered: Arc<Answered>,
    number: u64,
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(sockets) = self.answered.sockets().as_mut() {
            sockets.remove(&self.number);
        }
    }
}

/// Answers what a supervisor hands over until it ends. What is no request is dropped.
pub(crate) fn serve(control: &OwnedFd, outside: &Arc<dyn Outside>, answered: &Arc<Answered>) {
    while let Ok(request) = next(control, RecvFlags::empty()) {
        let Some((to, socket)) = request else { continue };
        let Some(answer) = answer_of(&socket, &to) else { continue };
        let Some(entry) = answered.begin(&socket) else { continue };
        let outside = Arc::clone(outside);
        // Without a thread the connection is closed.
        let _ = std::thread::Builder::new().name("air-outside".to_owned()).spawn(move || {
            let _entry = entry;
            answer(&*outside, &to, socket);
        });
    }
    refuse(control);
    answered.end();
}

/// Lets whoever asks from now on fail, and closes what was handed over and not taken.
fn refuse(control: &OwnedFd) {
    // It may be closed already.
    let _ = shutdown(control, Shutdown::Read);
    while next(control, RecvFlags::DONTWAIT).is_ok() {}
}

/// The next request, with the socket that came with it; `None` where it is not one.
fn next(control: &OwnedFd, flags: RecvFlags) -> Result<Option<(Destination, OwnedFd)>, Errno> {
    let mut request = [0; REQUEST_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let length = loop {
        let mut parts = [IoSliceMut::new(&mut request)];
        match recvmsg(control, &mut parts, &mut ancillary, flags | RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            Ok(received) if received.bytes == 0 => return Err(Errno::PIPE),
            Ok(received) => break received.bytes,
            Err(error) => return Err(error),
        }
    };
    let handed = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut handed) => handed.next(),
        _ => None,
    });
    let to = serde_json::from_slice(request.get(..length).unwrap_or_default());
    let to = to.ok().filter(|to: &Destination| to.host == plain(&to.host));
    Ok(to.zip(handed))
}

type Answer = fn(&dyn Outside, &Destination, OwnedFd);

/// How a socket is answered; `None` where it is not what it should be.
fn answer_of(socket: &OwnedFd, to: &Destination) -> Option<Answer> {
    let kind = socket_type(socket).ok()?;
    if socket_domain(socket) != Ok(AddressFamily::UNIX) {
        return None;
    }
    // It may have come as one that does not wait.
    fcntl_setfl(socket, OFlags::empty()).ok()?;
    match (to.transport, kind) {
        (Transport::Tcp, SocketType::STREAM) => {
            Some(|outside, to, socket| outside.stream(to, UnixStream::from(socket)))
        }
        (Transport::Udp, SocketType::SEQPACKET) => {
            Some(|outside, to, socket| datagrams(outside, to, &socket))
        }
        _ => None,
    }
}

fn datagrams(outside: &dyn Outside, to: &Destination, socket: &OwnedFd) {
    let mut packet = vec![0; PACKET_BYTES];
    loop {
        let length = match recv(socket, &mut *packet, RecvFlags::empty()) {
            Err(Errno::INTR) => continue,
            Ok((length, _)) => length,
            Err(_) => return,
        };
        let Some((_, content)) = packet.get(..length).and_then(<[u8]>::split_first) else { return };
        let Some(mut answer) = outside.datagram(to, content) else { continue };
        answer.truncate(PACKET_BYTES - 1);
        answer.insert(0, PACKET);
        if send(socket, &answer, SendFlags::NOSIGNAL).is_err() {
            return;
        }
    }
}

/// Ends what waits for requests on the other side of `control`, and on this.
pub(crate) fn close(control: &UnixStream) {
    // It may be closed already.
    let _ = shutdown(control, Shutdown::Both);
}

#[cfg(test)]
mod tests;
