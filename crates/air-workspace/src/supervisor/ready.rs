//! Waiting for descriptors.

use std::{
    os::fd::{AsRawFd, BorrowedFd},
    time::Duration,
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Which of `fds` are ready, waiting at most `pause`.
pub(super) fn wait_for(fds: &[BorrowedFd<'_>], pause: Duration) -> Vec<bool> {
    let mut polled: Vec<_> =
        fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let pause = Timespec::try_from(pause).ok();
    // Interrupted is the same as not ready.
    let _ = poll(&mut polled, pause.as_ref());
    polled.iter().map(|fd| !fd.revents().is_empty()).collect()
}

pub(super) fn is_ready(fd: BorrowedFd<'_>) -> bool {
    wait_for(&[fd], Duration::ZERO).first() == Some(&true)
}

pub(super) fn hung_up(fd: BorrowedFd<'_>) -> bool {
    debug_assert!(fd.as_raw_fd() >= 0);
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::empty())];
    let _ = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    polled.iter().any(|fd| fd.revents().intersects(PollFlags::HUP | PollFlags::ERR))
}
