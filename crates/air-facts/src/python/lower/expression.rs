//! Expressions.

use std::rc::Rc;

use tree_sitter::Node;

use super::Lowering;
use crate::{
    python::{
        ast::{
            Action, Argument, Clause, Comprehension, Expr, Function, Index, Kind, Piece, Statement,
        },
        fields::{FIELDS, FieldId},
        literal,
    },
    syntax::{line, text},
};

impl<'t> Lowering<'_, 't> {
    pub(super) fn child(&mut self, node: Node<'t>, field: FieldId) -> Option<Expr> {
        node.child_by_field_id(field).map(|child| self.expr(child))
    }

    pub(super) fn pair(
        &mut self,
        node: Node<'t>,
        first: FieldId,
        second: FieldId,
    ) -> Option<(Expr, Expr)> {
        Some((self.child(node, first)?, self.child(node, second)?))
    }

    pub(super) fn made(node: Node<'t>, kind: Kind) -> Expr {
        Expr { kind, line: line(node), at: node.byte_range() }
    }

    pub(super) fn expr(&mut self, node: Node<'t>) -> Expr {
        let mut node = node;
        while matches!(node.kind(), "parenthesized_expression" | "await" | "type" | "case_pattern")
        {
            match self.named(node).as_slice() {
                [only] => node = *only,
                _ => break,
            }
        }
        if !self.enter(node) {
            return Self::made(node, Kind::Deep);
        }
        let kind = self.kind(node);
        self.depth += 1;
        Self::made(node, kind)
    }

    fn boxed(&mut self, node: Node<'t>) -> Box<Expr> {
        Box::new(self.expr(node))
    }

    fn all(&mut self, node: Node<'t>) -> Vec<Expr> {
        self.named(node).into_iter().map(|part| self.expr(part)).collect()
    }

    fn kind(&mut self, node: Node<'t>) -> Kind {
        match node.kind() {
            "identifier" => Kind::Name(self.name(node)),
            "string" | "concatenated_string" => self.string(node),
            "integer" => {
                literal::integer(text(node, self.source)).map_or(Kind::Plain, Kind::Number)
            }
            "float" | "ellipsis" => Kind::Plain,
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "none" => Kind::None,
            "attribute" => {
                let parts = (
                    node.child_by_field_id(FIELDS.object),
                    node.child_by_field_id(FIELDS.attribute),
                );
                let (Some(object), Some(name)) = parts else { return Kind::Of(Vec::new()) };
                Kind::Attribute(self.boxed(object), self.name(name))
            }
            "subscript" => self.subscript(node),
            "call" => {
                let Some(function) = node.child_by_field_id(FIELDS.function) else {
                    return Kind::Of(self.all(node));
                };
                let function = self.boxed(function);
                let arguments = node.child_by_field_id(FIELDS.arguments);
                Kind::Call(function, arguments.map(|list| self.arguments(list)).unwrap_or_default())
            }
            "binary_operator" => self.binary(node),
            "boolean_operator" => Kind::Either(self.all(node)),
            "conditional_expression" => match self.named(node).as_slice() {
                [first, test, second] => {
                    let test = self.expr(*test);
                    let test = Self::made(node, Kind::Test(vec![test]));
                    Kind::Either(vec![test, self.expr(*first), self.expr(*second)])
                }
                _ => Kind::Either(self.all(node)),
            },
            "comparison_operator" | "not_operator" => Kind::Test(self.all(node)),
            "list" | "tuple" | "set" | "expression_list" | "pattern_list" | "tuple_pattern"
            | "list_pattern" => Kind::List(self.all(node)),
            "dictionary" => {
                let pairs = self.named(node).into_iter();
                Kind::Dict(pairs.filter_map(|pair| self.dictionary_item(pair)).collect())
            }
            "list_comprehension"
            | "set_comprehension"
            | "generator_expression"
            | "dictionary_comprehension" => self.comprehension(node),
            "lambda" => Kind::Lambda(self.lambda(node)),
            "named_expression" => {
                let parts =
                    (node.child_by_field_id(FIELDS.name), node.child_by_field_id(FIELDS.value));
                let (Some(name), Some(value)) = parts else { return Kind::Of(self.all(node)) };
                Kind::Walrus(self.boxed(name), self.boxed(value))
            }
            "list_splat" | "list_splat_pattern" | "dictionary_splat" => match node.named_child(0) {
                Some(inner) => Kind::Star(self.boxed(inner)),
                None => Kind::Plain,
            },
            "yield" => match node.named_child(0) {
                Some(inner) => Kind::Yield(self.boxed(inner)),
                None => Kind::Yield(Box::new(Self::made(node, Kind::None))),
            },
            "unary_operator" => {
                let minus = text(node, self.source).starts_with('-');
                let inner = self.child(node, FIELDS.argument);
                match inner {
                    Some(Expr { kind: Kind::Number(n), .. }) if minus => Kind::Number(-n),
                    inner => Kind::Of(inner.into_iter().collect()),
                }
            }
            "as_pattern" => match self.named(node).as_slice() {
                [value, alias] => {
                    let alias = alias.named_child(0).unwrap_or(*alias);
                    Kind::Walrus(self.boxed(alias), self.boxed(*value))
                }
                _ => Kind::Of(self.all(node)),
            },
            _ => Kind::Of(self.all(node)),
        }
    }

    fn lambda(&mut self, node: Node<'t>) -> Rc<Function> {
        let at = line(node);
        let body = self.child(node, FIELDS.body);
        let body =
            body.into_iter().map(|body| Statement { kind: Action::Return(Some(body)), line: at });
        Rc::new(Function {
            name: Rc::from("lambda"),
            parameters: self.parameters(node),
            body: body.collect(),
            decorators: Vec::new(),
            source: Rc::clone(self.source),
            at: node.byte_range(),
            line: at,
        })
    }

    fn subscript(&mut self, node: Node<'t>) -> Kind {
        let Some(value) = self.child(node, FIELDS.value) else { return Kind::Of(Vec::new()) };
        let keys: Vec<Node> = node.children_by_field_name("subscript", &mut node.walk()).collect();
        let index = match keys.as_slice() {
            [slice] if slice.kind() == "slice" => {
                let mut parts = [None, None, None];
                let mut place = 0;
                for part in slice.children(&mut slice.walk()) {
                    if part.kind() == ":" {
                        place += 1;
                    } else if let Some(slot) = parts.get_mut(place) {
                        *slot = Some(self.expr(part));
                    }
                }
                Index::Slice(parts)
            }
            [key] => Index::At(self.expr(*key)),
            keys => {
                let keys = keys.iter().map(|key| self.expr(*key)).collect();
                Index::At(Self::made(node, Kind::List(keys)))
            }
        };
        Kind::Subscript(Box::new(value), Box::new(index))
    }

    fn arguments(&mut self, list: Node<'t>) -> Vec<Argument> {
        if list.kind() != "argument_list" {
            return vec![Argument::Positional(self.expr(list))];
        }
        let mut arguments = Vec::new();
        for argument in self.named(list) {
            let inner = argument.named_child(0);
            arguments.push(match (argument.kind(), inner) {
                ("keyword_argument", _) => {
                    let name = argument.child_by_field_id(FIELDS.name).map(|name| self.name(name));
                    let value = self.child(argument, FIELDS.value);
                    let (Some(name), Some(value)) = (name, value) else { continue };
                    Argument::Named(name, value)
                }
                ("list_splat", Some(inner)) => Argument::List(self.expr(inner)),
                ("dictionary_splat", Some(inner)) => Argument::Dict(self.expr(inner)),
                _ => Argument::Positional(self.expr(argument)),
            });
        }
        arguments
    }

    /// The grammar nests sums to the left.
    fn binary(&mut self, node: Node<'t>) -> Kind {
        let operator = |node: Node| {
            node.child_by_field_id(FIELDS.operator).map_or("", |node| text(node, self.source))
        };
        let written = operator(node);
        if written != "+" {
            let written = Rc::from(written);
            return match self.pair(node, FIELDS.left, FIELDS.right) {
                Some((left, right)) => Kind::Binary(written, Box::new(left), Box::new(right)),
                None => Kind::Of(self.all(node)),
            };
        }
        let mut operands = Vec::new();
        let mut inner = node;
        loop {
            operands.extend(inner.child_by_field_id(FIELDS.right));
            let Some(left) = inner.child_by_field_id(FIELDS.left) else { break };
            if left.kind() == "binary_operator" && operator(left) == "+" {
                inner = left;
            } else {
                operands.push(left);
                break;
            }
        }
        operands.reverse();
        Kind::Sum(operands.into_iter().map(|operand| self.expr(operand)).collect())
    }

    fn dictionary_item(&mut self, node: Node<'t>) -> Option<(Option<Expr>, Expr)> {
        if node.kind() == "pair" {
            return self
                .pair(node, FIELDS.key, FIELDS.value)
                .map(|(key, value)| (Some(key), value));
        }
        let inner = node.named_child(0)?;
        Some((None, self.expr(inner)))
    }

    fn comprehension(&mut self, node: Node<'t>) -> Kind {
        let mut clauses = Vec::new();
        for clause in self.named(node) {
            match clause.kind() {
                "for_in_clause" => {
                    clauses.extend(
                        self.pair(clause, FIELDS.left, FIELDS.right)
                            .map(|(l, r)| Clause::For(l, r)),
                    );
                }
                "if_clause" => {
                    clauses.extend(clause.named_child(0).map(|test| Clause::If(self.expr(test))));
                }
                _ => {}
            }
        }
        let Some(body) = node.child_by_field_id(FIELDS.body) else { return Kind::Of(Vec::new()) };
        let (key, value) = if body.kind() == "pair" {
            match self.pair(body, FIELDS.key, FIELDS.value) {
                Some((key, value)) => (Some(key), value),
                None => return Kind::Of(Vec::new()),
            }
        } else {
            (None, self.expr(body))
        };
        Kind::Comprehension(Box::new(Comprehension { clauses, key, value }))
    }

    fn string(&mut self, node: Node<'t>) -> Kind {
        let parts = if node.kind() == "string" { vec![node] } else { self.named(node) };
        let mut pieces: Vec<Piece> = Vec::new();
        let mut bytes = false;
        for part in parts {
            let Some((content, is_bytes)) = literal::pieces(part, self.source) else { continue };
            bytes = is_bytes;
            for piece in content {
                match (piece, pieces.last_mut()) {
                    (literal::Piece::Text(more), Some(Piece::Text(before))) => {
                        *before = format!("{before}{more}").into();
                    }
                    (literal::Piece::Text(text), _) => pieces.push(Piece::Text(text.into())),
                    (literal::Piece::Value(node), _) => pieces.push(Piece::Value(self.expr(node))),
                    (literal::Piece::Formatted(parts), _) => {
                        let parts = parts.into_iter().map(|part| self.expr(part)).collect();
                        pieces.push(Piece::Value(Self::made(node, Kind::Of(parts))));
                    }
                }
            }
        }
        match pieces.as_slice() {
            [] => Kind::Text { text: Rc::from(""), bytes },
            [Piece::Text(text)] => Kind::Text { text: Rc::clone(text), bytes },
            _ => Kind::Format(pieces),
        }
    }
}
