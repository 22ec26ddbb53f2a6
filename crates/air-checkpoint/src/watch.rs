//! What changed below the watched roots, as the kernel reports it (inotify).
//!
//! Events reach the queue before the call that caused them returns, so what a step did is complete
//! once its processes have ended. Only a [`Scanner::scan`] finds what raises no event at a name
//! below the roots:
//!
//! - writes through another name of the file outside of the roots, if that name came and went
//!   between two looks. Whoever can make it needs the same mount: a sandbox that mounts each root
//!   by itself leaves no such place. For names below the roots see [`Dirty::look`];
//! - writes through a shared mapping, until the last process that maps the file lets go of it;
//! - writes through a descriptor whose name went and was given to another file before the last
//!   look. Where the name is still missing, everything is dirty;
//! - changes made by another machine. [`Watch::start`] refuses file systems that are shared;
//! - through an overlay mount, writes to files of its upper directory before Linux 6.5.

mod armed;
mod shared;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io,
    mem::MaybeUninit,
    os::{
        fd::AsFd,
        unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    },
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{
        AtFlags,
        inotify::{Event, ReadFlags, Reader},
        statat,
    },
    io::Errno,
};

use self::armed::Armed;
pub use self::shared::{Looker, Watches};
use crate::{
    beneath,
    scan::{Scanner, join, now_ns},
    store::{private_directory, unique},
    tree::{Kind, Place, Root, Tree},
};

/// Dirty places that are remembered; with more, a scan is as quick.
const PLACES: usize = 100_000;
/// How long the kernel may take to report a change.
const DEADLINE: Duration = Duration::from_secs(2);
/// For events, in bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// Watches roots for changes.
#[derive(Debug)]
pub struct Watch {
    roots: Vec<Root>,
    private: PathBuf,
    /// Readable with priority once the mounts have changed.
    mounts: File,
    /// `None` while something prevents watching.
    armed: Option<Armed>,
    /// What each who looks has not been told yet; why all must be looked at, where that is so.
    pending: BTreeMap<u64, Result<Batch, String>>,
}

/// The one who looks, where there is only one.
const ALONE: u64 = 0;

/// What must be looked at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dirty {
    /// These places, and no other.
    Places {
        /// Places where something changed.
        alone: BTreeSet<Place>,
        /// Places where all that is below may have changed as well. Not in `alone`.
        below: BTreeSet<Place>,
    },
    /// Everything must be scanned. Why, for a person.
    Everything(String),
}

impl Watch {
    /// Watches all directories below `roots` from now on: look at them after this, not before.
    /// `private` is a directory of AIR's own outside of the roots; it is made if it is missing.
    ///
    /// # Errors
    ///
    /// If a root cannot be watched completely. The message says what to do where that helps.
    pub fn start(roots: &[Root], private: &Path) -> io::Result<Self> {
        let mut watch = Self::asleep(roots, private)?;
        watch.armed = Some(arm(roots, private)?);
        watch.pending.insert(ALONE, Ok(Batch::default()));
        Ok(watch)
    }

    /// As [`Self::start`], once somebody asks.
    fn asleep(roots: &[Root], private: &Path) -> io::Result<Self> {
        let mounts = File::open("/proc/self/mountinfo")?;
        let (roots, private) = (roots.to_vec(), private.to_owned());
        Ok(Self { roots, private, mounts, armed: None, pending: BTreeMap::new() })
    }

    /// All that changed since the last call, or the start. What changes while this runs is in the
    /// answer, or in the next one, or in both. Directories that appeared are watched when this
    /// returns.
    pub fn dirty(&mut self) -> Dirty {
        self.dirty_of(ALONE)
    }

    /// All that changed since `looker` asked last.
    fn dirty_of(&mut self, looker: u64) -> Dirty {
        match self.collect(looker) {
            Ok(dirty) => dirty,
            Err(why) => {
                // The old queue goes first: it counts against the limits.
                self.disarm(&why.to_string());
                self.pending.insert(looker, Ok(Batch::default()));
                match arm(&self.roots, &self.private) {
                    Ok(armed) => {
                        self.armed = Some(armed);
                        Dirty::Everything(why.to_string())
                    }
                    Err(error) => Dirty::Everything(format!("{why}; not watched: {error}")),
                }
            }
        }
    }

    /// Nothing is watched any more: everything must be looked at.
    fn disarm(&mut self, why: &str) {
        self.armed = None;
        self.pending.values_mut().for_each(|pending| *pending = Err(why.to_owned()));
    }

    fn collect(&mut self, looker: u64) -> io::Result<Dirty> {
        let Some(armed) = &mut self.armed else {
            return Err(io::Error::other("changes were not watched"));
        };
        let barrier = Barrier::raise(&self.private)?;
        read(armed, &mut self.pending, &barrier)?;
        drop(barrier);
        if have_changed(&self.mounts)? {
            return Err(io::Error::other("a file system was mounted or unmounted"));
        }
        armed.check_roots(&self.roots)?;
        match self.pending.insert(looker, Ok(Batch::default())) {
            Some(Ok(batch)) => batch.finish(armed, &self.roots),
            Some(Err(why)) => Ok(Dirty::Everything(why)),
            None => Ok(Dirty::Everything("nobody had looked before".to_owned())),
        }
    }
}

