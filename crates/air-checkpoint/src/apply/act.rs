//! Does what was decided at one place, or goes on with it where another process ended.

use std::io;

use rustix::fs::fstat;

use super::{
    decide::{Deed, is_as_decided},
    failpoint, meta,
    run::Run,
    site::{self, Spot, is_missing},
    swap::{Work, names_in},
};
use crate::{
    scan,
    tree::{Entry, Kind},
};

/// How an attempt at one place ended.
#[derive(Debug)]
pub(super) enum Outcome {
    Done,
    Refused(String),
    /// Somebody else changed it meanwhile; it is as they left it.
    Raced,
    /// There is more to do.
    Open,
}

pub(super) const WRITER: &str = "another program has it open for writing: end it first";

/// Whether a program has it open for writing, as far as that can be told.
pub(super) fn is_open_for_writing(file: &std::os::fd::OwnedFd) -> bool {
    air_kernel::lease::is_open_for_writing(file) == Some(true)
}

pub(super) fn has_writer(spot: &Spot) -> bool {
    spot.open().is_ok_and(|file| is_open_for_writing(&file))
}

/// An error in a person's words.
pub(super) fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => "no space is left: make room and try again".to_owned(),
        io::ErrorKind::QuotaExceeded => "the quota is used up: make room and try again".to_owned(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            "its directory is not there".to_owned()
        }
        io::ErrorKind::ReadOnlyFilesystem => "its file system is mounted read-only".to_owned(),
        _ => error.to_string(),
    }
}

impl Work<'_, '_> {
    fn alter(&mut self, goal: &Entry) -> io::Result<Outcome> {
        if goal.kind == Kind::Directory {
            return Ok(Outcome::Done);
        }
        let handle = match self.spot.handle() {
            Err(error) if is_missing(&error) => return Ok(Outcome::Raced),
            handle => handle?,
        };
        let stat = fstat(&handle)?;
        let is_as_decided = self.step.was.as_ref().is_some_and(|was| {
            let same = (stat.st_dev, stat.st_ino) == (was.device, was.inode);
            let now = (stat.st_mode & 0o7777, stat.st_uid, stat.st_gid);
            // By another name of it, or by a process that ended halfway.
            let is_ours = self.run.again || now == (goal.mode, goal.uid, goal.gid);
            same && (is_ours || now == (was.mode, was.uid, was.gid))
        });
        if !is_as_decided {
            return Ok(Outcome::Raced);
        }
        meta::give(&handle, goal)?;
        Ok(Outcome::Done)
    }

    fn remove_directory(&mut self) -> io::Result<Outcome> {
        match self.spot.remove_directory() {
            Ok(()) => Ok(Outcome::Done),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                Ok(Outcome::Refused(format!("it still holds {}", names_in(&self.spot))))
            }
            Err(error) if is_missing(&error) => Ok(Outcome::Raced),
            Err(error) => Err(error),
        }
    }

    fn fix_time(&mut self) -> io::Result<Outcome> {
        let change = self.run.changes.get(self.index);
        let to = change.and_then(|change| change.to.as_ref());
        let (Some(to), Some(was)) = (to, &self.step.was) else { return Ok(Outcome::Done) };
        if to.kind == Kind::Directory || to.mtime_ns == was.mtime_ns {
            return Ok(Outcome::Done);
        }
        let handle = self.spot.handle()?;
        let stat = fstat(&handle)?;
        let found = scan::entry(&stat, was.kind.clone());
        let key = |entry: &Entry| (entry.device, entry.inode, entry.size, entry.mtime_ns);
        if key(&found) == key(was) {
            meta::give_time(&handle, to)?;
        }
        Ok(Outcome::Done)
    }

    /// Whether what is there is what the step wants.
    fn is_reached(&self, now: Option<&Entry>) -> bool {
        match (&self.step.deed, now) {
            (Deed::Remove, None) => true,
            (Deed::Link(_, leader), Some(now)) => {
                let leader = site::spot(self.run.applier.roots, leader);
                leader.and_then(|leader| Self::inode(&leader)).ok() == Some((now.device, now.inode))
            }
            (Deed::Put(goal), Some(now)) if goal.kind == Kind::Directory => {
                now.kind == Kind::Directory
            }
            (Deed::Put(goal), Some(now)) => {
                let is_old = self.step.was.as_ref().is_some_and(|was| {
                    was.is_same(goal) && (was.device, was.inode) == (now.device, now.inode)
                });
                now.is_same(goal) && !is_old
            }
            _ => false,
        }
    }
}

