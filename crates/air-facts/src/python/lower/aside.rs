//! Parts that run although their value matters little: annotations, patterns, guards.

use std::rc::Rc;

use tree_sitter::Node;

use super::Lowering;
use crate::{
    python::{
        ast::{Action, Expr, Kind, Statement},
        fields::FIELDS,
    },
    syntax::line,
};

/// What a match looks at; no name can be written so.
const SUBJECT: &str = "match subject";

impl<'t> Lowering<'_, 't> {
    /// What `node` runs, without its value.
    pub(super) fn aside(&mut self, node: Node<'t>, out: &mut Vec<Statement>) {
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if matches!(node.kind(), "call" | "named_expression" | "lambda") {
                let value = self.expr(node);
                out.push(Statement { kind: Action::Value(value), line: line(node) });
            } else {
                let first = stack.len();
                stack.extend(self.named(node));
                if let Some(children) = stack.get_mut(first..) {
                    children.reverse();
                }
            }
        }
    }

    /// What a definition runs besides its decorators, defaults and bases.
    pub(super) fn beside(&mut self, node: Node<'t>, out: &mut Vec<Statement>) {
        let inner = node.child_by_field_id(FIELDS.definition).unwrap_or(node);
        for field in [FIELDS.type_parameters, FIELDS.return_type] {
            if let Some(part) = inner.child_by_field_id(field) {
                self.aside(part, out);
            }
        }
        let parameters = inner.child_by_field_id(FIELDS.parameters);
        for parameter in parameters.map(|list| self.named(list)).unwrap_or_default() {
            if let Some(annotation) = parameter.child_by_field_id(FIELDS.type_of) {
                self.aside(annotation, out);
            }
        }
        let bases = inner.child_by_field_id(FIELDS.superclasses);
        for base in bases.map(|list| self.named(list)).unwrap_or_default() {
            if base.kind() == "keyword_argument" {
                self.aside(base, out);
            }
        }
    }

    /// `match`: the cases, each with what it takes from the subject.
    pub(super) fn choice(&mut self, node: Node<'t>, out: &mut Vec<Statement>) {
        let at = line(node);
        let named = |kind| Expr { kind, line: at, at: node.byte_range() };
        let subject = || named(Kind::Name(Rc::from(SUBJECT)));
        let mut subjects: Vec<Expr> = node
            .children_by_field_name("subject", &mut node.walk())
            .map(|part| self.expr(part))
            .collect();
        let value = match subjects.len() {
            1 => subjects.remove(0),
            _ => named(Kind::List(subjects)),
        };
        out.push(Statement { kind: Action::Assign(subject(), value), line: at });
        let cases = node.child_by_field_id(FIELDS.body);
        let cases = cases.map(|inner| self.named(inner)).unwrap_or_default();
        let mut ways = Vec::new();
        for case in cases {
            let mut way = Vec::new();
            let guard = case.child_by_field_id(FIELDS.guard);
            let block = case.child_by_field_id(FIELDS.consequence);
            for part in self.named(case) {
                if Some(part) != guard && Some(part) != block {
                    for name in self.captures(part) {
                        let value = named(Kind::Of(vec![subject()]));
                        let kind = Action::Assign(name, value);
                        way.push(Statement { kind, line: line(part) });
                    }
                }
            }
            if let Some(guard) = guard.and_then(|guard| guard.named_child(0)) {
                let guard = self.expr(guard);
                way.push(Statement { line: guard.line, kind: Action::Value(guard) });
            }
            way.extend(self.field(case, FIELDS.consequence));
            ways.push(way);
        }
        // None of them may fit.
        ways.push(Vec::new());
        out.push(Statement { kind: Action::Branches(ways), line: at });
    }

    /// The names that a pattern binds.
    fn captures(&mut self, pattern: Node<'t>) -> Vec<Expr> {
        let mut names = Vec::new();
        let mut stack = vec![(pattern, false)];
        while let Some((node, of_class)) = stack.pop() {
            let parts = self.named(node);
            let is_name = match node.kind() {
                "identifier" => !of_class,
                "dotted_name" => parts.len() == 1 && !of_class,
                _ => false,
            };
            if is_name {
                names.push(Self::made(node, Kind::Name(self.name(node))));
            } else if node.kind() != "dotted_name" {
                let named = matches!(node.kind(), "class_pattern" | "keyword_pattern");
                let parts = parts.into_iter().enumerate();
                stack.extend(parts.map(|(index, part)| (part, named && index == 0)));
            }
        }
        names
    }
}
