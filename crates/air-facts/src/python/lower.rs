//! From the parser's tree to ours. What does not parse is read as far as it does.

mod expression;

use std::rc::Rc;

use tree_sitter::Node;
use unicode_normalization::UnicodeNormalization;

use super::ast::{Action, Class, Expr, Function, Kind, Parameter, Source, Statement, Takes};
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
                    return push(Action::Value(Self::made(node, Kind::List(items))));
                };
                self.simple(*only, out);
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
            // What is left in a part that does not parse is statements or expressions.
            "block" | "ERROR" => push(Action::Block(self.block(node))),
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
                    _ => Self::made(node, Kind::Either(targets)),
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
}

/// The body as a branch of its own, and then the handlers.
fn attempt_of(body: Vec<Statement>, handlers: Vec<Vec<Statement>>, line: u32) -> Action {
    let body = Statement { kind: Action::Branches(vec![body, Vec::new()]), line };
    Action::Block(vec![body, Statement { kind: Action::Branches(handlers), line }])
}
