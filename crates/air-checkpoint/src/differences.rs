//! What differs between two trees.

use std::collections::{BTreeSet, HashMap};

use crate::tree::{Entry, Kind, Place, Tree};

/// One place that differs. At least one of the two is there.
#[derive(Debug, Clone)]
pub struct Difference<'a> {
    /// Where.
    pub place: &'a Place,
    /// What was there.
    pub before: Option<&'a Entry>,
    /// What is there now.
    pub now: Option<&'a Entry>,
    /// In what an entry that stayed differs; empty where one appeared or disappeared.
    pub aspects: Vec<Aspect>,
}

/// In what two entries at one place differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Aspect {
    /// One is a file, the other a directory, say.
    Kind,
    /// The bytes of a file.
    Content,
    /// Where a symbolic link leads.
    Target,
    /// Permission bits.
    Mode,
    /// User or group.
    Owner,
    /// Extended attributes.
    Attributes,
    /// Which other names the file has.
    Names,
}

impl Aspect {
    /// Its name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kind => "kind",
            Self::Content => "content",
            Self::Target => "target",
            Self::Mode => "mode",
            Self::Owner => "owner",
            Self::Attributes => "attributes",
            Self::Names => "names",
        }
    }
}

/// All places that differ, in order. Times alone are no difference.
pub fn differences<'a>(before: &'a Tree, now: &'a Tree) -> Vec<Difference<'a>> {
    let places: BTreeSet<&Place> = before.entries.keys().chain(now.entries.keys()).collect();
    let (names_before, names_now) = (Names::of(before), Names::of(now));
    let same_names = |earlier: &Entry, later: &Entry| {
        names_before.of_entry(earlier) == names_now.of_entry(later)
    };
    places
        .into_iter()
        .filter_map(|place| {
            let (earlier, later) = (before.entries.get(place), now.entries.get(place));
            let mut found = difference(place, earlier, later);
            if let (Some(earlier), Some(later)) = (earlier, later)
                && !same_names(earlier, later)
            {
                let none = || Difference {
                    place,
                    before: Some(earlier),
                    now: Some(later),
                    aspects: Vec::new(),
                };
                found.get_or_insert_with(none).aspects.push(Aspect::Names);
            }
            found
        })
        .collect()
}

/// The difference of one place, names aside; `None` where there is none.
pub(crate) fn difference<'a>(
    place: &'a Place,
    before: Option<&'a Entry>,
    now: Option<&'a Entry>,
) -> Option<Difference<'a>> {
    let aspects = match (before, now) {
        (None, None) => return None,
        (Some(before), Some(now)) => {
            let aspects = before.aspects_changed(now);
            if aspects.is_empty() {
                return None;
            }
            aspects
        }
        _ => Vec::new(),
    };
    Some(Difference { place, before, now, aspects })
}

struct Names<'a>(HashMap<(u64, u64), Vec<&'a Place>>);

impl<'a> Names<'a> {
    fn of(tree: &'a Tree) -> Self {
        Self(tree.names_by_file())
    }

    fn of_entry(&self, entry: &Entry) -> Option<&Vec<&'a Place>> {
        self.0.get(&(entry.device, entry.inode)).filter(|_| entry.kind == Kind::File)
    }
}

impl Entry {
    /// In what it differs from `other`, names aside. Contents that are not both known are the same
    /// if nothing has happened to the file.
    pub fn aspects_changed(&self, other: &Self) -> Vec<Aspect> {
        let mut aspects = Vec::new();
        match (&self.kind, &other.kind) {
            (Kind::Link(one), Kind::Link(another)) if one != another => {
                aspects.push(Aspect::Target);
            }
            (one, another) if one != another => aspects.push(Aspect::Kind),
            (Kind::File, Kind::File) => {
                let same = match (&self.digest, &other.digest) {
                    (Some(one), Some(another)) => one == another,
                    _ => self.is_untouched(other),
                };
                if !same {
                    aspects.push(Aspect::Content);
                }
            }
            _ => {}
        }
        if !matches!(self.kind, Kind::Link(_)) && self.mode != other.mode {
            aspects.push(Aspect::Mode);
        }
        if (self.uid, self.gid) != (other.uid, other.gid) {
            aspects.push(Aspect::Owner);
        }
        if self.attributes != other.attributes {
            aspects.push(Aspect::Attributes);
        }
        aspects
    }

    /// Whether it would be called the same, names and times aside.
    pub fn is_same(&self, other: &Self) -> bool {
        self.aspects_changed(other).is_empty()
    }
}
