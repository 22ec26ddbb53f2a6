//! Owner, attributes, mode and time of what is there.

use std::{io, os::fd::OwnedFd};

use rustix::{
    fs::{
        AtFlags, CWD, Gid, Timespec, Timestamps, UTIME_OMIT, Uid, XattrFlags, chownat, fstat,
        removexattr, setxattr, utimensat,
    },
    io::Errno,
    process::{getegid, geteuid},
};

use super::{
    decide::{Deed, Step},
    failpoint,
    site::{by_descriptor, set_mode},
};
use crate::{
    scan,
    tree::{Entry, Kind},
};

/// Why this process cannot make what a step wants.
pub(super) fn obstacle(step: &Step) -> Option<String> {
    let goal = step.goal()?;
    if geteuid().is_root() {
        return None;
    }
    let owner = match (&step.deed, &step.was) {
        (Deed::Alter(_) | Deed::Link(..), Some(was)) => was.uid,
        _ => geteuid().as_raw(),
    };
    (owner != goal.uid)
        .then(|| format!("it would belong to user {owner} instead of {}: do it as root", goal.uid))
}

/// Gives what `handle` is open on the owner, attributes, mode and time of `goal`, in the order in
/// which none of them clears another.
pub(super) fn give(handle: &OwnedFd, goal: &Entry) -> io::Result<()> {
    let stat = fstat(handle)?;
    if (stat.st_uid, stat.st_gid) != (goal.uid, goal.gid) {
        give_owner(handle, stat.st_uid, goal)?;
    }
    if matches!(goal.kind, Kind::File | Kind::Directory) {
        give_attributes(handle, goal)?;
    }
    if !matches!(goal.kind, Kind::Link(_)) && fstat(handle)?.st_mode & 0o7777 != goal.mode {
        set_mode(handle, goal.mode)?;
    }
    give_time(handle, goal)
}

/// A group that this process may not give matters only where a mode says something about it.
fn give_owner(handle: &OwnedFd, uid: u32, goal: &Entry) -> io::Result<()> {
    failpoint::reached();
    let user = (uid != goal.uid).then(|| Uid::from_raw(goal.uid));
    let group = Some(Gid::from_raw(goal.gid));
    match chownat(handle, "", user, group, AtFlags::EMPTY_PATH) {
        Err(Errno::PERM) if user.is_none() && !says_something_of_group(goal) => Ok(()),
        Err(Errno::PERM) => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!(
                "it would belong to group {} instead of {}: do it as root",
                getegid().as_raw(),
                goal.gid
            ),
        )),
        given => Ok(given?),
    }
}

fn says_something_of_group(goal: &Entry) -> bool {
    goal.mode & 0o2000 != 0 || (goal.mode >> 3) & 7 != goal.mode & 7
}

fn give_attributes(handle: &OwnedFd, goal: &Entry) -> io::Result<()> {
    let path = by_descriptor(handle);
    let now = scan::attributes_at(&path)?;
    let gone = now.iter().filter(|(name, _)| !goal.attributes.iter().any(|(kept, _)| kept == name));
    for (name, _) in gone {
        failpoint::reached();
        removexattr(&path, name.as_str())?;
    }
    for (name, value) in goal.attributes.iter().filter(|attribute| !now.contains(attribute)) {
        failpoint::reached();
        setxattr(&path, name.as_str(), value, XattrFlags::empty()).map_err(|error| {
            io::Error::new(
                io::Error::from(error).kind(),
                format!("its extended attribute {name} cannot be set: {error}"),
            )
        })?;
    }
    Ok(())
}

/// Sets the time of the last change of content.
pub(super) fn give_time(handle: &OwnedFd, goal: &Entry) -> io::Result<()> {
    failpoint::reached();
    let times = Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec {
            tv_sec: goal.mtime_ns.div_euclid(1_000_000_000),
            tv_nsec: goal.mtime_ns.rem_euclid(1_000_000_000),
        },
    };
    match utimensat(handle, "", &times, AtFlags::EMPTY_PATH) {
        // Older kernels; a link itself has no other way.
        Err(Errno::INVAL | Errno::NOENT) if !matches!(goal.kind, Kind::Link(_)) => {
            Ok(utimensat(CWD, by_descriptor(handle), &times, AtFlags::empty())?)
        }
        given => Ok(given?),
    }
}
