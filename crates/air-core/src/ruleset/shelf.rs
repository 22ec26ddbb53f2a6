//! Rules of one trigger pattern by the texts that they require, so that a call costs what the few
//! rules cost that it could concern.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use aho_corasick::AhoCorasick;

use super::Entry;
use crate::{
    fact::{Facts, Root},
    requirement::{Coverage, FactPath, Need, Needle},
    rule::Decision,
};

/// A text that no more rules than this share is as good as one that is unique.
const FEW: usize = 16;
/// More occurrences than this are not counted: then every rule is looked at.
const MAX_OCCURRENCES: usize = 100_000;

/// The rules with one trigger pattern.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bucket {
    /// Those that no text excludes.
    always: Vec<u32>,
    shelves: Vec<Shelf>,
}

/// The rules that require a text at one place.
#[derive(Debug, Clone)]
pub(crate) struct Shelf {
    place: FactPath,
    members: Vec<u32>,
    equals: HashMap<Arc<str>, Vec<u32>>,
    contains: Option<Contained>,
}

/// Texts that are looked for all at once.
#[derive(Debug, Clone)]
struct Contained {
    automaton: AhoCorasick,
    /// For each text, the rules that require it.
    members: Vec<Vec<u32>>,
}

impl Bucket {
    pub(super) fn new(entries: &[Entry], members: Vec<u32>) -> Self {
        let clauses = |at: u32| {
            let entry = usize::try_from(at).ok().and_then(|at| entries.get(at));
            entry.map_or(&[][..], |entry| required(&entry.rule.decision))
        };
        let mut shared: HashMap<&Need, usize> = HashMap::new();
        for need in members.iter().flat_map(|&at| clauses(at)).flatten() {
            *shared.entry(need).or_default() += 1;
        }
        let mut bucket = Self::default();
        let mut by_place: HashMap<&FactPath, Vec<(&Needle, u32)>> = HashMap::new();
        for at in members {
            // The clause that excludes most, and of those the one that is told soonest.
            let best = clauses(at).iter().min_by_key(|clause| {
                let most = clause.iter().filter_map(|need| shared.get(need)).max();
                let cost = clause.iter().map(|need| cost(need.place.root)).max();
                (most.copied().unwrap_or(0).saturating_sub(FEW), cost, most)
            });
            match best {
                None => bucket.always.push(at),
                Some(clause) => {
                    for need in clause {
                        by_place.entry(&need.place).or_default().push((&need.text, at));
                    }
                }
            }
        }
        let mut by_place: Vec<_> = by_place.into_iter().collect();
        by_place.sort_by_cached_key(|(place, _)| (cost(place.root), place.to_string()));
        for (place, needs) in by_place {
            match Shelf::new(place, &needs) {
                Some(shelf) => bucket.shelves.push(shelf),
                None => bucket.always.extend(needs.iter().map(|(_, at)| at)),
            }
        }
        bucket
    }

    /// All of its rules; one may be there more than once.
    pub(super) fn members(&self) -> impl Iterator<Item = u32> {
        let shelved = self.shelves.iter().flat_map(|shelf| &shelf.members);
        self.always.iter().chain(shelved).copied()
    }

    /// The rules that no text excludes.
    pub(crate) fn always(&self) -> &[u32] {
        &self.always
    }

    /// The others.
    pub(crate) fn shelves(&self) -> &[Shelf] {
        &self.shelves
    }
}

impl Shelf {
    fn new(place: &FactPath, needs: &[(&Needle, u32)]) -> Option<Self> {
        let mut equals: HashMap<Arc<str>, Vec<u32>> = HashMap::new();
        let mut contains: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for (needle, at) in needs {
            match needle {
                Needle::Equals(text) => equals.entry(Arc::clone(text)).or_default().push(*at),
                Needle::Contains(text) => contains.entry(text).or_default().push(*at),
            }
        }
        let contains = if contains.is_empty() {
            None
        } else {
            let (texts, members): (Vec<&str>, _) = contains.into_iter().unzip();
            let automaton =
                AhoCorasick::builder().ascii_case_insensitive(true).build(texts).ok()?;
            Some(Contained { automaton, members })
        };
        let mut members: Vec<u32> = needs.iter().map(|(_, at)| *at).collect();
        members.dedup();
        Some(Self { place: place.clone(), members, equals, contains })
    }

    /// The fact that tells which of its rules are concerned.
    pub(crate) fn root(&self) -> Root {
        self.place.root
    }

    /// Shows each rule that `facts` do not exclude to `found`, the likeliest first.
    pub(crate) fn concerned(&self, facts: &Facts, found: &mut impl FnMut(u32)) {
        let mut occurrences = 0;
        let coverage = self.place.texts(facts, &mut |text| {
            let equal = self.equals.get(text);
            equal.into_iter().flatten().for_each(|&at| found(at));
            let Some(contains) = &self.contains else { return };
            for hit in contains.automaton.find_overlapping_iter(text) {
                occurrences += 1;
                if occurrences > MAX_OCCURRENCES {
                    return;
                }
                let members = contains.members.get(hit.pattern().as_usize());
                members.into_iter().flatten().for_each(|&at| found(at));
            }
        });
        let all = match coverage {
            Coverage::Texts => occurrences > MAX_OCCURRENCES,
            // Something else is equal to no text, but may not be asked what it contains.
            Coverage::OtherKinds => self.contains.is_some(),
            Coverage::Doubtful => true,
        };
        if all {
            self.members.iter().for_each(|&at| found(at));
        }
    }
}

/// What must be there for the rule to count.
fn required(decision: &Decision) -> &[Vec<Need>] {
    match decision {
        Decision::Decide(condition) | Decision::Bounds { when: Some(condition), .. } => {
            condition.requires().clauses()
        }
        // Without its evidence, a judge is asked.
        Decision::Bounds { when: None, .. } => &[],
    }
}

/// What it takes to have a fact, the least first.
fn cost(root: Root) -> u8 {
    match root {
        root if root.is_at_hand() => 0,
        Root::Code | Root::History | Root::Taint => 1,
        _ => 2,
    }
}
