//! Where every connection ends that was meant for somewhere outside.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
    time::Instant,
};

use rustix::{
    event::{PollFd, PollFlags},
    fs::fstat,
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketAddrAny, SocketFlags, SocketType,
        acceptfrom_with, bind, getsockname, listen, recvfrom, sendto, socket_with,
        sockopt::{set_ipv6_v6only, set_socket_recv_buffer_size},
    },
};

use super::{
    dns::{Names, Query},
    listeners,
    outlet::Outlet,
    record::{Id, Log, Record},
    stream::{Progress, Stream},
    target::Who,
};
use crate::protocol::{Protocol, Transport};

/// Connections that are open at once. Below the usual limit of descriptors.
const MOST_STREAMS: usize = 256;
/// Connections that are expected, and UDP sockets whose other side is known.
const MOST_PEERS: usize = 8192;
/// Datagrams in a row.
const DATAGRAMS: usize = 4096;
const BACKLOG: i32 = 4096;

/// Which socket of the sink stands for an address.
#[derive(Debug)]
struct Pair {
    v4: OwnedFd,
    v4_port: u16,
    v6: Option<(OwnedFd, u16)>,
}

#[derive(Debug)]
pub(super) struct Sink {
    tcp: Pair,
    udp: Pair,
    streams: Vec<Stream>,
    expected: Recent<(Option<Id>, SocketAddr)>,
    peers: Recent<(SocketAddr, Who)>,
    merged: HashMap<(u32, String, SocketAddr, Transport), Id>,
    buffer: Vec<u8>,
    pub(super) inodes: HashSet<u64>,
    pub(super) log: Log,
    pub(super) names: Names,
    pub(super) is_cut: bool,
    outlet: Option<Outlet>,
}

impl Sink {
    pub(super) fn open(outlet: Option<Outlet>) -> io::Result<Self> {
        let (tcp, udp) = (Pair::open(SocketType::STREAM)?, Pair::open(SocketType::DGRAM)?);
        let inodes = tcp.fds().chain(udp.fds()).map(|fd| Ok(fstat(fd)?.st_ino));
        let inodes = inodes.collect::<io::Result<_>>()?;
        Ok(Self {
            tcp,
            udp,
            streams: Vec::new(),
            expected: Recent::default(),
            peers: Recent::default(),
            merged: HashMap::new(),
            buffer: vec![0; 64 << 10],
            inodes,
            log: Log::default(),
            names: Names::default(),
            is_cut: false,
            outlet,
        })
    }

