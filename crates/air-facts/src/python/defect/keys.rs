//! `duplicate-key`: the same key twice, of which one value is never found.

use std::collections::HashMap;

use super::{
    Flaw,
    tree::{Id, Tree},
};

/// The key that `id` is, if it is a constant.
pub(crate) fn key(tree: &Tree, id: Id) -> Option<String> {
    match tree.kind(id) {
        "string" | "concatenated_string" => {
            tree.literal(id).filter(|text| !text.is_empty()).map(|text| format!("'{text}'"))
        }
        "integer" | "float" => Some(
            tree.number(id).map_or_else(|| tree.text(id).to_owned(), |number| number.to_string()),
        ),
        "true" | "false" | "none" => Some(tree.text(id).to_owned()),
        "tuple" => {
            let part = |part| tree.nested(|| key(tree, part)).flatten();
            let parts: Option<Vec<String>> = tree.below(id).map(part).collect();
            parts.map(|parts| parts.join(","))
        }
        "identifier" => tree.constant(id).map(|text| format!("'{text}'")),
        _ => None,
    }
}

fn twice(keys: Vec<(String, Id)>) -> Option<(String, Id)> {
    let mut seen = HashMap::new();
    keys.into_iter().find(|(key, id)| seen.insert(key.clone(), *id).is_some())
}

pub(super) fn find(tree: &Tree, flaws: &mut Vec<Flaw>) {
    for id in 0..tree.len() {
        match tree.kind(id) {
            "dictionary" => {
                let pairs = tree.below(id).filter(|part| tree.kind(*part) == "pair");
                let keys = pairs.filter_map(|pair| tree.child(pair, "key"));
                let keys = keys.filter_map(|at| key(tree, at).map(|key| (key, at))).collect();
                if let Some((key, at)) = twice(keys) {
                    let why = format!("the key {key} is in the dictionary twice");
                    flaws.push(Flaw::new("duplicate-key", tree.line(at), why));
                }
            }
            "string"
                if tree.kind(tree.parent(id)) == "argument_list"
                    || tree.kind(tree.parent(id)) == "assignment" =>
            {
                let repeated = tree.literal(id).as_deref().and_then(in_json);
                if let Some(key) = repeated {
                    let why = format!("the key \"{key}\" is in the object twice");
                    flaws.push(Flaw::new("duplicate-key", tree.line(id), why));
                }
            }
            _ => {}
        }
    }
    lists(tree, flaws);
}

/// The first key that an object of a JSON text has twice.
fn in_json(text: &str) -> Option<String> {
    if !text.trim_start().starts_with(['{', '[']) || text.len() > 1 << 14 {
        return None;
    }
    let mut objects: Vec<Vec<String>> = Vec::new();
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '{' => objects.push(Vec::new()),
            '}' => {
                objects.pop();
            }
            '"' => {
                let mut word = String::new();
                while let Some(c) = letters.next() {
                    match c {
                        '"' => break,
                        '\\' => word.extend(letters.next()),
                        c => word.push(c),
                    }
                }
                while letters.peek().is_some_and(|c| c.is_whitespace()) {
                    letters.next();
                }
                if let (Some(':'), Some(keys)) = (letters.peek(), objects.last_mut()) {
                    if keys.contains(&word) {
                        return Some(word);
                    }
                    keys.push(word);
                }
            }
            _ => {}
        }
    }
    None
}

/// The pairs that `id` puts into a list: itself, or what it holds.
pub(crate) fn pairs(tree: &Tree, id: Id) -> Vec<(String, Id)> {
    let pair = |id: Id| {
        let parts: Vec<Id> = tree.below(id).collect();
        match (tree.kind(id), parts.as_slice()) {
            ("tuple" | "list", [first, _, ..]) => key(tree, *first).map(|key| (key, id)),
            ("dictionary", _) => parts
                .iter()
                .find_map(|part| {
                    let name = tree.child(*part, "key").and_then(|key| tree.literal(key))?;
                    let value = tree.child(*part, "value")?;
                    matches!(name.as_str(), "key" | "name" | "id")
                        .then(|| key(tree, value))
                        .flatten()
                })
                .map(|key| (key, id)),
            ("call", _) => {
                let first = tree.arguments(id).first().map(|(_, first)| *first)?;
                let class = tree.callee(id);
                let made = class.chars().next().is_some_and(char::is_uppercase)
                    && tree.arguments(id).len() > 1;
                made.then(|| key(tree, first)).flatten().map(|key| (key, id))
            }
            _ => None,
        }
    };
    match tree.kind(id) {
        "list" | "tuple" | "expression_list" | "set"
            if tree.below(id).next().is_some_and(|first| {
                matches!(tree.kind(first), "tuple" | "list" | "dictionary" | "call")
            }) =>
        {
            tree.below(id).filter_map(pair).collect()
        }
        _ => pair(id).into_iter().collect(),
    }
}

