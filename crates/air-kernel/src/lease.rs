//! Leases on files: whether another program could be writing one.

use std::{
    io,
    os::fd::{AsFd, AsRawFd},
};

/// From `asm-generic/fcntl.h`; `libc` does not have it.
const F_SETSIG: libc::c_int = 10;

/// Whether another descriptor, or a mapping, may write to the file. `None` if it cannot be told:
/// the file belongs to somebody else, or its file system has no leases.
///
/// Takes a read lease for an instant. Whoever opens the file for writing in that instant waits for
/// its end. `file` must be open for reading only.
pub fn is_open_for_writing(file: impl AsFd) -> Option<bool> {
    let file = file.as_fd();
    let set = |command, argument: libc::c_int| {
        // SAFETY: the descriptor is borrowed, so it is open; these commands take a number and no
        // pointer.
        let result = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
        if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // A lease that is broken sends a signal: not SIGIO, which ends a process by default.
    set(F_SETSIG, libc::SIGURG).ok()?;
    match set(libc::F_SETLEASE, libc::F_RDLCK) {
        Ok(()) => set(libc::F_SETLEASE, libc::F_UNLCK).ok().map(|()| false),
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Some(true),
        Err(_) => None,
    }
}
