//! Secrets are compared in a time that does not depend on where they differ.
//!
//! Their `repr` is compared: it is the same exactly for texts, bytes and numbers of one type that
//! are, it never fails to be encoded, and neither side need be known to be a text.

use super::{Edit, Patch, is_plain};
use crate::python::defect::tree::{Id, Tree};

pub(super) fn mend(tree: &Tree, line: u32) -> Option<Patch> {
    let on_line = |id: &Id| tree.kind(*id) == "comparison_operator" && tree.line(*id) == line;
    let mut edits = Vec::new();
    for id in (0..tree.len()).filter(on_line) {
        let parts: Vec<Id> = tree.below(id).collect();
        let [one, other] = parts.as_slice() else { continue };
        let operator = tree.all_below(id).find(|part| tree.field(*part) == "operators")?;
        let not = match tree.text(operator) {
            "==" => "",
            "!=" => "not ",
            _ => continue,
        };
        if parts.iter().any(|side| is_fixed(tree, *side)) && parts.len() == 2 {
            continue;
        }
        if ![one, other].into_iter().all(|side| is_whole(tree, *side)) {
            return None;
        }
        let (one, other) = (tree.text(*one), tree.text(*other));
        let compared =
            format!("{not}hmac.compare_digest(repr({one}).encode(), repr({other}).encode())");
        edits.push(Edit::new(tree.range(id), compared));
    }
    let patch = Patch::new(edits, "secrets are compared by `hmac.compare_digest`");
    (!patch.edits.is_empty()).then_some(Patch { modules: &["hmac"], ..patch })
}

/// What no secret is: comparisons with it stay as they are.
fn is_fixed(tree: &Tree, id: Id) -> bool {
    matches!(tree.kind(id), "none" | "true" | "false" | "integer" | "float")
}

/// Whether it is the whole of a secret, and not one letter, a part, or its length.
fn is_whole(tree: &Tree, id: Id) -> bool {
    match tree.kind(id) {
        "identifier" | "attribute" | "string" | "concatenated_string" => true,
        "subscript" => {
            let key = tree.child(id, "subscript");
            let letter = key.is_none_or(|key| {
                matches!(tree.kind(key), "slice" | "integer" | "unary_operator" | "binary_operator")
                    || tree.text(key).len() == 1
            });
            !letter && is_plain(tree, id)
        }
        "call" => !matches!(tree.callee(id).as_str(), "len" | "ord" | "type" | "hash"),
        _ => false,
    }
}
