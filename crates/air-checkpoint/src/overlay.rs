//! What an overlay shows, from its two layers. The upper one is looked at whole, the lower one only
//! where the upper one says that something changed: a large tree below costs nothing.
//!
//! The layers are those of the Linux overlay file system with `userxattr`: a character device 0:0
//! hides what is below it, and so does a directory with the attribute `user.overlay.opaque`.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use crate::{
    differences::{Aspect, difference},
    scan::Scanner,
    tree::{Entry, Kind, Place, Tree, Unread},
};

/// Attributes that belong to the overlay and not to whoever works in it.
const OWN: &str = "user.overlay.";

/// The lower layer, and how to look at it.
#[derive(Debug)]
pub struct Lower<'a> {
    /// Looks at the lower layer, as root 0 of its own, and keeps what it reads.
    pub reading: Scanner<'a>,
    /// Looks at the lower layer without reading contents.
    pub glancing: Scanner<'a>,
    /// The index of the upper layer among the roots of the trees.
    pub upper: usize,
}

/// One place at which an overlay shows something else than before.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Where, below the root of the overlay.
    pub place: Place,
    /// What was shown.
    pub before: Option<Entry>,
    /// Whether that was in the lower layer, and so still is.
    pub below: bool,
    /// What is shown now.
    pub now: Option<Entry>,
    /// In what an entry that stayed differs.
    pub aspects: Vec<Aspect>,
}

/// What is shown at a place, and where it is.
enum Seen {
    Nothing,
    Upper(Entry),
    Lower(Entry),
}

impl Lower<'_> {
    /// What an overlay shows otherwise now than with the upper layer `before`; what of the lower
    /// layer could not be looked at goes to `unread`. Other roots are left out.
    pub fn shown(&self, before: &Tree, now: &Tree, unread: &mut Vec<Unread>) -> Vec<Shown> {
        let upper: BTreeSet<&Place> = before
            .entries
            .keys()
            .chain(now.entries.keys())
            .filter(|place| place.0 == self.upper)
            .filter(|place| before.entries.get(*place) != now.entries.get(*place))
            // A layer begins with a directory of its own, which stands for the one below.
            .filter(|place| !place.1.is_empty() || before.entries.contains_key(*place))
            .collect();
        let mut places: BTreeSet<Place> = BTreeSet::new();
        let mut glanced = BTreeMap::new();
        for place in upper {
            places.insert(place.clone());
            let hides = |tree: &Tree| tree.entries.get(place).is_some_and(hides_below);
            if hides(before) != hides(now) {
                let mut lower = Tree::default();
                self.glancing.look_below(&(0, place.1.clone()), &mut lower);
                let found = lower.entries.into_iter();
                glanced.extend(found.map(|((_, path), entry)| ((self.upper, path), entry)));
                unread.extend(
                    lower.unread.into_iter().map(|unread| Unread {
                        place: (self.upper, unread.place.1),
                        why: unread.why,
                    }),
                );
            }
        }
        places.extend(glanced.keys().cloned());
        let mut shown = Vec::new();
        for place in places {
            match self.compare(&place, before, now, glanced.get(&place)) {
                Ok(Some(difference)) => shown.push(difference),
                Ok(None) => {}
                Err(error) => unread.push(Unread { place, why: error.to_string() }),
            }
        }
        shown
    }

    fn compare(
        &self,
        place: &Place,
        before: &Tree,
        now: &Tree,
        glanced: Option<&Entry>,
    ) -> io::Result<Option<Shown>> {
        let mut earlier = self.seen(place, before, glanced)?;
        let mut later = self.seen(place, now, glanced)?;
        // Contents of the lower layer are read only where there is something to compare with.
        match (&mut earlier, &mut later) {
            (Seen::Lower(_), Seen::Lower(_)) => return Ok(None),
            (Seen::Lower(lower), Seen::Upper(_)) | (Seen::Upper(_), Seen::Lower(lower)) => {
                if lower.kind == Kind::File
                    && let Some(read) = self.reading.entry_of(&(0, place.1.clone()))?
                {
                    *lower = read;
                }
            }
            _ => {}
        }
        let below = matches!(earlier, Seen::Lower(_));
        let (before, now) = (earlier.entry(), later.entry());
        let Some(found) = difference(place, before.as_ref(), now.as_ref()) else {
            return Ok(None);
        };
        let aspects = found.aspects;
        Ok(Some(Shown { place: place.clone(), before, below, now, aspects }))
    }

    /// What an overlay with this upper layer shows at a place; `glanced` is what the lower one has
    /// there, if that is known already.
    fn seen(&self, place: &Place, upper: &Tree, glanced: Option<&Entry>) -> io::Result<Seen> {
        match upper.entries.get(place) {
            Some(entry) if entry.kind == Kind::Whiteout => return Ok(Seen::Nothing),
            Some(entry) => return Ok(Seen::Upper(own_removed(entry))),
            None => {}
        }
        let path = &place.1;
        let parents = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let parents = parents.filter_map(|(at, _)| path.get(..at));
        for parent in parents.chain(std::iter::once(&b""[..])) {
            if upper.entries.get(&(place.0, parent.to_vec())).is_some_and(hides_below) {
                return Ok(Seen::Nothing);
            }
        }
        if let Some(lower) = glanced {
            return Ok(Seen::Lower(lower.clone()));
        }
        Ok(self.glancing.entry_of(&(0, path.clone()))?.map_or(Seen::Nothing, Seen::Lower))
    }
}

impl Seen {
    fn entry(self) -> Option<Entry> {
        match self {
            Self::Nothing => None,
            Self::Upper(entry) | Self::Lower(entry) => Some(entry),
        }
    }
}

/// Whether an entry of the upper layer hides what the lower one has below that place.
fn hides_below(entry: &Entry) -> bool {
    match entry.kind {
        Kind::Directory => entry
            .attributes
            .iter()
            .any(|(name, value)| name == "user.overlay.opaque" && value == b"y"),
        _ => true,
    }
}

fn own_removed(entry: &Entry) -> Entry {
    let mut entry = entry.clone();
    entry.attributes.retain(|(name, _)| !name.starts_with(OWN));
    entry
}
