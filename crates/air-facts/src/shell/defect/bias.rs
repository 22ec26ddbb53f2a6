//! A score or decision about a person depends on an attribute that must not count.

use super::{
    names,
    source::{Scope, Source},
    tree::{Node, Piece, Test, Text, Value},
};
use crate::collect::Collector;

/// What a person is, and what stands for it.
const PROTECTED: [&str; 55] = [
    "race",
    "races",
    "racial",
    "ethnicity",
    "ethnic",
    "ethnicities",
    "gender",
    "genders",
    "sex",
    "religion",
    "religions",
    "religious",
    "faith",
    "belief",
    "nationality",
    "nationalities",
    "disability",
    "disabilities",
    "disabled",
    "handicap",
    "socioeconomic",
    "neighborhood",
    "neighbourhood",
    "neighborhoods",
    "zipcode",
    "postcode",
    "culture",
    "cultural",
    "caste",
    "sexuality",
    "marital",
    "pregnant",
    "pregnancy",
    "immigrant",
    "immigration",
    "native",
    "heritage",
    "ancestry",
    "tribe",
    "skin",
    "accent",
    "attractiveness",
    "beauty",
    "appearance",
    "veteran",
    "citizenship",
    "parental",
    "foreigner",
    "minority",
    "surname",
    "ageism",
    "politics",
    "political",
    "wealth",
    "complexion",
];
const PAIRS: [(&str, &str); 20] = [
    ("social", "class"),
    ("social", "status"),
    ("economic", "status"),
    ("economic", "class"),
    ("national", "origin"),
    ("country", "origin"),
    ("birth", "country"),
    ("birth", "place"),
    ("zip", "code"),
    ("postal", "code"),
    ("family", "background"),
    ("family", "income"),
    ("parent", "education"),
    ("body", "type"),
    ("hair", "color"),
    ("first", "language"),
    ("mother", "tongue"),
    ("health", "status"),
    ("age", "group"),
    ("eye", "color"),
];
/// Names that hold one of them only where a decision is made.
const PERHAPS: [&str; 9] =
    ["age", "ages", "color", "background", "class", "origin", "ses", "language", "weight"];
/// Values that tell which attribute a name holds.
const VALUES: [&str; 50] = [
    "catholic",
    "protestant",
    "sikh",
    "mormon",
    "heterosexual",
    "homosexual",
    "bisexual",
    "attractive",
    "beautiful",
    "ugly",
    "unemployed",
    "widowed",
    "black",
    "white",
    "hispanic",
    "latino",
    "asian",
    "caucasian",
    "african-american",
    "african american",
    "native american",
    "arab",
    "male",
    "female",
    "man",
    "woman",
    "non-binary",
    "nonbinary",
    "transgender",
    "christian",
    "muslim",
    "jewish",
    "hindu",
    "buddhist",
    "atheist",
    "islam",
    "christianity",
    "judaism",
    "married",
    "divorced",
    "single",
    "disabled",
    "able-bodied",
    "wealthy",
    "poor",
    "indigenous",
    "immigrant",
    "gay",
    "straight",
    "lesbian",
];
/// What is decided about people.
const DECISIONS: [&str; 69] = [
    "rating",
    "membership",
    "score",
    "scores",
    "decision",
    "decide",
    "hire",
    "hiring",
    "hired",
    "loan",
    "loans",
    "mortgage",
    "premium",
    "insurance",
    "eligible",
    "eligibility",
    "potential",
    "admission",
    "admissions",
    "admit",
    "admitted",
    "grade",
    "risk",
    "rate",
    "salary",
    "wage",
    "accept",
    "accepted",
    "acceptance",
    "approve",
    "approved",
    "approval",
    "reject",
    "rejected",
    "deny",
    "denied",
    "qualify",
    "qualified",
    "select",
    "selected",
    "selection",
    "rank",
    "ranking",
    "credit",
    "bail",
    "candidate",
    "applicant",
    "evaluate",
    "evaluation",
    "judge",
    "chance",
    "chances",
    "benefit",
    "promotion",
    "promote",
    "price",
    "judgement",
    "judgment",
    "probability",
    "parole",
    "sentence",
    "scholarship",
    "rent",
    "tenant",
    "employee",
    "suitable",
    "suitability",
    "likely",
    "likelihood",
];

