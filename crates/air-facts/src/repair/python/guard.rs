//! An action runs under the check that its siblings have, or that the source defines for it.

use super::{Edit, Patch};
use crate::{
    python::defect::{
        guard,
        tree::{Id, Tree},
    },
    repair::edit::{indent, line_end},
};

pub(super) fn mend(tree: &Tree, line: u32) -> Option<Patch> {
    let guards = guard::guards(tree);
    let name = |call: Id| tree.child(call, "function").map(|callee| tree.text(callee));
    let is_guard = |call: Id| name(call).is_some_and(|name| guards.contains(&name));
    let action = super::calls(tree, line).find(|call| {
        !is_guard(*call) && name(*call).is_some_and(|name| tree.by_name.contains_key(name))
    })?;
    let statement = tree.parent(action);
    if tree.kind(statement) != "expression_statement" && tree.kind(statement) != "return_statement"
    {
        return None;
    }
    let choice = tree
        .parents(statement)
        .filter(|above| matches!(tree.kind(*above), "if_statement" | "match_statement"))
        .last();
    let around =
        choice.map_or(0, |choice| tree.functions.get(tree.scope(choice)).map_or(0, |it| it.at));
    let mut checks: Vec<&str> = tree
        .within(around)
        .filter(|at| tree.kind(*at) == "call" && is_guard(*at) && is_condition(tree, *at))
        .map(|at| tree.text(at))
        .collect();
    checks.sort_unstable();
    checks.dedup();
    let check = match checks.as_slice() {
        [only] if visible(tree, only, action) => (*only).to_owned(),
        [] => unused(tree, &guards)?,
        _ => return None,
    };
    let range = tree.range(statement);
    let text = tree.text(statement);
    let rest = tree.source.get(range.end..line_end(tree.source, range.end))?.trim();
    let said = format!("`{}` runs only where `{check}` says so", name(action)?);
    let alone = indent(tree.source, range.start)
        .filter(|_| !text.contains('\n') && (rest.is_empty() || rest.starts_with('#')));
    let mended = match (alone, tree.kind(statement)) {
        (Some(margin), _) => {
            let step = if margin.contains('\t') { "\t" } else { "    " };
            format!("if {check}:\n{margin}{step}{text}")
        }
        (None, "expression_statement") => format!("{text} if {check} else None"),
        _ => return None,
    };
    Some(Patch::new(vec![Edit::new(range, mended)], said))
}

/// Whether it is what a branch asks, by itself or as a part that has to hold.
fn is_condition(tree: &Tree, call: Id) -> bool {
    let asked = |at: Id| matches!(tree.field(at), "condition" | "guard");
    let parent = tree.parent(call);
    let is_part = tree.kind(parent) == "boolean_operator"
        && tree.child(parent, "operator").is_some_and(|operator| tree.text(operator) == "and");
    asked(call) || is_part && asked(parent) || tree.kind(parent) == "if_clause"
}

/// Whether what the check is asked about is the same at the action: a parameter, or nothing.
fn visible(tree: &Tree, check: &str, action: Id) -> bool {
    let Some((_, given)) = check.trim_end_matches(')').split_once('(') else { return false };
    let function = tree.functions.get(tree.scope(action));
    let is_parameter = |name: &str| {
        function.is_some_and(|function| function.parameters.iter().any(|(known, _)| *known == name))
    };
    given.split(',').map(str::trim).filter(|name| !name.is_empty()).all(is_parameter)
}

/// The one check that is defined and takes nothing.
fn unused(tree: &Tree, guards: &[&str]) -> Option<String> {
    let takes_nothing = |name: &str| {
        let mut all = tree.defined(name).into_iter().filter_map(|at| tree.functions.get(at));
        all.all(|function| function.parameters.is_empty() && function.class.is_none())
    };
    match guards {
        [only] if takes_nothing(only) => Some(format!("{only}()")),
        _ => None,
    }
}
