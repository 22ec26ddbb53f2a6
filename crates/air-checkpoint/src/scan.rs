//! Looks at what is below the watched roots.

mod around;
mod attributes;
mod database;
mod look;

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::File,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    time::{SystemTime, UNIX_EPOCH},
};

use rustix::fs::{AtFlags, Dir, FileType, Stat, fstat, readlinkat, statat};

pub(crate) use self::attributes::at as attributes_at;
pub use self::database::companions;
use self::{
    around::Around,
    database::{database_of, database_with},
    look::Look,
};
use crate::{
    beneath,
    blind::Covered,
    store::{self, Store, StoreError},
    tree::{Digest, Entry, Kind, Place, Root, Tree},
};

/// A change this close to a look may have the same timestamps as what the look saw.
const DOUBT_NS: i64 = 20_000_000;
/// How often a file that changes while it is read is read again.
const TRIES: u32 = 3;
/// What is in a directory with a longer path is not looked at, in bytes.
const PATH_BYTES: usize = 16 << 10;

/// Looks at watched roots. What has the same identity, size, times and mode as in `known` is taken
/// to have the same content, and is not read again.
#[derive(Debug)]
pub struct Scanner<'a> {
    /// Where to look.
    pub roots: &'a [Root],
    /// An earlier look.
    pub known: &'a Tree,
    /// Where contents are kept; `None` to look only.
    pub store: Option<&'a Store>,
    /// Files of more bytes are not kept, and not read: their content is known by size and times.
    pub retained_file_bytes: u64,
    /// Entries beyond are not looked at, and said to be unread.
    pub entries: usize,
}

/// What was seen at a place.
struct Seen {
    entry: Entry,
    /// Why `entry` does not say all.
    lacks: Option<io::Error>,
}

