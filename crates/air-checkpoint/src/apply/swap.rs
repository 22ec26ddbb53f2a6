//! Swaps one place: takes out what is there, puts in what shall be, and looks at what came out.
//!
//! Beside a place there may be `.air-<id>-<n>.part`, which is being made and may be thrown away, and
//! `.air-<id>-<n>.out`: what is whole and about to be exchanged, or what was swapped out.

use std::{fs::File, io};

use rustix::fs::{FileType, fstat};

use super::{
    act::{Outcome, WRITER, has_writer},
    ahead::identity,
    aside,
    decide::{Step, has_same_content, is_as_decided, look},
    run::Run,
    site::{self, Spot, is_missing},
    sqlite, write,
};
use crate::tree::{Entry, Kind, Place};

/// One place while it is changed.
pub(super) struct Work<'r, 'a> {
    pub(super) run: &'r mut Run<'a>,
    pub(super) index: usize,
    pub(super) place: Place,
    pub(super) step: Step,
    pub(super) spot: Spot,
    pub(super) part: Spot,
    pub(super) out: Spot,
}

impl<'r, 'a> Work<'r, 'a> {
    pub(super) fn at(run: &'r mut Run<'a>, index: usize) -> io::Result<Self> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let place = run.changes.get(index).ok_or_else(missing)?.place.clone();
        let step = run.steps.get(index).ok_or_else(missing)?.clone();
        let spot = site::spot(run.applier.roots, &place)?;
        let part = spot.beside(&name(run, index, "part"))?;
        let out = spot.beside(&name(run, index, "out"))?;
        Ok(Self { run, index, place, step, spot, part, out })
    }

    pub(super) fn look(&self) -> io::Result<Option<Entry>> {
        self.look_at(&self.place)
    }

    pub(super) fn look_out(&self) -> io::Result<Option<Entry>> {
        // Nothing is ever swapped out of the place of a root.
        if self.place.1.is_empty() {
            return Ok(None);
        }
        self.look_at(&site::beside(&self.place, &name(self.run, self.index, "out")))
    }

    fn look_at(&self, place: &Place) -> io::Result<Option<Entry>> {
        let Some(change) = self.run.changes.get(self.index) else { return Ok(None) };
        // A content that was decided upon is compared with, however large.
        let was = self.step.was.clone();
        let to = self.step.goal().or(change.to.as_ref()).cloned();
        let change = super::Change { from: was, to, place: change.place.clone() };
        look(self.run.applier, &change, place, None)
    }

    /// Moves what is at `out` away, to be kept.
    pub(super) fn keep_out(&mut self, found: Option<&Entry>, why: Option<&str>) -> io::Result<()> {
        let digest = found.and_then(|found| found.digest);
        let applier = self.run.applier;
        let kept = aside::move_away(applier, &self.run.log.id, self.index, &self.out, digest)?;
        self.run.displaced(self.index, kept, why);
        Ok(())
    }

    /// Does away with what was swapped out and was expected; whether that can be.
    pub(super) fn dispose(&mut self, found: &Entry) -> io::Result<bool> {
        match found.kind {
            // It is still there by another name, and must not be tied to what is kept.
            Kind::File if found.links > 1 => self.out.unlink().map(|()| true),
            Kind::File => self.keep_out(Some(found), None).map(|()| true),
            Kind::Directory => match self.out.remove_directory() {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
                removed => removed.map(|()| true),
            },
            _ => self.out.unlink().map(|()| true),
        }
    }

    /// Removes what was made here and nobody else has seen or changed.
    pub(super) fn discard(spot: &Spot) -> io::Result<()> {
        let stat = fstat(spot.handle()?)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            spot.remove_directory()
        } else {
            spot.unlink()
        }
    }

    pub(super) fn inode(spot: &Spot) -> io::Result<(u64, u64)> {
        let stat = fstat(spot.handle()?)?;
        Ok((stat.st_dev, stat.st_ino))
    }

    /// Makes what shall be there, at `part`.
    pub(super) fn prepare(&mut self, goal: &Entry, leader: Option<&Place>) -> io::Result<()> {
        if let Some(identity) = self.run.ahead.remove(&self.index) {
            self.run.made.insert(self.index, identity);
            return Ok(());
        }
        if self.part.handle().is_ok() {
            Self::discard(&self.part)?;
        }
        if let Some(leader) = leader.filter(|leader| self.holds(leader, goal)) {
            return site::spot(self.run.applier.roots, leader)?.link(&self.part);
        }
        let made = write::make(self.run.applier.contents(), &self.part, goal);
        let on_disk = |file: Option<File>| {
            file.as_ref().map_or(Ok(()), File::sync_all)?;
            Ok(file)
        };
        match made.and_then(on_disk) {
            Ok(file) => {
                let identity = file.as_ref().map(identity).transpose()?;
                self.run.made.extend(identity.map(|identity| (self.index, identity)));
                let is_database = self.run.locks.contains_key(&self.place);
                if let Some(file) = file.filter(|_| is_database) {
                    sqlite::lock_new(&file);
                    self.run.held.push(file);
                }
                Ok(())
            }
            Err(error) => {
                // The error says more than one about what is left of it.
                let _ = Self::discard(&self.part);
                Err(error)
            }
        }
    }

    /// Whether a place, which may have been refused, has the content that it was to have.
    fn holds(&self, place: &Place, goal: &Entry) -> bool {
        let found = self.look_at(place).ok().flatten();
        found.is_some_and(|found| found.kind == Kind::File && has_same_content(goal, &found))
    }

    /// Puts what is at `part` where nothing is.
    pub(super) fn install(&mut self) -> io::Result<Outcome> {
        match self.part.rename(&self.spot) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Self::discard(&self.part)?;
                self.give_back()?;
                return Ok(Outcome::Raced);
            }
            Err(error) => return Err(error),
        }
        if let Some(found) = self.look_out()? {
            self.dispose(&found)?;
        }
        Ok(Outcome::Done)
    }

    /// Puts what was taken out back, or keeps it aside where something else is by now.
    pub(super) fn give_back(&mut self) -> io::Result<()> {
        let Some(found) = self.look_out()? else { return Ok(()) };
        match self.out.rename(&self.spot) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let why = "another program made something else there while it was swapped out";
                if found.kind == Kind::File {
                    self.keep_out(Some(&found), Some(why))
                } else {
                    Self::discard(&self.out)
                }
            }
            renamed => renamed,
        }
    }

    /// Moves what is there to `out`, if it is what was decided upon.
    pub(super) fn take_out(&mut self) -> io::Result<Outcome> {
        let is_file = self.step.was.as_ref().is_some_and(|was| was.kind == Kind::File);
        if is_file && !self.run.locks.contains_key(&self.place) && has_writer(&self.spot) {
            return Ok(Outcome::Refused(WRITER.to_owned()));
        }
        match self.spot.rename(&self.out) {
            Err(error) if is_missing(&error) => return Ok(Outcome::Raced),
            renamed => renamed?,
        }
        self.run.locks.remove(&self.place);
        self.check_taken()
    }

    pub(super) fn check_taken(&mut self) -> io::Result<Outcome> {
        let Some(found) = self.look_out()? else { return Ok(Outcome::Raced) };
        let expected = self.is_expected(&found);
        if expected && !(found.kind == Kind::File && has_writer(&self.out)) {
            return Ok(Outcome::Open);
        }
        self.give_back()?;
        Ok(if expected { Outcome::Refused(WRITER.to_owned()) } else { Outcome::Raced })
    }

    pub(super) fn is_expected(&self, found: &Entry) -> bool {
        self.step.was.as_ref().is_some_and(|was| is_as_decided(was, found))
    }

    /// Exchanges what is at `part` with what is there.
    pub(super) fn replace(&mut self) -> io::Result<Outcome> {
        let is_file = self.step.was.as_ref().is_some_and(|was| was.kind == Kind::File);
        if is_file && !self.run.locks.contains_key(&self.place) && has_writer(&self.spot) {
            Self::discard(&self.part)?;
            return Ok(Outcome::Refused(WRITER.to_owned()));
        }
        self.part.rename(&self.out)?;
        let ours = Self::inode(&self.out)?;
        match self.out.exchange(&self.spot) {
            Ok(true) => {}
            Ok(false) => {
                self.out.rename(&self.part)?;
                return match self.take_out()? {
                    Outcome::Open => self.install(),
                    other => {
                        Self::discard(&self.part)?;
                        Ok(other)
                    }
                };
            }
            Err(error) if is_missing(&error) => {
                Self::discard(&self.out)?;
                return Ok(Outcome::Raced);
            }
            Err(error) => {
                Self::discard(&self.out)?;
                return Err(error);
            }
        }
        self.run.locks.remove(&self.place);
        self.check_exchanged(ours)
    }

    /// Looks at what was swapped out, and puts it back if it is not what was decided upon. `ours`
    /// is what was put there.
    pub(super) fn check_exchanged(&mut self, ours: (u64, u64)) -> io::Result<Outcome> {
        let Some(found) = self.look_out()? else { return Ok(Outcome::Done) };
        if !self.is_expected(&found) {
            self.exchange_back(ours)?;
            return Ok(Outcome::Raced);
        }
        if found.kind == Kind::File && has_writer(&self.out) {
            self.exchange_back(ours)?;
            return Ok(Outcome::Refused(WRITER.to_owned()));
        }
        if !self.dispose(&found)? {
            let names = names_in(&self.out);
            self.exchange_back(ours)?;
            return Ok(Outcome::Refused(format!("it still holds {names}")));
        }
        Ok(Outcome::Done)
    }

    fn exchange_back(&mut self, ours: (u64, u64)) -> io::Result<()> {
        match self.out.exchange(&self.spot) {
            // Somebody removed what was put there: what they had made is not lost with it.
            Err(error) if is_missing(&error) => return self.give_back(),
            exchanged => exchanged?,
        };
        let Some(found) = self.look_out()? else { return Ok(()) };
        let is_ours = Self::inode(&self.out)? == ours;
        let is_as_made = self.step.goal().is_some_and(|goal| is_as_decided(goal, &found))
            || found.kind == Kind::Directory;
        if is_ours && is_as_made && !has_writer(&self.out) {
            match Self::discard(&self.out) {
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                discarded => return discarded,
            }
        }
        if is_ours {
            return self.keep_out(
                Some(&found),
                Some("a program wrote to what was put there before it was taken back"),
            );
        }
        // The newest is what somebody put there over ours.
        match self.out.exchange(&self.spot) {
            Err(error) if is_missing(&error) => return self.give_back(),
            exchanged => exchanged?,
        };
        let found = self.look_out()?;
        self.keep_out(found.as_ref(), Some("another program replaced it at the same moment"))
    }
}

/// The name of what lies beside a place for a while.
pub(super) fn name(run: &Run<'_>, index: usize, what: &str) -> String {
    format!(".air-{}-{index}.{what}", run.log.id)
}

/// The first names in a directory, for a person.
pub(super) fn names_in(spot: &Spot) -> String {
    const SHOWN: usize = 3;
    let listed = crate::beneath::directory(&spot.parent, spot.name.as_encoded_bytes())
        .and_then(|directory| Ok(rustix::fs::Dir::read_from(directory)?));
    let Ok(listed) = listed else { return "other files".to_owned() };
    let names = listed.flatten().map(|item| item.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name != "." && name != "..").collect();
    names.sort();
    let more = if names.len() > SHOWN { " and more" } else { "" };
    let names: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    format!("{}{more}", names.join(", "))
}
