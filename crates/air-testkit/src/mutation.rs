//! Rule mutation: a rule is changed in one place; does a case notice?

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use air_core::rule::Rule;
use air_lang::{Mutant, mutants};

use crate::{run, suite::Case};

/// What came of one mutant.
#[derive(Debug, Clone)]
pub struct Tried {
    /// The file that its rule stands in.
    pub file: String,
    /// The line of the change there, from 1.
    pub line: usize,
    /// The rule as it is.
    pub original: Rule,
    /// The rule with one change.
    pub mutant: Mutant,
    /// Whether a case failed.
    pub killed: bool,
}

/// What came of all of them.
#[derive(Debug, Default)]
pub struct Report {
    /// Those that were tried, in the order of files and lines.
    pub tried: Vec<Tried>,
    /// How many there were beyond the limit.
    pub not_tried: usize,
}

/// A rule with the cases that it belongs to.
struct Subject<'c> {
    rule: &'c Rule,
    cases: Vec<&'c Case>,
}

/// Tries at most `limit` mutants of the rules of these cases, each with the name of its suite's file;
/// where there are more, ones that are spread evenly. All cases are to pass as they are.
pub fn run(cases: &[(String, Case)], limit: usize) -> Report {
    let mut subjects: BTreeMap<(String, usize), Subject<'_>> = BTreeMap::new();
    for (file, case) in cases {
        for text in case.texts.iter() {
            for rule in text.rules() {
                let place = text.file.as_ref().unwrap_or(file).clone();
                let subject = subjects
                    .entry((place, text.line_of(rule)))
                    .or_insert_with(|| Subject { rule, cases: Vec::new() });
                subject.cases.push(case);
            }
        }
    }
    let mut all = Vec::new();
    for ((file, line), subject) in &subjects {
        for mutant in mutants(subject.rule) {
            let line = line + mutant.line;
            let (file, original) = (file.clone(), subject.rule.clone());
            all.push((Tried { file, line, original, mutant, killed: false }, subject));
        }
    }
    let count = all.len();
    let mut kept = 0;
    all.retain(|_| {
        kept += limit.min(count);
        let keep = kept >= count;
        kept -= if keep { count } else { 0 };
        keep
    });
    let not_tried = count - all.len();
    judge(&mut all);
    Report { tried: all.into_iter().map(|(tried, _)| tried).collect(), not_tried }
}

/// Plays the cases under each mutant, on every processor that there is.
fn judge(all: &mut [(Tried, &Subject<'_>)]) {
    let workers = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let next = AtomicUsize::new(0);
    let killed: Vec<usize> = thread::scope(|scope| {
        let work = || {
            let mut killed = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some((tried, subject)) = all.get(at) else { return killed };
                if is_killed(tried, subject) {
                    killed.push(at);
                }
            }
        };
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).flatten().collect()
    });
    for at in killed {
        if let Some((tried, _)) = all.get_mut(at) {
            tried.killed = true;
        }
    }
}

fn is_killed(tried: &Tried, subject: &Subject<'_>) -> bool {
    subject.cases.iter().any(|case| {
        let rules = case.rules.iter().map(|rule| {
            let own = rule.name == tried.original.name;
            if own { tried.mutant.rule.clone() } else { rule.clone() }
        });
        let rules: Vec<Rule> = rules.collect();
        // A case that cannot be played any more has noticed as well.
        run::run_under(case, &rules).map_or(true, |played| !played.passed)
    })
}

impl Report {
    /// How many were noticed.
    pub fn killed(&self) -> usize {
        self.tried.iter().filter(|tried| tried.killed).count()
    }

    /// How many were not.
    pub fn survived(&self) -> usize {
        self.tried.len() - self.killed()
    }
}