impl Dirty {
    /// Looks again at all that is dirty. `tree` is what was there when the last look ended and
    /// becomes what is there now; `scanner.known` may be a copy of it.
    ///
    /// What happens to a file by one name is reported at that name only. So all names of files that
    /// have more than one are looked at; and after a directory came or went, all files, as one of
    /// them may have had a name in there for a while. Only those with other times are read.
    pub fn look(&self, scanner: &Scanner<'_>, tree: &mut Tree) {
        let alone = match self {
            Self::Places { alone, below } if below.is_empty() => alone,
            _ => {
                let known = std::mem::take(tree);
                *tree = Scanner { known: &known, ..*scanner }.scan();
                return;
            }
        };
        tree.scanned_ns = now_ns();
        let mut names = HashSet::new();
        other_names(tree, &mut names);
        scanner.look_at_each(alone, tree);
        other_names(tree, &mut names);
        if names.is_empty() {
            return;
        }
        let same = tree.entries.iter().filter(|(_, entry)| {
            entry.kind == Kind::File && names.contains(&(entry.device, entry.inode))
        });
        let same: BTreeSet<Place> = same.map(|(place, _)| place.clone()).collect();
        scanner.look_at_each(&same, tree);
    }
}

fn other_names(tree: &Tree, names: &mut HashSet<(u64, u64)>) {
    let files = tree.entries.values().filter(|entry| entry.kind == Kind::File && entry.links > 1);
    names.extend(files.map(|entry| (entry.device, entry.inode)));
}

fn arm(roots: &[Root], private: &Path) -> io::Result<Armed> {
    private_directory(private)?;
    Armed::new(roots, private)
}

fn have_changed(mounts: &File) -> io::Result<bool> {
    let mut wanted = [PollFd::new(mounts, PollFlags::PRI)];
    poll(&mut wanted, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    Ok(wanted.iter().any(|fd| fd.revents().intersects(PollFlags::PRI | PollFlags::ERR)))
}

/// A file whose creation is reported after all that happened before.
struct Barrier {
    path: PathBuf,
    name: String,
}

impl Barrier {
    /// Always by a new name: the kernel merges an event with an equal one before it.
    fn raise(private: &Path) -> io::Result<Self> {
        let name = format!("barrier-{}-{}-{}", std::process::id(), now_ns(), unique());
        let path = private.join(&name);
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Self { path, name })
    }
}

impl Drop for Barrier {
    fn drop(&mut self) {
        // One that is left behind is empty, and no other takes its name.
        let _ = fs::remove_file(&self.path);
    }
}

/// What the events say since somebody looked.
#[derive(Debug, Default)]
struct Batch {
    alone: BTreeSet<Place>,
    below: BTreeSet<Place>,
    /// Directories whose permissions may have changed.
    directories: BTreeSet<Place>,
    /// Names that came or went.
    named: HashSet<Place>,
    /// Of these, those that went last.
    gone: HashSet<Place>,
    /// Names that came and are there.
    came: HashSet<Place>,
    /// Of these, those that left and have not arrived elsewhere, by the cookie of their move.
    leaving: HashMap<u32, Place>,
    /// A name that came and went: it may have been another name of a file that stays.
    fleeting: Option<Place>,
    /// Files that changed, by names that neither came nor went before.
    written: BTreeSet<Place>,
    /// A file that changed by a name that is gone: it may have another one.
    stray: Option<Place>,
}

