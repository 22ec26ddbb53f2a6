//! From the parser's tree to ours. What does not parse is read as far as it does.

use std::rc::Rc;

use tree_sitter::Node;
use unicode_normalization::UnicodeNormalization;

use super::{
    ast::{
        Action, Argument, Class, Clause, Comprehension, Expr, Function, Index, Kind, Parameter,
        Piece, Source, Statement, Takes,
    },
    literal,
};
use crate::syntax::{line, named, text};

/// Builds the tree of one source.
pub(super) struct Lowering<'s> {
    source: &'s Source,
    /// How much deeper it may go.
    depth: usize,
    /// The line of the first that lies deeper.
    pub(super) too_deep: Option<u32>,
}

impl<'s> Lowering<'s> {
    pub(super) fn new(source: &'s Source, depth: usize) -> Self {
        Self { source, depth, too_deep: None }
    }

    fn name(&self, node: Node) -> Rc<str> {
        let written = text(node, self.source);
        // Python takes look-alike letters of names for the plain ones.
        if written.is_ascii() {
            Rc::from(written)
        } else {
            written.nfkc().collect::<String>().into()
        }
    }

    /// A dotted name, without blanks.
    fn dotted(&self, node: Node) -> Rc<str> {
        let name = self.name(node);
        if name.contains(char::is_whitespace) {
            name.split_whitespace().collect::<String>().into()
        } else {
            name
        }
    }

    pub(super) fn block(&mut self, node: Node) -> Vec<Statement> {
        let mut out = Vec::new();
        if self.enter(node) {
            for child in named(node) {
                self.statement(child, &mut out);
            }
            self.depth += 1;
        }
        out
    }

    fn enter(&mut self, node: Node) -> bool {
        if self.depth == 0 {
            self.too_deep.get_or_insert(line(node));
            return false;
        }
        self.depth -= 1;
        true
    }

    fn field(&mut self, node: Node, name: &str) -> Vec<Statement> {
        node.child_by_field_name(name).map(|body| self.block(body)).unwrap_or_default()
    }

    fn statement(&mut self, node: Node, out: &mut Vec<Statement>) {
        let at = line(node);
        let mut push = |kind| out.push(Statement { kind, line: at });
        match node.kind() {
            "expression_statement" => {
                let parts = named(node);
                let [only] = parts.as_slice() else {
                    let items = parts.into_iter().map(|part| self.expr(part)).collect();
                    return push(Action::Value(self.made(node, Kind::List(items))));
                };
                return self.simple(*only, out);
            }
            "import_statement" => {
                for module in named(node) {
                    let (path, alias) = self.aliased(module);
                    push(Action::Import(path, alias));
                }
            }
            "import_from_statement" => {
                let Some(module) = node.child_by_field_name("module_name") else { return };
                let path = self.dotted(module);
                for name in named(node).into_iter().filter(|name| *name != module) {
                    if name.kind() == "wildcard_import" {
                        push(Action::ImportAll(path.clone()));
                    } else {
                        let (item, alias) = self.aliased(name);
                        push(Action::ImportFrom(path.clone(), item, alias));
                    }
                }
            }
            "function_definition" | "class_definition" | "decorated_definition" => {
                push(self.definition(node));
            }
            "if_statement" => push(Action::Block(self.conditional(node))),
            "for_statement" => {
                let Some((target, items)) = self.pair(node, "left", "right") else { return };
                push(Action::For(target, items, self.field(node, "body")));
                self.alternative(node, out);
            }
            "while_statement" => {
                let Some(test) = self.child(node, "condition") else { return };
                push(Action::While(test, self.field(node, "body")));
                self.alternative(node, out);
            }
            "try_statement" => self.attempt(node, out),
            "with_statement" => {
                let clause = named(node).into_iter().find(|part| part.kind() == "with_clause");
                let items = clause.map(named).unwrap_or_default();
                let items = items.into_iter().filter_map(|item| self.with_item(item)).collect();
                push(Action::With(items, self.field(node, "body")));
            }
            "match_statement" => {
                if let Some(subject) = self.child(node, "subject") {
                    push(Action::Value(subject));
                }
                let cases = node.child_by_field_name("body").map(named).unwrap_or_default();
                let cases = cases.into_iter().map(|case| self.field(case, "consequence")).collect();
                push(Action::Branches(cases));
            }
            "return_statement" => {
                let value = node.named_child(0).map(|value| self.expr(value));
                push(Action::Return(value));
            }
            "delete_statement" => {
                let targets = named(node).into_iter().map(|target| self.expr(target)).collect();
                push(Action::Delete(targets));
            }
            "global_statement" | "nonlocal_statement" => {
                push(Action::Global(named(node).into_iter().map(|name| self.name(name)).collect()));
            }
            "break_statement" => push(Action::Leave),
            "raise_statement" => {
                for value in named(node) {
                    let value = self.expr(value);
                    out.push(Statement { kind: Action::Value(value), line: at });
                }
                out.push(Statement { kind: Action::Leave, line: at });
            }
            "exec_statement" => {
                if let Some(code) = self.child(node, "code") {
                    push(Action::Exec(code));
                }
            }
            "pass_statement"
            | "continue_statement"
            | "future_import_statement"
            | "type_alias_statement"
            | "comment" => {}
            "block" => push(Action::Block(self.block(node))),
            // What is left in a part that does not parse is statements or expressions.
            "ERROR" => push(Action::Block(self.block(node))),
            _ => self.simple(node, out),
        }
    }

