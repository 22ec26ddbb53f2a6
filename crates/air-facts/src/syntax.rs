//! Parsing and walking under limits, alike for all languages.

use std::{cell::Cell, ops::ControlFlow};

use tree_sitter::{Language, Node, ParseOptions, Parser, Tree};

use crate::collect::Collector;

/// Larger sources are not parsed.
const MAX_SOURCE: usize = 1 << 20;
/// Nodes deeper than this are not looked at.
const MAX_DEPTH: usize = 500;
/// How often the parser may report progress before it is stopped, for any source. It reports every
/// hundred steps or so; recovery from hostile input can take quadratic time, and this crate has no
/// clock.
const BASE_PROGRESS: usize = 1000;
/// One more report for as many bytes; ordinary source takes fewer.
const BYTES_A_REPORT: usize = 10;

thread_local! {
    /// Making a parser takes about as long as reading a line with it.
    static PARSER: Cell<Option<Parser>> = const { Cell::new(None) };
}

/// The syntax tree, or nothing and the reason in `out`.
pub(crate) fn parse(language: &Language, source: &str, out: &mut Collector) -> Option<Tree> {
    if source.len() > MAX_SOURCE {
        out.incomplete(format!("source of {} bytes is too long to parse", source.len()));
        return None;
    }
    if source.contains('\0') {
        out.incomplete("source holds a NUL byte");
        return None;
    }
    let mut parser = PARSER.take().unwrap_or_default();
    if let Err(error) = parser.set_language(language) {
        out.incomplete(format!("parser cannot be used: {error}"));
        return None;
    }
    let most = BASE_PROGRESS + source.len() / BYTES_A_REPORT;
    let mut progress = 0_usize;
    let mut stop_when_late = |_: &tree_sitter::ParseState| {
        progress += 1;
        if progress > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut stop_when_late);
    let bytes = source.as_bytes();
    let mut read = |offset: usize, _| bytes.get(offset..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    if tree.is_none() {
        // Otherwise it would go on with this source when it is given the next.
        parser.reset();
        out.incomplete("source takes too long to parse");
    }
    PARSER.set(Some(parser));
    tree
}

/// Calls `visit` for every node, with its parent, before its children, in source order, and notes what
/// did not parse. The tree's own way to a parent goes through the whole tree. Children are skipped where `visit` breaks. Iterative: hostile nesting must not end the stack.
pub(crate) fn walk<'t>(
    root: Node<'t>,
    out: &mut Collector,
    mut visit: impl FnMut(Node<'t>, Option<Node<'t>>, &mut Collector) -> ControlFlow<()>,
) {
    let mut stack = vec![(root, None, 0_usize)];
    let mut cut = false;
    while let Some((node, parent, depth)) = stack.pop() {
        if node.is_missing() {
            out.incomplete_at(line(node), format!("`{}` is missing", node.kind()));
        } else if node.is_error() {
            out.incomplete_at(line(node), "does not parse");
        }
        if visit(node, parent, out).is_break() {
            continue;
        }
        if depth == MAX_DEPTH {
            if node.child_count() > 0 && !cut {
                out.incomplete_at(line(node), "nested too deeply");
                cut = true;
            }
            continue;
        }
        let first = stack.len();
        stack.extend(node.children(&mut node.walk()).map(|child| (child, Some(node), depth + 1)));
        if let Some(children) = stack.get_mut(first..) {
            children.reverse();
        }
    }
}

/// Notes what did not parse at `root` and below it.
pub(crate) fn faults(root: Node, out: &mut Collector) {
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        if node.is_missing() {
            out.incomplete_at(line(node), format!("`{}` is missing", node.kind()));
        } else if node.is_error() {
            out.incomplete_at(line(node), "does not parse");
        }
        if node.has_error() {
            let first = stack.len();
            stack.extend(node.children(&mut node.walk()).filter(Node::has_error));
            if let Some(children) = stack.get_mut(first..) {
                children.reverse();
            }
        }
    }
}

/// The line that `node` starts on, from 1.
pub(crate) fn line(node: Node) -> u32 {
    u32::try_from(node.start_position().row).unwrap_or(u32::MAX).saturating_add(1)
}

/// The text of `node`.
pub(crate) fn text<'s>(node: Node, source: &'s str) -> &'s str {
    source.get(node.byte_range()).unwrap_or_default()
}

/// The named children of `node`, without comments.
pub(crate) fn named(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| child.kind() != "comment").collect()
}