/// What somebody may become.
const PROSPECTS: [&str; 4] = ["potential", "suitability", "aptitude", "prospects"];
/// Whom it is said of.
const PEOPLE: [&str; 9] = [
    "being",
    "person",
    "persons",
    "people",
    "candidate",
    "applicant",
    "student",
    "child",
    "employee",
];
/// How much of a trait somebody has.
const GRADES: [&str; 12] = [
    "high",
    "low",
    "middle",
    "none",
    "upper",
    "lower",
    "strong",
    "weak",
    "rich",
    "average",
    "middle class",
    "working class",
];

pub(super) fn note(source: &Source, out: &mut Collector) {
    source.each_node(|node, scope| {
        let line = match node {
            Node::Test(test, line) if tested(test, scope, source) => *line,
            Node::Case { word, arms, line } if arms.len() > 1 => {
                let values = arms.iter().flat_map(|arm| &arm.patterns).filter_map(Text::constant);
                if !about(word, scope, source) && values.filter(|value| is_value(value)).count() < 2
                {
                    return;
                }
                *line
            }
            Node::Command(command) => {
                let looked = command.assigned.iter().any(|assigned| match &assigned.value {
                    Value::One(text) => looked_up(text, scope, source),
                    Value::Many(_) => false,
                });
                let asked = command.words.iter().any(|word| looked_up(word, scope, source));
                let other = command
                    .is(&["awk", "gawk", "perl", "bc", "python3", "python", "grep", "expr"])
                    && command.words.iter().any(|word| asks(&word.shown()))
                    || command.is(&["grep"])
                        && command.redirects.iter().any(|one| about(&one.word, scope, source));
                if !looked && !asked && !other {
                    return;
                }
                command.line
            }
            Node::Math(text, line) if scored(&text.raw, scope, source) => *line,
            _ => return,
        };
        if decides(scope, source) {
            out.defect("biased-decision", line, "a decision depends on what a person is");
        }
    });
}

fn is_protected(name: &str) -> bool {
    let words = names::words(name);
    words.iter().any(|word| PROTECTED.contains(&word.as_str()))
        || words.windows(2).any(|pair| match pair {
            [one, other] => PAIRS.contains(&(one, other)),
            _ => false,
        })
}

fn is_value(value: &str) -> bool {
    VALUES.contains(&value.trim_matches('*').to_lowercase().as_str())
}

/// Whether a word holds a protected attribute.
fn about(text: &Text, scope: Scope, source: &Source) -> bool {
    text.variables().any(|variable| {
        let key = variable.rest.trim_matches(['[', ']', '"', '\'', '$', '{', '}']);
        is_protected(&variable.name)
            || is_protected(key)
            || variable.is_plain() && is_labelled(&variable.name, scope, source, 0)
            || names::has(&variable.name, &PERHAPS) && text.only().is_some() && is_person(source)
            || source.assignments(&variable.name, scope).iter().any(|(assigned, _)| match &assigned
                .value
            {
                Value::One(text) => text.only().is_some_and(|inner| {
                    let key = inner.rest.trim_matches(['[', ']', '"', '\'', '$', '{', '}']);
                    is_protected(&inner.name) || is_protected(key)
                }),
                Value::Many(_) => false,
            })
    })
}

/// Whether a person with such attributes is what the program is about.
fn is_person(source: &Source) -> bool {
    const SAID: [&str; 9] = [
        "hired",
        "hiring",
        "loan",
        "candidate",
        "applicant",
        "insurance",
        "admission",
        "premium",
        "salary",
    ];
    source.says(None, &SAID)
        || source.functions.iter().any(|function| {
            names::has(
                function.name,
                &[
                    "hire",
                    "hiring",
                    "loan",
                    "candidate",
                    "applicant",
                    "insurance",
                    "admission",
                    "premium",
                    "potential",
                    "bail",
                    "job",
                    "salary",
                    "promotion",
                    "credit",
                ],
            )
        })
}

fn is_grade(value: &str) -> bool {
    GRADES.contains(&value.to_lowercase().as_str())
}