    /// What to wait for.
    pub(super) fn polled(&self) -> Vec<PollFd<'_>> {
        let streams = self.streams.iter().map(Stream::fd);
        let read = self.tcp.fds().chain(self.udp.fds()).chain(streams);
        let mut polled: Vec<_> =
            read.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        self.outlet.iter().for_each(|outlet| outlet.poll(&mut polled));
        polled
    }

    pub(super) fn has_streams(&self) -> bool {
        !self.streams.is_empty() || self.outlet.as_ref().is_some_and(Outlet::has_streams)
    }

    /// Whether what goes there is answered outside.
    pub(super) fn leads_out(&self, transport: Transport, to: SocketAddr) -> bool {
        let Some(outlet) = self.outlet.as_ref().filter(|_| !self.is_cut) else { return false };
        to.port() != 53 && (!is_inside(to) || outlet.has_port(transport, to.port()))
    }

    /// Hands nothing on, or goes on.
    pub(super) fn hold(&mut self, is_held: bool) {
        if let Some(outlet) = &mut self.outlet {
            outlet.is_held = is_held;
        }
    }

    /// The address to connect to instead.
    pub(super) fn stand_in(
        &self,
        transport: Transport,
        family: AddressFamily,
        to: SocketAddr,
    ) -> SocketAddr {
        let pair = if transport == Transport::Tcp { &self.tcp } else { &self.udp };
        let mapped = |port| {
            let address = Ipv4Addr::LOCALHOST.to_ipv6_mapped();
            SocketAddr::V6(SocketAddrV6::new(address, port, 0, 0))
        };
        match (&pair.v6, to.ip()) {
            _ if family == AddressFamily::INET => (Ipv4Addr::LOCALHOST, pair.v4_port).into(),
            (Some((_, port)), IpAddr::V6(to)) if to.to_ipv4_mapped().is_none() => {
                (Ipv6Addr::LOCALHOST, *port).into()
            }
            _ => mapped(pair.v4_port),
        }
    }

    /// Whether this is the sink itself.
    pub(super) fn is_own(&self, transport: Transport, port: u16) -> bool {
        let pair = if transport == Transport::Tcp { &self.tcp } else { &self.udp };
        port == pair.v4_port || pair.v6.as_ref().is_some_and(|(_, own)| port == *own)
    }

    /// Whoever connects from `source` means this.
    pub(super) fn expect(&mut self, source: SocketAddr, id: Option<Id>, to: SocketAddr) {
        self.expected.insert(source, (id, to));
    }

    /// Datagrams from `source` are meant for this; what it was before.
    pub(super) fn pair(
        &mut self,
        source: SocketAddr,
        peer: Option<(SocketAddr, Who)>,
    ) -> Option<(SocketAddr, Who)> {
        match peer {
            Some(peer) => self.peers.insert(source, peer),
            None => self.peers.remove(source),
        }
    }

    /// Name of an address, or the address.
    pub(super) fn host(&self, to: SocketAddr) -> String {
        let address = to.ip().to_canonical();
        self.names.name_of(address).map_or_else(|| address.to_string(), str::to_owned)
    }

    /// Takes whatever has come; whether something had.
    pub(super) fn turn(&mut self) -> bool {
        let accepted = self.accept();
        let datagrams = self.take_datagrams();
        let mut moved = accepted || datagrams;
        if let Some(outlet) = &mut self.outlet {
            moved |= outlet.turn(&mut self.buffer, &mut self.log);
            for (second, source, answer) in outlet.answers() {
                if let Some(fd) = self.udp.fds().nth(usize::from(second)) {
                    // Whoever does not listen has no answer.
                    let _ = sendto(fd, &answer, SendFlags::DONTWAIT, &source);
                }
            }
        }
        let now = Instant::now();
        for mut stream in std::mem::take(&mut self.streams) {
            match stream.read(&mut self.buffer, &mut self.log, &mut self.names) {
                Progress::Closed => moved = true,
                Progress::Some => {
                    moved = true;
                    self.streams.push(stream);
                }
                Progress::Nothing if stream.is_idle(now) => {}
                Progress::Nothing => self.streams.push(stream),
            }
        }
        moved
    }

    fn accept(&mut self) -> bool {
        let mut moved = false;
        let mut accepted = Vec::new();
        for fd in self.tcp.fds() {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            while let Ok((stream, Some(source))) = acceptfrom_with(fd, flags) {
                accepted.push((stream, socket_address(&source)));
                if accepted.len() > DATAGRAMS {
                    break;
                }
            }
        }
        for (fd, source) in accepted {
            moved = true;
            let known = source.and_then(|source| self.expected.remove(source));
            let (id, to) = known.unwrap_or_else(|| {
                let to = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
                (self.log.open(unknown(Transport::Tcp, nobody())), to)
            });
            if !self.is_cut && self.leads_out(Transport::Tcp, to) {
                let host = self.host(to);
                if let Some(outlet) = &mut self.outlet {
                    outlet.connect(fd, id, to, &host);
                }
                continue;
            }
            let stream = Stream::new(fd, id, to);
            if self.is_cut {
                stream.cut();
                continue;
            }
            self.streams.push(stream);
            if self.streams.len() > MOST_STREAMS {
                self.drop_longest_idle();
            }
        }
        moved
    }

    fn drop_longest_idle(&mut self) {
        let oldest = self.streams.iter().enumerate().min_by_key(|(_, stream)| stream.last());
        if let Some((at, _)) = oldest {
            let mut stream = self.streams.remove(at);
            stream.read(&mut self.buffer, &mut self.log, &mut self.names);
        }
    }

    /// Takes datagrams that have come; whether there were any.
    pub(super) fn take_datagrams(&mut self) -> bool {
        let mut moved = false;
        let mut buffer = std::mem::take(&mut self.buffer);
        for second in [false, true] {
            for _ in 0..DATAGRAMS {
                let Some(fd) = self.udp.fds().nth(usize::from(second)) else { break };
                let (length, source) = match recvfrom(fd, &mut *buffer, RecvFlags::DONTWAIT) {
                    Ok((length, _, source)) => (length, source),
                    Err(Errno::INTR) => continue,
                    Err(_) => break,
                };
                moved = true;
                let source = source.as_ref().and_then(socket_address);
                let content = buffer.get(..length).unwrap_or_default();
                if let Some(answer) = self.datagram(source, second, content)
                    && let Some(source) = source
                    && let Some(fd) = self.udp.fds().nth(usize::from(second))
                {
                    // Whoever does not listen has no answer.
                    let _ = sendto(fd, &answer, SendFlags::DONTWAIT, &source);
                }
            }
        }
        self.buffer = buffer;
        moved
    }

    /// Records one that has come, and says what is to be answered.
    fn datagram(
        &mut self,
        source: Option<SocketAddr>,
        second: bool,
        content: &[u8],
    ) -> Option<Vec<u8>> {
        let peer = source.and_then(|source| self.peers.get(source).cloned());
        let Some(((to, who), source)) = peer.zip(source) else {
            let mut id = self.log.open(unknown(Transport::Udp, nobody()));
            self.log.sent(&mut id, content);
            return None;
        };
        if to.port() == 53
            && let Some(query) = Query::parse(content)
        {
            let record = Record::new(&query.name, to, Transport::Udp, who);
            self.sent(record.speaking(Protocol::Dns), content);
            return (!self.is_cut).then(|| self.names.answer(&query));
        }
        let host = self.host(to);
        let id = self.sent(Record::new(&host, to, Transport::Udp, who), content);
        if self.leads_out(Transport::Udp, to)
            && let Some(outlet) = &mut self.outlet
        {
            outlet.send((source, second), id, to, &host, content, &mut self.log);
        }
        None
    }

    /// Adds a datagram to the record of the others of the same kind.
    pub(super) fn sent(&mut self, record: Record, content: &[u8]) -> Option<Id> {
        let mut id = self.merge(record);
        self.log.sent(&mut id, content);
        id
    }

    /// The record of those of the same process and kind, or this as a new one.
    pub(super) fn merge(&mut self, record: Record) -> Option<Id> {
        let key = (record.who.pid, record.host.clone(), record.to, record.transport);
        let known = self.merged.get(&key).copied();
        let id = known.or_else(|| self.log.open(record));
        if let Some(id) = id {
            self.merged.insert(key, id);
        }
        id
    }

    /// Whether something is on its way here.
    pub(super) fn is_awaiting(&self) -> bool {
        let ports = std::iter::once(self.tcp.v4_port);
        let ports: Vec<u16> = ports.chain(self.tcp.v6.iter().map(|(_, port)| *port)).collect();
        self.has_streams() && listeners::is_sending_to(&ports)
    }

    /// Separates what was from what comes.
    pub(super) fn mark(&mut self) -> Id {
        self.merged.clear();
        self.log.mark()
    }

    /// Ends all connections, now and later; how many there were.
    pub(super) fn cut(&mut self) -> usize {
        self.is_cut = true;
        let streams = std::mem::take(&mut self.streams);
        let count = streams.len();
        streams.into_iter().for_each(Stream::cut);
        count + self.outlet.as_mut().map_or(0, Outlet::cut)
    }
}

