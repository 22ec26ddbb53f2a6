//! `tests/corpus/shell*.txt`: as `corpus`, with files beside the source. `@@ path` starts one.

use std::collections::BTreeMap;

use air_core::{
    code::CodeFacts,
    place::{Held, Place},
    port::Surroundings,
};

use crate::corpus::holds;

struct Files(BTreeMap<String, String>);

impl Surroundings for Files {
    fn file(&self, path: &str) -> Result<Vec<u8>, String> {
        let path = path.strip_prefix("./").unwrap_or(path);
        self.0
            .get(path)
            .map(|text| text.clone().into_bytes())
            .ok_or_else(|| "no such file".to_owned())
    }

    fn held(&self, _: &Place) -> Option<Held> {
        None
    }
}

#[test]
fn commands_and_words() {
    check(include_str!("../corpus/shell.txt"));
}

#[test]
fn operations_and_flows() {
    check(include_str!("../corpus/shell_effects.txt"));
}

fn check(corpus: &str) {
    let mut failures = Vec::new();
    for case in corpus.split("\n== ").skip(1) {
        let (title, rest) = case.split_once('\n').unwrap();
        let (source, expected) = rest.split_once("--\n").unwrap();
        let mut parts = source.split("@@ ");
        let source = parts.next().unwrap();
        let files = parts.map(|part| {
            let (path, text) = part.split_once('\n').unwrap();
            (path.to_owned(), text.to_owned())
        });
        let facts = air_facts::shell::read(source, &Files(files.collect()));
        let expected = expected.lines().filter(|line| !line.is_empty());
        let broken: Vec<&str> = expected.filter(|line| !holds(line, &facts)).collect();
        if !broken.is_empty() {
            failures.push(format!("{title}: {broken:?} of\n{}", shown(&facts)));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn shown(facts: &CodeFacts) -> String {
    let place = |place: &Place| format!("{} {}", place.kind.name(), place.name);
    let mut lines = Vec::new();
    for call in &facts.calls {
        lines.push(format!("  call {} {}", call.name, call.args.join(" ")));
    }
    for operation in &facts.operations {
        lines.push(format!(
            "  op {} {} [{:?}]",
            operation.activity.name(),
            operation.target,
            operation.detail
        ));
    }
    for flow in &facts.flows {
        lines.push(format!("  flow {} -> {}", place(&flow.source), place(&flow.sink)));
    }
    for defect in &facts.defects {
        lines.push(format!("  defect {}", defect.kind));
    }
    for reason in &facts.incomplete {
        lines.push(format!("  incomplete {reason}"));
    }
    lines.join("\n")
}

#[test]
fn defects() {
    let corpus = include_str!("../corpus/shell_defects.txt");
    let mut failures = Vec::new();
    for case in corpus.split("\n== ").skip(1) {
        let (title, source) = case.split_once('\n').unwrap();
        let (kind, expected) = match title.strip_prefix("no ") {
            Some(kind) => (kind, false),
            None => (title, true),
        };
        let facts = air_facts::shell::read(source, &Files(BTreeMap::new()));
        if facts.defects.iter().any(|defect| defect.kind == kind) != expected {
            failures.push(format!("{title}: {:?} of\n{source}", facts.defects));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
