//! Looks at the roots: at what was reported as changed, or at everything.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    io,
    os::{
        fd::AsRawFd,
        unix::{
            ffi::OsStrExt,
            fs::{MetadataExt, PermissionsExt},
        },
    },
    sync::Arc,
};

use air_checkpoint::{
    Dirty, Kind, Looker, Place, Scanner, Scope, Tree, Unread, Watches, apply::Applied, beneath,
    companions,
};
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::Layers;

/// In the place of a path, where it is not a path that could not be looked at.
const PROCESSES: Place = (usize::MAX, Vec::new());
/// Looks at what was reported as changed between two at everything: the periodic check.
const PARTIAL: u32 = 64;
/// How often directories are opened up before giving up on what is in them.
const DEPTHS: u32 = 16;

/// What was found out of processes before a look.
#[derive(Debug, Default)]
pub(crate) struct Writers {
    /// Files that change when processes write to their memory.
    pub(crate) mapped: BTreeSet<Place>,
    /// Why some may be missing.
    pub(crate) unknown: Option<String>,
}

impl Writers {
    /// Nobody could be asked.
    pub(crate) fn unknown() -> Self {
        let unknown = Some("what processes have mapped could not be told".to_owned());
        Self { mapped: BTreeSet::new(), unknown }
    }
}

impl Layers {
    /// Has changes reported from now on, where that saves looking at everything. Where it cannot be
    /// had, everything is looked at each time.
    pub(crate) fn watch(&mut self, watches: &Arc<Watches>) {
        if self.layer.is_none() {
            self.watch = watches.looker(&self.roots).ok();
        }
    }

    /// Looks at what has changed, or at everything where that is not known, and keeps what it finds.
    pub(crate) fn look(&mut self, writers: &Writers) {
        self.look_with(writers, None);
    }

    /// As [`Self::look`], after changes of AIR's own while nothing runs.
    pub(crate) fn look_after(&mut self, applied: &Applied) {
        let known = applied.known(self.timeline.tree());
        self.look_with(&Writers::default(), Some(&known));
    }

    fn look_with(&mut self, writers: &Writers, known: Option<&Tree>) {
        let dirty = self.watch.as_mut().map(Looker::dirty);
        let (scope, mut found) = match dirty {
            Some(Dirty::Places { alone, below }) if self.has_scanned && self.partial < PARTIAL => {
                self.partial += 1;
                self.part(alone, below, known)
            }
            _ => {
                let first = self.known.tree.as_ref().filter(|_| !self.has_scanned);
                let found = self.knowing(known.or(first)).scan();
                (self.partial, self.has_scanned) = (0, true);
                (Scope::Everything, found)
            }
        };
        let mapped = self.with_names(writers, &found);
        let nothing = Tree::default();
        let afresh = Scanner { known: &nothing, ..self.scanner() };
        afresh.look_at_each(&mapped, &mut found);
        if let Some(why) = &writers.unknown {
            found.unread.push(Unread { place: PROCESSES, why: why.clone() });
        }
        let scope = match scope {
            Scope::Everything => Scope::Everything,
            Scope::Places(mut alone, below) => {
                alone.extend(mapped);
                alone.insert(PROCESSES);
                Scope::Places(alone, below)
            }
        };
        // No tool can remove a root: what was in it is not known to have gone.
        for (index, root) in self.roots.iter().enumerate() {
            if !root.host.is_dir() {
                let why = format!("`{}` is not there", root.host.display());
                found.unread.push(Unread { place: (index, Vec::new()), why });
            }
        }
        self.timeline.observe(&scope, found);
        self.mapped.retain(|place, _| writers.mapped.contains(place));
        self.is_current = true;
    }

    /// Takes what another tree than that of the last look says to be known, if there is one.
    fn knowing<'a>(&'a self, known: Option<&'a Tree>) -> Scanner<'a> {
        let scanner = self.scanner();
        Scanner { known: known.unwrap_or(scanner.known), ..scanner }
    }

    /// Places that are mapped, or were at the last look, and the other names of their files: a
    /// process that has one mapped writes to all, also when the name that it used is gone.
    fn with_names(&mut self, writers: &Writers, found: &Tree) -> BTreeSet<Place> {
        for place in &writers.mapped {
            self.mapped.entry(place.clone()).or_default();
        }
        let before = self.timeline.tree();
        for (place, files) in &mut self.mapped {
            let there = [before, found].into_iter().filter_map(|tree| tree.entries.get(place));
            files.extend(there.map(|entry| (entry.device, entry.inode)));
        }
        let mut places: BTreeSet<Place> = self.mapped.keys().cloned().collect();
        let files: BTreeSet<(u64, u64)> = self.mapped.values().flatten().copied().collect();
        if !files.is_empty() {
            let all = before.entries.iter().chain(&found.entries);
            let names = all.filter(|(_, entry)| {
                entry.kind == Kind::File && files.contains(&(entry.device, entry.inode))
            });
            places.extend(names.map(|(place, _)| place.clone()));
        }
        places
    }

