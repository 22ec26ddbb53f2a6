//! Which directories the kernel reports about.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    os::fd::{AsRawFd, OwnedFd},
    path::Path,
    sync::Arc,
};

use rustix::{
    fs::{
        Dir, FileType, fstat, fstatfs,
        inotify::{CreateFlags, WatchFlags, add_watch, init, remove_watch},
    },
    io::Errno,
};

use crate::{
    beneath,
    scan::join,
    tree::{Place, Root, contains},
};

const MASK: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE) // All that a shared mapping gives.
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// File systems that only this kernel changes: ext2 to ext4, XFS, Btrfs, tmpfs, ramfs, overlayfs,
/// F2FS, bcachefs, ZFS.
const LOCAL: [i64; 9] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0x0102_1994,
    0x8584_58f6,
    0x794c_7630,
    0xf2f5_2010,
    0xca45_1a4e,
    0x2fc1_2fc1,
];

#[derive(Debug)]
pub(super) struct Armed {
    pub(super) queue: Arc<OwnedFd>,
    /// The watch on the directory of barriers.
    pub(super) barrier: i32,
    watches: BTreeMap<Place, i32>,
    /// A directory may be at several places: roots overlap, and a name is stale until its event has
    /// been read.
    places: HashMap<i32, Vec<Place>>,
    /// Device and inode of each root.
    roots: Vec<(u64, u64)>,
    /// Devices of file systems that are [`LOCAL`].
    local: Vec<u64>,
}

impl Armed {
    pub(super) fn new(roots: &[Root], private: &Path) -> io::Result<Self> {
        let queue = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(|error| {
            let why = "no more queues for changes; raise `sysctl fs.inotify.max_user_instances`";
            if error == Errno::MFILE { io::Error::other(why) } else { error.into() }
        })?;
        let mask = WatchFlags::CREATE | WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW;
        let barrier = add_watch(&queue, private, mask).map_err(explained)?;
        let mut armed = Self {
            queue: Arc::new(queue),
            barrier,
            watches: BTreeMap::new(),
            places: HashMap::new(),
            roots: identities(roots)?,
            local: Vec::new(),
        };
        for index in 0..roots.len() {
            armed.arm(roots, &(index, Vec::new()))?;
            if !armed.is_armed(&(index, Vec::new())) {
                return Err(io::Error::other("a watched directory cannot be read"));
            }
        }
        armed.check_roots(roots)?;
        Ok(armed)
    }

    /// Whether the roots are the directories that are watched.
    pub(super) fn check_roots(&self, roots: &[Root]) -> io::Result<()> {
        if identities(roots)? == self.roots {
            return Ok(());
        }
        Err(io::Error::other("a watched directory was replaced"))
    }

    pub(super) fn is_armed(&self, place: &Place) -> bool {
        self.watches.contains_key(place)
    }

    pub(super) fn places_of(&self, watch: i32) -> Vec<Place> {
        self.places.get(&watch).cloned().unwrap_or_default()
    }

    /// Watches the directory at `place`, if there is one, and all below it. Each is watched before
    /// it is listed, so that what appears later is reported.
    pub(super) fn arm(&mut self, roots: &[Root], place: &Place) -> io::Result<()> {
        let mut pending = vec![place.clone()];
        while let Some(place) = pending.pop() {
            let Some(fd) = open(roots, &place)? else { continue };
            self.check_local(&fd)?;
            // The very directory that was opened, however long its path is.
            let itself = format!("/proc/self/fd/{}", fd.as_raw_fd());
            let watch = match add_watch(&*self.queue, itself, MASK) {
                Err(Errno::ACCESS) => continue,
                watch => watch.map_err(explained)?,
            };
            if watch == self.barrier {
                return Err(io::Error::other(
                    "the directory for barriers must lie outside of the watched ones",
                ));
            }
            self.insert(place.clone(), watch);
            for item in Dir::read_from(&fd)? {
                let item = item?;
                let name = item.file_name().to_bytes();
                let may_be = matches!(item.file_type(), FileType::Directory | FileType::Unknown);
                if may_be && name != b"." && name != b".." {
                    pending.push((place.0, join(&place.1, name)));
                }
            }
        }
        Ok(())
    }

    fn check_local(&mut self, fd: &OwnedFd) -> io::Result<()> {
        let device = fstat(fd)?.st_dev;
        if self.local.contains(&device) {
            return Ok(());
        }
        let kind = fstatfs(fd)?.f_type;
        if !LOCAL.contains(&kind) {
            let why = format!("file systems of type {kind:#x} do not report all changes");
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        self.local.push(device);
        Ok(())
    }

    fn insert(&mut self, place: Place, watch: i32) {
        match self.watches.insert(place.clone(), watch) {
            Some(before) if before == watch => return,
            Some(before) => self.leave(before, &place),
            None => {}
        }
        self.places.entry(watch).or_default().push(place);
    }

    /// Watches `place` and all below it no longer.
    pub(super) fn drop_below(&mut self, place: &Place) {
        // Other names sort between a directory and what is in it.
        let below = self
            .watches
            .range(place.clone()..)
            .take_while(|(other, _)| other.0 == place.0 && other.1.starts_with(&place.1));
        let below: Vec<(Place, i32)> = below
            .filter(|(other, _)| contains(place, other))
            .map(|(other, watch)| (other.clone(), *watch))
            .collect();
        for (place, watch) in below {
            self.watches.remove(&place);
            self.leave(watch, &place);
        }
    }

    fn leave(&mut self, watch: i32, place: &Place) {
        let Some(places) = self.places.get_mut(&watch) else { return };
        places.retain(|other| other != place);
        if places.is_empty() {
            self.places.remove(&watch);
            // It fails for a directory that is gone, whose watch has ended.
            let _ = remove_watch(&*self.queue, watch);
        }
    }

    /// A watch has ended.
    pub(super) fn forget(&mut self, watch: i32) {
        for place in self.places.remove(&watch).unwrap_or_default() {
            if self.watches.get(&place) == Some(&watch) {
                self.watches.remove(&place);
            }
        }
    }
}

/// The directory at a place; `None` if there is none, or none that can be read: what is in there is
/// not in a tree either.
pub(super) fn open(roots: &[Root], place: &Place) -> io::Result<Option<OwnedFd>> {
    let Some(root) = roots.get(place.0) else { return Ok(None) };
    let opened = beneath::root(&root.host).and_then(|fd| beneath::directory(&fd, &place.1));
    match opened {
        Ok(fd) => Ok(Some(fd)),
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => Ok(None),
            _ => Err(error),
        },
    }
}

fn identities(roots: &[Root]) -> io::Result<Vec<(u64, u64)>> {
    let identity = |root: &Root| {
        let stat = fstat(beneath::root(&root.host)?)?;
        Ok((stat.st_dev, stat.st_ino))
    };
    roots.iter().map(identity).collect()
}

fn explained(error: Errno) -> io::Error {
    let limit = "too many directories to watch; raise `sysctl fs.inotify.max_user_watches`";
    if error == Errno::NOSPC { io::Error::other(limit) } else { error.into() }
}