/// Does the whole of it.
pub(super) fn attempt(run: &mut Run<'_>, index: usize) -> io::Result<Outcome> {
    let deed = run.steps.get(index).map(|step| step.deed.clone());
    match &deed {
        None => return Ok(Outcome::Done),
        Some(Deed::Refuse(why)) => return Ok(Outcome::Refused(why.clone())),
        Some(Deed::Nothing) if run.steps.get(index).is_some_and(|step| step.was.is_none()) => {
            return Ok(Outcome::Done);
        }
        Some(_) => {}
    }
    let is_taken = run.taken_out.contains(&index);
    let mut work = match Work::at(run, index) {
        Err(error) if is_missing(&error) && matches!(deed, Some(Deed::Remove)) => {
            return Ok(Outcome::Raced);
        }
        work => work?,
    };
    let was_directory = work.step.was.as_ref().is_some_and(|was| was.kind == Kind::Directory);
    let (goal, leader) = match deed {
        None | Some(Deed::Refuse(_)) => return Ok(Outcome::Done),
        Some(Deed::Nothing) => return work.fix_time(),
        Some(Deed::Alter(goal)) => return work.alter(&goal),
        Some(Deed::Remove) if was_directory => return work.remove_directory(),
        Some(Deed::Remove) => {
            let taken = if is_taken { Outcome::Open } else { work.take_out()? };
            if !matches!(taken, Outcome::Open) {
                return Ok(taken);
            }
            if let Some(found) = work.look_out()? {
                work.dispose(&found)?;
            }
            return Ok(Outcome::Done);
        }
        Some(Deed::Put(goal)) => (goal, None),
        Some(Deed::Link(goal, leader)) => (goal, Some(leader)),
    };
    if work.place.1.is_empty() {
        return make_root(&work, &goal);
    }
    if leader.is_some() && work.is_reached(work.look()?.as_ref()) {
        return Ok(Outcome::Done);
    }
    work.prepare(&goal, leader.as_ref())?;
    if is_taken || work.step.was.is_none() { work.install() } else { work.replace() }
}

/// A root has nothing beside it.
fn make_root(work: &Work<'_, '_>, goal: &Entry) -> io::Result<Outcome> {
    if goal.kind != Kind::Directory || work.step.was.is_some() {
        return Ok(Outcome::Refused("a root stays a directory".to_owned()));
    }
    match work.spot.make(&Kind::Directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Outcome::Raced),
        made => made.map(|()| Outcome::Done),
    }
}

/// Takes the old side file of a database out, which must not be beside the new database.
pub(super) fn take_side_out(run: &mut Run<'_>, index: usize) -> io::Result<Outcome> {
    let taken = Work::at(run, index)?.take_out()?;
    if matches!(taken, Outcome::Open) {
        run.taken_out.insert(index);
    }
    Ok(taken)
}

/// Puts the old side file of a database back.
pub(super) fn give_back(run: &mut Run<'_>, index: usize) -> io::Result<()> {
    Work::at(run, index)?.give_back()
}

/// Whether something is beside a place that must not stay there.
pub(super) fn is_halfway(run: &mut Run<'_>, index: usize) -> bool {
    Work::at(run, index).is_ok_and(|work| work.out.handle().is_ok())
}

/// Finds out how far another process came, and brings the place to where [`attempt`] can go on.
pub(super) fn resume(run: &mut Run<'_>, index: usize) -> io::Result<Outcome> {
    failpoint::reached();
    let deed = run.steps.get(index).map(|step| step.deed.clone());
    let Some(deed) = deed.filter(|deed| !matches!(deed, Deed::Nothing | Deed::Refuse(_))) else {
        return Ok(Outcome::Open);
    };
    let mut work = match Work::at(run, index) {
        // Its directory has gone, or is still to be made.
        Err(error) if is_missing(&error) => {
            return Ok(if matches!(deed, Deed::Remove) { Outcome::Done } else { Outcome::Open });
        }
        work => work?,
    };
    if work.part.handle().is_ok() {
        Work::discard(&work.part)?;
    }
    let now = work.look()?;
    if matches!(deed, Deed::Alter(_)) {
        return Ok(Outcome::Open);
    }
    let Some(out) = work.look_out()? else {
        return Ok(if work.is_reached(now.as_ref()) {
            Outcome::Done
        } else if is_still(work.step.was.as_ref(), now.as_ref()) {
            Outcome::Open
        } else {
            Outcome::Raced
        });
    };
    let Some(now) = now else {
        // It was taken out, and nothing has come in yet.
        let checked = work.check_taken()?;
        if matches!(checked, Outcome::Open) {
            work.run.taken_out.insert(index);
        }
        return Ok(checked);
    };
    if work.is_reached(Some(&now)) {
        return work.check_exchanged((now.device, now.inode));
    }
    let is_new = work.step.goal().is_some_and(|goal| is_as_decided(goal, &out));
    if is_new && is_still(work.step.was.as_ref(), Some(&now)) {
        Work::discard(&work.out)?;
        return Ok(Outcome::Open);
    }
    // Somebody changed what was put there: it stays, and so does what was swapped out.
    if out.kind == Kind::File {
        let why = "somebody changed the place before the change was finished";
        work.keep_out(Some(&out), (!work.is_expected(&out)).then_some(why))?;
    } else {
        Work::discard(&work.out)?;
    }
    Ok(Outcome::Raced)
}

fn is_still(was: Option<&Entry>, now: Option<&Entry>) -> bool {
    match (was, now) {
        (None, None) => true,
        (Some(was), Some(now)) => is_as_decided(was, now),
        _ => false,
    }
}
