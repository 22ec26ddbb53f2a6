//! Changes what is below the roots: rollback, undo, undo of an undo, and publishing what an overlay
//! holds. Three-way: what was expected at a place, what shall be there, and what is there now.
//!
//! - *Nothing is lost.* A place that somebody else changed is merged or left alone. What is swapped
//!   out is kept: as the file that it is in `displaced/`, so that even a late write through an old
//!   descriptor is not gone, or, where that is another file system, by its content in the store.
//! - *Each place at once.* What is new is written beside the place and exchanged with what is there
//!   (`RENAME_EXCHANGE`); then what came out is looked at, and put back if it is not what was
//!   decided upon. Whoever looks sees the old or the new, but on a file system that cannot
//!   exchange: there, for a moment, nothing is at the place.
//! - *It survives its end at any point.* `intents/<id>` says what is about to happen before it
//!   happens; [`Applier::recover`] goes on where another process ended. What was done is kept in
//!   `records/<id>`.
//! - *It survives a power failure.* Files are on the disk before they get their names: a few are
//!   written through each by itself, many with all of their file system. All names are on the disk
//!   before the record is.
//! - *A database goes with its side files.* Before `X` is replaced its `X-wal` and `X-journal` are
//!   taken out, and those that belong to it are put in after it. The old and the new file are
//!   locked meanwhile as SQLite locks them, so that a reader in between is told to wait. `X-shm` is
//!   removed: it is made anew. A database that another program has open is refused.
//!
//! Open writers are found by a read lease, before and after a swap. Where there are none (the file
//! is somebody else's, or the file system has no leases), what was swapped out is compared alone.

mod act;
mod ahead;
mod aside;
mod decide;
mod describe;
pub(crate) mod failpoint;
mod intent;
mod links;
mod merge;
mod meta;
mod run;
mod site;
mod sqlite;
mod swap;
mod write;

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    fs::File,
    io,
    path::Path,
};

use serde::{Deserialize, Serialize};

pub use self::describe::describe;
use self::{decide::Eye, intent::Log, run::Run};
use crate::{
    differences,
    scan::is_doubtful,
    store::{Store, private_directory, private_file},
    tree::{Digest, Entry, Place, Root, Tree},
};

/// One place that shall change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Where.
    pub place: Place,
    /// What is expected there; `None`: nothing.
    pub from: Option<Entry>,
    /// What shall be there; `None`: nothing.
    pub to: Option<Entry>,
}

/// What makes `to` of `from`. Nothing is said to be missing where one of them could not look.
pub fn changes(from: &Tree, to: &Tree) -> Vec<Change> {
    let (blind_from, blind_to) = (from.blind(), to.blind());
    differences(from, to)
        .into_iter()
        .filter(|found| found.before.is_some() || !blind_from.covers(found.place))
        .filter(|found| found.now.is_some() || !blind_to.covers(found.place))
        .map(|found| Change {
            place: found.place.clone(),
            from: found.before.cloned(),
            to: found.now.cloned(),
        })
        .collect()
}

/// What became of one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// It is as it shall be.
    Done,
    /// It was so before.
    Already,
    /// It holds this change and somebody else's.
    Merged,
    /// It was left as it is; why, for a person.
    Refused(String),
}

/// A file that somebody changed while, or after, it was swapped out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Late {
    /// Where it was.
    pub place: Place,
    /// Where it is now, below [`Applier::directory`]; `objects` if it is in the store.
    pub kept: String,
    /// What happened, for a person.
    pub why: String,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Its name, for [`Applier::record`]. Later ones sort after earlier ones.
    pub id: String,
    /// Of each place; a side file of a database may be there that was not asked for.
    pub fates: Vec<(Place, Fate)>,
    /// What undoes it.
    pub inverse: Vec<Change>,
    /// What somebody changed meanwhile: their changes are in these files, not at the places.
    pub late: Vec<Late>,
    /// Where what was swapped out is, below [`Applier::directory`]; `objects` if it is in the store.
    pub displaced: Vec<(Place, String)>,
    /// Files that were made of kept contents and that nobody has written to since; not in the
    /// record.
    #[serde(skip)]
    pub made: Vec<(Place, Entry)>,
    /// Whether it came to its end. If not (no space, an I/O error), [`Applier::recover`] goes on.
    pub complete: bool,
    /// Earlier ones that were not finished, and that this call went on with.
    pub earlier: Vec<Applied>,
}

