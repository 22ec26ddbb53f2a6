//! What differs between two looks at the watched roots.

use std::{ffi::OsStr, fmt::Write, os::unix::ffi::OsStrExt};

use air_core::effects::{Change, FileEffect, Observed};

use crate::{
    manifest::{Entry, Manifest, Place},
    scan::Root,
};

/// Unreadable entries that are named one by one.
const NAMED: usize = 8;

/// One place that differs.
pub(crate) struct Difference<'a> {
    pub(crate) place: &'a Place,
    pub(crate) change: Change,
    pub(crate) before: Option<&'a Entry>,
    pub(crate) now: Option<&'a Entry>,
}

pub(crate) fn differences<'a>(before: &'a Manifest, now: &'a Manifest) -> Vec<Difference<'a>> {
    let gone = before.entries.iter().filter(|(place, _)| !now.entries.contains_key(*place));
    let gone = gone.map(|(place, entry)| Difference {
        place,
        change: Change::Deleted,
        before: Some(entry),
        now: None,
    });
    let there = now.entries.iter().filter_map(|(place, entry)| {
        let earlier = before.entries.get(place);
        let change = match earlier {
            None => Change::Created,
            Some(earlier) if earlier.is_same(entry) => return None,
            Some(_) => Change::Modified,
        };
        Some(Difference { place, change, before: earlier, now: Some(entry) })
    });
    gone.chain(there).collect()
}

/// A place as the agent calls it.
pub(crate) fn agent_path(roots: &[Root], place: &Place) -> String {
    let root = roots.get(place.0).map(|root| root.agent.clone()).unwrap_or_default();
    if place.1.is_empty() {
        return root.to_string_lossy().into_owned();
    }
    root.join(OsStr::from_bytes(&place.1)).to_string_lossy().into_owned()
}

/// The files that differ; `origin` finds what a content repeats.
pub(crate) fn files(
    roots: &[Root],
    before: &Manifest,
    now: &Manifest,
    mut origin: impl FnMut(&Difference<'_>) -> Option<String>,
) -> Observed<FileEffect> {
    let mut items: Vec<FileEffect> = differences(before, now)
        .iter()
        .filter_map(|difference| {
            let entry = difference.now.or(difference.before)?;
            // What was there and could not be looked at was not created, and cannot be undone.
            let blind = before.is_blind_at(difference.place);
            let reversible = difference.before.map_or(!blind, Entry::is_restorable);
            Some(FileEffect {
                path: agent_path(roots, difference.place),
                change: difference.change,
                size: entry.size,
                mode: entry.mode,
                origin: origin(difference),
                reversible,
            })
        })
        .collect();
    items.sort_by(|one, another| one.path.cmp(&another.path));
    match unread(roots, before).or_else(|| unread(roots, now)) {
        Some(reason) => Observed::partial(items, reason),
        None => Observed::whole(items),
    }
}

/// What could not be looked at, in words.
fn unread(roots: &[Root], manifest: &Manifest) -> Option<String> {
    let all = &manifest.unread;
    let named = all.iter().take(NAMED).map(|unread| {
        let place = (unread.root, crate::manifest::unescape(&unread.path));
        format!("{}: {}", agent_path(roots, &place), unread.why)
    });
    let mut text = named.collect::<Vec<_>>().join("; ");
    if let Some(more) = all.len().checked_sub(NAMED).filter(|more| *more > 0) {
        let _ = write!(text, "; and {more} more");
    }
    (!all.is_empty()).then_some(text)
}
