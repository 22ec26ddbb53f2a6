//! What a look finds, within bounds.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io,
};

use crate::tree::{Entry, Kind, Place, Tree, Unread, contains};

/// Names and attributes that a tree may hold, in bytes. The rest is unread.
const HELD_BYTES: usize = 256 << 20;
/// Unread places of one root that are named; more, and the whole root counts as unread.
const UNREAD: usize = 10_000;

/// A tree in the making.
pub(super) struct Look<'a> {
    pub(super) tree: &'a mut Tree,
    /// Databases that are not as they were known.
    pub(super) databases: BTreeSet<Place>,
    unread: BTreeMap<Place, String>,
    /// How many of each root are in `unread`.
    counts: HashMap<usize, usize>,
    bytes: usize,
}

impl<'a> Look<'a> {
    /// Goes on with what is in a tree already.
    pub(super) fn of(tree: &'a mut Tree) -> Self {
        let mut counts = HashMap::new();
        let mut unread = BTreeMap::new();
        for old in std::mem::take(&mut tree.unread) {
            let root = old.place.0;
            if unread.insert(old.place, old.why).is_none() {
                *counts.entry(root).or_default() += 1;
            }
        }
        let bytes = tree.entries.iter().map(|(place, entry)| bytes(place, entry)).sum();
        Self { tree, databases: BTreeSet::new(), unread, counts, bytes }
    }

    /// The tree is complete.
    pub(super) fn end(self) {
        let unread = self.unread.into_iter();
        self.tree.unread = unread.map(|(place, why)| Unread { place, why }).collect();
    }

    /// Whether there was room for it. Where there is none, its root is unread.
    pub(super) fn insert(&mut self, place: Place, entry: Entry) -> bool {
        self.remove(&place);
        let more = bytes(&place, &entry);
        if self.bytes.saturating_add(more) > HELD_BYTES {
            let why = format!("more than {} MiB of names and attributes", HELD_BYTES >> 20);
            self.note((place.0, Vec::new()), &io::Error::other(why));
            return false;
        }
        self.bytes += more;
        self.tree.entries.insert(place, entry);
        true
    }

    pub(super) fn remove(&mut self, place: &Place) {
        if let Some(entry) = self.tree.entries.remove(place) {
            self.bytes = self.bytes.saturating_sub(bytes(place, &entry));
        }
    }

    /// Forgets what was known of a place, and of all that is below it.
    pub(super) fn clear_below(&mut self, place: &Place) {
        let mut gone: Vec<Place> = self.tree.below(place).map(|(place, _)| place.clone()).collect();
        for place in gone.drain(..) {
            self.remove(&place);
        }
        let after = self.unread.range(place.clone()..).map(|(place, _)| place);
        // Between a place and what is below it there may be others: `a`, `a-b`, `a/b`.
        let near = after.take_while(|other| other.0 == place.0 && other.1.starts_with(&place.1));
        gone.extend(near.filter(|other| contains(place, other)).cloned());
        for place in gone {
            self.clear(&place);
        }
    }

    /// It is looked at once more.
    pub(super) fn clear(&mut self, place: &Place) {
        if self.unread.remove(place).is_some()
            && let Some(count) = self.counts.get_mut(&place.0)
        {
            *count = count.saturating_sub(1);
        }
    }

    /// It could not be looked at. What has gone meanwhile needs not be.
    pub(super) fn note(&mut self, place: Place, error: &io::Error) {
        if error.kind() == io::ErrorKind::NotFound || self.unread.contains_key(&place) {
            return;
        }
        let count = self.counts.entry(place.0).or_default();
        if *count < UNREAD || place.1.is_empty() {
            *count += 1;
            self.unread.insert(place, error.to_string());
        } else {
            let why = || format!("more than {UNREAD} places could not be looked at");
            self.unread.entry((place.0, Vec::new())).or_insert_with(why);
        }
    }
}

/// What an agent can make large.
fn bytes(place: &Place, entry: &Entry) -> usize {
    let target = if let Kind::Link(target) = &entry.kind { target.len() } else { 0 };
    let attributes = entry.attributes.iter().map(|(name, value)| name.len() + value.len());
    place.1.len() + target + attributes.sum::<usize>()
}
