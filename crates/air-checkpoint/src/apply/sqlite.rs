//! Databases of SQLite: a file and those beside it that belong to what it holds.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::Read,
    os::fd::OwnedFd,
};

use rustix::{
    fs::{FlockOperation, Mode, OFlags, fcntl_lock, openat},
    process::{Flock, FlockType, fcntl_getlk},
};

use super::{
    Applier, Change,
    act::is_open_for_writing,
    decide::{Deed, look},
    merge,
    run::Run,
    site::spot,
};
use crate::tree::Place;

const SIDES: [&[u8]; 3] = [b"-wal", b"-journal", b"-shm"];
const SHARED: &[u8] = b"-shm";

fn database_of(place: &Place) -> Option<Place> {
    let path = SIDES.iter().find_map(|side| place.1.strip_suffix(*side))?;
    (!path.is_empty() && !path.ends_with(b"/")).then(|| (place.0, path.to_vec()))
}

fn side(database: &Place, side: &[u8]) -> Place {
    (database.0, [database.1.as_slice(), side].concat())
}

/// The changes, sorted. The index of a database's log is removed wherever the one or the other
/// changes: it is made anew, and an old one would be believed.
pub(super) fn with_side_files(applier: &Applier<'_>, changes: &[Change]) -> Vec<Change> {
    let mut all: BTreeMap<Place, Change> =
        changes.iter().map(|change| (change.place.clone(), change.clone())).collect();
    let changed = changes.iter().map(|change| &change.place);
    let databases: BTreeSet<Place> = changed
        .filter(|place| !place.1.is_empty() && !place.1.ends_with(SHARED))
        .map(|place| database_of(place).unwrap_or_else(|| place.clone()))
        .collect();
    for database in databases {
        let place = side(&database, SHARED);
        let known = all.get(&place).cloned();
        let is_index = is_index_at(applier, &place)
            || known.as_ref().is_some_and(|known| will_be_index(applier, known));
        if !is_index {
            continue;
        }
        let change = Change { place: place.clone(), from: None, to: None };
        let now = look(applier, known.as_ref().unwrap_or(&change), &place, None);
        // Whoever reads the database writes to it: that is no change of a person's.
        let from = now.ok().flatten().or(known.and_then(|known| known.from));
        all.insert(place, Change { from, ..change });
    }
    all.into_values().collect()
}

fn is_index_at(applier: &Applier<'_>, place: &Place) -> bool {
    starts_as(applier, place, |start: &[u8; 4]| is_index(start))
}

fn will_be_index(applier: &Applier<'_>, change: &Change) -> bool {
    let digest = change.to.as_ref().and_then(|to| to.digest);
    digest.and_then(|digest| merge::bytes(applier, &digest)).is_some_and(|bytes| is_index(&bytes))
}

/// Whether a file begins as the index of a log does, in the byte order of this machine.
fn is_index(start: &[u8]) -> bool {
    const VERSION: u32 = 3_007_000;
    start.starts_with(&VERSION.to_ne_bytes())
}

/// The databases among the changes, each with its members' indices.
fn groups(run: &Run<'_>) -> Vec<(Place, Vec<usize>)> {
    let mut groups: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
    for change in &run.changes {
        if let Some(database) = database_of(&change.place) {
            groups.entry(database).or_default();
        }
    }
    for (index, (change, step)) in run.changes.iter().zip(&run.steps).enumerate() {
        let own = database_of(&change.place).unwrap_or_else(|| change.place.clone());
        let replaces = matches!(step.deed, Deed::Put(_) | Deed::Link(..) | Deed::Remove);
        if let Some(group) = groups.get_mut(&own) {
            group.push(index);
        } else if replaces && is_database_at(run.applier, &change.place) {
            groups.insert(own, vec![index]);
        }
    }
    groups.into_iter().collect()
}

fn is_database_at(applier: &Applier<'_>, place: &Place) -> bool {
    starts_as(applier, place, |start: &[u8; 16]| start == b"SQLite format 3\0")
}

fn starts_as<const N: usize>(
    applier: &Applier<'_>,
    place: &Place,
    says: impl Fn(&[u8; N]) -> bool,
) -> bool {
    let mut start = [0; N];
    let file = spot(applier.roots, place).and_then(|spot| spot.open());
    file.is_ok_and(|file| File::from(file).read_exact(&mut start).is_ok() && says(&start))
}

/// Whether a place is a side file, which is taken out before its database is replaced.
pub(super) fn is_side_file(place: &Place) -> bool {
    database_of(place).is_some()
}

/// Refuses a database as a whole where a part is refused or a program has it open, and locks it
/// against those that would open it now.
pub(super) fn lock(run: &mut Run<'_>) {
    for (database, members) in groups(run) {
        let acts = |index: &usize| {
            let deed = run.steps.get(*index).map(|step| &step.deed);
            run.fates.get(*index).is_some_and(Option::is_none)
                && !matches!(deed, None | Some(Deed::Nothing))
        };
        if !members.iter().any(acts) {
            continue;
        }
        let refused = members.iter().find_map(|index| match &run.steps.get(*index)?.deed {
            Deed::Refuse(why) => {
                let name = String::from_utf8_lossy(&run.changes.get(*index)?.place.1).into_owned();
                Some(format!("`{name}` belongs to the same database: {why}"))
            }
            _ => None,
        });
        let why = refused.or_else(|| match lock_file(run.applier, &database) {
            Ok(Some(file)) => {
                run.locks.insert(database.clone(), file);
                None
            }
            Ok(None) => None,
            Err(why) => Some(why),
        });
        if let Some(why) = why {
            for index in members {
                run.refuse_undone(index, &why);
            }
        }
    }
}

fn whole(typ: FlockType) -> Flock {
    Flock::from(typ)
}

fn lock_file(applier: &Applier<'_>, database: &Place) -> Result<Option<File>, String> {
    let busy = || "another program has the database open: end it first".to_owned();
    let Ok(spot) = spot(applier.roots, database) else { return Ok(None) };
    let Ok(file) = spot.open() else { return Ok(None) };
    let is_locked = |file: &OwnedFd| {
        fcntl_getlk(file, &whole(FlockType::WriteLock)).is_ok_and(|lock| lock.is_some())
    };
    if is_open_for_writing(&file) || is_locked(&file) {
        return Err(busy());
    }
    // Closing any descriptor of the file would give its lock back.
    drop(file);
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = openat(&spot.parent, &spot.name, flags, Mode::empty()) else { return Ok(None) };
    match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::ACCESS | rustix::io::Errno::AGAIN) => Err(busy()),
        // A file system without locks has no readers that wait for them.
        Err(_) => Ok(None),
        Ok(()) => Ok(Some(file.into())),
    }
}

/// Locks what is about to become a database, until its side files are there too.
pub(super) fn lock_new(file: &File) {
    // Nobody else knows it yet; where there are no locks nobody asks for them.
    let _ = fcntl_lock(file, FlockOperation::NonBlockingLockExclusive);
}