impl Applied {
    /// What is known of the roots now if they were as `before`, for a scanner: what was made is not
    /// read again.
    pub fn known(&self, before: &Tree) -> Tree {
        let mut known = Tree { scanned_ns: i64::MAX, ..Tree::default() };
        let sure = before.entries.iter();
        let sure = sure.filter(|(_, entry)| !is_doubtful(entry, before.scanned_ns));
        known.entries = sure.map(|(place, entry)| (place.clone(), entry.clone())).collect();
        known.entries.extend(self.made.iter().cloned());
        known
    }
}

/// One place in a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Where.
    pub place: Place,
    /// What would become of it.
    pub fate: Fate,
    /// What is there.
    pub now: Option<Entry>,
    /// What would be there.
    pub then: Option<Entry>,
    /// The content that would be there, if it is merged.
    pub merged: Option<Vec<u8>>,
}

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The lock is taken.
    #[error("another process changes these files at the moment: try again when it has ended")]
    Busy,
    /// AIR's own directory fails.
    #[error("what is intended could not be written down, so nothing was changed: {0}")]
    Intent(#[source] io::Error),
    /// It cannot be read, or a newer version wrote it.
    #[error("the record {0} cannot be read: {1}")]
    Record(String, String),
    /// A record of other roots, or a place below none of them.
    #[error("{0} belongs to other directories than these")]
    Roots(String),
}

/// Says where a file has names.
pub type Siblings<'a> = &'a dyn Fn(&Entry) -> Vec<Place>;

/// Changes places below roots.
pub struct Applier<'a> {
    /// Where.
    pub roots: &'a [Root],
    /// Where contents are kept.
    pub store: &'a Store,
    /// AIR's own, outside of every root, best on the same file system: intents, records and files
    /// that were swapped out.
    pub directory: &'a Path,
    /// Whether texts that somebody else changed are merged; otherwise such places are refused.
    pub merge: bool,
    /// Files of more bytes are not kept in the store.
    pub retained_file_bytes: u64,
    /// The places where the file of an entry that shall be there has its names, changed or not, as
    /// the tree says that the entry is from; `None` if only names among the changes matter. Without
    /// it a file may become two: who renames a directory does not change the other names of what is
    /// in it.
    pub siblings: Option<Siblings<'a>>,
}

impl fmt::Debug for Applier<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Applier").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl Applier<'_> {
    /// What would happen. Touches nothing. What lies in a directory that is closed to this process
    /// is taken to be as expected.
    pub fn plan(&self, changes: &[Change]) -> Vec<Planned> {
        let changes = sqlite::with_side_files(self, changes);
        let steps = decide::all(self, &changes, Eye { store: None, opened: &BTreeMap::new() });
        changes
            .iter()
            .zip(steps)
            .map(|(change, step)| Planned {
                place: change.place.clone(),
                fate: step.fate(),
                then: step.goal().cloned().or_else(|| step.was.clone().filter(|_| !step.removes())),
                merged: merge::content(self, change, &step),
                now: step.was,
            })
            .collect()
    }

    /// Applies the changes, in an order of its own. Goes on first with what an earlier process left
    /// unfinished.
    ///
    /// # Errors
    ///
    /// If nothing was done. What was refused at one place is no error.
    pub fn apply(&self, changes: &[Change]) -> Result<Applied, ApplyError> {
        let _lock = self.lock()?;
        if let Some(change) = changes.iter().find(|change| change.place.0 >= self.roots.len()) {
            return Err(ApplyError::Roots(String::from_utf8_lossy(&change.place.1).into_owned()));
        }
        let earlier = self.finish_all()?;
        let changes = sqlite::with_side_files(self, changes);
        let log = Log::begin(self, &changes).map_err(ApplyError::Intent)?;
        let mut run = Run::new(self, log, changes);
        run.open_up();
        let steps = decide::all(self, &run.changes, run.eye());
        if let Err(error) = run.decided(steps) {
            run.give_up();
            return Err(ApplyError::Intent(error));
        }
        run.go();
        Ok(Applied { earlier, ..run.end() })
    }

    /// Goes on with what an earlier process left unfinished, to the end.
    ///
    /// # Errors
    ///
    /// If an intent cannot be read or belongs to other roots.
    pub fn recover(&self) -> Result<Vec<Applied>, ApplyError> {
        let _lock = self.lock()?;
        self.finish_all()
    }

    /// What was done, if it came to its end.
    ///
    /// # Errors
    ///
    /// If the record cannot be read.
    pub fn record(&self, id: &str) -> Result<Option<Applied>, ApplyError> {
        intent::read_record(self, id)
    }

    /// The names of all records, oldest first.
    ///
    /// # Errors
    ///
    /// If they cannot be listed.
    pub fn records(&self) -> Result<Vec<String>, ApplyError> {
        intent::finished(self)
    }

    /// Removes a record with what was swapped out, which cannot be undone afterwards but from the
    /// store.
    ///
    /// # Errors
    ///
    /// If the files cannot be removed.
    pub fn forget(&self, id: &str) -> io::Result<()> {
        intent::forget(self.directory, id)
    }

    /// The content of what is or would be at a planned place, for [`describe`]; `None` if it is too
    /// large to be shown, or not kept.
    pub fn content(&self, plan: &Planned, entry: &Entry) -> Option<Vec<u8>> {
        let digest = entry.digest?;
        merge::found(self, &plan.place, &digest).or_else(|| merge::bytes(self, &digest))
    }

    pub(crate) fn contents(&self) -> Contents<'_> {
        Contents { store: self.store, directory: self.directory }
    }

    fn finish_all(&self) -> Result<Vec<Applied>, ApplyError> {
        let mut finished = Vec::new();
        for id in intent::unfinished(self)? {
            let Some((log, read)) = intent::reopen(self, &id)? else { continue };
            let mut run = Run::new(self, log, read.changes);
            run.again = true;
            run.opened = read.opened;
            run.displaced = read.displaced;
            run.late = read.late;
            run.open_up();
            if let Some(steps) = read.steps {
                run.steps = steps;
            } else {
                let steps = decide::all(self, &run.changes, run.eye());
                run.decided(steps).map_err(ApplyError::Intent)?;
            }
            run.go();
            finished.push(run.end());
        }
        Ok(finished)
    }

    fn lock(&self) -> Result<File, ApplyError> {
        lock(self.directory)
    }
}

