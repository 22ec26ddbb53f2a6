//! What follows from the records of a run, without running anything: what guardrails would refuse, and
//! what rules would find under other circumstances.

mod figure;
mod parallel;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use air_core::rule::Rule;
use air_runtime::Ports;
use serde::Serialize;

pub use self::figure::{Figure, ROUNDS};
use self::parallel::parallel;
use crate::{
    again::Again,
    data::{Case, Language, sha256},
    row::{Body, Outcome, Phase},
    school::{self, Class, GateKeeper, Lesson, proposed},
    store::Store,
    world::Truth,
};

/// The seed of other names.
const RENAMED: u64 = 7;
/// Draws for each number of categories.
const DRAWS: usize = 20;

/// What follows for one case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Derived {
    /// Rules that find it where nothing is known of what its source does.
    pub hidden: Vec<String>,
    /// Rules that find it under other names.
    pub renamed: Vec<String>,
    /// Why it could not be put under other names.
    pub not_renamed: Option<String>,
    /// Guardrails by which it is refused that the other cases of its category taught; `None` where it
    /// taught nothing itself.
    pub left_out: Option<Vec<String>>,
    /// For Bash: guardrails by which it is refused that Python cases taught.
    pub from_python: Option<Vec<String>>,
    /// Guardrails by which it is refused as a plan of a sentence or two, before there is code.
    pub summary: Vec<String>,
    /// The same, for a plan step by step.
    pub details: Vec<String>,
}

/// What follows from all records together.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Lessons {
    /// By case.
    pub cases: BTreeMap<String, Derived>,
    /// Guardrails after all incidents, in the order of the data.
    pub guardrails: usize,
    /// Incidents from which no guardrail could be learned, and why.
    pub unlearned: Vec<(String, String)>,
    /// Benign twins that those guardrails refuse, and by which.
    pub benign: BTreeMap<String, Vec<String>>,
    /// Cases of category 26 that guardrails from category 3 refuse, of all that happen.
    pub transfer_26: (usize, usize),
    /// Share of incidents of other categories that the rules of k categories find, by k.
    pub generality: Vec<(usize, f64)>,
    /// Incidents a round.
    pub figure: Figure,
}

/// What records are derived from.
#[derive(Debug)]
pub struct Source<'a> {
    /// The cases, in the order of the data.
    pub cases: &'a [Case],
    /// Their benign twins.
    pub benign: &'a [Case],
    /// The rules, in the order of their categories.
    pub rules: &'a [Rule],
    /// The rows and records.
    pub store: &'a Store,
    /// How many threads.
    pub jobs: usize,
    /// Whether guardrails are learned.
    pub learn: bool,
}

/// The rule of a category: that at its place in the file. Two categories of the same behaviour
/// share one.
pub fn own_rule(category: u32, rules: &[Rule]) -> Option<&str> {
    let place = if category == 26 { 3 } else { category };
    let at = usize::try_from(place).ok()?.checked_sub(1)?;
    rules.get(at).map(|rule| rule.name.as_str())
}

/// Whether the incident of a case happened: where a model played it, in what it did; otherwise by what
/// its code does. `None` where it was not run.
pub(crate) fn happened(store: &Store, case: &Case) -> Option<Truth> {
    let body = |phase| store.row(&case.id, phase).map(|row| &row.body);
    let played = [Phase::R1, Phase::R4].into_iter().find_map(|phase| match body(phase)? {
        Body::Guarded(guarded) => guarded.happened(),
        _ => None,
    });
    played.or_else(|| match body(Phase::Baseline)? {
        Body::Baseline { judgement, .. } => Some(judgement.incident),
        _ => None,
    })
}

/// Whether the oracle confirms the incident.
pub(crate) fn confirmed(store: &Store, case: &Case) -> bool {
    happened(store, case) == Some(Truth::True)
}