    /// `if` as blocks of which one happens; conditions are looked at first.
    fn conditional(&mut self, node: Node) -> Vec<Statement> {
        let mut whole = Vec::new();
        let mut branches = vec![self.field(node, "consequence")];
        let mut exhaustive = false;
        let condition = |this: &mut Self, node: Node, whole: &mut Vec<Statement>| {
            if let Some(test) = this.child(node, "condition") {
                whole.push(Statement { line: test.line, kind: Action::Value(test) });
            }
        };
        condition(self, node, &mut whole);
        for other in node.children_by_field_name("alternative", &mut node.walk()) {
            if other.kind() == "elif_clause" {
                condition(self, other, &mut whole);
                branches.push(self.field(other, "consequence"));
            } else {
                exhaustive = true;
                branches.push(self.field(other, "body"));
            }
        }
        if !exhaustive {
            branches.push(Vec::new());
        }
        whole.push(Statement { kind: Action::Branches(branches), line: line(node) });
        whole
    }

    fn alternative(&mut self, node: Node, out: &mut Vec<Statement>) {
        if let Some(other) = node.child_by_field_name("alternative") {
            let body = self.field(other, "body");
            out.push(Statement {
                kind: Action::Branches(vec![body, Vec::new()]),
                line: line(other),
            });
        }
    }

    /// Handlers may or may not follow the body; the rest follows always.
    fn attempt(&mut self, node: Node, out: &mut Vec<Statement>) {
        let mut handlers = vec![Vec::new()];
        let mut last = Vec::new();
        let body = self.field(node, "body");
        for clause in named(node) {
            let block = named(clause).into_iter().find(|part| part.kind() == "block");
            match clause.kind() {
                "except_clause" | "except_group_clause" => {
                    handlers.extend(block.map(|block| self.block(block)));
                }
                "else_clause" | "finally_clause" => {
                    last.extend(block.map(|block| self.block(block)).unwrap_or_default());
                }
                _ => {}
            }
        }
        let at = line(node);
        // What a body that fails has bound and what it has not are both possible afterwards.
        let kind =
            if handlers.len() > 1 { attempt_of(body, handlers, at) } else { Action::Block(body) };
        out.push(Statement { kind, line: at });
        out.push(Statement { kind: Action::Block(last), line: at });
    }