fn lock(directory: &Path) -> Result<File, ApplyError> {
    let open = || {
        private_directory(directory)?;
        private_file(&directory.join("lock"))
    };
    let file = open().map_err(ApplyError::Intent)?;
    let exclusive = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    match rustix::fs::flock(&file, exclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(ApplyError::Busy),
        Err(error) => Err(ApplyError::Intent(error.into())),
    }
}

/// Removes the records in a directory that are older than `ns`, in nanoseconds since 1970, with what
/// was swapped out: it cannot be undone afterwards but from the store. A record stays if somebody's
/// late changes are nowhere but in what was swapped out.
///
/// # Errors
///
/// If a record cannot be read or removed, or changes are under way.
pub fn forget_before(directory: &Path, ns: i64) -> Result<(), ApplyError> {
    if !directory.exists() {
        return Ok(());
    }
    let _lock = lock(directory)?;
    for id in intent::older(directory, ns)? {
        if !intent::holds_late(directory, &id)? {
            intent::forget(directory, &id).map_err(ApplyError::Intent)?;
        }
    }
    Ok(())
}

/// What files that were swapped out take on disk, in bytes.
///
/// # Errors
///
/// If they cannot be listed.
pub fn displaced_bytes(directory: &Path) -> io::Result<u64> {
    aside::bytes(directory)
}

/// The contents that records and unfinished intents in a directory need, of which there may be none.
///
/// # Errors
///
/// If one cannot be read: then nothing is known of what it needs.
pub fn contents(directory: &Path) -> Result<HashSet<Digest>, ApplyError> {
    let mut contents = HashSet::new();
    for id in intent::names(directory).map_err(ApplyError::Intent)? {
        let changes = intent::changes(directory, &id)?;
        let entries = changes.into_iter().flat_map(|change| [change.from, change.to]);
        contents.extend(entries.flatten().filter_map(|entry| entry.digest));
    }
    Ok(contents)
}

/// Where contents are kept.
#[derive(Clone, Copy)]
pub(crate) struct Contents<'a> {
    store: &'a Store,
    directory: &'a Path,
}

impl Contents<'_> {
    /// A content that is kept, in the store or among what was swapped out.
    pub(crate) fn find(self, digest: &Digest) -> Option<Source> {
        if self.store.holds(digest) {
            return Some(Source::Store);
        }
        aside::find(self.directory, digest).map(Source::File)
    }
}

/// Where a content is.
pub(crate) enum Source {
    /// In the store.
    Store,
    /// In a file that was swapped out.
    File(std::path::PathBuf),
}
