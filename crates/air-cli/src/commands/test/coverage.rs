//! What the cases exercise of the rules, for a person and a document.

use std::io;

use air_testkit::coverage::{RuleCoverage, totals};
use serde::Serialize;

use super::percent;

#[derive(Serialize)]
pub(super) struct Summary {
    points: usize,
    seen: usize,
    pub(super) percent: f64,
    rules: Vec<Covered>,
}

#[derive(Serialize)]
struct Covered {
    file: String,
    line: usize,
    rule: String,
    points: usize,
    seen: usize,
    /// What no case shows.
    unseen: Vec<Unseen>,
}

#[derive(Serialize)]
struct Unseen {
    what: String,
    /// Whether it counts: that a condition cannot be told may be impossible to show.
    counts: bool,
}

impl Summary {
    pub(super) fn of(rules: &[RuleCoverage]) -> Self {
        let (points, seen) = totals(rules);
        let rules = rules.iter().map(|rule| {
            let (points, seen) = totals(std::slice::from_ref(rule));
            let unseen = rule.points.iter().filter(|point| !point.seen);
            let unseen =
                unseen.map(|point| Unseen { what: point.what.clone(), counts: point.counts });
            let (file, line) = (rule.file.clone(), rule.line);
            Covered {
                file,
                line,
                rule: format!("@{}", rule.rule),
                points,
                seen,
                unseen: unseen.collect(),
            }
        });
        Self { points, seen, percent: percent(seen, points), rules: rules.collect() }
    }

    pub(super) fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for rule in &self.rules {
            let Covered { file, line, rule, points, seen, unseen } = rule;
            writeln!(out, "{file}:{line}: {rule}  {seen} of {points}")?;
            for Unseen { what, counts } in unseen {
                let aside = if *counts { "" } else { " (does not count)" };
                writeln!(out, "    never {what}{aside}")?;
            }
        }
        let Self { points, seen, percent, rules } = self;
        let count = rules.len();
        writeln!(out, "coverage {percent:.0} %: {seen} of {points} points of {count} rules")
    }
}
