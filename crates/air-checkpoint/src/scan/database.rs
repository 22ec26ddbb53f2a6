//! Databases of SQLite: a file, its log and its journal are of one moment, or said to be unread.

use std::{
    fs::File,
    io,
    os::{fd::OwnedFd, unix::fs::FileExt},
    time::Duration,
};

use rustix::time::{ClockId, clock_getres};

use super::{Look, Scanner, now_ns};
use crate::{
    beneath,
    tree::{Entry, Kind, Place},
};

/// Beside a database. Its index (`-shm`) is made anew from them.
const SIDES: [&[u8]; 2] = [b"-wal", b"-journal"];
const HEADER: [u8; 16] = *b"SQLite format 3\0";
/// How often a database that changes while it is read is read again.
const TRIES: u32 = 5;

/// The database that a file beside it belongs to, by its name.
pub(super) fn database_of(place: &Place) -> Option<Place> {
    let path = SIDES.iter().find_map(|side| place.1.strip_suffix(*side))?;
    (!path.is_empty() && !path.ends_with(b"/")).then(|| (place.0, path.to_vec()))
}

/// The database that an open file is, or lies beside.
pub(super) fn database_with(place: &Place, parent: &OwnedFd, file: &File) -> Option<Place> {
    let is_database = |file: &File| {
        let mut start = [0; HEADER.len()];
        file.read_exact_at(&mut start, 0).is_ok() && start == HEADER
    };
    match database_of(place) {
        Some(database) => {
            let file = beneath::file(parent, beneath::split(&database.1).1).ok()?;
            is_database(&File::from(file)).then_some(database)
        }
        None => is_database(file).then(|| place.clone()),
    }
}

fn members(database: &Place) -> [Place; 3] {
    let [log, journal] = SIDES.map(|side| (database.0, [&database.1, side].concat()));
    [database.clone(), log, journal]
}

/// The places that have to be looked at together with `place` if there is a database.
pub fn companions(place: &Place) -> impl Iterator<Item = Place> {
    let database = database_of(place).unwrap_or_else(|| place.clone());
    members(&database).into_iter().filter({
        let place = place.clone();
        move |member| *member != place
    })
}

impl Scanner<'_> {
    /// Sees to it that what was found of each database is of one moment; reads again what is not.
    /// `is_looked_at` tells what was looked at since `began_ns`.
    pub(super) fn settle(
        &self,
        began_ns: i64,
        is_looked_at: &dyn Fn(&Place) -> bool,
        look: &mut Look<'_>,
    ) {
        for database in std::mem::take(&mut look.databases) {
            let members = members(&database);
            let first = members.each_ref().map(|place| {
                let looked_at = is_looked_at(place);
                if looked_at {
                    Ok(look.tree.entries.get(place).cloned())
                } else {
                    self.entry_of(place)
                }
            });
            let seen = self.of_one_moment(&members, began_ns, first);
            for (at, place) in members.into_iter().enumerate() {
                match &seen {
                    Ok(entries) => {
                        look.clear(&place);
                        match entries.get(at).cloned().flatten() {
                            Some(entry) => drop(self.put(place, entry, look)),
                            None => look.remove(&place),
                        }
                    }
                    Err(why) => {
                        look.clear(&place);
                        if let Some(entry) = look.tree.entries.get_mut(&place) {
                            (entry.digest, entry.kept) = (None, false);
                        }
                        look.note(place, &io::Error::other(why.clone()));
                    }
                }
            }
        }
    }

    fn of_one_moment(
        &self,
        members: &[Place; 3],
        mut began_ns: i64,
        first: [io::Result<Option<Entry>>; 3],
    ) -> Result<[Option<Entry>; 3], String> {
        let tick_ns = tick_ns();
        let mut seen = first;
        for _ in 0..TRIES {
            let [Ok(database), Ok(log), Ok(journal)] = seen else {
                return Err("the database could not be read".to_owned());
            };
            let entries = [database, log, journal];
            let changed_ns = entries.iter().flatten().map(|entry| entry.ctime_ns).max();
            // Two changes within a tick of the clock may have the same time.
            let clear_ns = changed_ns.unwrap_or(0).saturating_add(tick_ns);
            if clear_ns < began_ns && self.is_still_so(members, &entries) {
                return Ok(entries);
            }
            let wait_ns = clear_ns.saturating_sub(now_ns()).saturating_add(1).clamp(0, tick_ns);
            std::thread::sleep(Duration::from_nanos(wait_ns.unsigned_abs()));
            began_ns = now_ns();
            seen = members.each_ref().map(|place| self.entry_of(place));
        }
        Err("the database is written to while it is read".to_owned())
    }

    fn is_still_so(&self, members: &[Place; 3], seen: &[Option<Entry>; 3]) -> bool {
        let glance = Scanner { store: None, retained_file_bytes: 0, ..*self };
        members.iter().zip(seen).all(|(place, seen)| match (glance.entry_of(place), seen) {
            (Ok(None), None) => true,
            (Ok(Some(now)), Some(seen)) => {
                let is_read = seen.kind != Kind::File
                    || seen.digest.is_some()
                    || seen.size > self.retained_file_bytes;
                is_read && now.is_untouched(seen)
            }
            _ => false,
        })
    }
}

/// How far two changes are apart that surely have different times.
fn tick_ns() -> i64 {
    clock_getres(ClockId::RealtimeCoarse).tv_nsec.saturating_mul(2)
}
