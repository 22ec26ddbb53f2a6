//! Who is at the other end of a socket.

use std::{
    fs, io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream, UnixListener},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, Sleep, sleep},
};

use crate::line::Line;

/// How many ancestors are looked at.
const DEPTH: usize = 64;

/// The other end.
#[derive(Debug, Clone)]
pub(crate) enum Peer {
    /// A process of this machine, over the local socket.
    Local {
        /// Its user, where the system tells.
        uid: Option<u32>,
        /// Its process, where the system tells.
        pid: Option<u32>,
    },
    /// Somebody over HTTP on loopback, where the system tells from where.
    Http(Option<Line>),
}

impl Connected<IncomingStream<'_, UnixListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, UnixListener>) -> Self {
        let known = stream.io().peer_cred().ok();
        Self::Local {
            uid: known.as_ref().map(tokio::net::unix::UCred::uid),
            pid: known.and_then(|known| known.pid()).and_then(|pid| u32::try_from(pid).ok()),
        }
    }
}

/// HTTP on loopback, which every user of the machine reaches: without the delay of small packets, with so
/// many connections at once, and none that is silent for long.
#[derive(Debug)]
pub(crate) struct Quick {
    listener: TcpListener,
    room: Arc<Semaphore>,
}

/// Connections at once; more wait.
const CONNECTIONS: usize = 256;
/// How long a connection may say nothing while it is to say something, or wait for its answer.
const SILENCE: Duration = Duration::from_mins(2);

impl Quick {
    pub(crate) fn new(listener: TcpListener) -> Self {
        Self { listener, room: Arc::new(Semaphore::new(CONNECTIONS)) }
    }
}

impl Listener for Quick {
    type Io = Visitor;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Visitor, SocketAddr) {
        // It is never closed.
        let leave = Arc::clone(&self.room).acquire_owned().await.ok();
        let (stream, address) = Listener::accept(&mut self.listener).await;
        // Without it an answer is late, and right all the same.
        let _ = stream.set_nodelay(true);
        (Visitor { stream, silent: Box::pin(sleep(SILENCE)), _leave: leave }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Connected<IncomingStream<'_, Quick>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Quick>) -> Self {
        let ours = stream.io().stream.local_addr();
        Self::Http(ours.ok().map(|ours| Line::new(*stream.remote_addr(), ours)))
    }
}

/// A connection that ends where it is silent for long.
#[derive(Debug)]
pub(crate) struct Visitor {
    stream: TcpStream,
    silent: Pin<Box<Sleep>>,
    _leave: Option<OwnedSemaphorePermit>,
}

impl Visitor {
    fn heard(&mut self) {
        self.silent.as_mut().reset(Instant::now() + SILENCE);
    }
}

impl AsyncRead for Visitor {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        match read {
            Poll::Ready(_) => self.heard(),
            Poll::Pending => ready!(self.silent.as_mut().poll(context)),
        }
        if read.is_pending() { Poll::Ready(Err(io::ErrorKind::TimedOut.into())) } else { read }
    }
}

impl AsyncWrite for Visitor {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, buffer);
        self.heard();
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The process and those that started it, nearest first.
pub(crate) fn ancestors(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    while let Some(parent) = all.last().copied().and_then(parent) {
        if parent <= 1 || all.len() >= DEPTH {
            break;
        }
        all.push(parent);
    }
    all
}

/// The program of a hook: the nearest ancestor of the shim that is no shell.
pub(crate) fn host_of(shim: u32) -> Option<u32> {
    let is_shell = |pid: &u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        matches!(name.trim(), "sh" | "bash" | "dash" | "zsh" | "ash" | "fish")
    };
    ancestors(shim).into_iter().skip(1).find(|pid| !is_shell(pid))
}

/// When a process started, in the system's own count; `None` if it has ended.
pub(crate) fn started(pid: u32) -> Option<u64> {
    let fields = stat(pid)?;
    let mut fields = fields.split_whitespace();
    // One that nobody has waited for yet has ended.
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

fn parent(pid: u32) -> Option<u32> {
    stat(pid)?.split_whitespace().nth(1)?.parse().ok()
}

/// What the system tells of a process behind its name, which stands in parentheses and may hold anything.
fn stat(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')').map(|(_, rest)| rest.to_owned())
}
