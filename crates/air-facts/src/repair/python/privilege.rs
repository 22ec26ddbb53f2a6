//! What is done with privileges raised is put into a `try`, and they are lowered in its `finally`.

use std::fmt::Write;

use super::{Edit, Patch};
use crate::{
    python::defect::{
        privilege::{Change, change},
        tree::{Id, Tree},
    },
    repair::edit::{indent, line_end, line_start},
};

pub(super) fn mend(tree: &Tree, line: u32) -> Option<Patch> {
    let of = |wanted: Change| {
        let calls = tree.every_call.iter().copied();
        calls.filter(move |call| change(tree, *call) == Some(wanted))
    };
    let raise = of(Change::Raise).find(|call| tree.line(*call) == line)?;
    let scope = tree.scope(raise);
    let here = |call: &Id| tree.scope(*call) == scope;
    if of(Change::Raise).filter(here).count() != 1 {
        return None;
    }
    let lowers: Vec<Id> = of(Change::Lower).filter(here).collect();
    let lower = lowering(tree, &lowers)?;
    let statement = alone(tree, raise)?;
    let block = tree.parent(statement);
    let margin = indent(tree.source, tree.range(statement).start)?;
    let step = if margin.contains('\t') { "\t" } else { "    " };
    let after: Vec<Id> = tree.below(block).filter(|at| *at > statement).collect();
    let own: Option<Vec<Id>> = lowers.iter().map(|call| alone(tree, *call)).collect();
    let own = own?;
    // It ends where they are lowered on the way that succeeds.
    let until = after.iter().position(|at| own.contains(at)).unwrap_or(after.len());
    let done = after.get(..until)?;
    let (first, last) = (*done.first()?, *done.last()?);
    let begin = line_start(tree.source, tree.range(first).start);
    let end = line_end(tree.source, tree.range(last).end);
    let mut text = format!("{margin}try:\n");
    let lines = tree.source.get(begin..end)?;
    let several = |at: Id| tree.kind(at) == "string" && tree.text(at).contains('\n');
    let inner = |at: &Id| (begin..end).contains(&tree.range(*at).start);
    if done.iter().any(|at| several(*at) || tree.within(*at).any(several)) {
        return None;
    }
    let mut edits = Vec::new();
    for at in &own {
        if inner(at) {
            return None;
        }
        edits.push(taken_out(tree, *at)?);
    }
    for line in lines.lines() {
        let step = if line.trim().is_empty() { "" } else { step };
        let _ = writeln!(text, "{step}{line}");
    }
    let _ = write!(text, "{margin}finally:\n{margin}{step}{lower}");
    edits.push(Edit::new(begin..end, text));
    Some(Patch::new(edits, format!("`{lower}` runs on every way out")))
}

/// The statement that a call is, if it is one on a line of its own.
fn alone(tree: &Tree, call: Id) -> Option<Id> {
    let statement = tree.parent(call);
    let range = tree.range(statement);
    indent(tree.source, range.start)?;
    let rest = tree.source.get(range.end..line_end(tree.source, range.end))?.trim();
    let whole = tree.kind(statement) == "expression_statement";
    (whole && (rest.is_empty() || rest.starts_with('#'))).then_some(statement)
}

/// How privileges are lowered: as it is done already, or by the function that the source has for it.
fn lowering(tree: &Tree, lowers: &[Id]) -> Option<String> {
    if let Some(first) = lowers.first() {
        let text = tree.text(*first);
        return lowers.iter().all(|call| tree.text(*call) == text).then(|| text.to_owned());
    }
    let mut defined = tree.functions.iter().skip(1).filter(|function| {
        crate::python::defect::privilege::named(function.name) == Some(Change::Lower)
            && function.parameters.is_empty()
            && function.class.is_none()
    });
    let only = defined.next()?;
    defined.next().is_none().then(|| format!("{}()", only.name))
}

/// A statement is taken out, or does nothing where its block has no other.
fn taken_out(tree: &Tree, statement: Id) -> Option<Edit> {
    let range = tree.range(statement);
    if tree.below(tree.parent(statement)).count() < 2 {
        return Some(Edit::new(range, "pass"));
    }
    indent(tree.source, range.start)?;
    let end = (line_end(tree.source, range.end) + 1).min(tree.source.len());
    Some(Edit::remove(line_start(tree.source, range.start)..end))
}
