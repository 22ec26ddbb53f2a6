//! Looks at everything below the watched roots.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use rustix::fs::{AtFlags, Dir, FileType, Stat, fstat, readlinkat, statat};

use crate::{
    beneath,
    manifest::{Entry, Kind, Manifest, Unread, escape},
    store::{self, Store},
};

/// A change this close to a scan may have the same timestamps as what the scan saw.
const DOUBT_NS: i64 = 20_000_000;

/// A directory whose changes are seen and undone.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    pub(crate) host: PathBuf,
    /// As the agent calls it.
    pub(crate) agent: PathBuf,
}

pub(crate) struct Scanner<'a> {
    pub(crate) roots: &'a [Root],
    /// An earlier look: what has the same key has the same content.
    pub(crate) known: &'a Manifest,
    /// Where contents are kept; `None` to look only.
    pub(crate) store: Option<&'a Store>,
    pub(crate) retained_file_bytes: u64,
}

impl Scanner<'_> {
    pub(crate) fn scan(&self) -> Manifest {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let scanned_ns = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
        let mut found = Manifest { scanned_ns, ..Manifest::default() };
        for (index, root) in self.roots.iter().enumerate() {
            match beneath::root(&root.host) {
                Ok(fd) => self.tree(index, &fd, &mut found),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => Self::unread(index, &[], &error, &mut found),
            }
        }
        found
    }

    fn tree(&self, index: usize, root: &OwnedFd, found: &mut Manifest) {
        if let Ok(stat) = fstat(root) {
            found.entries.insert((index, Vec::new()), entry(&stat, Kind::Directory));
        }
        let mut pending = vec![Vec::new()];
        while let Some(path) = pending.pop() {
            let listed =
                beneath::directory(root, &path).and_then(|fd| Ok((Dir::read_from(&fd)?, fd)));
            let (entries, fd) = match listed {
                Ok(listed) => listed,
                Err(error) => {
                    Self::unread(index, &path, &error, found);
                    continue;
                }
            };
            for item in entries.flatten() {
                let name = item.file_name().to_bytes();
                if name == b"." || name == b".." {
                    continue;
                }
                let mut below = path.clone();
                if !below.is_empty() {
                    below.push(b'/');
                }
                below.extend_from_slice(name);
                match self.look(index, &fd, name, &below) {
                    Ok(Some(entry)) => {
                        if entry.kind == Kind::File && entry.digest.is_none() {
                            let why = io::Error::other("could not be read");
                            Self::unread(index, &below, &why, found);
                        }
                        if entry.kind == Kind::Directory {
                            pending.push(below.clone());
                        }
                        found.entries.insert((index, below), entry);
                    }
                    Ok(None) => {}
                    Err(error) => Self::unread(index, &below, &error, found),
                }
            }
        }
    }

    fn unread(index: usize, path: &[u8], error: &io::Error, found: &mut Manifest) {
        if error.kind() != io::ErrorKind::NotFound {
            let why = error.to_string();
            found.unread.push(Unread { root: index, path: escape(path), why });
        }
    }

    /// One entry; `None` if it has gone meanwhile.
    fn look(
        &self,
        index: usize,
        directory: &OwnedFd,
        name: &[u8],
        path: &[u8],
    ) -> io::Result<Option<Entry>> {
        let name = OsStr::from_bytes(name);
        let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(Some(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => self.file(index, directory, name, path, &stat),
            FileType::Directory => entry(&stat, Kind::Directory),
            FileType::Symlink => {
                let target = readlinkat(directory, name, Vec::new())?;
                entry(&stat, Kind::Link(escape(target.to_bytes())))
            }
            FileType::Fifo => entry(&stat, Kind::Fifo),
            _ => entry(&stat, Kind::Other),
        }))
    }

    fn file(
        &self,
        index: usize,
        directory: &OwnedFd,
        name: &OsStr,
        path: &[u8],
        stat: &Stat,
    ) -> Entry {
        let mut now = entry(stat, Kind::File);
        let keep = self.store.filter(|_| now.size <= self.retained_file_bytes);
        if let Some(known) = self.known.entries.get(&(index, path.to_vec()))
            && known.ctime_ns.saturating_add(DOUBT_NS) < self.known.scanned_ns
            && known.digest.is_some()
            && (known.kept || keep.is_none())
            && (Entry { digest: None, kept: false, ..known.clone() }) == now
        {
            return known.clone();
        }
        let Ok(fd) = beneath::file(directory, name.as_bytes()) else { return now };
        // Another file may have taken its place.
        let Ok(stat) = fstat(&fd) else { return now };
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return now;
        }
        now = entry(&stat, Kind::File);
        let mut file = File::from(fd);
        let digest = match keep {
            Some(store) => store.keep(&mut file),
            None => store::digest(&mut file),
        };
        now.kept = keep.is_some() && digest.is_ok();
        now.digest = digest.ok();
        now
    }
}

#[expect(clippy::cast_possible_wrap, reason = "times before 2262")]
fn entry(stat: &Stat, kind: Kind) -> Entry {
    let nanoseconds =
        |seconds: i64, rest: u64| seconds.saturating_mul(1_000_000_000).saturating_add(rest as i64);
    Entry {
        kind,
        mode: stat.st_mode & 0o7777,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mtime_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        ctime_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        inode: stat.st_ino,
        device: stat.st_dev,
        digest: None,
        kept: false,
    }
}
