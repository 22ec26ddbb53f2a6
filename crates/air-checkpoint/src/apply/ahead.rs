//! Writes the files of many places before any of them is put there: they go to the disk together
//! instead of one by one.

use std::{
    collections::BTreeMap,
    io,
    os::fd::{AsFd, OwnedFd},
    sync::atomic::{AtomicUsize, Ordering},
};

use rustix::fs::{fstat, syncfs};

use super::{
    Contents,
    decide::Deed,
    run::Run,
    site,
    swap::{Work, name},
    write,
};
use crate::tree::{Entry, Kind, Place, Root};

/// Files that are written ahead at once: as long as they lie beside their places, they take space.
const FILES: usize = 4096;
const BYTES: u64 = 256 << 20;
/// Up to so many are written through one by one: all else on the file system is spared.
pub(super) const FEW: usize = 8;
/// More threads than this wait for the disk and one another.
const THREADS: usize = 4;

/// Files that one thread writes in a row: two in one directory wait for each other.
const TOGETHER: usize = 16;

/// Device and inode.
pub(super) type Identity = (u64, u64);

pub(super) fn identity(file: impl AsFd) -> io::Result<Identity> {
    let stat = fstat(file)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// A file to be written.
struct Due {
    index: usize,
    place: Place,
    part: String,
    goal: Entry,
}

impl Run<'_> {
    /// Puts all files that are to be put, in order.
    pub(super) fn put_files(&mut self) {
        let mut rest = (0..self.changes.len()).filter(|index| self.is_file_put(*index)).peekable();
        let mut batches = Vec::new();
        while rest.peek().is_some() {
            let (mut batch, mut bytes) = (Vec::new(), 0);
            while let Some(index) =
                rest.next_if(|_| batch.is_empty() || batch.len() < FILES && bytes < BYTES)
            {
                bytes += self.size_of(index);
                batch.push(index);
            }
            batches.push(batch);
        }
        for batch in batches {
            self.write_ahead(&batch);
            for index in batch {
                self.perform(index);
            }
            self.discard_unused();
        }
    }

    fn is_file_put(&self, index: usize) -> bool {
        let deed = self.steps.get(index).map(|step| &step.deed);
        matches!(deed, Some(Deed::Put(goal)) if goal.kind == Kind::File) && self.is_open(index)
    }

    fn size_of(&self, index: usize) -> u64 {
        let goal = self.steps.get(index).and_then(|step| step.goal());
        goal.map_or(0, |goal| goal.size)
    }

    /// What cannot be written ahead is written, or refused, when its turn comes.
    fn write_ahead(&mut self, batch: &[usize]) {
        let due: Vec<Due> = batch.iter().filter_map(|index| self.due(*index)).collect();
        if due.len() <= FEW {
            return;
        }
        let (applier, next) = (self.applier, AtomicUsize::new(0));
        let (roots, contents) = (applier.roots, applier.contents());
        let write_all = || {
            let (mut written, mut systems) = (Vec::new(), Systems::default());
            let chunks = || due.chunks(TOGETHER).nth(next.fetch_add(1, Ordering::Relaxed));
            for due in std::iter::from_fn(chunks).flatten() {
                match write_one(roots, contents, due) {
                    Ok((identity, file)) => {
                        written.push((due.index, identity));
                        systems.add(identity.0, file);
                    }
                    // The others would fail as well.
                    Err(error) if error.kind() == io::ErrorKind::StorageFull => break,
                    Err(_) => {}
                }
            }
            (written, systems)
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS);
        let done = std::thread::scope(|scope| {
            let more: Vec<_> = (1..threads).map(|_| scope.spawn(write_all)).collect();
            let mut done = vec![write_all()];
            done.extend(more.into_iter().filter_map(|one| one.join().ok()));
            done
        });
        let mut systems = Systems::default();
        for (written, more) in done {
            self.ahead.extend(written);
            more.0.into_iter().for_each(|(device, file)| systems.add(device, file));
        }
        if systems.write_through().is_err() {
            self.discard_unused();
        }
    }

    /// Databases are locked while they are made.
    fn due(&self, index: usize) -> Option<Due> {
        let place = self.changes.get(index)?.place.clone();
        let goal = self.steps.get(index)?.goal()?.clone();
        let is_alone = !place.1.is_empty() && !self.locks.contains_key(&place);
        is_alone.then(|| Due { index, place, part: name(self, index, "part"), goal })
    }

    /// Removes what was written ahead and not put anywhere.
    fn discard_unused(&mut self) {
        for index in std::mem::take(&mut self.ahead).into_keys() {
            // What stays is found by its name if this is gone on with.
            let _ = Work::at(self, index).and_then(|work| Work::discard(&work.part));
        }
    }
}

fn write_one(roots: &[Root], contents: Contents<'_>, due: &Due) -> io::Result<(Identity, OwnedFd)> {
    let part = site::spot(roots, &due.place)?.beside(&due.part)?;
    match write::make(contents, &part, &due.goal) {
        Ok(Some(file)) => Ok((identity(&file)?, file.into())),
        Ok(None) => Err(io::ErrorKind::Unsupported.into()),
        Err(error) => {
            // The error says more than one about what is left of it.
            let _ = Work::discard(&part);
            Err(error)
        }
    }
}

/// One open descriptor of each file system.
#[derive(Default)]
pub(super) struct Systems(BTreeMap<u64, OwnedFd>);

impl Systems {
    pub(super) fn add(&mut self, device: u64, file: OwnedFd) {
        self.0.entry(device).or_insert(file);
    }

    /// Writes all of these file systems through to the disk.
    pub(super) fn write_through(&self) -> io::Result<()> {
        self.0.values().try_for_each(|file| Ok(syncfs(file)?))
    }
}
