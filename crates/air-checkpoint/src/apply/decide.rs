//! What to do at each place, from what is expected, wanted and there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Applier, Change, Fate, links, merge, meta, site};
use crate::{
    Scanner,
    store::Store,
    tree::{Digest, Entry, Kind, Place, Tree},
};

/// What is to be done at one place.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Step {
    /// What was there when it was decided.
    pub(super) was: Option<Entry>,
    pub(super) deed: Deed,
    pub(super) merged: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Deed {
    /// It is so already, but for times.
    Nothing,
    Refuse(String),
    Remove,
    /// Makes it, or replaces what is there.
    Put(Entry),
    /// Makes it a name of the file at the place.
    Link(Entry, Place),
    /// Another mode, owner or attribute of what is there.
    Alter(Entry),
}

impl Step {
    pub(super) fn refused(was: Option<Entry>, why: impl Into<String>) -> Self {
        Self { was, deed: Deed::Refuse(why.into()), merged: false }
    }

    pub(super) fn goal(&self) -> Option<&Entry> {
        match &self.deed {
            Deed::Put(goal) | Deed::Link(goal, _) | Deed::Alter(goal) => Some(goal),
            _ => None,
        }
    }

    pub(super) fn removes(&self) -> bool {
        matches!(self.deed, Deed::Remove)
    }

    pub(super) fn fate(&self) -> Fate {
        match &self.deed {
            Deed::Nothing => Fate::Already,
            Deed::Refuse(why) => Fate::Refused(why.clone()),
            _ if self.merged => Fate::Merged,
            _ => Fate::Done,
        }
    }
}

/// What decisions are made with.
#[derive(Clone, Copy)]
pub(super) struct Eye<'a> {
    /// Where what is there is kept; `None` to look only.
    pub(super) store: Option<&'a Store>,
    /// Directories that were opened up, with their modes.
    pub(super) opened: &'a BTreeMap<Place, u32>,
}

/// Decides every place.
pub(super) fn all(applier: &Applier<'_>, changes: &[Change], eye: Eye<'_>) -> Vec<Step> {
    let mut steps: Vec<Step> = changes.iter().map(|change| one(applier, change, eye)).collect();
    links::connect(applier, changes, &mut steps);
    steps
}

/// Decides one place, names of one file aside.
pub(super) fn one(applier: &Applier<'_>, change: &Change, eye: Eye<'_>) -> Step {
    let store = eye.store;
    let mut now = match look(applier, change, &change.place, store) {
        Ok(now) => now,
        Err(error) if store.is_none() && error.kind() == std::io::ErrorKind::PermissionDenied => {
            change.from.clone()
        }
        Err(error) => return Step::refused(None, format!("it cannot be looked at: {error}")),
    };
    if let (Some(mode), Some(now)) = (eye.opened.get(&change.place), &mut now) {
        now.mode = *mode;
    }
    let unkept = store.is_some()
        && now.as_ref().is_some_and(|now| {
            now.kind == Kind::File
                && now.digest.is_none()
                && now.size <= applier.retained_file_bytes
        });
    if unkept
        && matches!(look(applier, change, &change.place, None), Ok(Some(now)) if now.digest.is_some())
    {
        let why = "what is there could not be kept: it changes, or no space is left";
        return Step::refused(now, why);
    }
    let step = step(applier, change, now, store);
    if matches!(step.deed, Deed::Nothing | Deed::Refuse(_)) {
        return step;
    }
    match site::obstacle(applier.roots, &change.place).or_else(|| meta::obstacle(&step)) {
        Some(why) => Step::refused(step.was, why),
        None => step,
    }
}

/// What is at a place, with its content's digest if `change` has one to compare with.
pub(super) fn look(
    applier: &Applier<'_>,
    change: &Change,
    place: &Place,
    store: Option<&Store>,
) -> std::io::Result<Option<Entry>> {
    let known = [&change.from, &change.to].into_iter().flatten();
    let sizes = known.filter(|entry| entry.digest.is_some()).map(|entry| entry.size);
    let bytes = sizes.fold(applier.retained_file_bytes, u64::max);
    let known = Tree::default();
    let roots = applier.roots;
    let scanner = Scanner { roots, known: &known, store, retained_file_bytes: bytes, entries: 1 };
    scanner.entry_of(place)
}

fn step(applier: &Applier<'_>, change: &Change, now: Option<Entry>, store: Option<&Store>) -> Step {
    let deed = match (&change.from, &change.to, &now) {
        (_, None, None) | (None, None, Some(_)) => Deed::Nothing,
        (_, Some(to), Some(now)) if to.is_same(now) => Deed::Nothing,
        // Another socket of the same name is another program's.
        (Some(from), None, Some(now))
            if now.kind == Kind::Other && (from.device, from.inode) != (now.device, now.inode) =>
        {
            Deed::Refuse("it was changed since".to_owned())
        }
        // An empty directory is nothing that somebody could lose.
        (Some(from), None, Some(now)) if from.is_same(now) || are_directories(from, now) => {
            Deed::Remove
        }
        (Some(_), None, Some(_)) => Deed::Refuse("it was changed since".to_owned()),
        (Some(_), Some(_), None) => Deed::Refuse("it was removed since".to_owned()),
        (None, Some(to), None) => put(applier, to, None),
        (None, Some(_), Some(_)) => {
            Deed::Refuse("something else is there that was made since".to_owned())
        }
        (Some(from), Some(to), Some(now)) if from.is_same(now) => put(applier, to, Some(now)),
        (Some(from), Some(to), Some(now)) => {
            return merge::step(applier, change, [from, to, now], store);
        }
    };
    Step { was: now, deed, merged: false }
}

fn are_directories(one: &Entry, other: &Entry) -> bool {
    one.kind == Kind::Directory && other.kind == Kind::Directory
}

/// How `goal` gets there, in the place of `now`.
pub(super) fn put(applier: &Applier<'_>, goal: &Entry, now: Option<&Entry>) -> Deed {
    if now.is_some_and(|now| now.kind == goal.kind && has_same_content(goal, now)) {
        return Deed::Alter(goal.clone());
    }
    match &goal.kind {
        Kind::Other => Deed::Refuse("a socket or a device cannot be put back".to_owned()),
        Kind::File => match &goal.digest {
            Some(digest) if is_held(applier, digest) => Deed::Put(goal.clone()),
            _ => Deed::Refuse("its content was not kept".to_owned()),
        },
        _ => Deed::Put(goal.clone()),
    }
}

fn is_held(applier: &Applier<'_>, digest: &Digest) -> bool {
    applier.contents().find(digest).is_some()
}

/// Whether two of one kind differ in no more than what can be altered in place.
pub(super) fn has_same_content(one: &Entry, other: &Entry) -> bool {
    match (&one.kind, one.digest, other.digest) {
        (Kind::File, Some(one), Some(other)) => one == other,
        (Kind::File, ..) => {
            let key = |entry: &Entry| (entry.device, entry.inode, entry.size, entry.mtime_ns);
            key(one) == key(other)
        }
        _ => true,
    }
}

/// Whether what was swapped out, or is still there, is what was decided upon. Its time of change
/// and its number of names may have changed by what is done here.
pub(super) fn is_as_decided(was: &Entry, found: &Entry) -> bool {
    let times = Entry { ctime_ns: found.ctime_ns, links: found.links, ..was.clone() };
    times.is_same(found)
}