impl Scanner<'_> {
    /// Looks at everything.
    pub fn scan(&self) -> Tree {
        let mut found = Tree { scanned_ns: now_ns(), ..Tree::default() };
        let began_ns = found.scanned_ns;
        let mut look = Look::of(&mut found);
        for index in 0..self.roots.len() {
            self.look_in(&(index, Vec::new()), &mut look);
        }
        let gone =
            self.known.entries.keys().filter(|place| !look.tree.entries.contains_key(*place));
        look.databases.extend(gone.filter_map(database_of));
        self.settle(began_ns, &|_| true, &mut look);
        look.end();
        found
    }

    /// Looks at one place again and, if it is a directory, at all that is below it; puts what is
    /// there into `found` in the place of what was.
    pub fn look_below(&self, place: &Place, found: &mut Tree) {
        self.look_below_each(&BTreeSet::from([place.clone()]), found);
    }

    /// As [`Self::look_below`], at each of many places.
    pub fn look_below_each(&self, places: &BTreeSet<Place>, found: &mut Tree) {
        let (began_ns, mut look) = (now_ns(), Look::of(found));
        for place in places {
            self.look_in(place, &mut look);
        }
        let covered: Covered<'_> = places.iter().collect();
        self.settle(began_ns, &|member| covered.covers(member), &mut look);
        look.end();
    }

    fn look_in(&self, place: &Place, look: &mut Look<'_>) {
        look.clear_below(place);
        let is_directory = self.put_at(place, look);
        let Some(root) = self.roots.get(place.0).filter(|_| is_directory) else { return };
        match beneath::root(&root.host) {
            Ok(fd) => self.walk(place, &fd, look),
            Err(error) => look.note(place.clone(), &error),
        }
    }

    /// Looks at one place alone; whether it is a directory. What lies beside a database is looked at
    /// with it.
    pub fn look_at(&self, place: &Place, found: &mut Tree) -> bool {
        self.look_at_each(&BTreeSet::from([place.clone()]), found)
    }

    /// Looks at places alone; whether any is a directory. What lies beside a database is looked at
    /// with it: see [`companions`].
    pub fn look_at_each(&self, places: &BTreeSet<Place>, found: &mut Tree) -> bool {
        let (began_ns, mut look) = (now_ns(), Look::of(found));
        let mut any = false;
        for place in places {
            any |= self.put_at(place, &mut look);
        }
        self.settle(began_ns, &|member| places.contains(member), &mut look);
        look.end();
        any
    }

    fn put_at(&self, place: &Place, look: &mut Look<'_>) -> bool {
        look.clear(place);
        match self.find(place, &mut look.databases) {
            Ok(Some(seen)) => {
                let is_directory = seen.entry.kind == Kind::Directory;
                self.put_seen(place.clone(), seen, look) && is_directory
            }
            Ok(None) => {
                look.remove(place);
                look.databases.extend(database_of(place));
                false
            }
            Err(error) => {
                look.remove(place);
                look.note(place.clone(), &error);
                false
            }
        }
    }

    /// What is at a place; `None` if nothing is.
    ///
    /// # Errors
    ///
    /// If that cannot be told, or not all of it.
    pub fn entry_of(&self, place: &Place) -> io::Result<Option<Entry>> {
        match self.find(place, &mut BTreeSet::new())? {
            Some(Seen { lacks: Some(error), .. }) => Err(error),
            seen => Ok(seen.map(|seen| seen.entry)),
        }
    }

    fn find(&self, place: &Place, databases: &mut BTreeSet<Place>) -> io::Result<Option<Seen>> {
        let Some(root) = self.roots.get(place.0) else { return Ok(None) };
        let missing = |error: &io::Error| {
            // Nothing can have a name that is too long.
            let too_long = rustix::io::Errno::NAMETOOLONG.raw_os_error();
            matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
                || error.raw_os_error() == Some(too_long)
        };
        let fd = match beneath::root(&root.host) {
            Ok(fd) => fd,
            Err(error) if missing(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        if place.1.is_empty() {
            return Ok(Some(directory(&fd, &fstat(&fd)?)));
        }
        let (parent, name) = beneath::split(&place.1);
        match beneath::directory(&fd, parent) {
            Ok(parent) => self.look(place, &parent, name, databases),
            // A link in the place of a directory has nothing below it.
            Err(error) if missing(&error) || is_loop(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn walk(&self, start: &Place, root: &OwnedFd, look: &mut Look<'_>) {
        let mut around = Around::new(root);
        let mut pending = vec![start.1.clone()];
        while let Some(path) = pending.pop() {
            if path.len() > PATH_BYTES {
                let why = format!("its path is longer than {} KiB", PATH_BYTES >> 10);
                look.note((start.0, path), &io::Error::other(why));
                continue;
            }
            let listed = around.directory(&path).and_then(|fd| Ok((Dir::read_from(&fd)?, fd)));
            let (entries, fd) = match listed {
                Ok(listed) => listed,
                Err(error) => {
                    look.note((start.0, path), &error);
                    continue;
                }
            };
            for item in entries {
                let item = match item {
                    Ok(item) => item,
                    Err(error) => {
                        look.note((start.0, path.clone()), &error.into());
                        break;
                    }
                };
                let name = item.file_name().to_bytes();
                if name == b"." || name == b".." {
                    continue;
                }
                if look.tree.entries.len() >= self.entries {
                    let why = io::Error::other(format!("more than {} entries", self.entries));
                    look.note((start.0, Vec::new()), &why);
                    return;
                }
                let place = (start.0, join(&path, name));
                match self.look(&place, &fd, name, &mut look.databases) {
                    Ok(Some(seen)) => {
                        if seen.entry.kind == Kind::Directory {
                            pending.push(place.1.clone());
                        }
                        if !self.put_seen(place, seen, look) {
                            return;
                        }
                    }
                    Ok(None) => {}
                    Err(error) => look.note(place, &error),
                }
            }
        }
    }

    fn put_seen(&self, place: Place, seen: Seen, look: &mut Look<'_>) -> bool {
        if let Some(error) = &seen.lacks {
            look.note(place.clone(), error);
        }
        self.put(place, seen.entry, look)
    }

    /// Whether there was room for it.
    fn put(&self, place: Place, entry: Entry, look: &mut Look<'_>) -> bool {
        let unread = entry.kind == Kind::File && entry.digest.is_none();
        if unread && entry.size <= self.retained_file_bytes {
            let why = io::Error::other("could not be read, or changes while it is read");
            look.note(place.clone(), &why);
        }
        look.insert(place, entry)
    }

    /// One entry; `None` if it has gone meanwhile. `databases` gains that which it belongs to, if it
    /// is not as it was known.
    fn look(
        &self,
        place: &Place,
        parent: &OwnedFd,
        name: &[u8],
        databases: &mut BTreeSet<Place>,
    ) -> io::Result<Option<Seen>> {
        let name = OsStr::from_bytes(name);
        let stat = match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NAMETOOLONG) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let entry = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                return Ok(Some(self.file(place, parent, name, &stat, databases)));
            }
            FileType::Directory => match beneath::directory(parent, name.as_bytes()) {
                Ok(fd) => return Ok(Some(directory(&fd, &stat))),
                // Listing it will say why.
                Err(_) => entry(&stat, Kind::Directory),
            },
            FileType::Symlink => {
                let target = readlinkat(parent, name, Vec::new())?;
                entry(&stat, Kind::Link(target.into_bytes()))
            }
            FileType::Fifo => entry(&stat, Kind::Fifo),
            FileType::CharacterDevice if stat.st_rdev == 0 => entry(&stat, Kind::Whiteout),
            _ => entry(&stat, Kind::Other),
        };
        Ok(Some(entry.into()))
    }

    fn file(
        &self,
        place: &Place,
        parent: &OwnedFd,
        name: &OsStr,
        stat: &Stat,
        databases: &mut BTreeSet<Place>,
    ) -> Seen {
        let mut now = entry(stat, Kind::File);
        let keep = self.store.filter(|_| now.size <= self.retained_file_bytes);
        if let Some(known) = self.known.entries.get(place)
            && !is_doubtful(known, self.known.scanned_ns)
            // Attributes alone are read again: nothing says that they could be read before.
            && known.digest.is_some()
            && now.size <= self.retained_file_bytes
            && (known.kept || keep.is_none())
            && known.is_untouched(&now)
        {
            return known.clone().into();
        }
        let Ok(fd) = beneath::file(parent, name.as_bytes()) else { return now.into() };
        let file = File::from(fd);
        if self.store.is_some() {
            databases.extend(database_with(place, parent, &file));
        }
        for _ in 0..TRIES {
            // Another file may have taken its place.
            let Ok(stat) = fstat(&file) else { return now.into() };
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                return now.into();
            }
            now = entry(&stat, Kind::File);
            match attributes::of(&file) {
                Ok(all) => now.attributes = all,
                Err(error) => return Seen { entry: now, lacks: Some(error) },
            }
            if now.size > self.retained_file_bytes {
                return now.into();
            }
            let read = self.read(&file, keep);
            let unchanged =
                fstat(&file).is_ok_and(|stat| entry(&stat, Kind::File).is_untouched(&now));
            if let (Ok((digest, kept)), true) = (&read, unchanged) {
                now.digest = Some(*digest);
                now.kept = *kept;
                return now.into();
            }
        }
        now.into()
    }

    /// The digest, and whether the content is kept.
    fn read(&self, file: &File, keep: Option<&Store>) -> Result<(Digest, bool), StoreError> {
        let limit = self.retained_file_bytes;
        match keep.map(|store| store.keep_at_most(file, limit)) {
            Some(Ok(digest)) => Ok((digest, true)),
            // What it is is known all the same.
            None | Some(Err(StoreError::OverBudget { .. } | StoreError::NoSpace(_))) => {
                Ok((store::digest_of(file, limit)?, false))
            }
            Some(Err(error)) => Err(error),
        }
    }
}