    /// Opens what the agent closed to its owner, so that what is in it can be looked at, put back and
    /// handed over. Only while nothing runs.
    /// Whether it opened any.
    pub(crate) fn open_up(&mut self, before: &Tree) -> bool {
        for depth in 0..DEPTHS {
            let now = self.timeline.tree();
            let blind_before = before.blind();
            let closed: BTreeSet<Place> = now
                .unread
                .iter()
                .filter(|unread| !blind_before.covers(&unread.place))
                .filter(|unread| {
                    let entry = now.entries.get(&unread.place);
                    // A closed root has no entry. Of an open one something else could not be read.
                    entry.map_or(unread.place.1.is_empty(), |entry| {
                        entry.kind == Kind::Directory && entry.mode & 0o700 != 0o700
                            || entry.kind == Kind::File && entry.mode & 0o400 == 0
                    })
                })
                .map(|unread| unread.place.clone())
                .collect();
            let opened: BTreeSet<Place> =
                closed.into_iter().filter(|place| self.open_one(place).is_ok()).collect();
            if opened.is_empty() {
                return depth > 0;
            }
            let mut found = Tree::default();
            self.scanner().look_below_each(&opened, &mut found);
            self.timeline.observe(&Scope::Places(BTreeSet::new(), opened), found);
        }
        true
    }

    fn open_one(&self, place: &Place) -> io::Result<()> {
        let root = self.roots.get(place.0).ok_or(io::ErrorKind::NotFound)?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = if place.1.is_empty() {
            openat(CWD, &root.host, flags, Mode::empty())?
        } else {
            let (parent, name) = beneath::split(&place.1);
            let parent = beneath::directory(&beneath::root(&root.host)?, parent)?;
            openat(&parent, OsStr::from_bytes(name), flags, Mode::empty())?
        };
        // A link that came in between is no file.
        let meta = std::fs::File::from(fd.try_clone()?).metadata()?;
        let more = if meta.is_dir() { 0o700 } else { 0o400 };
        if !meta.is_dir() && !meta.is_file() || meta.mode() & more == more {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        let mode = meta.mode() & 0o7777 | more;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
    }

    /// Looks at some places, and at all files with more names than one: what happens to such a file
    /// is reported at one of them.
    fn part(
        &self,
        mut alone: BTreeSet<Place>,
        below: BTreeSet<Place>,
        known: Option<&Tree>,
    ) -> (Scope, Tree) {
        let mut found = Tree::default();
        let scanner = self.knowing(known);
        scanner.look_below_each(&below, &mut found);
        let named = |tree: &Tree| {
            let many = tree.entries.iter().filter(|(_, entry)| entry.links > 1);
            let many = many.filter(|(_, entry)| entry.kind == Kind::File);
            many.map(|(place, _)| place.clone()).collect::<Vec<_>>()
        };
        alone.extend(named(self.timeline.tree()));
        let known = self.timeline.tree();
        let blind = known.blind();
        let beside = alone.iter().flat_map(companions);
        let beside: Vec<Place> = beside
            .filter(|place| known.entries.contains_key(place) || blind.covers(place))
            .collect();
        alone.extend(beside);
        scanner.look_at_each(&alone, &mut found);
        let files: BTreeSet<(u64, u64)> = found
            .entries
            .values()
            .filter(|entry| entry.kind == Kind::File && entry.links > 1)
            .map(|entry| (entry.device, entry.inode))
            .collect();
        let others = self.timeline.tree().entries.iter();
        let others = others.filter(|(_, entry)| files.contains(&(entry.device, entry.inode)));
        let others: BTreeSet<Place> = others
            .map(|(place, _)| place)
            .filter(|place| !alone.contains(*place))
            .cloned()
            .collect();
        scanner.look_at_each(&others, &mut found);
        alone.extend(others);
        (Scope::Places(alone, below), found)
    }

    /// A tool runs: what the roots hold is not known any more.
    pub(crate) fn outdate(&mut self) {
        self.is_current = false;
    }

    /// Whether what the roots hold was looked at after the last tool ran.
    pub(crate) fn is_current(&self) -> bool {
        self.is_current
    }
}
