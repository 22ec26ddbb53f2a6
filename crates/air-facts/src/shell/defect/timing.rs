//! A secret is compared so that the time or the message tells how much of it was right.

use super::{
    names,
    source::{Scope, Source},
    tree::{Loop, Node, Piece, Test, Text, Turns, Value, Variable, walk},
};
use crate::collect::Collector;

/// What says that a value is the one that is right.
const RIGHT: [&str; 14] = [
    "correct",
    "expected",
    "stored",
    "valid",
    "actual",
    "real",
    "saved",
    "known",
    "master",
    "true",
    "reference",
    "original",
    "target",
    "registered",
];
/// What is said to who was not right.
const REFUSED: [&str; 6] =
    ["incorrect", "denied", "wrong", "again", "unauthorized", "unauthorised"];
/// The same, where it is said of a secret.
const FAILED: [&str; 7] =
    ["invalid", "failed", "mismatch", "rejected", "match", "unknown", "expired"];
/// Commands whose output says nothing of their input.
const ONE_WAY: [&str; 9] = [
    "md5sum",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "b2sum",
    "openssl",
    "shasum",
];

pub(super) fn note(source: &Source, out: &mut Collector) {
    source.each_node(|node, scope| match node {
        Node::Loop(turns) if characters(turns) || weighs(turns) => {
            out.defect("timing-comparison", turns.line, "a secret is gone through one by one");
        }
        Node::Test(test, line) if secret(test, scope, source) => {
            out.defect(
                "timing-comparison",
                *line,
                "a secret is compared until the first difference",
            );
        }
        Node::Case { word, arms, line } => {
            let secret = word.only().is_some_and(|one| one.is_plain() && strong(&one.name));
            let values = arms.iter().flat_map(|arm| &arm.patterns).filter_map(Text::constant);
            if secret && values.into_iter().any(|value| value.len() > 3 && !value.contains('*')) {
                out.defect("timing-comparison", *line, "a secret is compared as it is");
            }
        }
        _ => {}
    });
}

/// Whether a name holds nothing but a secret.
fn strong(name: &str) -> bool {
    const STRONG: [&str; 10] = [
        "password",
        "passwd",
        "passw",
        "passphrase",
        "passcode",
        "pin",
        "secret",
        "otp",
        "apikey",
        "pw",
    ];
    names::has(name, &STRONG)
}

/// A loop that compares character by character, or item by item.
fn characters(turns: &Loop) -> bool {
    let mut found = false;
    walk(&turns.body, &mut |node| {
        if let Node::Test(test, _) = node {
            found |= test.binaries().iter().any(|(op, one, other)| {
                let (Some(one), Some(other)) = (one.only(), other.only()) else { return false };
                let same = one.rest == other.rest && one.name != other.name;
                matches!(*op, "==" | "!=")
                    && (one.is_character() && other.is_character()
                        || same && one.rest.starts_with('[') && one.rest.contains('$'))
            });
        }
    });
    found
}

/// A loop over the characters of a secret that sums what they are.
fn weighs(turns: &Loop) -> bool {
    // `i < ${#name}`: how long the secret is.
    let long = match &turns.kind {
        Turns::Count(_, until, _) => until
            .split("${#")
            .skip(1)
            .filter_map(|rest| rest.split_once('}'))
            .any(|(name, _)| names::is_secret(name)),
        _ => false,
    };
    let mut over = false;
    walk(&turns.body, &mut |node| {
        for text in node.texts() {
            over |= text.variables().any(|variable| {
                variable.is_character() && (long || names::is_secret(&variable.name))
            });
        }
    });
    over
}