/// Whether an entry may have changed since the look at `scanned_ns` that found it, without a trace.
pub(crate) fn is_doubtful(entry: &Entry, scanned_ns: i64) -> bool {
    entry.ctime_ns.saturating_add(DOUBT_NS) >= scanned_ns
}

fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

pub(crate) fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    let mut below = Vec::with_capacity(path.len() + 1 + name.len());
    below.extend_from_slice(path);
    if !below.is_empty() {
        below.push(b'/');
    }
    below.extend_from_slice(name);
    below
}

fn directory(fd: &OwnedFd, stat: &Stat) -> Seen {
    let (attributes, lacks) = match attributes::of(fd) {
        Ok(attributes) => (attributes, None),
        Err(error) => (attributes::opaque(fd), Some(error)),
    };
    Seen { entry: Entry { attributes, ..entry(stat, Kind::Directory) }, lacks }
}

impl From<Entry> for Seen {
    fn from(entry: Entry) -> Self {
        Self { entry, lacks: None }
    }
}

pub(crate) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[expect(clippy::cast_possible_wrap, reason = "times before 2262")]
pub(crate) fn entry(stat: &Stat, kind: Kind) -> Entry {
    let nanoseconds =
        |seconds: i64, rest: u64| seconds.saturating_mul(1_000_000_000).saturating_add(rest as i64);
    Entry {
        kind,
        mode: stat.st_mode & 0o7777,
        uid: stat.st_uid,
        gid: stat.st_gid,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mtime_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        ctime_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        inode: stat.st_ino,
        device: stat.st_dev,
        links: stat.st_nlink,
        digest: None,
        kept: false,
        attributes: Vec::new(),
    }
}
