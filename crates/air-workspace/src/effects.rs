//! What differs, as facts.

use std::{collections::HashMap, fmt::Write, io::Read};

use air_checkpoint::{Aspect, Covered, Entry, Kind, Place, Root, Unread, overlay::Shown};
use air_core::{
    effects::{Change, FileEffect, Observed},
    fact::{ContentMarks, MARKED_BYTES},
};

use crate::{
    layers::{Changes, Layers, names},
    origin::{Origin, open_below},
};

/// Unreadable entries that are named one by one.
const NAMED: usize = 8;
/// Bytes that are looked at for marks after one step.
const MARKED_A_STEP_BYTES: usize = 64 << 20;

/// A place as the agent calls it.
pub(crate) fn agent_path(roots: &[Root], place: &Place) -> String {
    roots.get(place.0).map(|root| root.shown(&place.1)).unwrap_or_default()
}

/// What is notable about text that files gained, by place.
pub(crate) fn marks(
    marks: &dyn ContentMarks,
    layers: &Layers,
    all: &[Shown],
) -> HashMap<Place, Vec<String>> {
    let mut found = HashMap::new();
    let mut left = MARKED_A_STEP_BYTES;
    for shown in all {
        let is_new = shown.before.is_none() || shown.aspects.contains(&Aspect::Content);
        let file = shown.now.as_ref().filter(|now| now.kind == Kind::File && now.size > 0);
        if file.is_none() || !is_new || left < MARKED_BYTES {
            continue;
        }
        let Some(root) = layers.roots().get(shown.place.0) else { continue };
        let Ok(file) = open_below(root, &shown.place.1) else { continue };
        let mut now = Vec::new();
        let most = u64::try_from(MARKED_BYTES).unwrap_or(u64::MAX);
        // What cannot be read has an unknown origin as well.
        if file.take(most).read_to_end(&mut now).is_err() || now.contains(&0) {
            continue;
        }
        left -= now.len();
        let before = shown.before.as_ref().filter(|before| before.kind == Kind::File);
        let before = before.and_then(|before| layers.content(&shown.place, before));
        let mut before = before.unwrap_or_default();
        before.truncate(MARKED_BYTES);
        let path = agent_path(layers.roots(), &shown.place);
        let seen = marks.marks(&path, &before, &now);
        if !seen.is_empty() {
            found.insert(shown.place.clone(), seen.iter().map(ToString::to_string).collect());
        }
    }
    found
}

/// The files that differ, with what their contents repeat.
pub(crate) fn files(
    roots: &[Root],
    changes: &Changes,
    origins: &HashMap<Place, Origin>,
    marks: &HashMap<Place, Vec<String>>,
) -> Observed<FileEffect> {
    let blind_before: Covered<'_> =
        changes.unread_before.iter().map(|unread| &unread.place).collect();
    let mut items: Vec<FileEffect> = changes
        .shown
        .iter()
        .filter_map(|shown| {
            let entry = shown.now.as_ref().or(shown.before.as_ref())?;
            let change = match (&shown.before, &shown.now) {
                (None, _) => Change::Created,
                (_, None) => Change::Deleted,
                _ => Change::Modified,
            };
            // What was there and could not be looked at was not created, and cannot be undone.
            let blind = blind_before.covers(&shown.place);
            let held = |before: &Entry| shown.below || before.is_restorable();
            let (origin, origin_unknown) = match origins.get(&shown.place) {
                Some(Origin::From(path)) => (Some(path.clone()), None),
                Some(Origin::Unknown(why)) => (None, Some(why.clone())),
                Some(Origin::Nowhere) | None => (None, None),
            };
            Some(FileEffect {
                path: agent_path(roots, &shown.place),
                change,
                size: entry.size,
                mode: entry.mode,
                origin,
                origin_unknown,
                moved: None,
                aspects: names(&shown.aspects),
                marks: marks.get(&shown.place).cloned().unwrap_or_default(),
                reversible: shown.before.as_ref().map_or(!blind, held),
            })
        })
        .collect();
    items.sort_by(|one, another| one.path.cmp(&another.path));
    pair_renames(&mut items);
    let reason = unread(roots, &changes.unread_before);
    match reason.or_else(|| unread(roots, &changes.unread_now)) {
        Some(reason) => Observed::partial(items, reason),
        None => Observed::whole(items),
    }
}

/// A file that appeared with the content of one that disappeared is that one, renamed.
fn pair_renames(items: &mut [FileEffect]) {
    let deleted: HashMap<String, usize> = items
        .iter()
        .enumerate()
        .filter(|(_, file)| file.change == Change::Deleted)
        .map(|(at, file)| (file.path.clone(), at))
        .collect();
    let mut pairs = Vec::new();
    for (at, file) in items.iter().enumerate().filter(|(_, file)| file.change == Change::Created) {
        if let Some(from) = file.origin.as_ref().and_then(|origin| deleted.get(origin)) {
            pairs.push((*from, at));
        }
    }
    for (from, to) in pairs {
        let paths = (
            items.get(from).map(|file| file.path.clone()),
            items.get(to).map(|file| file.path.clone()),
        );
        if let Some(file) = items.get_mut(from) {
            file.moved = paths.1;
        }
        if let Some(file) = items.get_mut(to) {
            file.moved = paths.0;
        }
    }
}

/// What could not be looked at, in words.
pub(crate) fn unread(roots: &[Root], all: &[Unread]) -> Option<String> {
    let named = all.iter().take(NAMED);
    let named = named.map(|unread| format!("{}: {}", agent_path(roots, &unread.place), unread.why));
    let mut text = named.collect::<Vec<_>>().join("; ");
    if let Some(more) = all.len().checked_sub(NAMED).filter(|more| *more > 0) {
        let _ = write!(text, "; and {more} more");
    }
    (!all.is_empty()).then_some(text)
}
