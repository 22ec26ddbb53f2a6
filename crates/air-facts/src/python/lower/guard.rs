//! Checks that a path is within a directory, where the way on without them ends.

use std::rc::Rc;

use tree_sitter::Node;

use super::Lowering;
use crate::{
    python::{
        ast::{Action, Statement},
        fields::FIELDS,
    },
    syntax::text,
};

/// Functions and methods that take `..` out of a path.
const RESOLVE: [&str; 4] = ["resolve(", "realpath(", "abspath(", "normpath("];
/// What the name of a path may stand in.
const WRAPS: [&str; 8] =
    ["str", "Path", "PurePath", "fspath", "realpath", "abspath", "normpath", "fsdecode"];

impl<'t> Lowering<'_, 't> {
    /// `name` is what `value` says from here on: resolved or not.
    pub(super) fn resolves(&mut self, name: Node<'t>, value: Node<'t>) {
        if name.kind() == "identifier" {
            let name = self.name(name);
            if self.is_resolved(value) {
                self.resolved.insert(name);
            } else {
                self.resolved.remove(&name);
            }
        }
    }

    /// The names of paths that are within their directory where `test` is `when`.
    pub(super) fn inside(&mut self, test: Node<'t>, when: bool) -> Vec<Rc<str>> {
        match test.kind() {
            "parenthesized_expression" => {
                test.named_child(0).map(|inner| self.inside(inner, when)).unwrap_or_default()
            }
            "not_operator" => {
                test.named_child(0).map(|inner| self.inside(inner, !when)).unwrap_or_default()
            }
            "boolean_operator" => {
                let operator = test.child_by_field_id(FIELDS.operator);
                let both = operator.is_some_and(|operator| operator.kind() == "and") == when;
                let parts = if both { self.named(test) } else { Vec::new() };
                parts.into_iter().flat_map(|part| self.inside(part, when)).collect()
            }
            "call" if when => {
                let function = test.child_by_field_id(FIELDS.function);
                let Some(function) = function.filter(|it| it.kind() == "attribute") else {
                    return Vec::new();
                };
                let method = function.child_by_field_id(FIELDS.attribute);
                let checks = ["is_relative_to", "startswith", "relative_to"];
                let checks = method.is_some_and(|it| checks.contains(&text(it, self.source)));
                let object = function.child_by_field_id(FIELDS.object).filter(|_| checks);
                object.and_then(|object| self.path_name(object, true)).into_iter().collect()
            }
            "comparison_operator" => self.compared(test, when),
            _ => Vec::new(),
        }
    }

    fn compared(&mut self, test: Node<'t>, when: bool) -> Vec<Rc<str>> {
        let parts = self.named(test);
        let [left, right] = parts.as_slice() else { return Vec::new() };
        let between = self.source.get(left.end_byte()..right.start_byte()).unwrap_or_default();
        let operator: Vec<&str> = between.split_whitespace().collect();
        let holds = match operator.as_slice() {
            ["==" | "in"] => when,
            ["!="] | ["not", "in"] => !when,
            _ => return Vec::new(),
        };
        let (first, second) = (text(*left, self.source), text(*right, self.source));
        if between.contains("in") {
            // `root in path.parents`, `".." in path`.
            if holds && second.rsplit('.').next() == Some("parents") {
                let object = right.child_by_field_id(FIELDS.object);
                return object.and_then(|path| self.path_name(path, true)).into_iter().collect();
            }
            if !holds && first.trim_matches(['"', '\'']) == ".." {
                let path = match right.child_by_field_id(FIELDS.object) {
                    Some(object) if second.rsplit('.').next() == Some("parts") => object,
                    _ => *right,
                };
                return self.path_name(path, false).into_iter().collect();
            }
            return Vec::new();
        }
        let common = [*left, *right].into_iter().find(|it| {
            let written = text(*it, self.source);
            written.contains("commonpath(") || written.contains("commonprefix(")
        });
        let Some(common) = common.filter(|_| holds) else { return Vec::new() };
        let arguments = common.child_by_field_id(FIELDS.arguments);
        let list = arguments.and_then(|arguments| arguments.named_child(0));
        let items = list.map(|list| self.named(list)).unwrap_or_default();
        items.into_iter().filter_map(|item| self.path_name(item, true)).collect()
    }

    /// The name in `str(name)`, `name.resolve()` and their like, if it is resolved where it must be.
    fn path_name(&mut self, node: Node<'t>, resolved: bool) -> Option<Rc<str>> {
        let mut inner = node;
        for _ in 0..4 {
            match inner.kind() {
                "identifier" => {
                    let name = self.name(inner);
                    let known = !resolved || self.is_resolved(node);
                    return (known || self.resolved.contains(&name)).then_some(name);
                }
                "call" => {
                    let function = inner.child_by_field_id(FIELDS.function)?;
                    let arguments = inner.child_by_field_id(FIELDS.arguments)?;
                    let name = text(function, self.source).rsplit('.').next().unwrap_or_default();
                    inner = match function.child_by_field_id(FIELDS.object) {
                        _ if WRAPS.contains(&name) => arguments.named_child(0)?,
                        Some(object) => object,
                        None => return None,
                    };
                }
                _ => return None,
            }
        }
        None
    }

    fn is_resolved(&self, node: Node<'t>) -> bool {
        let written = text(node, self.source);
        RESOLVE.iter().any(|function| written.contains(function))
    }

    /// The names of paths in `path.relative_to(root)`, which fails where they are not within it.
    pub(super) fn must_be_inside(&mut self, body: Node<'t>) -> Vec<Rc<str>> {
        let mut names = Vec::new();
        for statement in self.named(body) {
            let Some(value) = statement.named_child(0) else { continue };
            let value = value.child_by_field_id(FIELDS.right).unwrap_or(value);
            if value.kind() == "call" && text(value, self.source).contains(".relative_to(") {
                names.extend(self.inside(value, true));
            }
        }
        names
    }
}

/// Whether what comes after `body` does not follow it.
pub(super) fn leaves(node: Node) -> bool {
    let count = node.named_child_count();
    let last = (0..count).rev().filter_map(|at| node.named_child(u32::try_from(at).ok()?));
    let Some(last) = last.into_iter().find(|last| last.kind() != "comment") else { return false };
    matches!(
        last.kind(),
        "return_statement" | "raise_statement" | "continue_statement" | "break_statement"
    )
}

/// Says of each of `names` that it is within its directory.
pub(super) fn say(names: Vec<Rc<str>>, line: u32) -> impl Iterator<Item = Statement> {
    names.into_iter().map(move |name| Statement { kind: Action::Inside(name), line })
}
