//! `timing-comparison`: how long it takes, or what is said, tells how much of a secret was right.

use super::{
    Flaw, names,
    tree::{Id, Tree},
};

/// Words of secrets that also mean other things.
const WEAK: [&str; 16] = [
    "key",
    "token",
    "code",
    "signature",
    "digest",
    "hash",
    "mac",
    "card",
    "license",
    "secret",
    "credential",
    "session",
    "checksum",
    "sig",
    "answer",
    "input",
];
/// Words of what is right.
const RIGHT: [&str; 12] = [
    "correct",
    "stored",
    "expected",
    "valid",
    "real",
    "actual",
    "true",
    "original",
    "known",
    "saved",
    "right",
    "reference",
];
/// Words of functions that let somebody in.
const LETS: [&str; 28] = [
    "authorized",
    "authorised",
    "attempt",
    "trusted",
    "check",
    "verify",
    "auth",
    "authenticate",
    "validate",
    "login",
    "compare",
    "confirm",
    "unlock",
    "activate",
    "access",
    "match",
    "test",
    "equal",
    "equals",
    "authorize",
    "credentials",
    "signin",
    "process",
    "decrypt",
    "redeem",
    "approve",
    "is",
    "guess",
];
/// Words of what a person types twice.
const TWICE: [&str; 8] =
    ["confirm", "confirmation", "again", "repeat", "repeated", "retype", "second", "old"];
/// Words of what somebody tries.
const GUESSED: [&str; 4] = ["guess", "attempt", "guessed", "tried"];
/// Functions of which others notice how long or how strong they work.
const NOTICED: [&str; 4] = ["time.sleep", "os.system", "psutil.", "winsound."];

fn last_name<'s>(tree: &Tree<'s, '_>, id: Id) -> &'s str {
    tree.nested(|| last_name_of(tree, id)).unwrap_or_default()
}

fn last_name_of<'s>(tree: &Tree<'s, '_>, id: Id) -> &'s str {
    match tree.kind(id) {
        "identifier" => tree.text(id),
        "attribute" => tree.child(id, "attribute").map_or("", |name| tree.text(name)),
        "subscript" => tree.child(id, "value").map_or("", |value| last_name(tree, value)),
        // A secret with something before it is one.
        "binary_operator" => tree
            .below(id)
            .map(|part| last_name(tree, part))
            .find(|name| names::is_secret(name) || is_weak(name))
            .unwrap_or_default(),
        "call" => {
            let callee = tree.child(id, "function");
            let object = callee.and_then(|callee| tree.child(callee, "object"));
            match tree.callee(id).as_str() {
                "len" | "list" | "str" | "bytes" | "ord" | "int" | "tuple" | "sorted" => {
                    tree.argument(id, 0, "").map_or("", |first| last_name(tree, first))
                }
                _ => object.map_or("", |object| last_name(tree, object)),
            }
        }
        _ => "",
    }
}

fn is_right(name: &str) -> bool {
    names::says(name, &RIGHT)
}

fn is_weak(name: &str) -> bool {
    names::says(name, &WEAK)
}

/// Whether one of both is a secret that the other is tried against.
fn tried(tree: &Tree, one: Id, other: Id) -> bool {
    let (a, b) = (last_name(tree, one), last_name(tree, other));
    if names::says(a, &TWICE) || names::says(b, &TWICE) || a == b {
        return false;
    }
    let guess = |name: &str| names::says(name, &GUESSED);
    let lets = tree.around(one).iter().any(|name| names::says(name, &LETS)) || guess(a) || guess(b);
    let pair = |a: &str, b: &str, other: Id| {
        let secret = names::is_secret(a) && !names::says(a, &["len", "length", "type", "field"]);
        let fixed = tree.constant(other).is_some_and(|text| text.len() > 2)
            || (!b.is_empty()
                && matches!(tree.kind(other), "identifier" | "attribute" | "subscript" | "call"));
        let known = matches!(tree.kind(other), "none" | "true" | "false" | "integer");
        let empty = tree.literal(other).is_some_and(|text| text.len() < 3);
        // The digest of a file is no secret.
        let public = names::says(a, &["hash", "digest", "checksum"])
            && !tree.around(one).iter().any(|name| {
                names::is_secret(name)
                    || names::says(name, &["auth", "login", "signature", "token", "user"])
            });
        let strong = secret && fixed && lets && !empty && !known;
        let weak = !public
            && is_weak(a)
            && (is_right(a) || is_right(b))
            && lets
            && !empty
            && !known
            && !b.is_empty();
        strong || weak
    };
    pair(a, b, other) || pair(b, a, one)
}