fn secret(test: &Test, scope: Scope, source: &Source) -> bool {
    test.binaries().iter().any(|(op, one, other)| {
        if !matches!(*op, "==" | "!=") {
            return false;
        }
        let (one, other) = (side(one), side(other));
        let (Some(one), Some(other)) = (one, other) else { return false };
        if hashed(&one, scope, source) || hashed(&other, scope, source) {
            return false;
        }
        match (&one, &other) {
            (Side::Variable(one), Side::Variable(other)) => {
                let again = |name: &str| {
                    names::has(
                        name,
                        &[
                            "confirm",
                            "confirmation",
                            "again",
                            "repeat",
                            "retype",
                            "verify",
                            "new",
                            "old",
                        ],
                    )
                };
                let right = |name: &str| names::has(name, &RIGHT);
                let named = names::is_secret(&one.name) || names::is_secret(&other.name);
                let kept = right(&one.name) && is_constant(one, scope, source)
                    || right(&other.name) && is_constant(other, scope, source);
                !again(&one.name)
                    && !again(&other.name)
                    && one.name != other.name
                    && (kept
                        || told(one, other, scope, source)
                        || told(other, one, scope, source)
                        || named
                            && (right(&one.name)
                                || right(&other.name)
                                || is_constant(one, scope, source)
                                || is_constant(other, scope, source)))
            }
            (Side::Variable(variable), Side::Text(text))
            | (Side::Text(text), Side::Variable(variable)) => {
                let strong = strong(&variable.name)
                    || strong(source.name(scope)) && variable.name.parse::<u8>().is_ok();
                text.len() > 3
                    && strong
                    && variable.is_plain()
                    && !matches!(
                        text.as_str(),
                        "true" | "false" | "null" | "none" | "yes" | "prompt" | "auto"
                    )
            }
            (Side::Text(_), Side::Text(_)) => false,
        }
    })
}

/// Whether what a function was given is compared with what it keeps, and it says who was refused.
fn told(kept: &Variable, given: &Variable, scope: Scope, source: &Source) -> bool {
    let long = |text: &Text| {
        text.constant().is_some_and(|text| text.len() > 3 && !text.starts_with(['/', '-', '.']))
    };
    let all = source.assignments(&kept.name, scope);
    let [(stored, at)] = all.as_slice() else { return false };
    let stored = matches!(&stored.value, Value::One(text) if long(text));
    let number = |name: &str| name.parse::<u8>().is_ok_and(|number| number > 0);
    let parameter = number(&given.name)
        || source.assigned_to(&given.name, scope).any(|(one, _)| {
            matches!(&one.value, Value::One(text) if text.only().is_some_and(|one| number(&one.name)))
        });
    scope.is_some()
        && *at == scope
        && stored
        && parameter
        && (source.says(scope, &REFUSED)
            || source.says(scope, &FAILED) && source.says(scope, &names::SAID))
}

enum Side {
    Variable(Variable),
    Text(String),
}

fn side(text: &Text) -> Option<Side> {
    // A pattern behind the value, as in `$known*`.
    let pieces: Vec<&Piece> = text
        .pieces
        .iter()
        .filter(|piece| !matches!(piece, Piece::Plain(text) | Piece::Quoted(text) if text.trim_matches('*').is_empty()))
        .collect();
    match pieces.as_slice() {
        [Piece::Variable(variable)] if variable.prefix.is_none() => {
            Some(Side::Variable(variable.clone()))
        }
        [Piece::Plain(text) | Piece::Quoted(text)] if !text.contains('*') => {
            Some(Side::Text(text.clone()))
        }
        _ => None,
    }
}

fn is_constant(variable: &Variable, scope: Scope, source: &Source) -> bool {
    source.assignments(&variable.name, scope).iter().any(|(assigned, _)| match &assigned.value {
        Value::One(text) => text.constant().is_some_and(|text| !text.is_empty()),
        Value::Many(_) => false,
    })
}

/// Whether what is compared is a digest.
fn hashed(side: &Side, scope: Scope, source: &Source) -> bool {
    let Side::Variable(variable) = side else { return false };
    if names::has(&variable.name, &["hash", "digest", "sum", "checksum", "hashed", "md5", "sha256"])
    {
        return true;
    }
    source.assignments(&variable.name, scope).iter().any(|(assigned, _)| match &assigned.value {
        Value::One(text) => text.runs().any(|nodes| {
            let mut one_way = false;
            walk(nodes, &mut |node| {
                if let Node::Command(command) = node {
                    one_way |= command.is(&ONE_WAY);
                }
            });
            one_way
        }),
        Value::Many(_) => false,
    })
}
