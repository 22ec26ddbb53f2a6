//! Puts the watched roots back as a manifest says. Runs while nothing inside does.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::File,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, chmodat, fchmod, futimens,
    mkdirat, mknodat, openat, renameat, symlinkat, unlinkat, utimensat,
};

use crate::{
    beneath,
    effects::agent_path,
    manifest::{Entry, Kind, Manifest, Place, unescape},
    scan::{Root, Scanner},
    store::{Store, unique},
};

/// How often directories are opened up before giving up on what is in them.
const DEPTHS: u32 = 16;

/// What a restore did.
#[derive(Debug, Default)]
pub(crate) struct Restored {
    pub(crate) put_back: usize,
    pub(crate) removed: usize,
    pub(crate) failed: Vec<String>,
}

pub(crate) struct Restorer<'a> {
    pub(crate) roots: &'a [Root],
    pub(crate) store: &'a Store,
    pub(crate) before: &'a Manifest,
    pub(crate) scanner: Scanner<'a>,
}

impl Restorer<'_> {
    /// Restores what differs, and says what it could not.
    pub(crate) fn run(&self) -> Restored {
        let mut done = Restored::default();
        let now = self.open_up();
        let mut gone = BTreeSet::new();
        // Children sort after their directory, so they go first.
        for (place, entry) in now.entries.iter().rev() {
            let earlier = self.before.entries.get(place);
            if place.1.is_empty() || earlier.is_some_and(|earlier| earlier.kind == entry.kind) {
                continue;
            }
            if earlier.is_none() && self.before.is_blind_at(place) {
                let path = agent_path(self.roots, place);
                done.failed.push(format!("{path}: it could not be read at the checkpoint"));
                continue;
            }
            if self.attempt(place, &mut done, |parent, name| remove(parent, name, entry)) {
                gone.insert(place.clone());
                done.removed += usize::from(earlier.is_none());
            }
        }
        for (place, entry) in &self.before.entries {
            let current = now.entries.get(place).filter(|_| !gone.contains(place));
            self.put_back(place, entry, current, &mut done);
        }
        self.finish_directories(&mut done);
        done
    }

    /// A look at everything, with directories opened up that would hide something.
    fn open_up(&self) -> Manifest {
        let mut now = self.scanner.scan();
        for _ in 0..DEPTHS {
            let mut opened = false;
            for (place, entry) in &now.entries {
                if entry.kind == Kind::Directory && entry.mode & 0o700 != 0o700 {
                    let mut ignored = Restored::default();
                    opened |= self.attempt(place, &mut ignored, |parent, name| {
                        Ok(chmodat(parent, name, Mode::RWXU, AtFlags::empty())?)
                    });
                }
            }
            if !opened {
                break;
            }
            now = self.scanner.scan();
        }
        now
    }

    fn put_back(&self, place: &Place, entry: &Entry, current: Option<&Entry>, done: &mut Restored) {
        match (&entry.kind, current) {
            (Kind::Directory, None) => {
                let made = if place.1.is_empty() {
                    self.make_root(place, done)
                } else {
                    self.attempt(place, done, |parent, name| Ok(mkdirat(parent, name, Mode::RWXU)?))
                };
                done.put_back += usize::from(made);
            }
            (Kind::File, Some(current)) if entry.is_same(current) => {
                if entry.mtime_ns != current.mtime_ns {
                    self.attempt(place, done, |parent, name| set_time(parent, name, entry));
                }
            }
            (Kind::File, Some(current))
                if entry.digest.is_some() && entry.digest == current.digest =>
            {
                let made = self.attempt(place, done, |parent, name| {
                    chmodat(parent, name, Mode::from_raw_mode(entry.mode), AtFlags::empty())?;
                    set_time(parent, name, entry)
                });
                done.put_back += usize::from(made);
            }
            (Kind::File, _) => {
                let made =
                    self.attempt(place, done, |parent, name| self.write(parent, name, entry));
                done.put_back += usize::from(made);
            }
            (Kind::Link(target), None) => {
                let target = unescape(target);
                let made = self.attempt(place, done, |parent, name| {
                    symlinkat(OsStr::from_bytes(&target), parent, name)?;
                    set_time(parent, name, entry)
                });
                done.put_back += usize::from(made);
            }
            (Kind::Fifo, None) => {
                let made = self.attempt(place, done, |parent, name| {
                    mknodat(parent, name, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
                    chmodat(parent, name, Mode::from_raw_mode(entry.mode), AtFlags::empty())?;
                    set_time(parent, name, entry)
                });
                done.put_back += usize::from(made);
            }
            (Kind::Fifo, Some(current)) if entry.mode != current.mode => {
                self.attempt(place, done, |parent, name| {
                    let mode = Mode::from_raw_mode(entry.mode);
                    Ok(chmodat(parent, name, mode, AtFlags::empty())?)
                });
            }
            (Kind::Other, None) => {
                let path = agent_path(self.roots, place);
                done.failed.push(format!("{path}: a socket or device cannot be restored"));
            }
            // A directory's mode and time come last; of the rest only what is gone can differ.
            (Kind::Directory | Kind::Link(_) | Kind::Fifo | Kind::Other, Some(_)) => {}
        }
    }

    fn make_root(&self, place: &Place, done: &mut Restored) -> bool {
        let Some(root) = self.roots.get(place.0) else { return false };
        let made = std::fs::create_dir_all(&root.host);
        if let Err(error) = &made {
            done.failed.push(format!("{}: {error}", root.agent.display()));
        }
        made.is_ok()
    }

    /// Replaces the file at once: whoever looks sees the old or the new one.
    fn write(&self, parent: &OwnedFd, name: &OsStr, entry: &Entry) -> io::Result<()> {
        let digest = entry.digest.as_deref().filter(|_| entry.kept);
        let digest = digest.ok_or_else(|| io::Error::other("its content was not kept"))?;
        let unfinished = format!(".air-restore-{}-{}", std::process::id(), unique());
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::WRONLY;
        let fd = openat(parent, &unfinished, flags | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?;
        let mut file = File::from(fd);
        let written = self.store.read(digest, &mut file).and_then(|()| {
            fchmod(&file, Mode::from_raw_mode(entry.mode))?;
            futimens(&file, &times(entry))?;
            Ok(renameat(parent, &unfinished, parent, name)?)
        });
        if written.is_err() {
            // What is left of it is not the agent's.
            let _ = unlinkat(parent, &unfinished, AtFlags::empty());
        }
        written
    }

    /// Modes and times of directories, which everything above changed.
    fn finish_directories(&self, done: &mut Restored) {
        for (place, entry) in self.before.entries.iter().rev() {
            if entry.kind == Kind::Directory {
                self.attempt(place, done, |parent, name| {
                    let now = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
                    if FileType::from_raw_mode(now.st_mode) != FileType::Directory {
                        return Err(io::ErrorKind::NotADirectory.into());
                    }
                    if now.st_mode & 0o7777 != entry.mode {
                        let mode = Mode::from_raw_mode(entry.mode);
                        chmodat(parent, name, mode, AtFlags::empty())?;
                    }
                    set_time(parent, name, entry)
                });
            }
        }
    }

    /// Does one thing below a root; whether it worked.
    fn attempt(
        &self,
        place: &Place,
        done: &mut Restored,
        act: impl FnOnce(&OwnedFd, &OsStr) -> io::Result<()>,
    ) -> bool {
        let Some(root) = self.roots.get(place.0) else { return false };
        let (parent, name) = beneath::split(&place.1);
        // The root itself is its own parent's `.`.
        let name: &[u8] = if name.is_empty() { b"." } else { name };
        let acted = beneath::root(&root.host)
            .and_then(|root| beneath::directory(&root, parent))
            .and_then(|parent| act(&parent, OsStr::from_bytes(name)));
        if let Err(error) = &acted {
            done.failed.push(format!("{}: {error}", agent_path(self.roots, place)));
        }
        acted.is_ok()
    }
}

fn remove(parent: &OwnedFd, name: &OsStr, entry: &Entry) -> io::Result<()> {
    let flags = if entry.kind == Kind::Directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    Ok(unlinkat(parent, name, flags)?)
}

fn set_time(parent: &OwnedFd, name: &OsStr, entry: &Entry) -> io::Result<()> {
    Ok(utimensat(parent, name, &times(entry), AtFlags::SYMLINK_NOFOLLOW)?)
}

fn times(entry: &Entry) -> Timestamps {
    let seconds = entry.mtime_ns.div_euclid(1_000_000_000);
    let rest = entry.mtime_ns.rem_euclid(1_000_000_000);
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: seconds, tv_nsec: rest },
    }
}
