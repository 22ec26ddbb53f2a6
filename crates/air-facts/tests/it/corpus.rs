//! `tests/corpus`: sources, and what must be found in them.

use air_core::{
    code::CodeFacts,
    place::{Place, TRAVERSAL, climbs},
};

#[test]
fn python() {
    check(include_str!("../corpus/python.txt"), crate::python);
}

#[test]
fn flaws() {
    check(include_str!("../corpus/defects.txt"), crate::python);
}

/// A case is `== title`, source, `--`, and one expectation a line.
fn check(corpus: &str, read: impl Fn(&str) -> CodeFacts) {
    let mut failures = Vec::new();
    for case in format!("\n{corpus}").split("\n== ").skip(1) {
        let (title, rest) = case.split_once('\n').unwrap();
        let (source, expected) = rest.split_once("--\n").unwrap();
        let facts = read(source);
        for expectation in expected.lines().filter(|line| !line.is_empty()) {
            if !holds(expectation, &facts) {
                failures.push(format!("{title}: `{expectation}` does not hold of\n{facts:#?}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

pub(crate) fn holds(expectation: &str, facts: &CodeFacts) -> bool {
    let (what, value) = expectation.split_once(' ').unwrap_or((expectation, ""));
    let has = |items: &[String]| items.iter().any(|item| item == value);
    match what {
        // A name alone is a call with any arguments.
        "call" => facts.calls.iter().any(|call| {
            call.name == value || format!("{} {}", call.name, call.args.join(" ")) == value
        }),
        "import" => has(&facts.imports),
        "path" => has(&facts.paths),
        "url" => has(&facts.urls),
        "string" => has(&facts.strings),
        // `op file.delete /etc/passwd`, `flow file /etc/passwd -> network http://h/`.
        "op" => facts.operations.iter().any(|operation| {
            format!("{} {}", operation.activity.name(), operation.target).trim_end() == value
        }),
        // `label own process.kill 12`, or of any target; the labels of tables are no part of these.
        "label" => facts.operations.iter().any(|operation| {
            let labels = operation.labels.iter().map(String::as_str);
            let climbs = operation.place().is_some_and(|place| climbs(&place.name));
            let mut labels = labels.chain(climbs.then_some(TRAVERSAL));
            let activity = operation.activity.name();
            labels.any(|label| {
                let any = format!("{label} {activity}");
                any == value || format!("{any} {}", operation.target) == value
            })
        }),
        "flow" => facts.flows.iter().any(|flow| {
            let place = |place: &Place| format!("{} {}", place.kind.name(), place.name);
            format!("{} -> {}", place(&flow.source), place(&flow.sink).trim_end()) == value
        }),
        "leaves" => facts.leaves.iter().any(|(place, held)| {
            let from =
                held.sources.iter().map(|from| format!("{} {}", from.kind.name(), from.name));
            format!("{} {}: {}", place.kind.name(), place.name, from.collect::<Vec<_>>().join(", "))
                == value
        }),
        "defect" => facts.defects.iter().any(|defect| defect.kind == value),
        "no" => !holds(value, facts),
        "complete" => facts.incomplete.is_empty(),
        "incomplete" => facts.incomplete.iter().any(|reason| reason.contains(value)),
        other => panic!("unknown expectation `{other}`"),
    }
}
