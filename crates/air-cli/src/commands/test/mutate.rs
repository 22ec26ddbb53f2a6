//! Which changes of a rule no case notices, for a person and a document.

use std::io;

use air_testkit::mutation::{self, Tried};
use serde::Serialize;

use super::{load::Suite, percent};

#[derive(Serialize)]
pub(super) struct Summary {
    killed: usize,
    survived: usize,
    not_tried: usize,
    pub(super) percent: f64,
    survivors: Vec<Survivor>,
}

#[derive(Serialize)]
struct Survivor {
    file: String,
    line: usize,
    rule: String,
    clause: &'static str,
    what: &'static str,
    /// The lines of the rule that differ, as a unified diff without its header.
    diff: String,
}

impl Summary {
    pub(super) fn of(suites: Vec<Suite>, limit: usize) -> Self {
        let cases: Vec<_> = suites
            .into_iter()
            .flat_map(|suite| {
                let shown = suite.shown;
                suite.cases.into_iter().map(move |case| (shown.clone(), case))
            })
            .collect();
        let report = mutation::run(&cases, limit);
        let (killed, survived) = (report.killed(), report.survived());
        let survivors = report.tried.iter().filter(|tried| !tried.killed).map(survivor);
        Self {
            killed,
            survived,
            not_tried: report.not_tried,
            percent: percent(killed, killed + survived),
            survivors: survivors.collect(),
        }
    }

    pub(super) fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for Survivor { file, line, rule, clause, what, diff } in &self.survivors {
            writeln!(out, "{file}:{line}: {rule} `{clause}`: {what}: no case notices")?;
            for line in diff.lines() {
                writeln!(out, "  {line}")?;
            }
        }
        let Self { killed, survived, not_tried, percent, .. } = self;
        let rest = if *not_tried == 0 { String::new() } else { format!(", {not_tried} not tried") };
        writeln!(out, "mutation {percent:.0} %: {killed} killed, {survived} survived{rest}")
    }
}

fn survivor(tried: &Tried) -> Survivor {
    let (before, after) = (&tried.original.source, &tried.mutant.rule.source);
    let patch =
        diffy::DiffOptions::new().set_context_len(0).create_patch(before, after).to_string();
    // Without the names of the two.
    let lines = patch.lines().skip(2).filter(|line| !line.starts_with(['@', '\\']));
    Survivor {
        file: tried.file.clone(),
        line: tried.line,
        rule: format!("@{}", tried.original.name),
        clause: tried.mutant.clause,
        what: tried.mutant.what,
        diff: lines.collect::<Vec<_>>().join("\n"),
    }
}
