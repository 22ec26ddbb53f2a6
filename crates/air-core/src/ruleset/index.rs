//! Rules by tool. Which rules a tool activates costs the same whatever the number of rules.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use aho_corasick::AhoCorasick;

use super::{Entry, shelf::Bucket};
use crate::{names::Names, rule::glob};

/// Entries by the patterns of their triggers, and below that by the texts that they require.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    entries: Vec<Entry>,
    buckets: Vec<Bucket>,
    by_tool: HashMap<Arc<str>, u32>,
    globs: Globs,
}

impl Index {
    pub(super) fn new(entries: Vec<Entry>) -> Self {
        let mut by_pattern: BTreeMap<Arc<str>, Vec<u32>> = BTreeMap::new();
        for (at, entry) in (0..).zip(&entries) {
            for pattern in entry.rule.trigger.patterns() {
                let places = by_pattern.entry(Arc::clone(pattern)).or_default();
                if places.last() != Some(&at) {
                    places.push(at);
                }
            }
        }
        let (mut by_tool, mut globs, mut buckets) = (HashMap::new(), Vec::new(), Vec::new());
        for (number, (pattern, members)) in (0..).zip(by_pattern) {
            buckets.push(Bucket::new(&entries, members));
            if pattern.contains('*') {
                globs.push((pattern, number));
            } else {
                by_tool.insert(pattern, number);
            }
        }
        Self { entries, buckets, by_tool, globs: Globs::new(globs) }
    }

    pub(crate) fn entry(&self, at: u32) -> Option<&Entry> {
        self.entries.get(usize::try_from(at).ok()?)
    }

    pub(crate) fn bucket(&self, number: u32) -> Option<&Bucket> {
        self.buckets.get(usize::try_from(number).ok()?)
    }

    /// The buckets of the patterns that a name of `tool` matches. Allocates only where one does.
    pub(crate) fn buckets(&self, tool: Names<'_>) -> Vec<u32> {
        let mut found = Vec::new();
        for name in tool.iter() {
            if let Some(bucket) = self.by_tool.get(name)
                && !found.contains(bucket)
            {
                found.push(*bucket);
            }
            self.globs.matching(name, &mut found);
        }
        found
    }

    /// Every entry that a call to `tool` activates, in the order in which they were added.
    pub(super) fn activated_by(&self, tool: Names<'_>) -> impl Iterator<Item = &Entry> {
        let buckets = self.buckets(tool);
        let mut members: Vec<u32> = buckets
            .into_iter()
            .filter_map(|number| self.bucket(number))
            .flat_map(Bucket::members)
            .collect();
        members.sort_unstable();
        members.dedup();
        members.into_iter().filter_map(|at| self.entry(at))
    }
}

/// Patterns with a `*`, found by the longest text between those.
#[derive(Debug, Clone, Default)]
struct Globs {
    /// Pattern and bucket.
    patterns: Vec<(Arc<str>, u32)>,
    pieces: Option<AhoCorasick>,
    /// For each piece, the patterns that have it.
    by_piece: Vec<Vec<usize>>,
    /// Patterns without a piece, such as `*`.
    open: Vec<usize>,
}

impl Globs {
    fn new(patterns: Vec<(Arc<str>, u32)>) -> Self {
        let (mut by_piece, mut open) = (BTreeMap::<&str, Vec<usize>>::new(), Vec::new());
        for (at, (pattern, _)) in patterns.iter().enumerate() {
            match pattern.split('*').max_by_key(|piece| piece.len()) {
                Some(piece) if !piece.is_empty() => by_piece.entry(piece).or_default().push(at),
                _ => open.push(at),
            }
        }
        let pieces = AhoCorasick::new(by_piece.keys()).ok();
        if pieces.is_none() {
            // Too many for one automaton: then each is tried.
            open = (0..patterns.len()).collect();
        }
        let by_piece = by_piece.into_values().collect();
        Self { patterns, pieces, by_piece, open }
    }

    fn matching(&self, tool: &str, found: &mut Vec<u32>) {
        let mut consider = |at: &usize| {
            if let Some((pattern, bucket)) = self.patterns.get(*at)
                && glob(pattern, tool)
                && !found.contains(bucket)
            {
                found.push(*bucket);
            }
        };
        self.open.iter().for_each(&mut consider);
        let Some(pieces) = &self.pieces else { return };
        for hit in pieces.find_overlapping_iter(tool) {
            let having = self.by_piece.get(hit.pattern().as_usize());
            having.into_iter().flatten().for_each(&mut consider);
        }
    }
}
