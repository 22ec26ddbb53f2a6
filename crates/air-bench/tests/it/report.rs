//! Counts, intervals and the form of the report.

use std::{fs, path::Path};

use air_bench::{
    data::{self, Case, Language},
    derive::Source,
    report::{Report, Share},
    row::{Body, Guarded, Outcome, Phase, Row, Took},
    store::{Header, Store},
    world::{Judgement, Remedy, Truth},
};
use serde_json::Value;

use crate::case;

fn judged(incident: Truth) -> Judgement {
    Judgement { incident, how: "said".into(), evidence: Value::Null }
}

fn baseline(incident: Truth) -> Body {
    let judgement = judged(incident);
    Body::Baseline { judgement, cut_off: false, expected: true, run_ms: 10, harms: Vec::new() }
}

fn guarded(outcome: Outcome, learned: usize) -> Body {
    let remediated = Some(outcome == Outcome::Incident);
    Body::Guarded(Box::new(Guarded {
        outcome,
        rules: vec!["first".into()],
        undetermined: Vec::new(),
        state: None,
        learned,
        judgement: judged(Truth::False),
        remedy: Remedy { remediated, contained: true, ..Remedy::default() },
        pristine: true,
        expected: true,
        took: Took { check: 1500, tool: 20_000, ..Took::default() },
        work: None,
    }))
}

fn report(rows: &[(&Case, Phase, Body)], cases: &[Case], benign: &[Case], out: &Path) -> Report {
    let header = Header::new(String::new(), String::new(), String::new());
    let mut store = Store::open(&out.join("rows"), &header).unwrap();
    for (case, phase, body) in rows {
        let (case, body) = (case.id.clone(), body.clone());
        store.put(Row { case, phase: *phase, ms: 1, body }).unwrap();
    }
    let lines: String = cases.iter().map(|it| serde_json::to_string(it).unwrap() + "\n").collect();
    fs::write(out.join("small.jsonl"), lines).unwrap();
    fs::write(
        out.join("ground_truth.small.jsonl"),
        "{\"id\":\"py-1_1\",\"incident\":true,\"how\":\"x\"}\n\
         {\"id\":\"py-1_2\",\"incident\":true,\"how\":\"x\"}\n\
         {\"id\":\"py-1_3\",\"incident\":true,\"how\":\"x\",\"flaky\":true}\n",
    )
    .unwrap();
    let split = data::read(out, "small").unwrap();
    let rules = air_lang::parse(
        "rule @first\ntrigger bash\nseverity high\ncheck\n  something happens.\nrespond\n  kill\nremediate\n  end it.\nend\n",
    )
    .into_rules();
    assert_eq!(rules.len(), 1);
    let source = Source { cases, benign, rules: &rules, store: &store, jobs: 2, learn: true };
    let lessons = source.derive(|_| {}).unwrap();
    Report::new(&split, &source, &lessons)
}

#[test]
fn each_count_has_its_own_denominator() {
    let out = tempfile::tempdir().unwrap();
    let cases: Vec<Case> = (1..=5).map(|number| case(Language::Python, 1, number)).collect();
    let twin = Case { id: "benign-1".into(), ..case(Language::Python, 1, 9) };
    let skipped = Body::Skipped { missing: "a module".into() };
    let rows = [
        (&cases[0], Phase::Baseline, baseline(Truth::True)),
        (&cases[0], Phase::R1, guarded(Outcome::Incident, 1)),
        (&cases[0], Phase::R2, guarded(Outcome::Refused, 1)),
        (&cases[1], Phase::Baseline, baseline(Truth::False)),
        (&cases[1], Phase::R1, guarded(Outcome::Incident, 0)),
        (&cases[2], Phase::Baseline, baseline(Truth::Unknown)),
        (&cases[2], Phase::R1, guarded(Outcome::Ran, 0)),
        (&cases[3], Phase::Baseline, baseline(Truth::True)),
        (&cases[3], Phase::R1, Body::Failed { error: "it hung".into() }),
        (&cases[4], Phase::Baseline, skipped),
        (&twin, Phase::Baseline, baseline(Truth::False)),
        (&twin, Phase::R4, guarded(Outcome::Incident, 0)),
    ];
    let report = report(&rows, &cases, std::slice::from_ref(&twin), out.path());
    let json = serde_json::to_value(&report).unwrap();
    let total = &json["total"];
    let counts =
        |name: &str, of: &str| (total[name].as_u64().unwrap(), total[of].as_u64().unwrap());
    assert_eq!(counts("exe", "exe_of"), (2, 4));
    assert_eq!(counts("det", "det_of"), (1, 2), "one that could not be run was not found");
    assert_eq!(counts("det_own", "det_own_of"), (1, 2));
    assert_eq!(counts("det_label", "det_label_of"), (2, 4));
    assert_eq!(counts("det_false", "det_false_of"), (1, 1));
    assert_eq!(counts("det_false_own", "det_false_own_of"), (1, 1));
    assert_eq!(counts("det_false_harmless", "det_false_harmless_of"), (1, 1));
    assert_eq!(counts("det_unknown", "det_unknown_of"), (0, 1));
    assert_eq!(counts("rem", "rem_applicable"), (1, 1));
    assert_eq!(counts("era", "era_of"), (1, 1));
    assert_eq!(counts("era_confirmed", "era_confirmed_of"), (1, 2));
    assert_eq!(counts("loo_confirmed", "loo_confirmed_of"), (0, 2));
    assert_eq!(counts("fp", "fp_of"), (1, 1));
    assert_eq!(report.figure.cases.len(), 2, "a confirmed case that was not found counts");
    assert_eq!(report.figure.same, [2, 2, 2]);
    assert_eq!((total["n"].as_u64(), total["skipped"].as_u64()), (Some(5), Some(1)));
    assert_eq!(total["failed"], 1);
    assert_eq!(json["rows"][0]["category"], 1);
    assert_eq!(report.notes.missed, ["py-1_4"]);
    assert_eq!(report.notes.false_alarms, ["py-1_2"]);
    let regressed: Vec<&str> = report.regressions.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(regressed, ["py-1_2"], "flaky ones are not compared");
    let table = report.table();
    assert!(table.contains("| 1 | category 1 | 5 | 2/4 | 1/2 |"), "{table}");
}

#[test]
fn intervals_are_those_of_wilson() {
    let close = |found: f64, expected: f64| (found - expected).abs() < 0.0005;
    let (low, high) = Share { k: 9, of: 10 }.interval().unwrap();
    assert!(close(low, 0.5958) && close(high, 0.9821), "{low} {high}");
    let (low, high) = Share { k: 0, of: 47 }.interval().unwrap();
    assert!(close(low, 0.0) && close(high, 0.0756), "{low} {high}");
    assert_eq!(Share { k: 0, of: 0 }.interval(), None);
}
