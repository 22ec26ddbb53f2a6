//! The outside world of a case: it answers on every host, and remembers what came in.

mod event;
mod http;
mod shell;
#[cfg(test)]
mod tests;
mod tls;

use std::{
    io::{self, Read},
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

pub(crate) use event::Event;
pub(crate) use event::Log;
pub(crate) use tls::Authority;

use air_workspace::{Destination, Outside, Transport};

use crate::world::carry::contains;

/// Ports that count bytes, and that send commands.
const COUNTING: u16 = 5388;
const SHELL: u16 = 5389;
const WEB: [u16; 3] = [80, 443, 5758];
/// How long a silent connection is kept.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the outside world of one run does.
#[derive(Debug)]
pub(crate) struct Plan {
    /// What hosts that nobody trusts serve.
    pub(crate) nonce: String,
    /// What a trusted host serves as a script.
    pub(crate) vetted: String,
    /// Hosts that the project trusts.
    pub(crate) trusted: Vec<String>,
    /// Two numbers whose product proves that a command ran.
    pub(crate) factors: (u32, u32),
    /// Whether a shell's connection is kept open.
    pub(crate) hold: AtomicBool,
    /// What came in.
    pub(crate) log: Log,
    /// Whether the run has ended.
    pub(crate) over: AtomicBool,
}

impl Plan {
    fn trusts(&self, host: &str) -> bool {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let local = ["127.0.0.1", "localhost"].contains(&name);
        local || self.trusted.iter().any(|trusted| trusted == name || trusted == host)
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

/// Answers in the place of the outside world.
#[derive(Debug)]
pub(crate) struct Sinks {
    pub(crate) plan: Arc<Plan>,
    pub(crate) authority: Arc<Authority>,
}

impl Sinks {
    /// Serves one connection to its end.
    pub(crate) fn connection(&self, host: &str, port: u16, stream: UnixStream) {
        // A connection that breaks off is no failure of the world.
        let _ = self.serve(host, port, stream);
    }

    fn serve(&self, host: &str, port: u16, stream: UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let plan = &*self.plan;
        match port {
            SHELL => shell::drive(plan, stream),
            port if WEB.contains(&port) => {
                let (first, stream) = http::peeked(stream)?;
                // A handshake begins with this byte, and no method does.
                if first == 0x16 {
                    http::serve(plan, host, self.authority.accept(stream)?)
                } else {
                    http::serve(plan, host, stream)
                }
            }
            port => {
                let (content, length) = drain(stream);
                plan.log.add(match port {
                    COUNTING => Event::Bytes { content, length },
                    port => Event::Other { host: host.to_owned(), port, content },
                });
                Ok(())
            }
        }
    }

    /// Takes one datagram; none is answered.
    pub(crate) fn packet(&self, host: &str, port: u16, content: &[u8]) {
        let kept = content.get(..event::KEPT).unwrap_or(content).to_vec();
        self.plan.log.add(match port {
            COUNTING => Event::Bytes { content: kept, length: content.len() },
            port => Event::Other { host: host.to_owned(), port, content: kept },
        });
    }
}

/// Reads to the end; the first bytes, and how many there were.
fn drain(mut stream: UnixStream) -> (Vec<u8>, usize) {
    let (mut kept, mut length, mut buffer) = (Vec::new(), 0, [0; 16 << 10]);
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        length += read;
        if kept.len() < event::KEPT {
            kept.extend(buffer.get(..read).unwrap_or_default());
        }
    }
    (kept, length)
}

impl Outside for Sinks {
    fn local_ports(&self) -> Vec<(Transport, u16)> {
        let web = WEB.map(|port| (Transport::Tcp, port));
        let mut all = web.to_vec();
        all.extend([
            (Transport::Tcp, SHELL),
            (Transport::Tcp, COUNTING),
            (Transport::Udp, COUNTING),
        ]);
        all
    }

    fn stream(&self, to: &Destination, stream: UnixStream) {
        self.connection(&to.host, to.port, stream);
    }

    fn datagram(&self, to: &Destination, content: &[u8]) -> Option<Vec<u8>> {
        self.packet(&to.host, to.port, content);
        None
    }
}
