//! Sockets that wait for others, as the kernel lists them.

use std::{
    collections::HashSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use crate::protocol::Transport;

/// One socket of the namespace that waits for others.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) at: SocketAddr,
    pub(super) transport: Transport,
    pub(super) inode: u64,
    /// Datagrams that came when there was no room for them.
    pub(super) dropped: u64,
}

/// Whether a datagram to this port of the loopback would be taken by somebody but `ours`.
pub(super) fn takes_datagrams(port: u16, ours: &HashSet<u64>) -> bool {
    of(Transport::Udp).is_ok_and(|found| {
        found.iter().any(|socket| socket.at.port() == port && !ours.contains(&socket.inode))
    })
}

/// Whether anybody has sent something to one of these ports that is not there yet.
pub(super) fn is_sending_to(ports: &[u16]) -> bool {
    ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().any(|path| {
        let list = std::fs::read_to_string(path).unwrap_or_default();
        list.lines().skip(1).any(|line| {
            let mut fields = line.split_whitespace().skip(2);
            let to = fields.next().and_then(address).map(|to| to.port());
            let queued = fields.nth(1).and_then(|queues| queues.split(':').next());
            to.is_some_and(|port| ports.contains(&port))
                && queued.is_some_and(|bytes| u32::from_str_radix(bytes, 16) != Ok(0))
        })
    })
}

/// All TCP sockets that listen, or all UDP sockets without another side. TCP takes the kernel some
/// milliseconds, however few there are.
///
/// # Errors
///
/// If the kernel's lists cannot be read.
pub(super) fn of(transport: Transport) -> std::io::Result<Vec<Waiting>> {
    let (state, paths) = match transport {
        Transport::Tcp => ("0A", ["/proc/net/tcp", "/proc/net/tcp6"]),
        Transport::Udp => ("07", ["/proc/net/udp", "/proc/net/udp6"]),
    };
    let mut found = Vec::new();
    for (at, path) in paths.into_iter().enumerate() {
        let list = match std::fs::read_to_string(path) {
            // A kernel without IPv6.
            Err(_) if at == 1 => continue,
            list => list?,
        };
        let sockets = list.lines().skip(1).filter_map(|line| parse(line, state, transport));
        found.extend(sockets);
    }
    Ok(found)
}

fn parse(line: &str, wanted: &str, transport: Transport) -> Option<Waiting> {
    let mut fields = line.split_whitespace().skip(1);
    let at = address(fields.next()?)?;
    let (_, state) = (fields.next()?, fields.next()?);
    let inode = fields.nth(5)?.parse().ok()?;
    let dropped = fields.last().and_then(|last| last.parse().ok()).unwrap_or_default();
    (state == wanted).then_some(Waiting { at, transport, inode, dropped })
}

fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let mut bytes = [0; 16];
    let words = address.len() / 8;
    for (at, place) in bytes.chunks_exact_mut(4).enumerate().take(words) {
        // Words of the machine's order hold bytes of the network's.
        let word = u32::from_str_radix(address.get(at * 8..at * 8 + 8)?, 16).ok()?;
        place.copy_from_slice(&word.to_ne_bytes());
    }
    let address = match words {
        1 => IpAddr::V4(Ipv4Addr::from(*bytes.first_chunk::<4>()?)),
        4 => IpAddr::V6(Ipv6Addr::from(bytes)),
        _ => return None,
    };
    Some(SocketAddr::new(address, u16::from_str_radix(port, 16).ok()?))
}
