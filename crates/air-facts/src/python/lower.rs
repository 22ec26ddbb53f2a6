//! From the parser's tree to ours. What does not parse is read as far as it does.

mod aside;
mod expression;
mod guard;

use std::{collections::HashSet, rc::Rc};

use tree_sitter::{Node, Tree, TreeCursor};
use unicode_normalization::UnicodeNormalization;

use super::{
    ast::{Action, Class, Expr, Function, Kind, Parameter, Source, Statement, Takes},
    fields::{FIELDS, FieldId},
};
use crate::syntax::{line, text};

/// Builds the tree of one source.
pub(super) struct Lowering<'s, 't> {
    source: &'s Source,
    /// Used anew for each node: making one takes memory.
    cursor: TreeCursor<'t>,
    /// Names of paths that have no `..` in them.
    resolved: HashSet<Rc<str>>,
    /// How much deeper it may go.
    depth: usize,
    /// The line of the first that lies deeper.
    pub(super) too_deep: Option<u32>,
}

impl<'s, 't> Lowering<'s, 't> {
    pub(super) fn new(source: &'s Source, tree: &'t Tree, depth: usize) -> Self {
        Self { source, cursor: tree.walk(), resolved: HashSet::new(), depth, too_deep: None }
    }

    /// The named children of `node`, without comments.
    fn named(&mut self, node: Node<'t>) -> Vec<Node<'t>> {
        let is_comment = |child: &Node| child.is_extra() && child.kind() == "comment";
        node.named_children(&mut self.cursor).filter(|child| !is_comment(child)).collect()
    }

    fn name(&self, node: Node<'t>) -> Rc<str> {
        let written = text(node, self.source);
        // Python takes look-alike letters of names for the plain ones.
        if written.is_ascii() {
            Rc::from(written)
        } else {
            written.nfkc().collect::<String>().into()
        }
    }

    /// A dotted name, without blanks.
    fn dotted(&self, node: Node<'t>) -> Rc<str> {
        let name = self.name(node);
        if name.contains(char::is_whitespace) {
            name.split_whitespace().collect::<String>().into()
        } else {
            name
        }
    }

    pub(super) fn block(&mut self, node: Node<'t>) -> Vec<Statement> {
        let mut out = Vec::new();
        if self.enter(node) {
            for child in self.named(node) {
                self.statement(child, &mut out);
            }
            self.depth += 1;
        }
        out
    }

    fn enter(&mut self, node: Node<'t>) -> bool {
        if self.depth == 0 {
            self.too_deep.get_or_insert(line(node));
            return false;
        }
        self.depth -= 1;
        true
    }

    fn field(&mut self, node: Node<'t>, field: FieldId) -> Vec<Statement> {
        node.child_by_field_id(field).map(|body| self.block(body)).unwrap_or_default()
    }

    fn statement(&mut self, node: Node<'t>, out: &mut Vec<Statement>) {
        let at = line(node);
        let mut push = |kind| out.push(Statement { kind, line: at });
        match node.kind() {
            "expression_statement" => {
                let parts = self.named(node);
                let [only] = parts.as_slice() else {
                    let items = parts.into_iter().map(|part| self.expr(part)).collect();
                    return push(Action::Value(Self::made(node, Kind::List(items))));
                };
                self.simple(*only, out);
            }
            "import_statement" => {
                for module in self.named(node) {
                    let (path, alias) = self.aliased(module);
                    push(Action::Import(path, alias));
                }
            }
            "import_from_statement" => {
                let Some(module) = node.child_by_field_id(FIELDS.module_name) else { return };
                let path = self.dotted(module);
                for name in self.named(node).into_iter().filter(|name| *name != module) {
                    if name.kind() == "wildcard_import" {
                        push(Action::ImportAll(path.clone()));
                    } else {
                        let (item, alias) = self.aliased(name);
                        push(Action::ImportFrom(path.clone(), item, alias));
                    }
                }
            }
            "function_definition" | "class_definition" | "decorated_definition" => {
                self.beside(node, out);
                let kind = self.definition(node);
                out.push(Statement { kind, line: at });
            }
            "if_statement" => push(Action::Block(self.conditional(node))),
            "for_statement" => {
                let Some((target, items)) = self.pair(node, FIELDS.left, FIELDS.right) else {
                    return;
                };
                push(Action::For(target, items, self.field(node, FIELDS.body)));
                self.alternative(node, out);
            }
            "while_statement" => {
                let Some(test) = self.child(node, FIELDS.condition) else { return };
                push(Action::While(test, self.field(node, FIELDS.body)));
                self.alternative(node, out);
            }
            "try_statement" => self.attempt(node, out),
            "assert_statement" => {
                self.simple(node, out);
                let test = node.named_child(0);
                let within = test.map(|test| self.inside(test, true)).unwrap_or_default();
                out.extend(guard::say(within, line(node)));
            }
            "with_statement" => {
                let clause = self.named(node).into_iter().find(|part| part.kind() == "with_clause");
                let items = clause.map(|inner| self.named(inner)).unwrap_or_default();
                let items = items.into_iter().filter_map(|item| self.with_item(item)).collect();
                push(Action::With(items, self.field(node, FIELDS.body)));
            }
            "match_statement" => self.choice(node, out),
            "return_statement" => {
                let value = node.named_child(0).map(|value| self.expr(value));
                push(Action::Return(value));
            }
            "delete_statement" => {
                let targets =
                    self.named(node).into_iter().map(|target| self.expr(target)).collect();
                push(Action::Delete(targets));
            }
            "global_statement" | "nonlocal_statement" => {
                push(Action::Global(
                    self.named(node).into_iter().map(|name| self.name(name)).collect(),
                ));
            }
            "break_statement" => push(Action::Leave),
            "raise_statement" => {
                for value in self.named(node) {
                    let value = self.expr(value);
                    out.push(Statement { kind: Action::Raise(value), line: at });
                }
                out.push(Statement { kind: Action::Leave, line: at });
            }
            "exec_statement" => {
                if let Some(code) = self.child(node, FIELDS.code) {
                    push(Action::Exec(code));
                }
            }
            "pass_statement" | "continue_statement" | "future_import_statement" | "comment" => {}
            "type_alias_statement" => self.aside(node, out),
            // What is left in a part that does not parse is statements or expressions.
            "block" | "ERROR" => push(Action::Block(self.block(node))),
            _ => self.simple(node, out),
        }
    }

    /// `if` as blocks of which one happens; conditions are looked at first.
    fn conditional(&mut self, node: Node<'t>) -> Vec<Statement> {
        let mut whole = Vec::new();
        let test = node.child_by_field_id(FIELDS.condition);
        let within = test.map(|test| self.inside(test, true)).unwrap_or_default();
        let mut first: Vec<Statement> = guard::say(within, line(node)).collect();
        first.extend(self.field(node, FIELDS.consequence));
        let mut branches = vec![first];
        let mut exhaustive = false;
        let condition = |this: &mut Self, node: Node<'t>, whole: &mut Vec<Statement>| {
            if let Some(test) = this.child(node, FIELDS.condition) {
                whole.push(Statement { line: test.line, kind: Action::Value(test) });
            }
        };
        condition(self, node, &mut whole);
        for other in node.children_by_field_name("alternative", &mut node.walk()) {
            if other.kind() == "elif_clause" {
                condition(self, other, &mut whole);
                branches.push(self.field(other, FIELDS.consequence));
            } else {
                exhaustive = true;
                branches.push(self.field(other, FIELDS.body));
            }
        }
        if !exhaustive {
            branches.push(Vec::new());
        }
        whole.push(Statement { kind: Action::Branches(branches), line: line(node) });
        let ends = node.child_by_field_id(FIELDS.consequence).is_some_and(guard::leaves);
        if let Some(test) = test.filter(|_| ends) {
            let within = self.inside(test, false);
            whole.extend(guard::say(within, line(node)));
        }
        whole
    }

