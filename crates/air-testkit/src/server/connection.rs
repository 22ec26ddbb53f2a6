//! Connections that can be reset.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
};

/// What a handler holds of its connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Line(Arc<AtomicBool>);

impl Line {
    /// Resets the connection as soon as something is to be written to it.
    pub(super) fn cut(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

pub(super) struct Gate(pub(super) TcpListener);

impl Listener for Gate {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        // Pieces of a stream are small, and go out at once.
        let _ = stream.set_nodelay(true);
        (Connection { stream, line: Line::default() }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl Connected<IncomingStream<'_, Gate>> for Line {
    fn connect_info(stream: IncomingStream<'_, Gate>) -> Self {
        stream.io().line.clone()
    }
}

pub(super) struct Connection {
    stream: TcpStream,
    line: Line,
}

impl Connection {
    fn check(&self) -> io::Result<()> {
        if self.line.0.load(Ordering::SeqCst) {
            self.stream.set_zero_linger()?;
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(())
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.check() {
            Ok(()) => Pin::new(&mut self.stream).poll_write(context, bytes),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.check() {
            Ok(()) => Pin::new(&mut self.stream).poll_shutdown(context),
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}
