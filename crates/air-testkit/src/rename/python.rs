//! Names in Python source: whatever it binds itself.

use std::ops::Range;

use tree_sitter::{Node, Parser, Tree};

use super::{Names, paths::Paths};

fn parse(source: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_python::LANGUAGE.into()).ok()?;
    parser.parse(source, None)
}

/// The names that `source` gives.
pub(super) fn bound(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(tree) = parse(source) {
        walk(tree.root_node(), &mut |node| {
            if node.kind() == "identifier" && binds(node) {
                found.extend(source.get(node.byte_range()).map(str::to_owned));
            }
        });
    }
    found.retain(|name| !name.starts_with('_') && name != "self" && name != "cls");
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether a name gets its value there.
fn binds(node: Node) -> bool {
    let Some(parent) = node.parent() else { return false };
    let is = |parent: Node, field: &str| parent.child_by_field_name(field) == Some(node);
    match parent.kind() {
        "function_definition" | "class_definition" | "named_expression" | "default_parameter" => {
            is(parent, "name")
        }
        "assignment" | "augmented_assignment" | "for_statement" | "for_in_clause" => {
            is(parent, "left")
        }
        "aliased_import" => is(parent, "alias"),
        "parameters"
        | "lambda_parameters"
        | "as_pattern_target"
        | "pattern_list"
        | "tuple_pattern"
        | "list_pattern"
        | "list_splat_pattern"
        | "dictionary_splat_pattern"
        | "typed_parameter" => true,
        _ => false,
    }
}

/// `source` with those names in place of its own, and other paths in its strings and comments.
pub(super) fn rename(source: &str, names: &Names, paths: &Paths) -> String {
    let Some(tree) = parse(source) else { return source.to_owned() };
    let mut changes: Vec<(Range<usize>, String)> = Vec::new();
    walk(tree.root_node(), &mut |node| {
        let Some(text) = source.get(node.byte_range()) else { return };
        match node.kind() {
            "identifier" if is_reference(node, source, names) => {
                changes.extend(names.get(text).map(|new| (node.byte_range(), new.clone())));
            }
            "string_content" | "comment" => {
                changes
                    .extend(pieces(node, source).map(|(range, text)| (range, paths.rename(text))));
            }
            _ => {}
        }
    });
    let mut renamed = source.to_owned();
    changes.sort_by_key(|(range, _)| range.start);
    for (range, new) in changes.into_iter().rev() {
        renamed.replace_range(range, &new);
    }
    renamed
}

/// A string's text between its escapes.
fn pieces<'s>(node: Node, source: &'s str) -> impl Iterator<Item = (Range<usize>, &'s str)> {
    let mut ends = vec![node.start_byte()];
    for child in node.children(&mut node.walk()) {
        ends.extend([child.start_byte(), child.end_byte()]);
    }
    ends.push(node.end_byte());
    let pairs: Vec<_> =
        ends.chunks(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?))).collect();
    pairs.into_iter().filter_map(|(start, end)| Some((start..end, source.get(start..end)?)))
}

/// Whether a name stands for what the source has bound, and not for an attribute, a module or a
/// parameter of somebody else's function.
fn is_reference(node: Node, source: &str, names: &Names) -> bool {
    let Some(parent) = node.parent() else { return false };
    let is = |field: &str| parent.child_by_field_name(field) == Some(node);
    match parent.kind() {
        "attribute" => !is("attribute"),
        "keyword_argument" if is("name") => {
            let call = parent.parent().and_then(|list| list.parent());
            let callee = call.and_then(|call| call.child_by_field_name("function"));
            let callee = callee.filter(|callee| callee.kind() == "identifier");
            let callee = callee.and_then(|callee| source.get(callee.byte_range()));
            callee.is_some_and(|callee| names.contains_key(callee))
        }
        "dotted_name" => false,
        _ => true,
    }
}

fn walk(node: Node, visit: &mut impl FnMut(Node)) {
    visit(node);
    for child in node.children(&mut node.walk()) {
        walk(child, visit);
    }
}
