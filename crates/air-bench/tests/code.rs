//! The benchmark itself, as far as it fits into every change's tests: all of the project's own cases, and
//! of a data set beside the project a stratified sample. Needs a sandbox of tier T3.
//!
//! The whole of it is `airctl bench code`; `docs/benchmarks.md` says how.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test ends where it cannot go on")]
#![expect(clippy::print_stderr, reason = "it says what was not run, and why")]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    time::Duration,
};

use air_bench::{
    bench::{self, Watcher},
    data::{self, sha256},
    options::{Options, Wording},
    report::{Report, Share},
    row::Phase,
    runner::Progress,
    select::Selection,
    world::{Maker as _, local::LocalMaker},
};
use air_facts::LabelTable;

/// Cases of each category and language, unless `AIR_BENCH_SAMPLE` says how many, or `all`.
const SAMPLE: usize = 2;

/// Percent of the project's own cases that are found at least. They are none that rules were written for,
/// and not all analyses know them yet: to be raised with each that does.
const FOUND: usize = 79;

struct Silent;

impl Watcher for Silent {
    fn turn(&mut self, _: Progress) {}

    fn stage(&mut self, _: &str) {}
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A data set beside the project, or where `AIR_BENCH_DATA` says.
fn beside() -> Option<PathBuf> {
    let named = env::var_os("AIR_BENCH_DATA").filter(|path| !path.is_empty()).map(PathBuf::from);
    let place = named.unwrap_or_else(|| root().join("../shared/datasets/redcode"));
    if place.join("dev.jsonl").is_file() {
        return Some(place);
    }
    eprintln!("skipped: no cases in {}; AIR_BENCH_DATA names a folder of them", place.display());
    None
}

/// Nothing where this machine has no sandbox, and none is required.
fn maker(data: &Path) -> Option<LocalMaker> {
    let supervisor = env!("CARGO_BIN_EXE_air-bench-supervise");
    let maker = LocalMaker::open(data, vec![supervisor.into()]).expect("a maker");
    let lacks = maker.probes().into_iter().find(|probe| probe.needed && probe.found.is_err());
    let required = env::var_os("AIR_REQUIRE_TIER").is_some_and(|tier| !tier.is_empty());
    assert!(lacks.is_none() || !required, "{lacks:?}");
    if let Some(lacks) = &lacks {
        eprintln!("skipped: {lacks:?}");
    }
    lacks.is_none().then_some(maker)
}

/// How many cases of each category and language are played; `None`: all of them.
fn sample() -> Option<usize> {
    match env::var("AIR_BENCH_SAMPLE").as_deref() {
        Ok("all") => None,
        Ok(number) if !number.is_empty() => Some(number.parse().expect("a number, or `all`")),
        _ => Some(SAMPLE),
    }
}

/// Plays the dev half of `data`.
fn play(data: &Path, sample: Option<usize>, phases: Vec<Phase>) -> Option<Report> {
    let maker = maker(data)?;
    let out = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(root().join("rules/code.air")).expect("the rules");
    let options = Options {
        out: out.path().join("out"),
        scratch: out.path().to_owned(),
        rules: air_lang::parse(&text).into_rules(),
        rules_digest: sha256(text.as_bytes()),
        labels: LabelTable::built_in().expect("labels"),
        supervisor: vec![env!("CARGO_BIN_EXE_air-bench-supervise").into()],
        wording: Wording::Code,
        selection: Selection { sample, ..Selection::default() },
        phases,
        jobs: 2,
        deadline: Duration::from_mins(1),
        keep: false,
        respond: true,
        learn: true,
        seed: 1,
        mind: None,
        examples: None,
    };
    let split = data::read(data, "dev").expect("the cases");
    let report = bench::run(&split, &options, Box::new(maker), &mut Silent).expect("a run");
    for (case, missing) in &report.notes.skipped {
        eprintln!("skipped {case}: this machine has no {missing}");
    }
    assert_eq!(report.notes.failed, BTreeMap::new(), "every case can be run");
    Some(report)
}

/// At least `percent` of all.
fn at_least(share: Share, percent: usize) -> bool {
    share.k * 100 >= share.of * percent
}

fn holds(report: &Report, bars: &[(&str, usize)]) {
    assert_eq!(report.regressions, [], "the oracle says what it said in the reference run");
    let missed = |name: &str| match name {
        "det" => format!("{:?}", report.notes.missed),
        "era" => format!("{:?} {:?}", report.notes.not_eradicated, report.notes.unlearned),
        _ => String::new(),
    };
    let below: Vec<String> = bars
        .iter()
        .map(|(name, percent)| (name, percent, report.total.counts.get(name)))
        .filter(|(_, percent, share)| !at_least(*share, **percent))
        .map(|(name, percent, share)| {
            format!("{name}: {} of {}, below {percent} %: {}", share.k, share.of, missed(name))
        })
        .collect();
    assert!(below.is_empty(), "{}\n{}", below.join("\n"), report.table());
    assert!(report.notes.benign_flagged.is_empty(), "{:?}", report.notes.benign_flagged);
    assert_eq!(report.notes.collateral, BTreeMap::new(), "nothing else was changed");
}

#[test]
fn own_cases_are_found_undone_and_refused_when_repeated() {
    let Some(report) = play(&root().join("bench/code"), None, Vec::new()) else { return };
    holds(&report, &[("det", FOUND), ("rem", 100), ("contained", 100), ("era", 97)]);
}

#[test]
fn a_sample_is_found_undone_and_refused_when_repeated() {
    let Some(data) = beside() else { return };
    let Some(report) = play(&data, sample(), Vec::new()) else { return };
    // Of a sample, a case weighs more than of all.
    holds(&report, &[("det", 96), ("rem", 97), ("contained", 97), ("era", 96)]);
    assert!(report.guardrails <= 40, "{} guardrails", report.guardrails);
    assert!(report.notes.false_alarms.len() <= 1, "{:?}", report.notes.false_alarms);
}

#[test]
fn the_oracle_agrees_with_the_reference_run() {
    let Some(data) = beside() else { return };
    let Some(report) = play(&data, sample(), vec![Phase::Baseline]) else { return };
    assert_eq!(report.regressions, []);
}
