//! Shell: an action runs under the check that its siblings have.

use air_core::{code::Defect, port::Alone};
use tree_sitter::Node;

use super::edit::{Edit, apply, indent, line_end};
use crate::{
    collect::Collector,
    syntax::{self, line, named, text},
};

/// Whether there may be a way to mend such a defect.
pub(super) fn can(kind: &str) -> bool {
    kind == "unguarded-action"
}

/// The source without the defect, and what was done.
pub(super) fn mend(source: &str, defect: &Defect) -> Option<(String, String)> {
    let tree = parse(source)?;
    let all = within(tree.root_node());
    let of = |kind: &'static str| all.iter().copied().filter(move |node| node.kind() == kind);
    let defined: Vec<&str> = of("function_definition")
        .filter_map(|function| function.child_by_field_name("name"))
        .map(|name| text(name, source))
        .collect();
    // `if check; then`, where the source defines the check.
    let mut checks: Vec<&str> = of("if_statement")
        .filter_map(|choice| choice.child_by_field_name("condition"))
        .filter(|asked| asked.kind() == "command" && named(*asked).len() == 1)
        .map(|asked| text(asked, source))
        .filter(|check| defined.contains(check))
        .collect();
    checks.sort_unstable();
    checks.dedup();
    let [check] = checks.as_slice() else { return None };
    let action = of("command").find(|command| {
        let name = command.child_by_field_name("name").map(|name| text(name, source));
        line(*command) >= defect.line
            && name.is_some_and(|name| defined.contains(&name) && name != *check)
    })?;
    let range = action.byte_range();
    indent(source, range.start)?;
    let rest = source.get(range.end..line_end(source, range.end))?.trim();
    if !(rest.is_empty() || rest.starts_with('#')) || text(action, source).contains('\n') {
        return None;
    }
    let guarded = format!("if {check}; then {}; fi", text(action, source));
    let mended = apply(source, vec![Edit::new(range, guarded)])?;
    parse(&mended)?;
    Some((mended, format!("`{}` runs only where `{check}` says so", text(action, source))))
}

/// The syntax of a source that parses whole.
fn parse(source: &str) -> Option<tree_sitter::Tree> {
    let mut out = Collector::new("shell", &Alone);
    let tree = syntax::parse(&tree_sitter_bash::LANGUAGE.into(), source, &mut out)?;
    (!tree.root_node().has_error()).then_some(tree)
}

/// All nodes, in source order.
fn within(root: Node<'_>) -> Vec<Node<'_>> {
    let mut all = Vec::new();
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        all.push(node);
        stack.extend(named(node).into_iter().rev());
    }
    all
}
