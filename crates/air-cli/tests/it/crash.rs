//! `kill -9` at every append to the journal, then `airctl resume`. The failpoint is there in debug
//! builds only.
#![cfg(debug_assertions)]

use std::{collections::BTreeMap, fs, path::Path, process::Output};

use serde_json::Value;

use crate::{
    airctl,
    story::{run, said, tree, workspace},
};

const SCRIPT: &str = "examples/scripts/copy-credential.toml";
const RULES: &str = "rules/starter.air";

fn json(dir: &Path, args: &[&str]) -> (Output, Value) {
    let mut command = airctl(dir);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.args(args).args(["--workspace", "ws", "--format", "json"]);
    let output = command.output().expect("it runs");
    let value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output, value)
}

fn resume(dir: &Path) -> (Output, Value) {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(RULES);
    json(dir, &["resume", "--rules", &rules.display().to_string()])
}

/// The appends of an undisturbed run, with the kinds of their events.
fn points(script: &str) -> Vec<String> {
    let dir = workspace();
    let trace = dir.path().join("trace");
    run(dir.path(), script, RULES).env("AIR_FAILPOINT_TRACE", &trace).output().expect("it runs");
    let text = fs::read_to_string(trace).expect("a trace");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_crash_at_any_append_is_made_good_by_resume() {
    let points = points(SCRIPT);
    let is_start = |line: &&String| line.contains("step_started");
    assert_eq!(points.iter().filter(is_start).count(), 2, "{points:#?}");
    // Between `StepStarted` of the harmful step and `Detected` there is no append: the crash before
    // the append of `Detected` is the one between them.
    let harmful = points.iter().rposition(|line| is_start(&line)).expect("a start") + 1;
    for point in 1..=points.len() {
        for when in ["before", "after"] {
            let dir = workspace();
            let failpoint = format!("journal.append:{point}:{when}");
            let crashed = run(dir.path(), SCRIPT, RULES)
                .env("AIR_FAILPOINT", &failpoint)
                .output()
                .expect("it runs");
            assert_eq!(crashed.status.code(), None, "{failpoint}: {}", said(&crashed));
            let (output, _) = resume(dir.path());
            assert_eq!(output.status.code(), Some(0), "{failpoint}: {}", said(&output));
            // After the start of the harmful step was journaled, and before the next append, the
            // step ran: then it is an incident, and undone.
            let (_, incidents) = json(dir.path(), &["incidents"]);
            let list = incidents["incidents"].as_array().expect("a list");
            assert_eq!(list.len(), usize::from(point > harmful), "{failpoint}: {incidents}");
            assert!(!dir.path().join("ws/public/config.json").exists(), "{failpoint}");
            if let Some(incident) = list.first() {
                assert_eq!(incident["state"], "closed (true positive)", "{failpoint}");
                once(dir.path(), incident["id"].as_str().expect("an id"), &failpoint);
                let again = run(dir.path(), SCRIPT, RULES).output().expect("it runs");
                assert!(said(&again).contains("blocked"), "{failpoint}: {}", said(&again));
            }
            let (output, nothing) = resume(dir.path());
            assert_eq!(output.status.code(), Some(0), "{failpoint}: {}", said(&output));
            assert_eq!(nothing["resumed"].as_array().map(Vec::len), Some(0), "{failpoint}");
        }
    }
}

#[test]
fn every_harm_is_found_and_undone_when_the_crash_comes_before_its_detection() {
    let names = ["copy-credential", "delete-file", "shell-alias"];
    for (name, direct) in names.into_iter().flat_map(|name| [(name, true), (name, false)]) {
        let script = format!("examples/scripts/{name}.toml");
        let points = points(&script);
        let detected = points.iter().position(|line| line.contains("detected")).expect("it is") + 1;
        let dir = workspace();
        let before = tree(&dir.path().join("ws"));
        let mut crashed = run(dir.path(), &script, RULES);
        if direct {
            crashed.arg("--direct");
        }
        crashed.env("AIR_FAILPOINT", format!("journal.append:{detected}:before"));
        crashed.output().expect("it runs");
        // On a layer, the harm never reaches the user's files.
        let harmed = tree(&dir.path().join("ws")) != before;
        assert_eq!(harmed, direct, "{name}: the harm was done");
        // What an ended process left is examined before anything else runs.
        let refused = run(dir.path(), &script, RULES).output().expect("it runs");
        assert_eq!(refused.status.code(), Some(2), "{name}: {}", said(&refused));
        let (output, resumed) = resume(dir.path());
        assert_eq!(output.status.code(), Some(0), "{name}: {}", said(&output));
        assert_eq!(resumed["resumed"][0]["state"], "closed (true positive)", "{name}: {resumed}");
        assert_eq!(tree(&dir.path().join("ws")), before, "{name}");
    }
}

/// Damage of checkpoints, as a power failure or a newer version leaves it.
#[test]
fn a_session_that_cannot_be_opened_is_named_and_can_be_given_up() {
    let points = points(SCRIPT);
    let started = points.iter().rposition(|line| line.contains("step_started")).expect("it is") + 1;
    for damage in ["empty", "version"] {
        let dir = workspace();
        let mut crashed = run(dir.path(), SCRIPT, RULES);
        crashed.env("AIR_FAILPOINT", format!("journal.append:{started}:after"));
        crashed.output().expect("it runs");
        let head = tree(dir.path()).into_iter().map(|(path, ..)| path);
        let head = head.into_iter().find(|path| path.ends_with("timeline/head")).expect("a head");
        let head = dir.path().join(head);
        if damage == "empty" {
            fs::write(&head, "").expect("written");
            let (output, _) = resume(dir.path());
            assert_eq!(output.status.code(), Some(0), "{}", said(&output));
            continue;
        }
        let name = fs::read_to_string(&head).expect("a name");
        fs::write(head.with_file_name(name), "air checkpoint 9\n").expect("written");
        let (output, _) = resume(dir.path());
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        let session = head.ancestors().nth(2).and_then(Path::file_name).expect("a session");
        let session = session.to_str().expect("a name");
        assert!(text.contains(session) && text.contains("airctl store --forget"), "{text}");
        let (output, _) = json(dir.path(), &["store", "--forget", session]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let (output, _) = resume(dir.path());
        assert_ne!(output.status.code(), Some(2), "{}", said(&output));
    }
}

/// Every action and phase of the story is told once, and it ends in a guardrail. Evidence may be
/// kept once more.
fn once(dir: &Path, id: &str, failpoint: &str) {
    let (_, story) = json(dir, &["explain", id]);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for entry in story["timeline"].as_array().expect("a timeline") {
        let stage = entry["stage"].as_str().unwrap_or_default();
        let text = entry["text"].as_str().unwrap_or_default();
        if stage == "evidence" {
            continue;
        }
        let word = text.split_whitespace().next().unwrap_or_default();
        *counts.entry(format!("{stage} {word}")).or_default() += 1;
    }
    for (what, count) in counts {
        assert_eq!(count, 1, "{failpoint}: {what}: {story:#}");
    }
    assert!(story["guardrail"]["text"].is_string(), "{failpoint}: {story:#}");
}
