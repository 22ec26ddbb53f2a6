//! A password's digest takes long, and begins with a salt of its own.
//!
//! Only where nothing compares digests: there, one with another salt would be another one.

use super::{Edit, Patch};
use crate::{
    python::defect::tree::{Id, Tree},
    repair::edit::{indent, line_end, line_start},
};

/// The name of the salt; it must not be in use.
const SALT: &str = "random_salt";

pub(super) fn mend(tree: &Tree, line: u32) -> Option<Patch> {
    if tree.source.contains(SALT) || compares(tree) {
        return None;
    }
    let is_fast = |call: &Id| {
        let callee = tree.callee(*call);
        callee.strip_prefix("hashlib.").is_some_and(|name| {
            name.starts_with("md5") || name.starts_with("sha") && !name.starts_with("shake")
        })
    };
    let near = tree.every_call.iter().copied().filter(is_fast);
    let edits = near.into_iter().find_map(|call| {
        let whole = taken(tree, call).filter(|_| tree.line(call) == line);
        match tree.arguments(call).as_slice() {
            [(None, data)] => directly(tree, call, *data, whole?),
            [] => by_steps(tree, call, line),
            _ => None,
        }
    });
    let said = "the digest takes long, and begins with a random salt of its own";
    Some(Patch { modules: &["os"], ..Patch::new(edits?, said) })
}

fn salted(data: &str) -> String {
    format!("(({SALT} := os.urandom(16)) + hashlib.scrypt({data}, salt={SALT}, n=2**14, r=8, p=1))")
}

/// Whether digests may be told apart.
fn compares(tree: &Tree) -> bool {
    let fixed = |id: Id| {
        matches!(tree.kind(id), "string" | "integer" | "float" | "none" | "true" | "false")
    };
    let equal = |id: Id| {
        tree.kind(id) == "comparison_operator"
            && ["==", "!="].iter().any(|operator| tree.text(id).contains(operator))
            && !tree.below(id).any(fixed)
    };
    (0..tree.len()).any(equal) || tree.calls.contains_key("compare_digest")
}

/// The call that takes the digest out of `object`.
fn taken(tree: &Tree, object: Id) -> Option<(Id, bool)> {
    let attribute = tree.parent(object);
    let call = tree.parent(attribute);
    let name = tree.child(attribute, "attribute").map(|name| tree.text(name))?;
    let is_call = tree.kind(call) == "call"
        && tree.child(call, "function") == Some(attribute)
        && tree.arguments(call).is_empty();
    match name {
        "hexdigest" if is_call => Some((call, true)),
        "digest" if is_call => Some((call, false)),
        _ => None,
    }
}

/// `hashlib.sha256(data).hexdigest()`.
fn directly(tree: &Tree, call: Id, data: Id, (whole, hex): (Id, bool)) -> Option<Vec<Edit>> {
    imported(tree, call)?;
    let end = if hex { ".hex()" } else { "" };
    Some(vec![Edit::new(tree.range(whole), format!("{}{end}", salted(tree.text(data))))])
}

/// `hasher = hashlib.sha256()`, `hasher.update(data)`, `hasher.hexdigest()`.
fn by_steps(tree: &Tree, call: Id, line: u32) -> Option<Vec<Edit>> {
    imported(tree, call)?;
    let made = tree.parent(call);
    let name = tree.child(made, "left").filter(|name| tree.kind(*name) == "identifier")?;
    let statement = tree.parent(made);
    let text = tree.text(name);
    let function = tree.functions.get(tree.scope(call)).map_or(0, |function| function.at);
    let lines = tree.line(function)..=line.max(tree.line(call));
    if !lines.contains(&line) && tree.line(call) != line {
        return None;
    }
    let is_use = |id: &Id| tree.kind(*id) == "identifier" && tree.text(*id) == text && *id != name;
    let uses: Vec<Id> = (0..tree.len()).filter(is_use).collect();
    let [update, end] = uses.as_slice() else { return None };
    let (whole, hex) = taken(tree, *end)?;
    let updates = tree.parent(tree.parent(*update));
    let is_update =
        tree.child(tree.parent(*update), "attribute").map(|it| tree.text(it)) == Some("update");
    let data = tree.argument(updates, 0, "data").filter(|_| is_update)?;
    let updating = tree.parent(updates);
    if [statement, updating].iter().any(|at| tree.kind(*at) != "expression_statement")
        || tree.parent(statement) != tree.parent(updating)
    {
        return None;
    }
    let range = tree.range(statement);
    indent(tree.source, range.start)?;
    let last = line_end(tree.source, range.end);
    if !tree.source.get(range.end..last)?.trim().is_empty() {
        return None;
    }
    Some(vec![
        Edit::remove(line_start(tree.source, range.start)..(last + 1).min(tree.source.len())),
        Edit::new(tree.range(updating), format!("{text} = {}", salted(tree.text(data)))),
        Edit::new(tree.range(whole), format!("{text}{}", if hex { ".hex()" } else { "" })),
    ])
}

/// Whether `hashlib` has its own name there.
fn imported(tree: &Tree, call: Id) -> Option<()> {
    let function = tree.child(call, "function")?;
    let object = tree.child(function, "object")?;
    (tree.text(object) == "hashlib").then_some(())
}
