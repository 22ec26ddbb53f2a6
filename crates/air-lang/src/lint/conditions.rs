//! Conditions whose answer is the same whatever happens, and values that a fact never has.

use std::sync::Arc;

use air_core::{
    fact::{Facts, NoLabels},
    outcome::Outcome,
};

use super::{
    Lint, RuleView,
    formula::{Formula, Literal, Relation, Test},
    logic::{Fuel, impossible},
};
use crate::{
    diagnostic::{Code, Severity, quoted},
    syntax::keyword::{Keyword, nearest},
};

/// Steps that are spent on one condition.
const STEPS: u32 = 20_000;

/// Facts with few values, by how their terms start and end.
const VALUES: [(&str, &str, &[&str]); 9] = [
    ("effects.files", "].change", &["created", "modified", "deleted"]),
    ("", "reversibility", &["read_only", "reversible", "compensable", "irreversible"]),
    ("code.language", "", &["python", "shell"]),
    ("effects.connections", "].direction", &["out", "local", "listen"]),
    ("effects.connections", "].transport", &["tcp", "udp"]),
    ("effects.connections", "].protocol", &["http", "tls", "dns", "other"]),
    ("effects.output", "].kind", &["content", "listing", "network"]),
    ("code.defects", "].kind", &DEFECTS),
    (
        "code.flows",
        "_kind",
        &[
            "file",
            "environment",
            "network",
            "output",
            "input",
            "command",
            "code",
            "variable",
            "machine",
        ],
    ),
];

/// The kinds of flaws that analyses find.
const DEFECTS: [&str; 20] = [
    "amplification",
    "biased-decision",
    "disk-filler",
    "duplicate-key",
    "encoded-program",
    "endless-loop",
    "eval-of-data",
    "fork-bomb",
    "guessable-digest",
    "lenient-validation",
    "memory-bomb",
    "missing-default",
    "predictable-seed",
    "privilege-kept",
    "shadowing-alias",
    "system-monitoring",
    "timing-comparison",
    "unbounded-growth",
    "unguarded-action",
    "unsafe-deserialization",
];

/// Looks at the conditions of `rule`.
pub(super) fn look(rule: &RuleView<'_>, lint: &mut Lint<'_>) {
    let mut settled = false;
    for (keyword, condition) in super::conditions(rule.rule) {
        let Some(formula) = rule.formula(keyword) else { continue };
        if unknown_value(rule, keyword, formula, lint) {
            settled = true;
            continue;
        }
        // What a table of labels says is not known here.
        let closed = !condition.source().contains("labels");
        let alone = closed.then(|| condition.evaluate(&Facts::new(Arc::new(NoLabels))));
        let triggered = triggered(rule, formula);
        let mut fuel = Fuel::new(STEPS);
        if alone == Some(Outcome::Unsatisfied) || impossible(&triggered, &mut fuel) {
            settled = true;
            always_false(rule, keyword, formula, lint);
        } else if alone == Some(Outcome::Satisfied) || impossible(&formula.negated(), &mut fuel) {
            settled = true;
            let written = condition.source().trim() == "true";
            always_true(rule, keyword, written, lint);
        }
    }
    let both = (rule.formula(Keyword::When), rule.formula(Keyword::Evidence));
    if let (Some(when), Some(evidence), false) = (both.0, both.1, settled) {
        let both = Formula::and([triggered(rule, when), triggered(rule, evidence)]);
        if impossible(&both, &mut Fuel::new(STEPS)) {
            let message = "`evidence` cannot be true where `when` is: it is never reached";
            let hint = "`when` is necessary and `evidence` sufficient, so `evidence` must be possible under `when`";
            let span = rule.span(Keyword::Evidence);
            lint.add(Severity::Warning, Code::UnreachableEvidence, span, message, hint);
        }
    }
}

/// The condition under what the trigger says of `tool`.
fn triggered(rule: &RuleView<'_>, formula: &Formula) -> Formula {
    formula.map(&|test| {
        let Relation::Is(values) = &test.relation else { return None };
        let covered = |value: &Literal| value.text().is_none_or(|it| rule.rule.trigger.matches(it));
        (&*test.term == "tool" && !values.iter().any(covered)).then_some(!test.holds)
    })
}

fn always_false(rule: &RuleView<'_>, keyword: Keyword, formula: &Formula, lint: &mut Lint<'_>) {
    let word = keyword.as_str();
    let follows = match keyword {
        Keyword::When => "this rule is never checked",
        Keyword::Decide => "this rule never holds",
        Keyword::Verify => "its recovery is never verified",
        _ => "it never proves anything",
    };
    let mut tests = Vec::new();
    formula.tests(&mut tests);
    let tool = tests.iter().any(|test| &*test.term == "tool");
    let hint = if matches!(formula, Formula::Const(_)) {
        "remove the rule, or say when it shall hold"
    } else if tool {
        "its parts exclude each other, or the tool that it asks for is not in `trigger`"
    } else {
        "its parts exclude each other: is one `&&` meant as `||`, or one value mistyped?"
    };
    let message = format!("`{word}` is always false: {follows}");
    lint.add(Severity::Warning, Code::AlwaysFalse, rule.span(keyword), message, hint);
}

fn always_true(rule: &RuleView<'_>, keyword: Keyword, written: bool, lint: &mut Lint<'_>) {
    let every_tool = rule.rule.trigger.patterns().iter().any(|pattern| &**pattern == "*");
    // "Every call of this tool" is a rule that people write, and this is how.
    let deliberate = written && !every_tool;
    if deliberate && matches!(keyword, Keyword::Decide | Keyword::Evidence) {
        return;
    }
    let word = keyword.as_str();
    let follows = match keyword {
        Keyword::When => "it says nothing",
        Keyword::Verify => "nothing is verified",
        _ => "this rule holds for every call of its tools",
    };
    let hint = if written {
        "leave it out, or say when it shall hold"
    } else {
        "one of its parts always holds: is one `||` meant as `&&`?"
    };
    let message = format!("`{word}` is always true: {follows}");
    lint.add(Severity::Warning, Code::AlwaysTrue, rule.span(keyword), message, hint);
}

/// Reports the first value that its fact never has.
fn unknown_value(
    rule: &RuleView<'_>,
    keyword: Keyword,
    formula: &Formula,
    lint: &mut Lint<'_>,
) -> bool {
    let mut tests: Vec<&Test> = Vec::new();
    formula.tests(&mut tests);
    for test in tests {
        let of = |start: &str, end: &str| test.term.starts_with(start) && test.term.ends_with(end);
        let known = VALUES.iter().find(|(start, end, _)| of(start, end));
        let (Some((_, _, known)), Relation::Is(values)) = (known, &test.relation) else { continue };
        let wrong = |value: &&Literal| value.text().is_some_and(|it| !known.contains(&it));
        let Some(value) = values.iter().find(wrong).and_then(Literal::text) else { continue };
        let fact = test.term.rsplit('.').next().unwrap_or(&test.term);
        let message = format!("`{fact}` is never {}", quoted(value));
        let list: Vec<String> = known.iter().map(|value| format!("`{value}`")).collect();
        let hint = match nearest(value, known.iter().copied(), |value| value) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("it is one of {}", list.join(", ")),
        };
        let span = lint.place(rule.span(keyword), value);
        lint.add(Severity::Warning, Code::UnknownValue, span, message, hint);
        return true;
    }
    false
}
