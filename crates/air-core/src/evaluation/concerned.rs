//! The rules that a step concerns: those that its tool activates and its facts do not exclude.

use std::sync::Arc;

use crate::{
    fact::{Facts, Roots},
    guardrail::Mode,
    names::Names,
    outcome::Verdict,
    rule::Rule,
    ruleset::Index,
};

/// A rule, and what is known of it.
#[derive(Debug)]
pub(super) struct Item {
    /// Its place in the rule set.
    pub(super) at: u32,
    pub(super) rule: Arc<Rule>,
    pub(super) mode: Mode,
    pub(super) verdict: Option<Verdict>,
    pub(super) for_judge: bool,
}

/// The rules found so far, and where others may be.
#[derive(Debug, Default)]
pub(super) struct Concerned {
    pub(super) items: Vec<Item>,
    seen: Seen,
    /// Bucket and shelf of the index whose fact was not there yet.
    shelves: Vec<(u32, usize)>,
}

impl Concerned {
    /// Allocates only where `tool` activates a rule.
    pub(super) fn by(index: &Index, tool: Names<'_>) -> Self {
        let mut concerned = Self::default();
        for number in index.buckets(tool) {
            let Some(bucket) = index.bucket(number) else { continue };
            concerned.shelves.extend((0..bucket.shelves().len()).map(|shelf| (number, shelf)));
            bucket.always().iter().for_each(|&at| concerned.take_up(index, at));
        }
        concerned
    }

    /// Whether no rule is activated.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.shelves.is_empty()
    }

    /// Takes up the rules that `facts` do not exclude. What is needed to tell of others.
    pub(super) fn look_up(&mut self, index: &Index, facts: &Facts) -> Roots {
        let mut need = Roots::NONE;
        for (number, at) in std::mem::take(&mut self.shelves) {
            let bucket = index.bucket(number);
            let Some(shelf) = bucket.and_then(|bucket| bucket.shelves().get(at)) else { continue };
            if facts.get(shelf.root()).is_some() {
                shelf.concerned(facts, &mut |at| self.take_up(index, at));
            } else {
                need = need.with(shelf.root());
                self.shelves.push((number, at));
            }
        }
        need
    }

    fn take_up(&mut self, index: &Index, at: u32) {
        if !self.seen.insert(at) {
            return;
        }
        if let Some(entry) = index.entry(at) {
            self.items.push(Item {
                at,
                rule: Arc::clone(&entry.rule),
                mode: entry.mode,
                verdict: None,
                for_judge: false,
            });
        }
    }
}

/// A set of places in the rule set.
#[derive(Debug, Default)]
struct Seen(Vec<u64>);

impl Seen {
    /// Whether it was not in it.
    fn insert(&mut self, at: u32) -> bool {
        let Ok(word) = usize::try_from(at / u64::BITS) else { return true };
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let bit = 1 << (at % u64::BITS);
        let Some(word) = self.0.get_mut(word) else { return true };
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
}