    fn alternative(&mut self, node: Node<'t>, out: &mut Vec<Statement>) {
        if let Some(other) = node.child_by_field_id(FIELDS.alternative) {
            let body = self.field(other, FIELDS.body);
            out.push(Statement {
                kind: Action::Branches(vec![body, Vec::new()]),
                line: line(other),
            });
        }
    }

    /// Handlers may or may not follow the body; the rest follows always.
    fn attempt(&mut self, node: Node<'t>, out: &mut Vec<Statement>) {
        let mut handlers = vec![Vec::new()];
        let mut last = Vec::new();
        let mut caught = Vec::new();
        let body = self.field(node, FIELDS.body);
        let mut checked = node.child_by_field_id(FIELDS.body);
        for clause in self.named(node) {
            let block = self.named(clause).into_iter().find(|part| part.kind() == "block");
            match clause.kind() {
                "except_clause" | "except_group_clause" => {
                    // Looked at once something has failed; the block comes after it.
                    for part in self.named(clause) {
                        if part.kind() != "block" {
                            self.aside(part, &mut caught);
                        }
                    }
                    checked = checked.filter(|_| block.is_some_and(guard::leaves));
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
        out.extend(caught);
        out.push(Statement { kind, line: at });
        let within = checked.map(|body| self.must_be_inside(body)).unwrap_or_default();
        out.extend(guard::say(within, at));
        out.push(Statement { kind: Action::Block(last), line: at });
    }

    fn with_item(&mut self, item: Node<'t>) -> Option<(Expr, Option<Expr>)> {
        let value = item.child_by_field_id(FIELDS.value).or_else(|| item.named_child(0))?;
        if value.kind() != "as_pattern" {
            return Some((self.expr(value), None));
        }
        let alias = value.child_by_field_id(FIELDS.alias).and_then(|alias| alias.named_child(0));
        Some((self.expr(value.named_child(0)?), alias.map(|alias| self.expr(alias))))
    }

    fn simple(&mut self, node: Node<'t>, out: &mut Vec<Statement>) {
        let at = line(node);
        let kind = match node.kind() {
            "assignment" => {
                // `a = b = c` nests to the right.
                let mut targets = Vec::new();
                let mut inner = node;
                while inner.kind() == "assignment" {
                    if let Some(annotation) = inner.child_by_field_id(FIELDS.type_of) {
                        self.aside(annotation, out);
                    }
                    targets.extend(inner.child_by_field_id(FIELDS.left));
                    let Some(right) = inner.child_by_field_id(FIELDS.right) else { break };
                    inner = right;
                }
                if inner.kind() == "assignment" {
                    return;
                }
                for target in &targets {
                    self.resolves(*target, inner);
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
                let operator = node.child_by_field_id(FIELDS.operator);
                let operator = operator.map_or("", |operator| text(operator, self.source));
                let operator = Rc::from(operator.trim_end_matches('='));
                match self.pair(node, FIELDS.left, FIELDS.right) {
                    Some((target, value)) => Action::Augment(target, operator, value),
                    None => return,
                }
            }
            _ => Action::Value(self.expr(node)),
        };
        out.push(Statement { kind, line: at });
    }

    fn definition(&mut self, node: Node<'t>) -> Action {
        let decorators = self.named(node).into_iter().filter(|part| part.kind() == "decorator");
        let decorators = decorators.filter_map(|part| part.named_child(0)).collect::<Vec<_>>();
        let decorators: Vec<Expr> = decorators.into_iter().map(|part| self.expr(part)).collect();
        let inner = node.child_by_field_id(FIELDS.definition).unwrap_or(node);
        let name = inner.child_by_field_id(FIELDS.name);
        let name = name.map_or_else(|| Rc::from(""), |name| self.name(name));
        if inner.kind() == "class_definition" {
            let bases = inner
                .child_by_field_id(FIELDS.superclasses)
                .map(|inner| self.named(inner))
                .unwrap_or_default();
            let bases = bases.into_iter().filter(|base| base.kind() != "keyword_argument");
            return Action::Class(Rc::new(Class {
                name,
                bases: bases.map(|base| self.expr(base)).collect(),
                body: self.field(inner, FIELDS.body),
                decorators,
                source: Rc::clone(self.source),
                at: node.byte_range(),
            }));
        }
        Action::Function(Rc::new(Function {
            name,
            parameters: self.parameters(inner),
            body: self.field(inner, FIELDS.body),
            decorators,
            source: Rc::clone(self.source),
            at: node.byte_range(),
            line: line(inner),
        }))
    }

    fn parameters(&mut self, node: Node<'t>) -> Vec<Parameter> {
        let list = node
            .child_by_field_id(FIELDS.parameters)
            .map(|inner| self.named(inner))
            .unwrap_or_default();
        let mut parameters = Vec::new();
        for mut parameter in list {
            let default = self.child(parameter, FIELDS.value);
            if let Some(name) = parameter.child_by_field_id(FIELDS.name) {
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

    fn aliased(&self, node: Node<'t>) -> (Rc<str>, Option<Rc<str>>) {
        if node.kind() != "aliased_import" {
            return (self.dotted(node), None);
        }
        let name = node.child_by_field_id(FIELDS.name).map(|name| self.dotted(name));
        let alias = node.child_by_field_id(FIELDS.alias).map(|alias| self.name(alias));
        (name.unwrap_or_else(|| Rc::from("")), alias)
    }
}

/// The body as a branch of its own, and then the handlers.
fn attempt_of(body: Vec<Statement>, handlers: Vec<Vec<Statement>>, line: u32) -> Action {
    let body = Statement { kind: Action::Branches(vec![body, Vec::new()]), line };
    Action::Block(vec![body, Statement { kind: Action::Branches(handlers), line }])
}