/// Lists of pairs that are looked up by key.
fn lists(tree: &Tree, flaws: &mut Vec<Flaw>) {
    let mut found = Vec::new();
    for ((scope, name), values) in &tree.assigned {
        let keys: Vec<(String, Id)> = values.iter().flat_map(|value| pairs(tree, *value)).collect();
        if keys.len() < 2 || !tree.work(keys.len()) {
            continue;
        }
        if let Some((key, at)) = both_there(tree, keys)
            && looked_up(tree, *scope, name)
        {
            found.push((tree.line(at), key));
        }
    }
    for call in tree.every_call.iter().filter(|call| {
        tree.callee(**call) == "dict" || tree.callee(**call).ends_with("OrderedDict")
    }) {
        let list = tree.argument(*call, 0, "").filter(|list| tree.kind(*list) == "list");
        if let Some((key, at)) = list.and_then(|list| twice(pairs(tree, list))) {
            found.push((tree.line(at), key));
        }
    }
    found.sort();
    found.dedup();
    for (line, key) in found {
        let why = format!("the key {key} is in the list twice, and only one of them is found");
        flaws.push(Flaw::new("duplicate-key", line, why));
    }
}

/// The first key that two pairs of one list have, where not only one of them is put into it.
fn both_there(tree: &Tree, keys: Vec<(String, Id)>) -> Option<(String, Id)> {
    let block = |id| tree.parents(id).find(|above| matches!(tree.kind(*above), "block" | "module"));
    let together = |one: Id, other: Id| {
        let (of_one, of_other) = (block(one), block(other));
        tree.parents(one).any(|above| Some(above) == of_other)
            || tree.parents(other).any(|above| Some(above) == of_one)
    };
    let mut seen: HashMap<String, Vec<Id>> = HashMap::new();
    keys.into_iter().find(|(key, id)| {
        let before = seen.entry(key.clone()).or_default();
        let found = before.iter().any(|other| together(*other, *id));
        before.push(*id);
        found
    })
}

/// Whether the list of that name is searched for a key: made a dictionary, or gone through with the
/// first of each pair compared, here or in a function that it is passed to.
pub(crate) fn looked_up(tree: &Tree, scope: usize, name: &str) -> bool {
    let compares = |names: &[&str], id: Id| {
        tree.within(id).any(|at| {
            tree.kind(at) == "comparison_operator"
                && tree.text(at).contains("==")
                && tree.below(at).any(|side| match tree.kind(side) {
                    "identifier" => names.contains(&tree.text(side)),
                    "subscript" => {
                        let index = tree.child(side, "subscript").map(|index| tree.text(index));
                        matches!(
                            index,
                            Some(
                                "0" | "'key'"
                                    | "\"key\""
                                    | "'name'"
                                    | "\"name\""
                                    | "'id'"
                                    | "\"id\""
                            )
                        )
                    }
                    "attribute" => {
                        let last = tree.text(side).rsplit('.').next();
                        matches!(last, Some("key" | "name" | "id"))
                    }
                    _ => false,
                })
        })
    };
    if !tree.work(tree.len()) {
        return false;
    }
    for id in 0..tree.len() {
        if tree.kind(id) != "identifier" || tree.text(id) != name {
            continue;
        }
        let parent = tree.parent(id);
        let above = tree.parents(id).find(|above| {
            matches!(
                tree.kind(*above),
                "call" | "for_statement" | "for_in_clause" | "lambda" | "function_definition"
            )
        });
        let Some(above) = above else { continue };
        match tree.kind(above) {
            "call" if tree.kind(parent) == "argument_list" => {
                let callee = tree.callee(above);
                if matches!(callee.as_str(), "dict" | "collections.OrderedDict" | "OrderedDict") {
                    return true;
                }
                if tree.runs(above).iter().any(|function| {
                    tree.functions.get(*function).is_some_and(|function| {
                        let text = tree.text(function.at);
                        let first: Vec<&str> = firsts(tree, function.at);
                        tree.work(text.len() / 64) && text.contains("dict(")
                            || compares(&first, function.at)
                            || compares(&["key", "k"], function.at)
                    })
                }) {
                    return true;
                }
                if matches!(
                    callee.as_str(),
                    "filter" | "next" | "enumerate" | "list" | "iter" | "reversed" | "sorted"
                ) {
                    let function = tree.functions.get(scope).map_or(0, |function| function.at);
                    let around = if scope == 0 { 0 } else { function };
                    if compares(&firsts(tree, around), around) {
                        return true;
                    }
                }
            }
            "for_statement" if compares(&firsts(tree, above), above) => return true,
            "for_in_clause" => {
                let whole = tree.parent(above);
                if compares(&firsts(tree, whole), whole) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// Names of the first of a pair in loops below `id`.
fn firsts<'s>(tree: &Tree<'s, '_>, id: Id) -> Vec<&'s str> {
    let loops = std::iter::once(id)
        .chain(tree.within(id))
        .filter(|at| matches!(tree.kind(*at), "for_statement" | "for_in_clause"));
    let targets = loops.filter_map(|at| tree.child(at, "left"));
    let names =
        targets.flat_map(|target| tree.within(target).filter(|at| tree.kind(*at) == "identifier"));
    names.map(|at| tree.text(at)).collect()
}
