//! Opening paths below a root without following a link: what runs inside may swap any of them.

use std::{
    ffi::OsStr,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::Path,
};

use rustix::fs::{CWD, Mode, OFlags, openat};

const DIRECTORY: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);

/// Opens the watched root itself.
///
/// # Errors
///
/// If it is no directory, or a link.
pub fn root(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, DIRECTORY, Mode::empty())?)
}

/// Opens the directory `path` below `root`, name by name: it may be longer than a path can be.
///
/// # Errors
///
/// If a name of it is no directory, or a link.
pub fn directory(root: &OwnedFd, path: &[u8]) -> io::Result<OwnedFd> {
    let mut current = root.try_clone()?;
    for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        if name == b".." || name == b"." {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        current = openat(&current, OsStr::from_bytes(name), DIRECTORY, Mode::empty())?;
    }
    Ok(current)
}

/// Opens a regular file for reading. Never waits for a FIFO's writer.
///
/// # Errors
///
/// If it is a link, or cannot be opened.
pub fn file(directory: &OwnedFd, name: &[u8]) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(openat(directory, OsStr::from_bytes(name), flags, Mode::empty())?)
}

/// Splits into the parent and the last name.
pub fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => {
            let (parent, name) = path.split_at_checked(at).unwrap_or((path, &[]));
            (parent, name.get(1..).unwrap_or_default())
        }
        None => (&[], path),
    }
}
