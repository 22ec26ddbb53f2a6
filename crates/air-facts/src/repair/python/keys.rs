//! Of several entries with one key, the one that is found is kept.

use std::{collections::HashMap, ops::Range};

use super::{Edit, Patch, is_plain};
use crate::{
    python::defect::{
        keys,
        tree::{Id, Tree},
    },
    repair::edit::{indent, line_end, line_start},
};

pub(super) fn mend(tree: &Tree, line: u32) -> Option<Patch> {
    let dictionary = (0..tree.len()).filter(|id| tree.kind(*id) == "dictionary");
    for id in dictionary {
        if let Some(edits) = literal(tree, id) {
            return Some(Patch::new(
                edits,
                "of entries with one key, the one that is found is kept",
            ));
        }
    }
    let mut lists: Vec<_> = tree.assigned.iter().collect();
    lists.sort_by_key(|(_, values)| values.first().copied());
    for ((scope, name), values) in lists {
        let all: Vec<(String, Id)> =
            values.iter().flat_map(|value| keys::pairs(tree, *value)).collect();
        if all.len() < 2 || !keys::looked_up(tree, *scope, name) {
            continue;
        }
        let lost = lost(&all, finds_last(tree, name));
        if lost.is_empty() || !all.iter().any(|(_, at)| tree.line(*at) == line) {
            continue;
        }
        let said = format!("of entries of `{name}` with one key, the one that is found is kept");
        return Some(Patch::new(without(tree, &lost)?, said));
    }
    let of_calls = tree.every_call.iter().filter(|call| {
        let callee = tree.callee(**call);
        callee == "dict" || callee.ends_with("OrderedDict")
    });
    for list in of_calls.filter_map(|call| tree.argument(*call, 0, "")) {
        let lost = lost(&keys::pairs(tree, list), true);
        if tree.kind(list) == "list" && !lost.is_empty() {
            let said = "of entries with one key, the last is kept";
            return Some(Patch::new(without(tree, &lost)?, said));
        }
    }
    None
}

/// Those whose key another one has.
fn lost(all: &[(String, Id)], last: bool) -> Vec<Id> {
    let mut kept: HashMap<&str, Id> = HashMap::new();
    for (key, at) in all {
        if last || !kept.contains_key(key.as_str()) {
            kept.insert(key, *at);
        }
    }
    let is_lost = |(key, at): &&(String, Id)| kept.get(key.as_str()) != Some(at);
    all.iter().filter(is_lost).map(|(_, at)| *at).collect()
}

/// The last of a dictionary's entries with a key has its value, and the first has its place.
fn literal(tree: &Tree, id: Id) -> Option<Vec<Edit>> {
    let pairs: Vec<Id> = tree.below(id).collect();
    let mut first: HashMap<String, Id> = HashMap::new();
    let mut values: HashMap<Id, Id> = HashMap::new();
    let mut lost = Vec::new();
    for pair in &pairs {
        if tree.kind(*pair) != "pair" {
            return None;
        }
        let (name, value) = (tree.child(*pair, "key")?, tree.child(*pair, "value")?);
        let Some(key) = keys::key(tree, name) else { continue };
        match first.get(&key) {
            Some(earlier) => {
                values.insert(*earlier, value);
                lost.push(*pair);
            }
            None => {
                first.insert(key, *pair);
            }
        }
    }
    if lost.is_empty() || !lost.iter().chain(values.keys()).all(|pair| is_plain(tree, *pair)) {
        return None;
    }
    let mut edits = elements(tree, &pairs, &lost)?;
    for (pair, value) in values {
        edits.push(Edit::new(tree.range(tree.child(pair, "value")?), tree.text(value)));
    }
    Some(edits)
}

/// The source without these elements of lists, and without the statements that append them.
fn without(tree: &Tree, lost: &[Id]) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    let mut lists: Vec<Id> = lost.iter().map(|at| tree.parent(*at)).collect();
    lists.dedup();
    for list in lists {
        let all: Vec<Id> = tree.below(list).collect();
        let own: Vec<Id> = lost.iter().copied().filter(|at| tree.parent(*at) == list).collect();
        let acts = |at: &Id| tree.below(*at).any(|part| tree.kind(part) == "call");
        if own.iter().any(acts) {
            return None;
        }
        match tree.kind(list) {
            "list" => edits.extend(elements(tree, &all, &own)?),
            "argument_list" => edits.push(statement(tree, list)?),
            _ => return None,
        }
    }
    Some(edits)
}

/// Takes `lost` out of `all`, with the commas between.
fn elements(tree: &Tree, all: &[Id], lost: &[Id]) -> Option<Vec<Edit>> {
    let Some(kept) = all.iter().position(|at| !lost.contains(at)) else {
        let (first, last) = (all.first()?, all.last()?);
        return Some(vec![Edit::remove(tree.range(*first).start..tree.range(*last).end)]);
    };
    let mut edits = Vec::new();
    for (place, at) in all.iter().enumerate().filter(|(_, at)| lost.contains(at)) {
        let own = tree.range(*at);
        let range = if let Some(line) = line_of(tree.source, &own) {
            line
        } else if place < kept {
            own.start..tree.range(*all.get(place + 1)?).start
        } else {
            tree.range(*all.get(place.checked_sub(1)?)?).end..own.end
        };
        edits.push(Edit::remove(range));
    }
    Some(edits)
}

/// The line of an element that has one to itself.
fn line_of(source: &str, own: &Range<usize>) -> Option<Range<usize>> {
    indent(source, own.start)?;
    let end = line_end(source, own.end);
    let rest = source.get(own.end..end)?.trim();
    matches!(rest, "," | "").then(|| line_start(source, own.start)..(end + 1).min(source.len()))
}

/// The lines of `list.append(…)`, if it stands alone.
fn statement(tree: &Tree, arguments: Id) -> Option<Edit> {
    let call = tree.parent(arguments);
    let callee = tree.callee(call);
    let statement = tree.parent(call);
    let appends = callee.ends_with(".append") || callee == "append";
    let named =
        tree.child(call, "function").is_some_and(|name| tree.text(name).ends_with("append"));
    if !(appends || named) || tree.kind(statement) != "expression_statement" {
        return None;
    }
    let range = tree.range(statement);
    indent(tree.source, range.start)?;
    let end = line_end(tree.source, range.end);
    if !tree.source.get(range.end..end)?.trim().is_empty() {
        return None;
    }
    if tree.below(tree.parent(statement)).count() < 2 {
        return Some(Edit::new(range, "pass"));
    }
    let next = (end + 1).min(tree.source.len());
    Some(Edit::remove(line_start(tree.source, range.start)..next))
}

/// Whether the last entry with a key is the one that a search finds.
fn finds_last(tree: &Tree, name: &str) -> bool {
    let made = tree.every_call.iter().any(|call| {
        let callee = tree.callee(*call);
        let last =
            matches!(callee.as_str(), "dict" | "reversed") || callee.ends_with("OrderedDict");
        last && tree.argument(*call, 0, "").is_some_and(|first| tree.text(first) == name)
    });
    let is_search = |id: &Id| {
        tree.kind(*id) == "for_statement"
            && tree.within(*id).any(|at| tree.kind(at) == "comparison_operator")
    };
    let ends = |id: Id| {
        tree.within(id)
            .any(|at| matches!(tree.kind(at), "return_statement" | "break_statement" | "none"))
    };
    let mut searches = (0..tree.len()).filter(is_search).peekable();
    made || searches.peek().is_some() && !searches.any(ends)
}