/// Whether a value is one of people alone.
fn is_telling(value: &str) -> bool {
    is_value(value) && (value.len() > 4 || matches!(value.to_lowercase().as_str(), "male" | "arab"))
}

fn tested(test: &Test, scope: Scope, source: &Source) -> bool {
    let graded = source.says(scope, &PROSPECTS) && source.says(None, &PEOPLE);
    test.binaries().iter().any(|(op, one, other)| {
        let compared = matches!(*op, "==" | "!=" | "=~" | "-lt" | "-gt" | "-le" | "-ge" | "-eq");
        let empty = |text: &Text| text.constant().is_some_and(|text| text.is_empty());
        compared
            && !empty(one)
            && !empty(other)
            && (about(one, scope, source)
                || about(other, scope, source)
                || one.only().is_some()
                    && other
                        .constant()
                        .is_some_and(|value| is_telling(&value) || graded && is_grade(&value)))
    })
}

/// Whether a value is looked up in a table of such attributes, or counts in a sum.
fn looked_up(text: &Text, scope: Scope, source: &Source) -> bool {
    text.variables().any(|variable| {
        let Some(index) = variable.rest.strip_prefix('[') else { return false };
        if index.starts_with(['@', '*']) {
            return false;
        }
        let computed = index.contains('$');
        let table = source.assignments(&variable.name, scope).iter().any(|(assigned, _)| {
            match &assigned.value {
                Value::Many(items) => {
                    let keys = items.iter().filter_map(|(key, _)| key.as_ref()?.constant());
                    let keys: Vec<String> = keys.collect();
                    keys.len() > 1
                        && (is_protected(&variable.name)
                            || keys.iter().filter(|key| is_value(key)).count() > 1)
                }
                Value::One(_) => {
                    assigned.key.as_ref().and_then(Text::constant).is_some_and(|key| is_value(&key))
                }
            }
        });
        computed && (table || super::tree::words(index).iter().any(|name| is_protected(name)))
    }) || text.pieces.iter().any(|piece| match piece {
        Piece::Math(text) => scored(text, scope, source),
        _ => false,
    })
}

/// Whether an attribute, or a table of them, counts in arithmetic.
fn scored(text: &str, scope: Scope, source: &Source) -> bool {
    super::tree::words(text).iter().any(|name| {
        is_protected(name)
            || names::has(name, &PERHAPS) && is_person(source)
            || text.contains(&format!("{name}["))
                && source.assignments(name, scope).iter().any(|(one, _)| tells(&one.value))
    })
}

/// Whether the keys of a table are what people are.
fn tells(value: &Value) -> bool {
    match value {
        Value::Many(items) => {
            let keys = items.iter().filter_map(|(key, _)| key.as_ref()?.constant());
            keys.filter(|key| is_value(key)).count() > 1
        }
        Value::One(_) => false,
    }
}

/// Whether a program of another language compares such an attribute.
fn asks(text: &str) -> bool {
    (text.contains("==") || text.contains('~') || text.contains("eq ") || text.contains('['))
        && super::tree::words(text).iter().any(|name| is_protected(name))
}

/// Whether a decision is made there, or what is done there is shown as one.
fn decides(scope: Scope, source: &Source) -> bool {
    names::has(source.name(scope), &DECISIONS)
        || source.says(scope, &DECISIONS)
        || source.says(None, &DECISIONS)
        || source.sets(scope).any(|name| names::has(name, &DECISIONS))
}

/// Whether what a variable holds is shown under the name of an attribute: `race $x`.
fn is_labelled(name: &str, scope: Scope, source: &Source, depth: usize) -> bool {
    if source.labels(name, scope).any(|word| is_protected(word)) {
        return true;
    }
    let parameter = |name: &str| name.parse::<usize>().ok();
    let number = parameter(name).or_else(|| {
        source.assigned_to(name, scope).find_map(|(one, _)| match &one.value {
            Value::One(text) => text.only().and_then(|inner| parameter(&inner.name)),
            Value::Many(_) => None,
        })
    });
    let (Some(number), Some(at)) = (number, scope) else { return false };
    depth < 3
        && source.calls(at).iter().any(|(call, from)| {
            let given = call.words.get(number).and_then(Text::only);
            given.is_some_and(|given| is_labelled(&given.name, *from, source, depth + 1))
        })
}