impl Pair {
    fn open(kind: SocketType) -> io::Result<Self> {
        let (v4, v4_port) = open(AddressFamily::INET, kind)?;
        // A kernel without IPv6 has nothing to stand in for.
        Ok(Self { v4, v4_port, v6: open(AddressFamily::INET6, kind).ok() })
    }

    fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let second = self.v6.as_ref().map(|(fd, _)| fd.as_fd());
        std::iter::once(self.v4.as_fd()).chain(second)
    }
}

fn open(family: AddressFamily, kind: SocketType) -> io::Result<(OwnedFd, u16)> {
    let fd = socket_with(family, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    if family == AddressFamily::INET6 {
        set_ipv6_v6only(&fd, true)?;
        bind(&fd, &SocketAddr::from((Ipv6Addr::LOCALHOST, 0)))?;
    } else {
        bind(&fd, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    }
    if kind == SocketType::STREAM {
        listen(&fd, BACKLOG)?;
    } else {
        // As much as the kernel allows; what is lost all the same is counted there.
        let _ = set_socket_recv_buffer_size(&fd, 8 << 20);
    }
    let port = socket_address(&getsockname(&fd)?).map_or(0, |address| address.port());
    Ok((fd, port))
}

/// An address of the internet, IPv4 as such.
pub(super) fn socket_address(address: &SocketAddrAny) -> Option<SocketAddr> {
    let address = SocketAddr::try_from(address.clone()).ok()?;
    Some(SocketAddr::new(address.ip().to_canonical(), address.port()))
}

/// Whether an address stays in the namespace.
pub(super) fn is_inside(to: SocketAddr) -> bool {
    let address = to.ip().to_canonical();
    address.is_loopback() || address.is_unspecified()
}

fn nobody() -> Who {
    Who { pid: 0, argv: Arc::from([]) }
}

/// An attempt that leads nobody knows where.
pub(super) fn unknown(transport: Transport, who: Who) -> Record {
    let nowhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    Record::new("unknown", nowhere, transport, who)
}

/// The last so many by source.
#[derive(Debug)]
struct Recent<T> {
    by_source: HashMap<SocketAddr, T>,
    order: VecDeque<SocketAddr>,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self { by_source: HashMap::new(), order: VecDeque::new() }
    }
}

impl<T> Recent<T> {
    fn insert(&mut self, source: SocketAddr, item: T) -> Option<T> {
        let before = self.by_source.insert(source, item);
        if before.is_none() {
            self.order.push_back(source);
        }
        while self.order.len() > MOST_PEERS {
            if let Some(oldest) = self.order.pop_front() {
                self.by_source.remove(&oldest);
            }
        }
        before
    }

    fn get(&self, source: SocketAddr) -> Option<&T> {
        self.by_source.get(&source)
    }

    fn remove(&mut self, source: SocketAddr) -> Option<T> {
        self.by_source.remove(&source)
    }
}
