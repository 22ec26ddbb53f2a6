//! One name in one directory, and the system calls that change it. Each is a failpoint.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
};

use rustix::{
    fs::{
        AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, StatxAttributes, StatxFlags, linkat,
        mkdirat, mknodat, openat, renameat, renameat_with, statx, symlinkat, unlinkat,
    },
    io::Errno,
};

use super::failpoint;
use crate::{
    beneath,
    tree::{Kind, Place, Root},
};

/// A place, with its directory open.
pub(super) struct Spot {
    pub(super) parent: OwnedFd,
    pub(super) name: OsString,
}

/// Opens the directory of `place`; of a root itself the one that it lies in.
pub(super) fn spot(roots: &[Root], place: &Place) -> io::Result<Spot> {
    let root = roots.get(place.0).ok_or(io::ErrorKind::NotFound)?;
    if place.1.is_empty() {
        let parent = root.host.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let name = root.host.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        return Ok(Spot { parent: beneath::root(parent)?, name: name.to_owned() });
    }
    let (parent, name) = beneath::split(&place.1);
    if matches!(name, b"" | b"." | b"..") {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let parent = beneath::directory(&beneath::root(&root.host)?, parent)?;
    Ok(Spot { parent, name: OsStr::from_bytes(name).to_owned() })
}

/// The directory that `place` is in; `None` for a root.
pub(super) fn parent(place: &Place) -> Option<Place> {
    (!place.1.is_empty()).then(|| (place.0, beneath::split(&place.1).0.to_vec()))
}

/// Another name in the directory of `place`.
pub(super) fn beside(place: &Place, name: &str) -> Place {
    let mut path = beneath::split(&place.1).0.to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name.as_bytes());
    (place.0, path)
}

impl Spot {
    /// The same directory, another name.
    pub(super) fn beside(&self, name: &str) -> io::Result<Self> {
        Ok(Self { parent: self.parent.try_clone()?, name: name.into() })
    }

    /// Opens a regular file for reading.
    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        beneath::file(&self.parent, self.name.as_bytes())
    }

    /// A descriptor to alter what is there by, whatever it is and whoever may read it.
    pub(super) fn handle(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.parent, &self.name, flags, Mode::empty())?)
    }

    /// A new file, open for reading and writing.
    pub(super) fn create(&self) -> io::Result<OwnedFd> {
        failpoint::reached();
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR;
        Ok(openat(&self.parent, &self.name, flags | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?)
    }

    /// A new thing of another kind than a regular file.
    pub(super) fn make(&self, kind: &Kind) -> io::Result<()> {
        failpoint::reached();
        let (parent, name) = (&self.parent, &self.name);
        let private = Mode::RUSR | Mode::WUSR;
        match kind {
            Kind::Directory => mkdirat(parent, name, Mode::RWXU)?,
            Kind::Link(target) => symlinkat(OsStr::from_bytes(target), parent, name)?,
            Kind::Fifo => mknodat(parent, name, FileType::Fifo, private, 0)?,
            Kind::Whiteout => mknodat(parent, name, FileType::CharacterDevice, private, 0)?,
            Kind::File | Kind::Other => return Err(io::ErrorKind::Unsupported.into()),
        }
        Ok(())
    }

    /// Renames to a name where nothing may be.
    pub(super) fn rename(&self, to: &Self) -> io::Result<()> {
        failpoint::reached();
        let none = RenameFlags::NOREPLACE;
        match renameat_with(&self.parent, &self.name, &to.parent, &to.name, none) {
            // Not on this file system. A directory has no second name: nothing but a look helps.
            Err(Errno::INVAL) => match self.link(to) {
                Ok(()) => self.unlink(),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
                Err(_) if to.handle().is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
                Err(_) => Ok(renameat(&self.parent, &self.name, &to.parent, &to.name)?),
            },
            renamed => Ok(renamed?),
        }
    }

    /// Exchanges two names; whether the file system can.
    pub(super) fn exchange(&self, other: &Self) -> io::Result<bool> {
        failpoint::reached();
        if failpoint::cannot_exchange() {
            return Ok(false);
        }
        let exchange = RenameFlags::EXCHANGE;
        match renameat_with(&self.parent, &self.name, &other.parent, &other.name, exchange) {
            Ok(()) => Ok(true),
            Err(Errno::INVAL | Errno::NOSYS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn link(&self, to: &Self) -> io::Result<()> {
        failpoint::reached();
        Ok(linkat(&self.parent, &self.name, &to.parent, &to.name, AtFlags::empty())?)
    }

    pub(super) fn unlink(&self) -> io::Result<()> {
        failpoint::reached();
        Ok(unlinkat(&self.parent, &self.name, AtFlags::empty())?)
    }

    pub(super) fn remove_directory(&self) -> io::Result<()> {
        failpoint::reached();
        Ok(unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR)?)
    }
}

/// Whether an error says that something is not there.
pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What a person would have to clear away first: flags that even the owner is stopped by.
pub(super) fn obstacle(roots: &[Root], place: &Place) -> Option<String> {
    let spot = spot(roots, place).ok()?;
    let flags = |name: &OsStr, at| {
        let found = statx(&spot.parent, name, at | AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty());
        found.map_or(StatxAttributes::empty(), |found| found.stx_attributes)
    };
    let own = flags(&spot.name, AtFlags::empty());
    let above = flags(OsStr::new(""), AtFlags::EMPTY_PATH);
    for (flag, says, letter) in [
        (StatxAttributes::IMMUTABLE, "immutable", 'i'),
        (StatxAttributes::APPEND, "append-only", 'a'),
    ] {
        if own.contains(flag) {
            return Some(format!("it is {says}: take the flag away with `chattr -{letter}`"));
        }
        if above.contains(flag) {
            return Some(format!(
                "its directory is {says}: take the flag away with `chattr -{letter}`"
            ));
        }
    }
    None
}

/// An absolute path that leads to an open descriptor, for calls that take no descriptor.
pub(super) fn by_descriptor(handle: &OwnedFd) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}

/// Changes the mode of what `handle` was opened on.
pub(super) fn set_mode(handle: &OwnedFd, mode: u32) -> io::Result<()> {
    failpoint::reached();
    let path = by_descriptor(handle);
    Ok(rustix::fs::chmodat(CWD, path, Mode::from_raw_mode(mode), AtFlags::empty())?)
}