pub(super) fn find(tree: &Tree, flaws: &mut Vec<Flaw>) {
    let before = flaws.len();
    for id in 0..tree.len() {
        let why = match tree.kind(id) {
            "comparison_operator" => compared(tree, id),
            "for_statement" => one_by_one(tree, id),
            "call" => noticed(tree, id),
            _ => None,
        };
        if let Some(why) = why {
            flaws.push(Flaw::new("timing-comparison", tree.line(id), why));
            if flaws.len() - before > 4 {
                return;
            }
        }
    }
}

fn compared(tree: &Tree, id: Id) -> Option<&'static str> {
    let parts: Vec<Id> = tree.below(id).collect();
    let [one, other] = parts.as_slice() else { return None };
    let operator = tree.all_below(id).find(|part| tree.field(*part) == "operators")?;
    let operator = tree.text(operator);
    if !matches!(operator, "==" | "!=" | "in" | "not in" | "is" | "is not") {
        return None;
    }
    if matches!(operator, "is" | "is not")
        && [one, other].iter().any(|side| tree.kind(**side) == "none")
    {
        return None;
    }
    // Lengths that are required of every new password are no secret.
    let both_lengths =
        parts.iter().all(|part| tree.kind(*part) == "call" && tree.callee(*part) == "len");
    let length = parts.iter().any(|part| tree.kind(*part) == "call" && tree.callee(*part) == "len");
    if length && !both_lengths {
        return None;
    }
    tried(tree, *one, *other).then_some(
        "a comparison that ends at the first difference tells how much of a secret was right",
    )
}

/// A loop over both that ends at the first difference, or counts what is right.
fn one_by_one(tree: &Tree, id: Id) -> Option<&'static str> {
    let secretive = tree.functions.get(tree.scope(id)).is_some_and(|function| {
        let name = function.name;
        let parameters = &function.parameters;
        let named = |name: &str| names::is_secret(name) || is_weak(name) || is_right(name);
        names::says(name, &LETS) && (named(name) || parameters.iter().any(|(name, _)| named(name)))
    });
    if !secretive {
        return None;
    }
    let compares = tree.within(id).any(|at| {
        tree.kind(at) == "comparison_operator" && {
            let parts = |kind| tree.below(at).filter(move |side| tree.kind(*side) == kind).count();
            parts("subscript") == 2 || (parts("identifier") == 2 && zipped(tree, id))
        }
    });
    let ends = tree.within(id).any(|at| {
        matches!(tree.kind(at), "return_statement" | "break_statement" | "augmented_assignment")
    });
    (compares && ends)
        .then_some("a secret is compared letter by letter, and how far it goes can be told")
}

/// Whether the loop goes through two at once.
fn zipped(tree: &Tree, id: Id) -> bool {
    tree.child(id, "right").is_some_and(|items| {
        std::iter::once(items)
            .chain(tree.within(items))
            .any(|at| tree.kind(at) == "call" && tree.callee(at).ends_with("zip"))
    })
}

/// What others notice is done with a secret, or under a condition over it.
fn noticed(tree: &Tree, id: Id) -> Option<&'static str> {
    let callee = tree.callee(id);
    if callee.ends_with(".startswith") || callee.ends_with(".endswith") {
        let object = tree.child(id, "function").and_then(|callee| tree.child(callee, "object"))?;
        let other = tree.argument(id, 0, "prefix")?;
        let name = last_name(tree, object);
        let secret = names::is_secret(name) || is_weak(name) || names::says(name, &["card"]);
        let right = is_right(last_name(tree, other)) || names::is_secret(last_name(tree, other));
        return (secret && right).then_some("a part of a secret is accepted for the whole");
    }
    if !NOTICED.iter().any(|name| super::seed::names_same(&callee, name) || callee == *name) {
        return None;
    }
    let secret = |name: &str| names::is_secret(name);
    let given = tree.arguments(id).into_iter().any(|(_, value)| {
        tree.reach(value).into_iter().any(|at| {
            tree.kind(at) == "identifier"
                && (secret(tree.text(at)) || tree.parameter(at).is_none() && of_letter(tree, at))
        })
    });
    let ruled = tree.parents(id).filter_map(|above| tree.child(above, "condition")).any(|test| {
        tree.within(test).chain(std::iter::once(test)).any(|at| {
            tree.kind(at) == "identifier"
                && (secret(tree.text(at))
                    || names::holds(
                        tree.around(at).first().copied().unwrap_or_default(),
                        &["sensitive", "secret", "password", "auth"],
                    ))
        })
    });
    (given || ruled).then_some("what a secret holds decides how much work others notice")
}

/// Whether the name stands for a letter of a secret.
fn of_letter(tree: &Tree, id: Id) -> bool {
    let given = tree.given(tree.scope(id), tree.text(id));
    given
        .into_iter()
        .any(|value| tree.kind(value) == "identifier" && names::is_secret(tree.text(value)))
}