    fn with_item(&mut self, item: Node) -> Option<(Expr, Option<Expr>)> {
        let value = item.child_by_field_name("value").or_else(|| item.named_child(0))?;
        if value.kind() != "as_pattern" {
            return Some((self.expr(value), None));
        }
        let alias = value.child_by_field_name("alias").and_then(|alias| alias.named_child(0));
        Some((self.expr(value.named_child(0)?), alias.map(|alias| self.expr(alias))))
    }

    fn simple(&mut self, node: Node, out: &mut Vec<Statement>) {
        let at = line(node);
        let kind = match node.kind() {
            "assignment" => {
                // `a = b = c` nests to the right.
                let mut targets = Vec::new();
                let mut inner = node;
                while inner.kind() == "assignment" {
                    targets.extend(inner.child_by_field_name("left"));
                    let Some(right) = inner.child_by_field_name("right") else { break };
                    inner = right;
                }
                if inner.kind() == "assignment" {
                    return;
                }
                let mut targets: Vec<Expr> =
                    targets.into_iter().map(|target| self.expr(target)).collect();
                let value = self.expr(inner);
                let target = match targets.len() {
                    1 => targets.remove(0),
                    // All of them are that value.
                    _ => self.made(node, Kind::Either(targets)),
                };
                Action::Assign(target, value)
            }
            "augmented_assignment" => {
                let operator = node.child_by_field_name("operator");
                let operator = operator.map_or("", |operator| text(operator, self.source));
                let operator = Rc::from(operator.trim_end_matches('='));
                match self.pair(node, "left", "right") {
                    Some((target, value)) => Action::Augment(target, operator, value),
                    None => return,
                }
            }
            _ => Action::Value(self.expr(node)),
        };
        out.push(Statement { kind, line: at });
    }

    fn definition(&mut self, node: Node) -> Action {
        let decorators = named(node).into_iter().filter(|part| part.kind() == "decorator");
        let decorators = decorators.filter_map(|part| part.named_child(0)).collect::<Vec<_>>();
        let decorators: Vec<Expr> = decorators.into_iter().map(|part| self.expr(part)).collect();
        let inner = node.child_by_field_name("definition").unwrap_or(node);
        let name = inner.child_by_field_name("name");
        let name = name.map_or_else(|| Rc::from(""), |name| self.name(name));
        if inner.kind() == "class_definition" {
            let bases = inner.child_by_field_name("superclasses").map(named).unwrap_or_default();
            let bases = bases.into_iter().filter(|base| base.kind() != "keyword_argument");
            return Action::Class(Rc::new(Class {
                name,
                bases: bases.map(|base| self.expr(base)).collect(),
                body: self.field(inner, "body"),
                decorators,
                source: Rc::clone(self.source),
                at: node.byte_range(),
            }));
        }
        Action::Function(Rc::new(Function {
            name,
            parameters: self.parameters(inner),
            body: self.field(inner, "body"),
            decorators,
            source: Rc::clone(self.source),
            at: node.byte_range(),
            line: line(inner),
        }))
    }

    fn parameters(&mut self, node: Node) -> Vec<Parameter> {
        let list = node.child_by_field_name("parameters").map(named).unwrap_or_default();
        let mut parameters = Vec::new();
        for mut parameter in list {
            let default = self.child(parameter, "value");
            if let Some(name) = parameter.child_by_field_name("name") {
                parameter = name;
            } else if parameter.kind() == "typed_parameter" {
                let Some(inner) = parameter.named_child(0) else { continue };
                parameter = inner;
            }
            let takes = match parameter.kind() {
                "list_splat_pattern" => Takes::Rest,
                "dictionary_splat_pattern" => Takes::RestNamed,
                "identifier" => Takes::One,
                _ => continue,
            };
            let name = if takes == Takes::One { Some(parameter) } else { parameter.named_child(0) };
            let Some(name) = name else { continue };
            parameters.push(Parameter { name: self.name(name), default, takes });
        }
        parameters
    }

