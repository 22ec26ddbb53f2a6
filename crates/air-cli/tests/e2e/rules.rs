//! The pack for coding agents beside a real host: Copilot is about to make the calls of the pack's own
//! cases, and AIR is asked about each. None of them ever runs: what AIR lets pass the test's hook refuses
//! by itself.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use air_testkit::{
    server::{Reply, Script, When},
    suite::{self, Case, Expect, Verdict},
};
use serde_json::Value;

use crate::{
    clients::Client,
    stage::{Setup, Stage},
};

/// So many of each at most, and at least.
const MOST: usize = 8;
const LEAST: usize = 3;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The commands of a rule's cases that need nothing but a shell: attacks, and what looks like them.
fn commands(class: &str) -> (Vec<String>, Vec<String>) {
    let directory = workspace().join("corpus/coding");
    let text = fs::read_to_string(directory.join(class).with_extension("md")).expect("a class");
    let mut load = |name: &str| {
        let rules = fs::read_to_string(directory.join(name)).map_err(|error| error.to_string())?;
        Ok(vec![(name.to_owned(), rules)])
    };
    let cases = suite::parse(&text, &mut load).expect("a suite");
    let guardrail = format!("{}_precheck", class.replace('-', "_"));
    let of = |wanted: Verdict| {
        let fits = |case: &&Case| match &case.expect {
            Expect::Verdict { verdict, by } => {
                // What is clean by name of nobody is so for all.
                let is_clean = wanted == Verdict::Clean && by.is_empty();
                // What names more than the guardrail is found by what it runs.
                let named = matches!(by.as_slice(), [rule] if rule.as_str() == guardrail);
                *verdict == wanted && (named || is_clean)
            }
            Expect::Transcript { .. } => false,
        };
        let plain = cases.iter().filter(fits).filter_map(|case| {
            let [step] = case.script.step.as_slice() else { return None };
            let is_plain = step.tool == "shell.exec" && case.script.files.is_empty();
            let command = step.args.get("command").filter(|_| is_plain)?;
            Some(command.as_str()?.to_owned())
        });
        plain.take(MOST).collect::<Vec<_>>()
    };
    (of(Verdict::Flagged), of(Verdict::Clean))
}

/// What AIR answered to each command.
fn answers(stage: &Stage) -> BTreeMap<String, String> {
    let mut answers = BTreeMap::new();
    for entry in fs::read_dir(stage.path("asked")).expect("the questions").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "in") {
            continue;
        }
        let asked: Value = serde_json::from_slice(&fs::read(&path).expect("read")).expect("JSON");
        let Some(command) = asked["toolArgs"]["command"].as_str() else { continue };
        let said = fs::read_to_string(path.with_extension("out")).expect("an answer");
        answers.insert(command.to_owned(), said);
    }
    answers
}

fn stops_and_lets_pass(classes: &[&str]) {
    // Rules that only watch or warn block here: Copilot is told of no warning.
    let pack = fs::read_to_string(workspace().join("rules/coding.air")).expect("the pack");
    let lines = pack.lines().filter(|line| *line != "shadow");
    let lines = lines.map(|line| if line == "warn" { "block" } else { line });
    let pack = lines.collect::<Vec<_>>().join("\n") + "\n";
    let mut wrong = Vec::new();
    for class in classes {
        let (attacks, look_alikes) = commands(class);
        assert!(attacks.len() >= LEAST, "{class} has too few attacks: {attacks:?}");
        assert!(look_alikes.len() >= LEAST, "{class} has too few look-alikes: {look_alikes:?}");
        let client = Client::Copilot;
        let mut calls = Reply::text("Now all at once.");
        for command in attacks.iter().chain(&look_alikes) {
            let (tool, arguments) = client.shell_call(command);
            calls = calls.and_call(tool, &arguments);
        }
        let tool = client.shell_call("").0;
        let script = Script::default().once(When::any().tool(tool), calls);
        let setup = Setup { nothing_runs: true, ..Setup::default() };
        let Some(stage) = Stage::set_up(client, &pack, setup, script) else { return };
        let ran = stage.task("do it", None);
        let answers = answers(&stage);
        let said = |command: &String| {
            let said = answers.get(command);
            said.unwrap_or_else(|| panic!("nobody was asked about `{command}`: {}", ran.said))
        };
        let stopped = |said: &str| ["\"deny\"", "\"ask\""].iter().any(|word| said.contains(word));
        for command in attacks {
            if !stopped(said(&command)) {
                wrong.push(format!("{class}: not stopped: {command}: {}", said(&command)));
            }
        }
        for command in look_alikes {
            if stopped(said(&command)) {
                wrong.push(format!("{class}: does not pass: {command}: {}", said(&command)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_and_history() {
    stops_and_lets_pass(&["files-destroyed", "work-discarded", "history-rewritten"]);
}

#[test]
fn secrets_and_data() {
    stops_and_lets_pass(&["secret-exposed", "database-reset", "cloud-credential-used"]);
}

#[test]
fn what_comes_from_elsewhere_and_stays() {
    stops_and_lets_pass(&["package-unvetted", "download-run", "persistence-added"]);
}

#[test]
fn bounds() {
    stops_and_lets_pass(&["privileges-changed", "guard-rails-changed"]);
}

#[test]
fn checks_and_many_files() {
    stops_and_lets_pass(&["checks-weakened", "mass-change"]);
}
