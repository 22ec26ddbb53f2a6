//! Output of processes: all of it is taken, some of it is kept.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
};

use crate::protocol::Ran;

/// The read end of a pipe, and the first bytes that came out of it.
#[derive(Debug)]
pub(super) struct Capture {
    fd: OwnedFd,
    open: bool,
    kept: Vec<u8>,
    omitted_bytes: u64,
    limit_bytes: usize,
}

impl Capture {
    pub(super) fn new(fd: OwnedFd, limit_bytes: u64) -> std::io::Result<Self> {
        set_nonblocking(&fd)?;
        let limit_bytes = usize::try_from(limit_bytes).unwrap_or(usize::MAX);
        Ok(Self { fd, open: true, kept: Vec::new(), omitted_bytes: 0, limit_bytes })
    }

    pub(super) fn limit(&mut self, limit_bytes: u64) {
        self.limit_bytes = usize::try_from(limit_bytes).unwrap_or(usize::MAX);
    }

    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Takes what is there. Bounded, so that a process that writes without end cannot hold the
    /// supervisor.
    pub(super) fn drain(&mut self) {
        let mut buffer = vec![0_u8; 64 << 10];
        for _ in 0..64 {
            match rustix::io::read(&self.fd, &mut buffer) {
                Ok(0) => {
                    self.open = false;
                    return;
                }
                Ok(length) => self.keep(buffer.get(..length).unwrap_or_default()),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => {
                    self.open = false;
                    return;
                }
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = self.limit_bytes.saturating_sub(self.kept.len()).min(bytes.len());
        let (kept, omitted) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.kept.extend_from_slice(kept);
        self.omitted_bytes += u64::try_from(omitted.len()).unwrap_or(u64::MAX);
    }

    /// What was kept since the last time.
    pub(super) fn take(&mut self) -> Ran {
        let kept = std::mem::take(&mut self.kept);
        Ran {
            output: String::from_utf8_lossy(&kept).into_owned(),
            omitted_bytes: std::mem::take(&mut self.omitted_bytes),
            ..Ran::default()
        }
    }
}

pub(super) fn set_nonblocking(fd: &OwnedFd) -> std::io::Result<()> {
    let flags = fcntl_getfl(fd)?;
    fcntl_setfl(fd, flags | OFlags::NONBLOCK)?;
    Ok(())
}