/// Reads the events up to the barrier, for all who look.
fn read(
    armed: &mut Armed,
    pending: &mut BTreeMap<u64, Result<Batch, String>>,
    barrier: &Barrier,
) -> io::Result<()> {
    let queue = Arc::clone(&armed.queue);
    let mut buffer = vec![MaybeUninit::uninit(); BUFFER_BYTES];
    let mut events = Reader::new(queue.as_fd(), &mut buffer);
    let deadline = Instant::now() + DEADLINE;
    let mut passed = false;
    // Events behind the barrier that have been read must not be lost.
    while !passed || !events.is_buffer_empty() {
        match events.next() {
            Ok(event) if event.wd() == armed.barrier => {
                let name = event.file_name().map(std::ffi::CStr::to_bytes);
                passed |= name == Some(barrier.name.as_bytes());
            }
            Ok(event) => take(&event, armed, pending)?,
            Err(Errno::AGAIN) => wait(queue.as_fd(), deadline)?,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn take(
    event: &Event<'_>,
    armed: &mut Armed,
    pending: &mut BTreeMap<u64, Result<Batch, String>>,
) -> io::Result<()> {
    let what = event.events();
    let name = event.file_name().map(std::ffi::CStr::to_bytes);
    if what.contains(ReadFlags::QUEUE_OVERFLOW) {
        let why = "more happened at once than the kernel remembers; `sysctl \
                   fs.inotify.max_queued_events` says how much that is";
        return Err(io::Error::other(why));
    }
    if what.contains(ReadFlags::UNMOUNT) {
        return Err(io::Error::other("a watched file system was unmounted"));
    }
    if what.contains(ReadFlags::IGNORED) {
        armed.forget(event.wd());
        return Ok(());
    }
    let is_self = what.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF);
    for place in armed.places_of(event.wd()) {
        match name {
            None if !place.1.is_empty() => continue, // Its parent reports the same.
            None if is_self => {
                return Err(io::Error::other("a watched directory was moved or removed"));
            }
            _ => {}
        }
        for one in pending.values_mut() {
            let Ok(batch) = one else { continue };
            match name {
                Some(name) => batch.child(&place, name, event, armed),
                None => {
                    batch.directories.insert(place.clone());
                }
            }
            if batch.places() > PLACES {
                *one = Err(format!("more than {PLACES} places changed"));
            }
        }
    }
    Ok(())
}

impl Batch {
    fn places(&self) -> usize {
        let places = [self.alone.len(), self.below.len(), self.directories.len(), self.named.len()];
        places.iter().sum()
    }

    fn child(&mut self, parent: &Place, name: &[u8], event: &Event<'_>, armed: &mut Armed) {
        let what = event.events();
        let place = (parent.0, join(&parent.1, name));
        let is_directory = what.contains(ReadFlags::ISDIR);
        let came = what.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
        if came || what.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
            self.alone.insert(parent.clone());
            self.named.insert(place.clone());
            if came {
                self.gone.remove(&place);
            } else {
                self.gone.insert(place.clone());
            }
            match is_directory {
                true if came => {}
                true => armed.drop_below(&place),
                false => self.file_moved(&place, event),
            }
            let dirty = if is_directory { &mut self.below } else { &mut self.alone };
            dirty.insert(place);
        } else if is_directory {
            self.directories.insert(place);
        } else if self.gone.contains(&place) {
            self.stray = Some(place);
        } else {
            if !self.named.contains(&place) {
                self.written.insert(place.clone());
            }
            self.alone.insert(place);
        }
    }

    fn file_moved(&mut self, place: &Place, event: &Event<'_>) {
        let what = event.events();
        if what.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            self.leaving.remove(&event.cookie());
            // If it was there, it was replaced.
            if !self.came.insert(place.clone()) {
                self.fleeting = Some(place.clone());
            }
        } else if self.came.remove(place) {
            if what.contains(ReadFlags::MOVED_FROM) {
                self.leaving.insert(event.cookie(), place.clone());
            } else {
                self.fleeting = Some(place.clone());
            }
        }
    }

    /// Watches what appeared: whatever happened in there before is seen by looking.
    fn finish(mut self, armed: &mut Armed, roots: &[Root]) -> io::Result<Dirty> {
        for place in self.directories {
            if armed.is_armed(&place) && armed::open(roots, &place)?.is_some() {
                self.alone.insert(place);
            } else {
                armed.drop_below(&place);
                self.below.insert(place);
            }
        }
        let is_below = |place: &Place, set: &BTreeSet<Place>| {
            parents(place).any(|parent| set.contains(&(place.0, parent.to_vec())))
        };
        let below: BTreeSet<Place> =
            self.below.iter().filter(|place| !is_below(place, &self.below)).cloned().collect();
        for place in &below {
            armed.arm(roots, place)?;
        }
        for place in &self.written {
            let has_moved = self.named.contains(place) || is_below(place, &below);
            if !has_moved && !exists(roots, place) {
                self.stray = Some(place.clone());
            }
        }
        let shown = |(root, path): &Place| {
            roots.get(*root).map(|root| root.shown(path)).unwrap_or_default()
        };
        if let Some(place) = &self.stray {
            let why = format!("`{}` was written to after its name was gone", shown(place));
            return Ok(Dirty::Everything(why));
        }
        if let Some(place) = self.fleeting.as_ref().or_else(|| self.leaving.values().next()) {
            let why = format!("`{}` came and went, and may have been another file", shown(place));
            return Ok(Dirty::Everything(why));
        }
        let mut alone = self.alone;
        alone.retain(|place| !below.contains(place) && !is_below(place, &below));
        Ok(Dirty::Places { alone, below })
    }
}

/// The paths of the directories around a place, up to the root's.
fn parents(place: &Place) -> impl Iterator<Item = &[u8]> {
    let path = place.1.as_slice();
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let around = ends.filter_map(move |end| path.get(..end));
    (!path.is_empty()).then_some(&[] as &[u8]).into_iter().chain(around)
}

fn exists(roots: &[Root], place: &Place) -> bool {
    let Some(root) = roots.get(place.0) else { return false };
    let (parent, name) = beneath::split(&place.1);
    let parent = beneath::root(&root.host).and_then(|root| beneath::directory(&root, parent));
    parent.is_ok_and(|fd| statat(fd, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW).is_ok())
}

fn wait(queue: impl AsFd, deadline: Instant) -> io::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    let late = || io::Error::other("the kernel did not report changes in time");
    if left.is_zero() {
        return Err(late());
    }
    let timeout = Timespec::try_from(left).map_err(|_| late())?;
    match poll(&mut [PollFd::new(&queue, PollFlags::IN)], Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
