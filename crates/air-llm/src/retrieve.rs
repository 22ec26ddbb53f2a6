//! Picks the guardrails that a model reads, by words: what a plan and a call share with the text of a
//! guardrail and with the plans and calls that it was learned from.
//!
//! The words are the agent's own. So each part of a call is compared by itself, what AIR reads in it first, and
//! the guardrail that is nearest to it is read as well: many words make more be read, and hide none until there
//! are more guardrails than are read for parts.

mod query;

use std::{
    collections::{HashMap, HashSet, hash_map::RandomState},
    hash::BuildHasher,
    sync::{Arc, Mutex, PoisonError},
};

use air_core::{
    fact::Facts,
    outcome::{Outcome, Verdict},
    rule::{Rule, Severity},
};

/// Who answers for a guardrail that is not picked.
const NAME: &str = "retriever/1";
/// Guardrails that are picked for parts of a call beside those that are nearest to all of it.
const MOST_FOR_PARTS: usize = 128;
/// Guardrails that are remembered; past it, the index is built anew.
const MOST_RULES: usize = 16 << 10;
/// Pieces of words count less than words.
const PIECE_WEIGHT: f32 = 0.3;
/// Saturation and length normalisation of BM25.
const K1: f32 = 1.2;
const B: f32 = 0.4;

/// Finds guardrails by words. It remembers each by its content.
#[derive(Debug, Default)]
pub struct Retriever {
    index: Mutex<Index>,
}

#[derive(Debug, Default)]
struct Index {
    /// Its keys cannot be foreseen, so that no content is taken for another.
    hasher: RandomState,
    known: HashMap<u64, usize>,
    /// Where a feature is, and how much it counts there.
    postings: HashMap<u64, Vec<(usize, f32)>>,
    lengths: Vec<f32>,
    total: f32,
}

impl Retriever {
    /// Which of `rules` a model reads: those of severity `critical`; `most` others, nearest first to the
    /// call, the plan and what AIR reads in both; and those nearest to parts of the call, up to a limit.
    pub fn pick(&self, rules: &[Arc<Rule>], facts: &Facts, most: usize) -> HashSet<usize> {
        let critical =
            |at: &usize| rules.get(*at).is_some_and(|rule| rule.severity == Severity::Critical);
        let (mut picked, others): (HashSet<usize>, Vec<usize>) =
            (0..rules.len()).fold(Default::default(), |(mut picked, mut others), at| {
                if critical(&at) {
                    picked.insert(at);
                } else {
                    others.push(at);
                }
                (picked, others)
            });
        if others.len() <= most {
            picked.extend(others);
            return picked;
        }
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        if index.lengths.len() > MOST_RULES {
            *index = Index::default();
        }
        let places: Vec<usize> = rules.iter().map(|rule| index.place(rule)).collect();
        let scored = |query: &str| {
            let scores = index.scores(query);
            let score = |at: &usize| {
                let score = places.get(*at).and_then(|place| scores.get(*place));
                score.copied().unwrap_or_default()
            };
            others.iter().map(|at| (score(at), *at)).filter(|(s, _)| *s > 0.0).collect::<Vec<_>>()
        };
        let nearer = |(a, one): &(f32, usize), (b, other): &(f32, usize)| {
            b.total_cmp(a).then(one.cmp(other))
        };
        let rankings = query::wholes(facts).map(|query| {
            let mut ranked = scored(&query);
            ranked.sort_by(nearer);
            ranked.into_iter().map(|(_, at)| at).collect::<Vec<_>>()
        });
        let limit = picked.len() + most;
        // In turns, so that a plan full of words cannot crowd out what the call itself is near to.
        let longest = rankings.iter().map(Vec::len).max().unwrap_or_default();
        let turns =
            (0..longest).flat_map(|turn| rankings.iter().map(move |ranked| ranked.get(turn)));
        let mut graver = others.clone();
        graver.sort_by_key(|at| std::cmp::Reverse(rules.get(*at).map(|rule| rule.severity)));
        for at in turns.flatten().chain(&graver) {
            if picked.len() >= limit {
                break;
            }
            picked.insert(*at);
        }
        let limit = limit + MOST_FOR_PARTS;
        for part in query::parts(facts) {
            if picked.len() == rules.len() || picked.len() >= limit {
                break;
            }
            picked.extend(scored(&part).into_iter().min_by(nearer).map(|(_, at)| at));
        }
        picked
    }

