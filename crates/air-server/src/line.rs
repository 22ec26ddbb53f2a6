//! Who is at the other end of a connection over HTTP on loopback.
//!
//! A connection says nothing of its process, and what a request says of it anybody can write. The system knows:
//! its table of connections has the socket of the other end, and the process that holds it names it among
//! its open files. So a host needs to send nothing, and a number that is another one's, or of another
//! namespace, is no matter. That is looked up once a connection, while its first question is decided.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::unix::fs::MetadataExt as _,
    path::PathBuf,
    sync::Arc,
};

use rustix::process::getuid;
use tokio::{sync::OnceCell, task::spawn_blocking};

use crate::peer::ancestors;

/// A connection from a process of this machine.
#[derive(Debug, Clone)]
pub(crate) struct Line(Arc<Ends>);

#[derive(Debug)]
struct Ends {
    theirs: SocketAddr,
    ours: SocketAddr,
    held_by: OnceCell<Option<u32>>,
}

impl Line {
    /// One between these addresses.
    pub(crate) fn new(theirs: SocketAddr, ours: SocketAddr) -> Self {
        Self(Arc::new(Ends { theirs, ours, held_by: OnceCell::new() }))
    }

    /// The process of this user that holds the other end; none where that cannot be told. Those that are
    /// `likely` are looked at first.
    pub(crate) async fn process(&self, likely: Vec<u32>) -> Option<u32> {
        let Ends { theirs, ours, held_by } = &*self.0;
        let (theirs, ours) = (*theirs, *ours);
        let looked = || async move {
            let looked = spawn_blocking(move || holder(theirs, ours, &likely)).await;
            looked.unwrap_or_default()
        };
        *held_by.get_or_init(looked).await
    }
}

fn holder(theirs: SocketAddr, ours: SocketAddr, likely: &[u32]) -> Option<u32> {
    let link = PathBuf::from(format!("socket:[{}]", inode(theirs, ours)?));
    let holds = |pid: &u32| {
        let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
        files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|to| to == link))
    };
    let known = likely.iter().copied().find(holds);
    // What has been started with the open files of its parent holds it, too.
    ancestors(known.or_else(|| own().into_iter().find(holds))?).into_iter().rfind(holds)
}

/// The processes of this user, the latest first: agents are started later than what a desktop runs on.
fn own() -> Vec<u32> {
    let own = getuid().as_raw();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        (entry.metadata().ok()?.uid() == own).then_some(pid)
    });
    let mut pids: Vec<u32> = pids.collect();
    pids.sort_unstable_by(|a, b| b.cmp(a));
    pids
}

/// The socket of the other end, where it is this user's.
fn inode(theirs: SocketAddr, ours: SocketAddr) -> Option<u64> {
    // A socket of the newer family also talks to addresses of the older one.
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    tables.into_iter().find_map(|table| {
        let table = fs::read_to_string(table).ok()?;
        table.lines().skip(1).find_map(|row| inode_in(row, theirs, ours))
    })
}

fn inode_in(row: &str, theirs: SocketAddr, ours: SocketAddr) -> Option<u64> {
    let mut fields = row.split_whitespace().skip(1);
    let is = |field: Option<&str>, end: SocketAddr| {
        let (ip, port) = field?.split_once(':')?;
        // The number is in far more rows than the address has to be read of.
        (u16::from_str_radix(port, 16).ok()? == end.port()
            && address(ip)? == end.ip().to_canonical())
        .then_some(())
    };
    is(fields.next(), theirs)?;
    is(fields.next(), ours)?;
    let user: u32 = fields.nth(4)?.parse().ok()?;
    let inode: u64 = fields.nth(1)?.parse().ok()?;
    // One that has been closed belongs to nobody any more.
    (user == getuid().as_raw() && inode != 0).then_some(inode)
}

/// An address as the system writes it: words of 32 bits in its own order.
fn address(text: &str) -> Option<IpAddr> {
    let mut bytes = [0_u8; 16];
    let words = text.len() / 8;
    for (at, four) in bytes.chunks_mut(4).enumerate().take(words) {
        let word = u32::from_str_radix(text.get(at * 8..at * 8 + 8)?, 16).ok()?;
        four.copy_from_slice(&word.to_ne_bytes());
    }
    match words {
        1 => {
            let [a, b, c, d, ..] = bytes;
            Some(Ipv4Addr::new(a, b, c, d).into())
        }
        4 => Some(IpAddr::from(Ipv6Addr::from(bytes)).to_canonical()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn the_process_at_the_other_end_is_found() {
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(at).await else { continue };
            let ours = listener.local_addr().expect("an address");
            let stream = TcpStream::connect(ours).await.expect("a connection");
            let theirs = stream.local_addr().expect("an address");
            let line = Line::new(theirs, ours);
            assert_eq!(line.process(Vec::new()).await, Some(std::process::id()), "{at}");
            // Once a connection: it is known after it has ended.
            drop(stream);
            assert_eq!(line.process(Vec::new()).await, Some(std::process::id()), "{at}");
            let gone = Line::new(theirs, ours);
            assert_eq!(gone.process(vec![std::process::id(), 0]).await, None, "{at}");
        }
    }

    #[test]
    fn rows_of_the_table_are_read() {
        let user = getuid().as_raw();
        let ends = |theirs: &str| {
            (theirs.parse().expect("an address"), "127.0.0.1:8080".parse().expect("an address"))
        };
        let row = |theirs: &str, ours: &str, user: u32, inode: u64| {
            format!(
                " 3: {theirs} {ours} 01 00000000:00000000 00:00000000 00000000 {user} 0 {inode} 1 0"
            )
        };
        let (theirs, ours) = ends("127.0.0.1:4660");
        let table = [
            (row("0100007F:1234", "0100007F:1F90", user, 77), Some(77)),
            (
                row(
                    "0000000000000000FFFF00000100007F:1234",
                    "0000000000000000FFFF00000100007F:1F90",
                    user,
                    78,
                ),
                Some(78),
            ),
            (row("0100007F:1F90", "0100007F:1234", user, 77), None),
            (row("0200007F:1234", "0100007F:1F90", user, 77), None),
            (row("0100007F:1234", "0100007F:1F90", user + 1, 77), None),
            (row("0100007F:1234", "0100007F:1F90", user, 0), None),
            (row("0100:1234", "0100007F:1F90", user, 77), None),
            ("sl local_address rem_address".to_owned(), None),
            (String::new(), None),
        ];
        for (row, inode) in table {
            if cfg!(target_endian = "little") {
                assert_eq!(inode_in(&row, theirs, ours), inode, "{row}");
            }
        }
    }
}