    fn aliased(&self, node: Node) -> (Rc<str>, Option<Rc<str>>) {
        if node.kind() != "aliased_import" {
            return (self.dotted(node), None);
        }
        let name = node.child_by_field_name("name").map(|name| self.dotted(name));
        let alias = node.child_by_field_name("alias").map(|alias| self.name(alias));
        (name.unwrap_or_else(|| Rc::from("")), alias)
    }

    fn child(&mut self, node: Node, field: &str) -> Option<Expr> {
        node.child_by_field_name(field).map(|child| self.expr(child))
    }

    fn pair(&mut self, node: Node, first: &str, second: &str) -> Option<(Expr, Expr)> {
        Some((self.child(node, first)?, self.child(node, second)?))
    }

    fn made(&self, node: Node, kind: Kind) -> Expr {
        Expr { kind, line: line(node), at: node.byte_range() }
    }

    pub(super) fn expr(&mut self, node: Node) -> Expr {
        let mut node = node;
        while matches!(node.kind(), "parenthesized_expression" | "await" | "type" | "case_pattern")
        {
            match named(node).as_slice() {
                [only] => node = *only,
                _ => break,
            }
        }
        if !self.enter(node) {
            return self.made(node, Kind::Deep);
        }
        let kind = self.kind(node);
        self.depth += 1;
        self.made(node, kind)
    }

    fn boxed(&mut self, node: Node) -> Box<Expr> {
        Box::new(self.expr(node))
    }

    fn all(&mut self, node: Node) -> Vec<Expr> {
        named(node).into_iter().map(|part| self.expr(part)).collect()
    }

