//! What a run comes to: counts by category with their intervals, times, and what to know of them.

mod counts;
pub mod figure;
mod models;
mod table;
mod times;

use std::collections::BTreeMap;

use serde::Serialize;

pub use self::{
    counts::{Counts, Share},
    models::{Models, Response, Seconds},
    times::{Spread, Times},
};
use crate::{
    data::{Case, Language, Split},
    derive::{Figure, Lessons, Source},
    row::{Body, Phase},
    world::Truth,
};

/// The version of the report's form.
const VERSION: u32 = 1;

/// What a run comes to.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The version of this form.
    pub version: u32,
    /// The split.
    pub split: String,
    /// SHA-256 of its cases.
    pub data: String,
    /// One a category.
    pub rows: Vec<Line>,
    /// All together.
    pub total: Line,
    /// Python cases of the categories 1 to 25 alone, as in the paper's Table 1.
    pub paper: Line,
    /// Guardrails after all incidents.
    pub guardrails: usize,
    /// Incidents of category 26 that guardrails from category 3 refuse, and all of them.
    pub transfer_26: Share,
    /// Share of incidents of other categories that the rules of k categories find, by k.
    pub generality: Vec<(usize, f64)>,
    /// Incidents a round.
    pub figure: Figure,
    /// Cases by what is to be known of them.
    pub notes: Notes,
    /// Where the oracle differs from the reference run.
    pub regressions: Vec<Regression>,
    /// Of a run on language models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<Models>,
    /// Why not everything was played. The same run goes on from there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

/// One category, or all.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Line {
    /// Number of the category; none for all of them.
    pub category: Option<u32>,
    /// Its name.
    pub name: String,
    /// Cases selected.
    pub n: usize,
    /// Cases for which this machine lacks something.
    pub skipped: usize,
    /// Cases that could not be run in some phase.
    pub failed: usize,
    /// All counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// Times.
    pub times: Times,
}

/// Cases by what is to be known of them.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Notes {
    /// The label says incident; nothing happened.
    pub not_happened: Vec<String>,
    /// Only the label says anything.
    pub unknown: Vec<String>,
    /// It happened, and no rule held.
    pub missed: Vec<String>,
    /// A rule held, and it did not happen.
    pub false_alarms: Vec<String>,
    /// Of those, the rules that held, and whether effects confirm what each is about.
    pub found_by: BTreeMap<String, Vec<String>>,
    /// A benign twin was taken for an incident, or refused.
    pub benign_flagged: Vec<String>,
    /// Something else changed as well.
    pub collateral: BTreeMap<String, Vec<String>>,
    /// Its guardrail does not refuse it.
    pub not_eradicated: Vec<String>,
    /// No guardrail was learned, and why.
    pub unlearned: Vec<(String, String)>,
    /// It needs what is missing here.
    pub skipped: BTreeMap<String, String>,
    /// It could not be run.
    pub failed: BTreeMap<String, String>,
    /// Under other names its record could not be decided.
    pub not_renamed: Vec<String>,
}

/// The oracle says otherwise than in the reference run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Regression {
    /// The case.
    pub id: String,
    /// What the reference run said.
    pub reference: Option<bool>,
    /// What this one says.
    pub found: Option<bool>,
    /// How that was told.
    pub how: String,
}

impl Report {
    /// The report on what `source` holds.
    pub fn new(split: &Split, source: &Source<'_>, lessons: &Lessons) -> Self {
        let mut rows: BTreeMap<u32, Line> = BTreeMap::new();
        let (mut total, mut paper) = (Line::default(), Line::default());
        "total".clone_into(&mut total.name);
        "Python, categories 1 to 25".clone_into(&mut paper.name);
        let twins = source.benign.iter().map(|case| (case, true));
        for (case, is_twin) in source.cases.iter().map(|case| (case, false)).chain(twins) {
            let line = rows.entry(case.category_index).or_default();
            line.category = Some(case.category_index);
            line.name.clone_from(&case.category);
            line.add(case, is_twin, source, lessons);
            total.add(case, is_twin, source, lessons);
            if case.language == Language::Python && case.category_index <= 25 {
                paper.add(case, is_twin, source, lessons);
            }
        }
        let (k, of) = lessons.transfer_26;
        Self {
            version: VERSION,
            split: split.name.clone(),
            data: split.digest.clone(),
            rows: rows.into_values().collect(),
            total,
            paper,
            guardrails: lessons.guardrails,
            transfer_26: Share { k, of },
            generality: lessons.generality.clone(),
            figure: lessons.figure.clone(),
            notes: Notes::new(source, lessons),
            regressions: regressions(split, source),
            models: None,
            stopped: None,
        }
    }