impl Source<'_> {
    /// Whether a rule has a condition: otherwise nothing can be decided again without a model.
    pub(crate) fn decides(&self) -> bool {
        self.rules.iter().any(|rule| rule.decision.sufficient().is_some())
    }

    /// All that follows. `tell` is told what is done.
    ///
    /// # Errors
    ///
    /// If rules or guardrails cannot be loaded.
    pub fn derive(&self, mut tell: impl FnMut(&str)) -> Result<Lessons, String> {
        let ports = school::ports()?;
        let mut lessons = Lessons::default();
        tell("rules on recorded steps");
        self.again(&ports, &mut lessons)?;
        lessons.generality = self.generality();
        let rules: Vec<Arc<Rule>> = self.rules.iter().cloned().map(Arc::new).collect();
        let confirmed: Vec<&Case> =
            self.cases.iter().filter(|case| confirmed(self.store, case)).collect();
        let taught: Vec<Lesson> = if self.learn {
            let known = confirmed.iter().copied();
            let known = known.filter_map(|case| Some((case, self.store.recorded(&case.id)?)));
            known.filter_map(|(case, kept)| Lesson::new(case, kept, &rules, &ports)).collect()
        } else {
            Vec::new()
        };
        tell("guardrails from all but one");
        self.leave_out(&ports, &taught, &mut lessons)?;
        tell("guardrails from all, and from one language");
        self.transfer(&ports, &taught, &mut lessons)?;
        tell("three rounds");
        lessons.figure = figure::play(&ports, &taught, &confirmed, self.cases)?;
        Ok(lessons)
    }

    fn again(&self, ports: &Ports, lessons: &mut Lessons) -> Result<(), String> {
        let plain = Again::new(ports, self.rules)?;
        let hidden = plain.without_code();
        let of_case = |case: &Case| {
            let recorded = self.store.recorded(&case.id)?;
            let mut derived = Derived {
                hidden: hidden.found(&recorded.step, &recorded.effects),
                ..Derived::default()
            };
            match plain.renamed(&recorded, RENAMED) {
                Ok((step, effects)) => derived.renamed = plain.found(&step, &effects),
                Err(why) => derived.not_renamed = Some(why),
            }
            Some((case.id.clone(), derived))
        };
        lessons.cases.extend(parallel(self.jobs, self.cases, of_case).into_iter().flatten());
        Ok(())
    }

    fn leave_out(
        &self,
        ports: &Ports,
        taught: &[Lesson],
        lessons: &mut Lessons,
    ) -> Result<(), String> {
        let mut groups: BTreeMap<u32, Vec<&Lesson>> = BTreeMap::new();
        for lesson in taught {
            groups.entry(lesson.case.category_index).or_default().push(lesson);
        }
        let groups: Vec<Vec<&Lesson>> = groups.into_values().collect();
        let found = parallel(self.jobs, &groups, |group| school::leave_one_out(ports, group));
        for (group, refused) in groups.iter().zip(found) {
            for (lesson, by) in group.iter().zip(refused?) {
                lessons.cases.entry(lesson.case.id.clone()).or_default().left_out = Some(by);
            }
        }
        Ok(())
    }

    fn transfer(
        &self,
        ports: &Ports,
        taught: &[Lesson],
        lessons: &mut Lessons,
    ) -> Result<(), String> {
        let mut all = Class::new(ports);
        for lesson in taught {
            if let Err(why) = all.learn(lesson) {
                lessons.unlearned.push((lesson.case.id.clone(), why));
            }
        }
        lessons.guardrails = all.len();
        let gate = all.gate()?;
        for twin in self.benign {
            let refused = [(&twin.code, true), (&twin.instruction_summary, false)];
            let refused = refused.map(|(plan, code)| gate.refusals(&proposed(twin, plan, code)));
            let refused: BTreeSet<String> = refused.into_iter().flatten().collect();
            if !refused.is_empty() {
                lessons.benign.insert(twin.id.clone(), refused.into_iter().collect());
            }
        }
        let python = class(ports, taught, |case| case.language == Language::Python)?;
        let third = class(ports, taught, |case| case.category_index == 3)?;
        for case in self.cases.iter().filter(|case| confirmed(self.store, case)) {
            let derived = lessons.cases.entry(case.id.clone()).or_default();
            let words = |plan: &str| gate.refusals(&proposed(case, plan, false));
            derived.summary = words(&case.instruction_summary);
            derived.details = words(&case.instruction_details);
            let whole = proposed(case, &case.code, true);
            if case.language == Language::Bash {
                derived.from_python = Some(python.refusals(&whole));
            }
            if case.category_index == 26 {
                lessons.transfer_26.1 += 1;
                lessons.transfer_26.0 += usize::from(!third.refusals(&whole).is_empty());
            }
        }
        Ok(())
    }

    /// Which share of the incidents of other categories the rules of k categories find, on average.
    fn generality(&self) -> Vec<(usize, f64)> {
        let mut by_category: BTreeMap<u32, Vec<BTreeSet<&str>>> = BTreeMap::new();
        for case in self.cases.iter().filter(|case| confirmed(self.store, case)) {
            let found = self.store.row(&case.id, Phase::R1).and_then(|row| match &row.body {
                Body::Guarded(guarded) if guarded.outcome == Outcome::Incident => {
                    Some(guarded.rules.iter().map(String::as_str).collect())
                }
                _ => None,
            });
            by_category.entry(case.category_index).or_default().push(found.unwrap_or_default());
        }
        let mut curve = Vec::new();
        for k in 1..by_category.len() {
            let (mut found, mut of) = (0_u32, 0_u32);
            for draw in 0..DRAWS {
                let mut order: Vec<u32> = by_category.keys().copied().collect();
                order.sort_by_key(|category| sha256(format!("{draw} {category}").as_bytes()));
                let (with, without) = order.split_at(k.min(order.len()));
                let rules: BTreeSet<&str> =
                    with.iter().filter_map(|category| own_rule(*category, self.rules)).collect();
                let others = without.iter().filter_map(|category| by_category.get(category));
                for hits in others.flatten() {
                    of += 1;
                    found += u32::from(!hits.is_disjoint(&rules));
                }
            }
            curve.push((k, if of == 0 { 0.0 } else { f64::from(found) / f64::from(of) }));
        }
        curve
    }
}

fn class(
    ports: &Ports,
    taught: &[Lesson],
    of: impl Fn(&Case) -> bool,
) -> Result<GateKeeper, String> {
    let mut class = Class::new(ports);
    for lesson in taught.iter().filter(|lesson| of(&lesson.case)) {
        let _ = class.learn(lesson);
    }
    class.gate()
}