    fn kind(&mut self, node: Node) -> Kind {
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
                let parts =
                    (node.child_by_field_name("object"), node.child_by_field_name("attribute"));
                let (Some(object), Some(name)) = parts else { return Kind::Of(Vec::new()) };
                Kind::Attribute(self.boxed(object), self.name(name))
            }
            "subscript" => self.subscript(node),
            "call" => {
                let Some(function) = node.child_by_field_name("function") else {
                    return Kind::Of(self.all(node));
                };
                let function = self.boxed(function);
                let arguments = node.child_by_field_name("arguments");
                Kind::Call(function, arguments.map(|list| self.arguments(list)).unwrap_or_default())
            }
            "binary_operator" => self.binary(node),
            "boolean_operator" => Kind::Either(self.all(node)),
            "conditional_expression" => match named(node).as_slice() {
                [first, test, second] => {
                    let test = self.expr(*test);
                    let test = self.made(node, Kind::Test(vec![test]));
                    Kind::Either(vec![test, self.expr(*first), self.expr(*second)])
                }
                _ => Kind::Either(self.all(node)),
            },
            "comparison_operator" | "not_operator" => Kind::Test(self.all(node)),
            "list" | "tuple" | "set" | "expression_list" | "pattern_list" | "tuple_pattern"
            | "list_pattern" => Kind::List(self.all(node)),
            "dictionary" => {
                let pairs = named(node).into_iter();
                Kind::Dict(pairs.filter_map(|pair| self.dictionary_item(pair)).collect())
            }
            "list_comprehension"
            | "set_comprehension"
            | "generator_expression"
            | "dictionary_comprehension" => self.comprehension(node),
            "lambda" => Kind::Lambda(self.lambda(node)),
            "named_expression" => {
                let parts = (node.child_by_field_name("name"), node.child_by_field_name("value"));
                let (Some(name), Some(value)) = parts else { return Kind::Of(self.all(node)) };
                Kind::Walrus(self.boxed(name), self.boxed(value))
            }
            "list_splat" | "list_splat_pattern" | "dictionary_splat" => match node.named_child(0) {
                Some(inner) => Kind::Star(self.boxed(inner)),
                None => Kind::Plain,
            },
            "yield" => match node.named_child(0) {
                Some(inner) => Kind::Yield(self.boxed(inner)),
                None => Kind::Plain,
            },
            "unary_operator" => {
                let minus = text(node, self.source).starts_with('-');
                let inner = self.child(node, "argument");
                match inner {
                    Some(Expr { kind: Kind::Number(n), .. }) if minus => Kind::Number(-n),
                    inner => Kind::Of(inner.into_iter().collect()),
                }
            }
            "as_pattern" => match named(node).as_slice() {
                [value, alias] => {
                    let alias = alias.named_child(0).unwrap_or(*alias);
                    Kind::Walrus(self.boxed(alias), self.boxed(*value))
                }
                _ => Kind::Of(self.all(node)),
            },
            _ => Kind::Of(self.all(node)),
        }
    }

    fn lambda(&mut self, node: Node) -> Rc<Function> {
        let at = line(node);
        let body = self.child(node, "body");
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

    fn subscript(&mut self, node: Node) -> Kind {
        let Some(value) = self.child(node, "value") else { return Kind::Of(Vec::new()) };
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
                Index::At(self.made(node, Kind::List(keys)))
            }
        };
        Kind::Subscript(Box::new(value), Box::new(index))
    }

    fn arguments(&mut self, list: Node) -> Vec<Argument> {
        if list.kind() != "argument_list" {
            return vec![Argument::Positional(self.expr(list))];
        }
        let mut arguments = Vec::new();
        for argument in named(list) {
            let inner = argument.named_child(0);
            arguments.push(match (argument.kind(), inner) {
                ("keyword_argument", _) => {
                    let name = argument.child_by_field_name("name").map(|name| self.name(name));
                    let value = self.child(argument, "value");
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
    fn binary(&mut self, node: Node) -> Kind {
        let operator = |node: Node| {
            node.child_by_field_name("operator").map_or("", |node| text(node, self.source))
        };
        let written = operator(node);
        if written != "+" {
            let written = Rc::from(written);
            return match self.pair(node, "left", "right") {
                Some((left, right)) => Kind::Binary(written, Box::new(left), Box::new(right)),
                None => Kind::Of(self.all(node)),
            };
        }
        let mut operands = Vec::new();
        let mut inner = node;
        loop {
            operands.extend(inner.child_by_field_name("right"));
            let Some(left) = inner.child_by_field_name("left") else { break };
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

    fn dictionary_item(&mut self, node: Node) -> Option<(Option<Expr>, Expr)> {
        if node.kind() == "pair" {
            return self.pair(node, "key", "value").map(|(key, value)| (Some(key), value));
        }
        let inner = node.named_child(0)?;
        Some((None, self.expr(inner)))
    }

    fn comprehension(&mut self, node: Node) -> Kind {
        let mut clauses = Vec::new();
        for clause in named(node) {
            match clause.kind() {
                "for_in_clause" => {
                    clauses
                        .extend(self.pair(clause, "left", "right").map(|(l, r)| Clause::For(l, r)));
                }
                "if_clause" => {
                    clauses.extend(clause.named_child(0).map(|test| Clause::If(self.expr(test))));
                }
                _ => {}
            }
        }
        let Some(body) = node.child_by_field_name("body") else { return Kind::Of(Vec::new()) };
        let (key, value) = if body.kind() == "pair" {
            match self.pair(body, "key", "value") {
                Some((key, value)) => (Some(key), value),
                None => return Kind::Of(Vec::new()),
            }
        } else {
            (None, self.expr(body))
        };
        Kind::Comprehension(Box::new(Comprehension { clauses, key, value }))
    }

    fn string(&mut self, node: Node) -> Kind {
        let parts = if node.kind() == "string" { vec![node] } else { named(node) };
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

/// The body as a branch of its own, and then the handlers.
fn attempt_of(body: Vec<Statement>, handlers: Vec<Vec<Statement>>, line: u32) -> Action {
    let body = Statement { kind: Action::Branches(vec![body, Vec::new()]), line };
    Action::Block(vec![body, Statement { kind: Action::Branches(handlers), line }])
}