    /// As Markdown.
    pub fn table(&self) -> String {
        table::markdown(self)
    }
}

impl Line {
    fn add(&mut self, case: &Case, is_twin: bool, source: &Source<'_>, lessons: &Lessons) {
        if !is_twin {
            self.n += 1;
            let rows = [Phase::Baseline, Phase::R1, Phase::R2, Phase::Unaided];
            let mut bodies = rows.iter().filter_map(|it| source.store.row(&case.id, *it));
            match bodies.find(|row| matches!(row.body, Body::Skipped { .. } | Body::Failed { .. }))
            {
                Some(row) if matches!(row.body, Body::Skipped { .. }) => self.skipped += 1,
                Some(_) => self.failed += 1,
                None => {}
            }
        }
        self.counts.add(case, is_twin, source, lessons);
        self.times.add(case, is_twin, source.store);
    }
}

impl Notes {
    fn new(source: &Source<'_>, lessons: &Lessons) -> Self {
        let mut notes = Self { unlearned: lessons.unlearned.clone(), ..Self::default() };
        for case in source.cases {
            let id = case.id.clone();
            let facts = counts::Facts::of(case, source.store);
            match facts.happened {
                Some(Truth::False) => notes.not_happened.push(id.clone()),
                Some(Truth::Unknown) => notes.unknown.push(id.clone()),
                Some(Truth::True) if facts.detected == Some(false) => notes.missed.push(id.clone()),
                _ => {}
            }
            if facts.detected == Some(true) && facts.happened == Some(Truth::False) {
                notes.false_alarms.push(id.clone());
                notes.found_by.insert(id.clone(), found_by(case, source));
            }
            if facts.eradicated == Some(false) {
                notes.not_eradicated.push(id.clone());
            }
            let remedy = facts.guarded.map(|guarded| &guarded.remedy.collateral);
            if let Some(collateral) = remedy.filter(|it| !it.is_empty()) {
                notes.collateral.insert(id.clone(), collateral.clone());
            }
            if lessons.cases.get(&id).is_some_and(|derived| derived.not_renamed.is_some()) {
                notes.not_renamed.push(id);
            }
        }
        for twin in source.benign {
            let flagged = counts::flagged(twin, source.store) == Some(true);
            if flagged || lessons.benign.contains_key(&twin.id) {
                notes.benign_flagged.push(twin.id.clone());
            }
        }
        for case in source.cases.iter().chain(source.benign) {
            for phase in [Phase::Baseline, Phase::R1, Phase::R2, Phase::R4, Phase::Unaided] {
                let Some(row) = source.store.row(&case.id, phase) else { continue };
                let (into, why) = match &row.body {
                    Body::Skipped { missing } => (&mut notes.skipped, missing),
                    Body::Failed { error } => (&mut notes.failed, error),
                    _ => continue,
                };
                into.entry(case.id.clone()).or_insert_with(|| why.clone());
            }
        }
        notes
    }
}

/// The rules that found a case whose own incident did not happen.
fn found_by(case: &Case, source: &Source<'_>) -> Vec<String> {
    let others = counts::others(case, source);
    let mut by: Vec<String> = others
        .into_iter()
        .map(|other| {
            let said = match other.happened {
                Truth::True => "which happened",
                Truth::False => "which did not happen",
                Truth::Unknown => "which effects do not tell",
            };
            format!("@{}, {said}", other.rule)
        })
        .collect();
    if by.is_empty() {
        by.push("the rule of its own category".to_owned());
    }
    by
}

fn regressions(split: &Split, source: &Source<'_>) -> Vec<Regression> {
    let mut all = Vec::new();
    for case in source.cases {
        let Some(reference) = split.references.get(&case.id).filter(|it| !it.flaky) else {
            continue;
        };
        let Some(row) = source.store.row(&case.id, Phase::Baseline) else { continue };
        let (found, how) = match &row.body {
            Body::Baseline { judgement, .. } => (judgement.incident.known(), judgement.how.clone()),
            Body::Failed { error } => (None, error.clone()),
            _ => continue,
        };
        let failed = matches!(row.body, Body::Failed { .. });
        if found != reference.incident || failed {
            let (id, reference) = (case.id.clone(), reference.incident);
            all.push(Regression { id, reference, found, how });
        }
    }
    all
}
