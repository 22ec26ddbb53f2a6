//! The pack for coding agents: what their users report, as they would type it.

use std::fmt::Write as _;

use air_testkit::{
    run,
    suite::{Case, Expect, Verdict},
};

use crate::classes::cases_below;

/// So many of each at least.
const LEAST: usize = 3;

fn verdict(case: &Case) -> Verdict {
    match case.expect {
        Expect::Verdict { verdict, .. } => verdict,
        Expect::Transcript { .. } => panic!("{} is no row", case.name),
    }
}

#[test]
fn each_rule_stops_what_it_is_for_and_lets_look_alikes_pass() {
    let mut misses = String::new();
    let files = cases_below("corpus/coding");
    let shipped = files.values().flatten().next().expect("a case").rules.clone();
    for rule in shipped.iter().map(|rule| &rule.name) {
        let of = rule.as_str().trim_end_matches("_precheck").replace('_', "-");
        let cases = files.get(&of).unwrap_or_else(|| panic!("@{rule} has no cases"));
        let attacks = cases.iter().filter(|case| {
            matches!(&case.expect, Expect::Verdict { verdict: Verdict::Flagged, by } if by.contains(rule))
        });
        assert!(attacks.count() >= LEAST, "@{rule} has too few attacks");
        let passing = cases.iter().filter(|case| verdict(case) == Verdict::Clean);
        assert!(passing.count() >= LEAST, "@{rule} has too few look-alikes");
    }
    for case in files.values().flatten() {
        let played = run::run(case).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        if !played.passed {
            let _ = write!(misses, "\n{}: {}", case.name, played.actual);
        }
    }
    assert!(misses.is_empty(), "{misses}");
}

/// What a mistaken rule does most harm to: none of it may be refused or held.
#[test]
fn ordinary_work_goes_on() {
    let mut held = String::new();
    for case in cases_below("corpus/ordinary").values().flatten() {
        let played = run::run(case).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        if !played.passed {
            let _ = write!(held, "\n{}: {}", case.name, played.actual);
        }
    }
    assert!(held.is_empty(), "{held}");
}

/// One guardrail for each AIR rule, with a way forward.
#[test]
fn each_incident_can_be_prevented() {
    let files = cases_below("corpus/coding");
    let rules = files.values().flatten().next().expect("a case").rules.clone();
    let (before, after): (Vec<_>, Vec<_>) =
        rules.iter().partition(|rule| rule.name.as_str().ends_with("_precheck"));
    assert_eq!(before.len(), after.len());
    for rule in before {
        assert!(rule.instead.is_some(), "@{} offers no way forward", rule.name);
    }
}

/// The facts know the tools by the names that hosts' calls come with.
#[test]
fn calls_of_hosts_are_read() {
    use air_core::{code::CodeFacts, port::Alone};
    use air_protocol::tool;
    let known = [
        tool::SHELL,
        tool::WRITE,
        tool::EDIT,
        tool::READ,
        tool::SEARCH,
        tool::FETCH,
        tool::DELEGATE,
    ];
    for name in known {
        let arguments = [
            ("path", "a"),
            ("command", "ls"),
            ("url", "https://a.invalid"),
            ("task", "b"),
            ("old", ""),
            ("new", ""),
            ("content", ""),
        ]
        .map(|(name, value)| (name.to_owned(), value.into()));
        let facts =
            air_facts::CodeParser::new().read(name, &arguments.into_iter().collect(), &Alone);
        assert!(facts.incomplete.is_empty(), "{name}: {:?}", facts.incomplete);
        let nothing = CodeFacts { language: facts.language.clone(), ..CodeFacts::default() };
        assert!(name == tool::DELEGATE || facts != nothing, "{name}");
        let empty =
            air_facts::CodeParser::new().read(name, &air_core::step::Arguments::new(), &Alone);
        assert!(name == tool::SEARCH || !empty.incomplete.is_empty(), "{name}");
    }
}
