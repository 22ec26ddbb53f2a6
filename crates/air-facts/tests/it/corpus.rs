//! `tests/corpus`: sources, and what must be found in them.

use air_core::code::CodeFacts;

#[test]
fn python() {
    check(include_str!("../corpus/python.txt"), air_facts::python::read);
}

#[test]
fn shell() {
    check(include_str!("../corpus/shell.txt"), air_facts::shell::read);
}

/// A case is `== title`, source, `--`, and one expectation a line.
fn check(corpus: &str, read: impl Fn(&str) -> CodeFacts) {
    let mut failures = Vec::new();
    for case in corpus.split("== ").skip(1) {
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

fn holds(expectation: &str, facts: &CodeFacts) -> bool {
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
        "complete" => facts.incomplete.is_empty(),
        "incomplete" => facts.incomplete.iter().any(|reason| reason.contains(value)),
        other => panic!("unknown expectation `{other}`"),
    }
}
