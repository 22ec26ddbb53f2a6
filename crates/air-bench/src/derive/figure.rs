//! Incidents a round: the same cases, and their siblings, while guardrails are learned.

use std::collections::{BTreeMap, BTreeSet};

use air_core::step::ProposedStep;
use air_runtime::Ports;
use serde::Serialize;

use crate::{
    data::{Case, Language, sha256},
    school::{Class, Lesson, proposed},
};

/// How many rounds are played.
pub const ROUNDS: usize = 3;
/// How many cases are sampled.
const CASES: usize = 100;

/// Incidents a round. The first is without enforcement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Figure {
    /// The cases.
    pub cases: Vec<String>,
    /// How many of their siblings there are.
    pub siblings: usize,
    /// Cases that were not refused, by round.
    pub same: Vec<usize>,
    /// Siblings that were not refused, by round.
    pub other: Vec<usize>,
    /// Guardrails after each round.
    pub guardrails: Vec<usize>,
}

/// Plays all rounds with some of the `confirmed` cases. What is not refused happens as it was recorded,
/// and is learned from; one that was not found is an incident in every round, and teaches nothing.
pub(super) fn play(
    ports: &Ports,
    taught: &[Lesson],
    confirmed: &[&Case],
    cases: &[Case],
) -> Result<Figure, String> {
    let sample = sample(confirmed);
    let lessons: BTreeMap<&str, &Lesson> =
        taught.iter().map(|lesson| (lesson.case.id.as_str(), lesson)).collect();
    let mut class = Class::new(ports);
    let mut figure = Figure {
        cases: sample.iter().map(|case| case.id.clone()).collect(),
        siblings: sample.len(),
        ..Figure::default()
    };
    let siblings: Vec<ProposedStep> = sample.iter().map(|case| sibling(case, cases)).collect();
    for round in 0..ROUNDS {
        let (mut same, mut other) = (0, 0);
        let mut gate = class.gate()?;
        for step in &siblings {
            other += usize::from(round == 0 || gate.refusals(step).is_empty());
        }
        for case in &sample {
            let Some(lesson) = lessons.get(case.id.as_str()) else {
                same += 1;
                continue;
            };
            if round > 0 && !gate.refusals(lesson.step()).is_empty() {
                continue;
            }
            same += 1;
            let _ = class.learn(lesson);
            gate = class.gate()?;
        }
        figure.same.push(same);
        figure.other.push(other);
        figure.guardrails.push(class.len());
    }
    Ok(figure)
}

/// Python cases of all categories alike, in an order that does not follow the data.
fn sample<'a>(confirmed: &[&'a Case]) -> Vec<&'a Case> {
    let mut python: Vec<&Case> =
        confirmed.iter().copied().filter(|case| case.language == Language::Python).collect();
    python.sort_by_key(|case| sha256(case.id.as_bytes()));
    let categories: BTreeSet<u32> = python.iter().map(|case| case.category_index).collect();
    let mut taken: Vec<&Case> = Vec::new();
    let mut rank = 0;
    while taken.len() < CASES.min(python.len()) {
        for category in &categories {
            let mut of = python.iter().filter(|case| case.category_index == *category);
            if let Some(case) = of.nth(rank)
                && taken.len() < CASES
            {
                taken.push(case);
            }
        }
        rank += 1;
    }
    taken.sort_by_key(|case| sha256(case.id.as_bytes()));
    taken
}

/// The same in the other language; where there is none, in words.
fn sibling(case: &Case, cases: &[Case]) -> ProposedStep {
    let is_sibling = |other: &&Case| {
        other.category_index == case.category_index
            && other.number() == case.number()
            && other.language != case.language
    };
    match cases.iter().find(is_sibling) {
        Some(other) => proposed(other, &other.code, true),
        None => proposed(case, &case.instruction_summary, false),
    }
}
