//! Removes what an agent left. It may be deeper than a path or a stack can be, and closed.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use air_checkpoint::beneath;
use rustix::{
    fs::{AtFlags, Dir, Mode, OFlags, chmod, openat, renameat, statat, unlinkat},
    io::Errno,
};

/// Entries that are listed at a time.
const BATCH: usize = 4096;

/// Removes a file, or a directory with all that is in it, closed directories too. Follows no link.
/// A tree is flattened as it goes: never are more than a few directories open.
pub(crate) fn remove_all(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let parent = match beneath::root(parent) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        parent => parent?,
    };
    if is_gone(&parent, name)? {
        return Ok(());
    }
    let top = open(&parent, name)?;
    let mut moved = 0_u64;
    each(&top, |name| {
        if is_gone(&top, name)? {
            return Ok(());
        }
        let child = open(&top, name)?;
        each(&child, |inner| {
            if is_gone(&child, inner)? { Ok(()) } else { up(&child, inner, &top, &mut moved) }
        })?;
        Ok(unlinkat(&top, name, AtFlags::REMOVEDIR)?)
    })?;
    Ok(unlinkat(&parent, name, AtFlags::REMOVEDIR)?)
}

/// Removes what is not a directory with something in it; whether nothing is there any more.
fn is_gone(directory: &OwnedFd, name: &OsStr) -> io::Result<bool> {
    match unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(true),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    match unlinkat(directory, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Opens a directory, and opens it up.
fn open(parent: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    open_up(parent, name)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(parent, name, flags, Mode::empty())?)
}

fn open_up(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let mode = Mode::from_raw_mode(statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode);
    if mode.contains(Mode::RWXU) {
        return Ok(());
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(parent, name, flags, Mode::empty())?;
    Ok(chmod(format!("/proc/self/fd/{}", handle.as_raw_fd()), Mode::RWXU)?)
}

/// Moves a directory to the top, under a name that is free there.
fn up(from: &OwnedFd, name: &OsStr, top: &OwnedFd, moved: &mut u64) -> io::Result<()> {
    // Its own `..` changes, which takes the right to write to it.
    open_up(from, name)?;
    loop {
        *moved += 1;
        // An empty directory of that name is replaced, which does no harm.
        match renameat(from, name, top, format!("removed-{moved}")) {
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
            done => return Ok(done?),
        }
    }
}

/// Does something to each entry, which takes it away, until none is left.
fn each(directory: &OwnedFd, mut act: impl FnMut(&OsStr) -> io::Result<()>) -> io::Result<()> {
    loop {
        let mut names: Vec<OsString> = Vec::new();
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
            if names.len() == BATCH {
                break;
            }
        }
        if names.is_empty() {
            return Ok(());
        }
        for name in names {
            act(&name)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use rustix::fs::mkdirat;

    use super::*;

    #[test]
    fn a_tree_deeper_than_any_path_goes_and_what_it_links_to_stays() {
        let folder = tempfile::tempdir().expect("folder");
        fs::create_dir(folder.path().join("mine")).expect("outside");
        fs::write(folder.path().join("mine/kept"), "kept").expect("outside");
        let session = folder.path().join("s1");
        fs::create_dir(&session).expect("session");
        let mut at = beneath::root(&session).expect("opens");
        let closed = |level: u32| level.is_multiple_of(7);
        for level in 0..3000_u32 {
            let name = format!("{level:0>200}");
            mkdirat(&at, &*name, Mode::RWXU).expect("made");
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let next = openat(&at, &*name, flags, Mode::empty()).expect("opens");
            let handle = format!("/proc/self/fd/{}", next.as_raw_fd());
            symlink(folder.path().join("mine"), format!("{handle}/link")).expect("link");
            fs::create_dir(format!("{handle}/removed-{level}")).expect("in the way");
            fs::write(format!("{handle}/removed-{level}/file"), "").expect("in the way");
            if closed(level) {
                chmod(format!("/proc/self/fd/{}", at.as_raw_fd()), Mode::empty()).expect("closed");
            }
            at = next;
        }
        drop(at);
        remove_all(&session).expect("removed");
        assert!(!session.exists());
        assert_eq!(fs::read(folder.path().join("mine/kept")).expect("there"), b"kept");
        remove_all(&session).expect("nothing is there any more");
        symlink(folder.path().join("mine"), &session).expect("link");
        remove_all(&session).expect("a link goes alone");
        assert!(folder.path().join("mine/kept").exists());
    }
}
