//! What a clause speaks of.

use std::sync::LazyLock;

use air_core::{
    fact::PathLabels as _,
    place::{Place, PlaceKind, TRAVERSAL, climbs},
};

use super::{lexicon::Lexicon, sentence::Clause};
use crate::LabelTable;

static LABELS: LazyLock<Option<LabelTable>> = LazyLock::new(|| LabelTable::built_in().ok());

/// From here on, so many times are a multitude.
const MULTITUDE: u64 = 1000;
/// Clauses without a path for which that before is still meant.
const MOST_AFTER: usize = 3;

/// The labels of what a clause speaks of.
#[derive(Default)]
pub(super) struct Things {
    /// Of words that stand for a label.
    words: Vec<String>,
    /// Of paths and addresses, by the place of the word.
    paths: Vec<(usize, Vec<String>)>,
    /// Clauses since the paths were named.
    since: usize,
}

impl Things {
    pub(super) fn of(clause: &Clause, lexicon: &Lexicon) -> Self {
        let mut things = Self::default();
        let named = lexicon.may_name(clause.words());
        for thing in lexicon.things.iter().filter(|_| named) {
            if clause.has(&thing.words) && !clause.has(&thing.except) {
                things.words.push(thing.label.clone());
            }
        }
        let excepted = |label: &str| {
            lexicon.things.iter().any(|thing| thing.label == label && clause.has(&thing.except))
        };
        let words: Vec<&str> = clause.words().collect();
        for (at, word) in words.iter().enumerate() {
            if word.contains(['/', '.', '~', '_']) {
                let mut labels = of_path(word, lexicon);
                labels.retain(|label| !excepted(label));
                if !labels.is_empty() {
                    things.paths.push((at, labels));
                }
            }
            // What is said to come from an address is fetched.
            if word.contains("://")
                && at.checked_sub(1).and_then(|at| words.get(at)) == Some(&"from")
            {
                things.words.extend(["download", "executable"].map(str::to_owned));
            }
            let number = word.replace(',', "").parse().is_ok_and(|many: u64| many >= MULTITUDE);
            if number && words.get(at + 1).is_some_and(|next| *next == "times") {
                things.words.push("multitude".to_owned());
            }
        }
        things
    }

    pub(super) fn has_paths(&self) -> bool {
        !self.paths.is_empty()
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.words.extend(other.words.iter().cloned());
        self.add_paths(other);
    }

    pub(super) fn add_paths(&mut self, other: &Self) {
        self.paths.extend(other.paths.iter().cloned());
    }

    /// Those that are no place where something goes: an address is none.
    pub(super) fn add_sources(&mut self, other: &Self, is_goal: bool) {
        let is_source = |labels: &[String]| !is_goal || labels.iter().any(|it| it == "public");
        let paths = other.paths.iter().filter(|(_, labels)| is_source(labels));
        self.paths.extend(paths.cloned());
    }

    /// What a clause after this one and the next means by "it".
    pub(super) fn followed_by(&mut self, own: Self, inherited: &Self) {
        if own.words.is_empty() && own.paths.is_empty() {
            return;
        }
        if own.paths.is_empty() {
            self.since += 1;
            if self.since > MOST_AFTER {
                self.paths.clear();
            }
        } else {
            self.paths = own.paths;
            self.since = 0;
        }
        self.words = own.words;
        self.words.extend(inherited.words.iter().cloned());
    }

    /// What is named before the word at `end`.
    pub(super) fn before(&self, end: Option<usize>) -> Self {
        let paths = self.paths.iter().filter(|(at, _)| end.is_none_or(|end| *at < end));
        Self { words: self.words.clone(), paths: paths.cloned().collect(), since: 0 }
    }

    pub(super) fn and(mut self, other: &Self) -> Self {
        self.add(other);
        self
    }

    /// Which of those labels they have: `any`, or `of_paths` where a path has them. A `secret` is not
    /// what reading tells nothing of.
    pub(super) fn among(&self, any: &[String], of_paths: &[String], secret: bool) -> Vec<String> {
        let has = |labels: &[String], wanted: &str| labels.iter().any(|label| label == wanted);
        let words = self.words.iter().filter(|label| any.contains(label));
        let mut found: Vec<String> = words.cloned().collect();
        for (_, labels) in &self.paths {
            let is_meant = |label: &&String| any.contains(label) || of_paths.contains(label);
            let before = found.len();
            if !(secret && has(labels, "public-information")) {
                found.extend(labels.iter().filter(is_meant).cloned());
            }
            if found.len() > before && has(labels, TRAVERSAL) {
                found.push(TRAVERSAL.to_owned());
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// The labels of a path or an address.
fn of_path(word: &str, lexicon: &Lexicon) -> Vec<String> {
    if word.contains("://") {
        let place = Place::new(PlaceKind::Network, word);
        return LABELS.as_ref().map_or_else(Vec::new, |table| {
            place.labels(table).iter().map(ToString::to_string).collect()
        });
    }
    let path = word.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(word);
    if lexicon.own.iter().any(|own| path == own) {
        return Vec::new();
    }
    let found = LABELS.as_ref().map(|table| table.labels(path)).unwrap_or_default();
    let mut labels: Vec<String> = found.iter().map(ToString::to_string).collect();
    if !labels.is_empty() && climbs(path) {
        labels.push(TRAVERSAL.to_owned());
    }
    let is_file =
        lexicon.programs.iter().any(|end| path.len() > end.len() && path.ends_with(end.as_str()));
    if is_file {
        labels.push("program".to_owned());
    }
    labels
}