    /// Answers for those of `rules` that are not picked; how many they are.
    pub(crate) fn leave_out(
        &self,
        rules: &[Arc<Rule>],
        facts: &Facts,
        most: usize,
        verdicts: &mut [Option<Verdict>],
    ) -> usize {
        if rules.len() <= most {
            return 0;
        }
        let picked = self.pick(rules, facts, most);
        let (all, unread) = (rules.len(), rules.len() - picked.len());
        for (at, verdict) in verdicts.iter_mut().enumerate() {
            if !picked.contains(&at) {
                *verdict = Some(Verdict {
                    outcome: Outcome::Unsatisfied,
                    confidence: 0.5,
                    rationale: format!(
                        "not read: {unread} of {all} guardrails looked less like the step"
                    ),
                    judge: NAME.to_owned(),
                    quotes: Vec::new(),
                });
            }
        }
        unread
    }
}

impl Index {
    fn place(&mut self, rule: &Rule) -> usize {
        let key = self.hasher.hash_one((&rule.source, &rule.check, &rule.examples));
        if let Some(place) = self.known.get(&key) {
            return *place;
        }
        let mut features: HashMap<u64, f32> = HashMap::new();
        let texts = [rule.name.as_str(), &rule.check, &rule.source].into_iter();
        for text in texts.chain(rule.examples.iter().map(AsRef::as_ref)) {
            self.features(text, |feature, weight| {
                *features.entry(feature).or_default() += weight;
            });
        }
        let place = self.lengths.len();
        let length: f32 = features.values().sum();
        for (feature, weight) in features {
            self.postings.entry(feature).or_default().push((place, weight));
        }
        self.lengths.push(length);
        self.total += length;
        self.known.insert(key, place);
        place
    }

    /// How near each known guardrail is to `query`.
    fn scores(&self, query: &str) -> Vec<f32> {
        let mut wanted: HashMap<u64, f32> = HashMap::new();
        self.features(query, |feature, weight| {
            let held = wanted.entry(feature).or_default();
            *held = held.max(weight);
        });
        let count = real(self.lengths.len());
        let average = (self.total / count).max(1.0);
        let mut scores = vec![0.0; self.lengths.len()];
        for (feature, weight) in wanted {
            let Some(postings) = self.postings.get(&feature) else { continue };
            let having = real(postings.len());
            let rarity = ((count - having + 0.5) / (having + 0.5) + 1.0).ln();
            // What half of them have tells nothing.
            if postings.len() * 2 > self.lengths.len() && self.lengths.len() > 8 {
                continue;
            }
            for (place, times) in postings {
                let (Some(score), Some(length)) =
                    (scores.get_mut(*place), self.lengths.get(*place))
                else {
                    continue;
                };
                let saturated =
                    times * (K1 + 1.0) / (times + K1 * (1.0 - B + B * length / average));
                *score += weight * rarity * saturated;
            }
        }
        scores
    }

    /// Words of `text`, and pieces of three letters of the longer ones.
    fn features(&self, text: &str, mut add: impl FnMut(u64, f32)) {
        let mut letters: Vec<char> = Vec::new();
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            letters.clear();
            letters.extend(word.chars().take(64).flat_map(char::to_lowercase));
            add(self.hasher.hash_one(&letters), 1.0);
            if letters.len() > 3 {
                for piece in letters.windows(3) {
                    add(self.hasher.hash_one((0_u8, piece)), PIECE_WEIGHT);
                }
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of guardrails, far below 2^24")]
fn real(count: usize) -> f32 {
    count as f32
}
