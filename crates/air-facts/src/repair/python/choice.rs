//! A default of the kind that the other cases have: a text where all of them give a text.
//!
//! What the program does for the values that have a case stays as it is, and it goes on running for
//! others. Where the cases act, nobody knows what a default should do.

use super::{Edit, Patch};
use crate::{
    python::defect::tree::{Id, Tree},
    repair::edit::{indent, line_end},
};

/// What stands for a value that nothing is known of.
const UNKNOWN: &str = "\"unknown\"";

pub(super) fn mend(tree: &Tree, line: u32) -> Option<Patch> {
    let at = (0..tree.len()).filter(|id| tree.line(*id) == line);
    let mut choices = at.filter(|id| matches!(tree.kind(*id), "match_statement" | "if_statement"));
    let patch = choices.find_map(|id| match tree.kind(id) {
        "match_statement" => cases(tree, id),
        _ => chain(tree, id),
    });
    patch.map(|edit| Patch::new(vec![edit], "other values have a default"))
}

fn cases(tree: &Tree, id: Id) -> Option<Edit> {
    let block = tree.child(id, "body").unwrap_or(id);
    let cases: Vec<Id> = tree.below(block).filter(|at| tree.kind(*at) == "case_clause").collect();
    let bodies: Option<Vec<Id>> =
        cases.iter().map(|case| tree.child(*case, "consequence")).collect();
    let statement = default(tree, &bodies?)?;
    let last = *cases.last()?;
    let body = tree.child(last, "consequence")?;
    let range = tree.range(last);
    let margin = indent(tree.source, range.start)?;
    let inner = tree.below(body).next().and_then(|first| {
        indent(tree.source, tree.range(first).start).map(|inner| format!("\n{inner}"))
    });
    let inner = inner.unwrap_or_else(|| " ".to_owned());
    let text = format!("\n{margin}case _:{inner}{statement}");
    Some(Edit::insert(line_end(tree.source, range.end), text))
}

fn chain(tree: &Tree, id: Id) -> Option<Edit> {
    let mut bodies: Vec<Id> = tree.child(id, "consequence").into_iter().collect();
    for other in tree.all_below(id).filter(|part| tree.field(*part) == "alternative") {
        bodies.push(tree.child(other, "consequence")?);
    }
    let statement = default(tree, &bodies).filter(|text| text.starts_with("return "))?;
    let range = tree.range(id);
    let margin = indent(tree.source, range.start)?;
    Some(Edit::insert(line_end(tree.source, range.end), format!("\n{margin}{statement}")))
}

/// What the bodies have in common, for an unknown value.
fn default(tree: &Tree, bodies: &[Id]) -> Option<String> {
    let mut all = bodies.iter().map(|body| last(tree, *body));
    let first = all.next()??;
    all.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

fn last(tree: &Tree, body: Id) -> Option<String> {
    let statement = tree.below(body).last()?;
    let value = tree.below(statement).next()?;
    let is_text = |id: Id| matches!(tree.kind(id), "string" | "concatenated_string");
    match (tree.kind(statement), tree.kind(value)) {
        ("return_statement", _) if is_text(value) => Some(format!("return {UNKNOWN}")),
        ("expression_statement", "call") if tree.callee(value) == "print" => {
            let text = tree.argument(value, 0, "").is_some_and(is_text);
            (text && tree.arguments(value).len() == 1).then(|| format!("print({UNKNOWN})"))
        }
        ("expression_statement", "assignment") => {
            let (left, right) = (tree.child(value, "left")?, tree.child(value, "right")?);
            let plain = tree.kind(left) == "identifier" && is_text(right);
            plain.then(|| format!("{} = {UNKNOWN}", tree.text(left)))
        }
        _ => None,
    }
}
