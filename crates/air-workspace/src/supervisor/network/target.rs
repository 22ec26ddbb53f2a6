//! The process behind a system call: its memory and its sockets.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6},
    os::{fd::OwnedFd, unix::fs::FileExt},
    sync::Arc,
};

use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open},
};

/// The largest `sockaddr` there is.
const ADDRESS_BYTES: u64 = 128;
/// More parts than this make no message.
const MOST_PARTS: u64 = 1024;
/// What no datagram is longer than.
const DATAGRAM_BYTES: usize = 65_535;
/// Of a command line.
const ARGUMENT_BYTES: u64 = 200;

/// Who attempts a connection.
#[derive(Debug, Clone)]
pub(super) struct Who {
    pub(super) pid: u32,
    pub(super) argv: Arc<[String]>,
}

/// A thread that waits in a system call.
#[derive(Debug)]
pub(super) struct Target {
    tid: u32,
    memory: File,
    process: OwnedFd,
}

/// One datagram as the caller describes it.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) to: Option<SocketAddr>,
    pub(super) content: Vec<u8>,
}

impl Target {
    pub(super) fn open(tid: u32) -> io::Result<Self> {
        let id = i32::try_from(tid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        // A thread may have descriptors of its own (Linux 6.9).
        let thread = PidfdFlags::from_bits_retain(libc::O_EXCL.unsigned_abs());
        let process = pidfd_open(id, thread).or_else(|_| {
            let group = i32::try_from(group_of(tid)).ok().and_then(Pid::from_raw);
            pidfd_open(group.ok_or(Errno::SRCH)?, PidfdFlags::empty())
        })?;
        let memory = OpenOptions::new().read(true).write(true).open(format!("/proc/{tid}/mem"))?;
        Ok(Self { tid, memory, process })
    }

    pub(super) fn who(&self) -> Who {
        who(self.tid)
    }

    /// The same open socket.
    pub(super) fn socket(&self, fd: u64) -> Result<OwnedFd, Errno> {
        // The kernel takes the lower half.
        let fd = i32::try_from(fd & 0xffff_ffff).map_err(|_| Errno::BADF)?;
        pidfd_getfd(&self.process, fd, PidfdGetfdFlags::empty())
    }

    fn read(&self, at: u64, length: usize) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; length];
        self.memory.read_exact_at(&mut bytes, at).map_err(|_| Errno::FAULT)?;
        Ok(bytes)
    }

    /// An address, and the family that it names.
    pub(super) fn address(&self, at: u64, length: u64) -> Result<(u16, Option<SocketAddr>), Errno> {
        // The kernel takes the lower half.
        let length = length & 0xffff_ffff;
        if !(2..=ADDRESS_BYTES).contains(&length) {
            return Err(Errno::INVAL);
        }
        let bytes = self.read(at, usize::try_from(length).map_err(|_| Errno::INVAL)?)?;
        let family = u16::from_ne_bytes(part(&bytes, 0)?);
        Ok((family, parse(family, &bytes)))
    }

    /// The `count`th message of an array, or the one at `at`.
    pub(super) fn message(&self, at: u64) -> Result<Message, Errno> {
        let header = self.read(at, 32)?;
        let name = u64::from_ne_bytes(part(&header, 0)?);
        let name_length = u32::from_ne_bytes(part(&header, 8)?);
        let parts = u64::from_ne_bytes(part(&header, 16)?);
        let count = u64::from_ne_bytes(part(&header, 24)?);
        if count > MOST_PARTS {
            return Err(Errno::MSGSIZE);
        }
        let to = if name == 0 || name_length == 0 {
            None
        } else {
            Some(self.destination(name, name_length.into())?)
        };
        let parts = self.read(parts, usize::try_from(count * 16).map_err(|_| Errno::INVAL)?)?;
        let mut content = Vec::new();
        for one in parts.chunks_exact(16) {
            let base = u64::from_ne_bytes(part(one, 0)?);
            let length = u64::from_ne_bytes(part(one, 8)?);
            self.append(&mut content, base, length)?;
        }
        Ok(Message { to, content })
    }

    /// A message of one part.
    pub(super) fn plain_message(
        &self,
        [_, at, length, _, to, to_length]: [u64; 6],
    ) -> Result<Message, Errno> {
        let mut content = Vec::new();
        self.append(&mut content, at, length)?;
        Ok(Message { to: Some(self.destination(to, to_length)?), content })
    }

    fn destination(&self, at: u64, length: u64) -> Result<SocketAddr, Errno> {
        let (_, address) = self.address(at, length)?;
        address.ok_or(Errno::AFNOSUPPORT)
    }

    fn append(&self, content: &mut Vec<u8>, at: u64, length: u64) -> Result<(), Errno> {
        let length = usize::try_from(length).map_err(|_| Errno::MSGSIZE)?;
        if content.len().saturating_add(length) > DATAGRAM_BYTES {
            return Err(Errno::MSGSIZE);
        }
        if length > 0 {
            content.extend(self.read(at, length)?);
        }
        Ok(())
    }

    /// Where `sendmmsg` says how much of a message was sent.
    pub(super) fn set_sent(&self, at: u64, length: usize) -> Result<(), Errno> {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        self.memory.write_all_at(&length.to_ne_bytes(), at).map_err(|_| Errno::FAULT)
    }
}

/// What is known of the process that a thread belongs to.
pub(super) fn who(tid: u32) -> Who {
    let pid = group_of(tid);
    let mut line = Vec::new();
    if let Ok(file) = File::open(format!("/proc/{pid}/cmdline")) {
        // One that has ended has none.
        let _ = file.take(ARGUMENT_BYTES).read_to_end(&mut line);
    }
    let line = String::from_utf8_lossy(&line).into_owned();
    let words = line.trim_end_matches('\0').split('\0');
    let plain = |letter: char| if letter.is_control() { '?' } else { letter };
    Who { pid, argv: words.map(|word| word.chars().map(plain).collect()).collect() }
}

fn group_of(tid: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|group| group.trim().parse().ok()).unwrap_or(tid)
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Errno> {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().ok_or(Errno::INVAL)
}

/// An address of the internet. No family at all is taken for IPv4, as the kernel does.
fn parse(family: u16, bytes: &[u8]) -> Option<SocketAddr> {
    let port = u16::from_be_bytes(part(bytes, 2).ok()?);
    match i32::from(family) {
        libc::AF_INET | libc::AF_UNSPEC => {
            let address = Ipv4Addr::from(part::<4>(bytes, 4).ok()?);
            // A `sockaddr_in` is longer than what is used of it.
            part::<16>(bytes, 0).ok()?;
            Some(SocketAddr::new(IpAddr::V4(address), port))
        }
        libc::AF_INET6 => {
            let address = Ipv6Addr::from(part::<16>(bytes, 8).ok()?);
            Some(SocketAddr::V6(SocketAddrV6::new(address, port, 0, 0)))
        }
        _ => None,
    }
}
