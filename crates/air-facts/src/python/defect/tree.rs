//! The syntax of one source as a flat list in source order: descendants are a range, parents are known.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    ops::Range,
};

use tree_sitter::Node;

use crate::{python::literal, syntax};

/// A node, by its place in the list.
pub(crate) type Id = usize;

#[derive(Debug)]
struct Item<'t> {
    node: Node<'t>,
    kind: &'t str,
    named: bool,
    parent: Id,
    /// The first that is not below it.
    end: Id,
    /// What its parent calls it; empty for none.
    field: &'t str,
    /// The innermost function that it is in, by its number in [`Tree::functions`]; zero is the module.
    scope: usize,
}

/// A function or lambda.
#[derive(Debug, Default)]
pub(crate) struct Function<'s> {
    /// Empty for a lambda that has no name.
    pub(crate) name: &'s str,
    pub(crate) at: Id,
    /// Names and default values, without `self`.
    pub(crate) parameters: Vec<(&'s str, Option<Id>)>,
    /// What it returns or yields.
    pub(crate) returns: Vec<Id>,
    /// The function around it.
    pub(crate) outer: usize,
    /// The class that it is a method of.
    pub(crate) class: Option<&'s str>,
}

/// The source, with what its names stand for.
#[derive(Debug)]
pub(crate) struct Tree<'s, 't> {
    pub(crate) source: &'s str,
    items: Vec<Item<'t>>,
    /// The first is the module.
    pub(crate) functions: Vec<Function<'s>>,
    /// Dotted names of what is imported.
    pub(crate) imports: HashMap<&'s str, String>,
    /// What each name of a scope is given, `self.name` and mutations included.
    pub(crate) assigned: HashMap<(usize, &'s str), Vec<Id>>,
    /// Calls by the last part of what is called.
    pub(crate) calls: HashMap<&'s str, Vec<Id>>,
    /// All calls.
    pub(crate) every_call: Vec<Id>,
    /// Functions by their names.
    pub(crate) by_name: HashMap<&'s str, Vec<usize>>,
    /// How many more expressions may be looked at.
    left: Cell<usize>,
    /// Questions that are being answered.
    nested: Cell<usize>,
    /// What was found of expressions, and how deep it was looked for.
    answers: RefCell<HashMap<(Question, Id), Answer>>,
}

/// How deep it was looked for, and what was found.
type Answer = (usize, Option<f64>);

/// What is asked again and again of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Question {
    Size,
    Length,
    Amount,
}

/// Steps that any source may take, and further ones for each of its bytes.
const BASE_WORK: usize = 200_000;
const WORK_A_BYTE: usize = 12;
/// Longer names are none.
const LONGEST_NAME: usize = 128;
/// So many values of one name are looked at.
const MOST_VALUES: usize = 64;
/// Questions within questions.
const MOST_NESTED: usize = 24;

/// Methods that put their arguments into their object.
const PUTS: [&str; 12] = [
    "append",
    "add",
    "extend",
    "insert",
    "update",
    "appendleft",
    "push",
    "put",
    "setdefault",
    "write",
    "push_back",
    "enqueue",
];

impl<'s, 't> Tree<'s, 't> {
    pub(crate) fn new(source: &'s str, root: Node<'t>) -> Self {
        let left = Cell::new(BASE_WORK + WORK_A_BYTE * source.len());
        let mut tree = Self {
            source,
            items: Vec::new(),
            functions: vec![Function::default()],
            imports: HashMap::new(),
            assigned: HashMap::new(),
            calls: HashMap::new(),
            every_call: Vec::new(),
            by_name: HashMap::new(),
            left,
            nested: Cell::new(0),
            answers: RefCell::default(),
        };
        tree.fill(root);
        tree.scopes();
        tree.index();
        tree
    }

    fn fill(&mut self, root: Node<'t>) {
        let mut cursor = root.walk();
        let mut parents: Vec<Id> = Vec::new();
        loop {
            let (node, field) = (cursor.node(), cursor.field_name().unwrap_or_default());
            let kept = (node.is_named() && node.kind() != "comment") || !field.is_empty();
            let id = self.items.len();
            if kept {
                let parent = parents.last().copied().unwrap_or(0);
                let (kind, named) = (node.kind(), node.is_named());
                self.items.push(Item { node, kind, named, parent, end: id + 1, field, scope: 0 });
            }
            if kept && cursor.goto_first_child() {
                parents.push(id);
                continue;
            }
            while !cursor.goto_next_sibling() {
                let end = self.items.len();
                let Some(parent) = parents.pop() else { return };
                if let Some(item) = self.items.get_mut(parent) {
                    item.end = end;
                }
                if !cursor.goto_parent() {
                    return;
                }
            }
        }
    }

    /// Finds functions, and gives each node the innermost one.
    fn scopes(&mut self) {
        let mut open: Vec<(Id, usize)> = vec![(self.items.len(), 0)];
        for id in 0..self.items.len() {
            while open.last().is_some_and(|(end, _)| *end <= id) {
                open.pop();
            }
            let scope = open.last().map_or(0, |(_, scope)| *scope);
            if let Some(item) = self.items.get_mut(id) {
                item.scope = scope;
            }
            let kind = self.kind(id);
            if matches!(kind, "function_definition" | "lambda") {
                let function = self.function(id, scope, kind == "lambda");
                if !function.name.is_empty() {
                    let at = self.functions.len();
                    self.by_name.entry(function.name).or_default().push(at);
                }
                self.functions.push(function);
                open.push((self.end(id), self.functions.len() - 1));
            }
        }
    }

    fn function(&self, id: Id, outer: usize, lambda: bool) -> Function<'s> {
        let named = if lambda {
            let parent = self.parent(id);
            let assigned = self.kind(parent) == "assignment";
            assigned.then(|| self.child(parent, "left")).flatten()
        } else {
            self.child(id, "name")
        };
        let mut parameters = Vec::new();
        for parameter in self.child(id, "parameters").into_iter().flat_map(|list| self.below(list))
        {
            let name = match self.kind(parameter) {
                "identifier" => Some(parameter),
                _ => self.child(parameter, "name").or_else(|| self.below(parameter).next()),
            };
            let Some(name) = name.map(|name| self.text(name)) else { continue };
            if !(parameters.is_empty() && matches!(name, "self" | "cls")) {
                parameters.push((name.trim_start_matches('*'), self.child(parameter, "value")));
            }
        }
        let class = self.parents(id).nth(1).filter(|class| self.kind(*class) == "class_definition");
        let class = class.or_else(|| {
            let above = self.parents(id).nth(2)?;
            (self.kind(above) == "class_definition").then_some(above)
        });
        Function {
            name: named.map(|name| self.text(name)).unwrap_or_default(),
            at: id,
            parameters,
            returns: if lambda { self.child(id, "body").into_iter().collect() } else { Vec::new() },
            outer,
            class: class.and_then(|class| self.child(class, "name")).map(|name| self.text(name)),
        }
    }

    fn index(&mut self) {
        for id in 0..self.items.len() {
            let scope = self.scope(id);
            match self.kind(id) {
                "assignment" | "augmented_assignment" | "for_statement" | "for_in_clause" => {
                    if let (Some(left), Some(right)) =
                        (self.child(id, "left"), self.child(id, "right"))
                    {
                        self.assign(scope, left, right);
                    }
                }
                "named_expression" => {
                    if let (Some(left), Some(right)) =
                        (self.child(id, "name"), self.child(id, "value"))
                    {
                        self.assign(scope, left, right);
                    }
                }
                "as_pattern" => {
                    let parts: Vec<Id> = self.below(id).collect();
                    if let [value, alias] = parts.as_slice() {
                        let alias = self.below(*alias).next().unwrap_or(*alias);
                        self.assign(scope, alias, *value);
                    }
                }
                "return_statement" | "yield" => {
                    let value = self.below(id).next();
                    if let (Some(value), Some(function)) = (value, self.functions.get_mut(scope)) {
                        function.returns.push(value);
                    }
                }
                "import_statement" | "import_from_statement" => self.import(id),
                "call" => self.call(id, scope),
                _ => {}
            }
        }
    }

    fn assign(&mut self, scope: usize, left: Id, right: Id) {
        self.assign_in(scope, left, right, 16);
    }

    fn assign_in(&mut self, scope: usize, left: Id, right: Id, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        match self.kind(left) {
            "identifier" => self.give(scope, self.text(left), right),
            "attribute" => self.give(0, self.short(left), right),
            "subscript" => {
                if let Some(object) = self.child(left, "value") {
                    self.assign_in(scope, object, right, depth);
                }
            }
            "pattern_list" | "tuple_pattern" | "list_pattern" | "tuple" => {
                let targets: Vec<Id> = self.below(left).collect();
                let values: Vec<Id> = self.below(right).collect();
                let each = values.len() == targets.len()
                    && matches!(self.kind(right), "expression_list" | "tuple" | "list");
                for (at, target) in targets.into_iter().enumerate() {
                    let value = values.get(at).copied().filter(|_| each).unwrap_or(right);
                    self.assign_in(scope, target, value, depth);
                }
            }
            _ => {}
        }
    }

    fn give(&mut self, scope: usize, name: &'s str, value: Id) {
        let values = self.assigned.entry((scope, name)).or_default();
        if values.len() < MOST_VALUES {
            values.push(value);
        }
    }

    fn import(&mut self, id: Id) {
        let from = self.child(id, "module_name");
        let module = from.map(|module| self.text(module));
        for name in self.below(id).filter(|name| Some(*name) != from).collect::<Vec<_>>() {
            let (path, alias) = if self.kind(name) == "aliased_import" {
                (self.child(name, "name").unwrap_or(name), self.child(name, "alias"))
            } else {
                (name, None)
            };
            let path = self.text(path);
            let whole = module.map_or_else(|| path.to_owned(), |module| format!("{module}.{path}"));
            match alias {
                Some(alias) => {
                    self.imports.insert(self.text(alias), whole);
                }
                // `import a.b` binds `a`.
                None if module.is_none() => {
                    let first = path.split('.').next().unwrap_or(path);
                    self.imports.insert(first, first.to_owned());
                }
                None => {
                    self.imports.insert(path, whole);
                }
            }
        }
    }

    fn call(&mut self, id: Id, scope: usize) {
        self.every_call.push(id);
        let Some(callee) = self.child(id, "function") else { return };
        let last = match self.kind(callee) {
            "attribute" => self.child(callee, "attribute"),
            "identifier" => Some(callee),
            _ => None,
        };
        let Some(last) = last.map(|last| self.text(last)) else { return };
        self.calls.entry(last).or_default().push(id);
        if let (true, Some(object)) = (PUTS.contains(&last), self.child(callee, "object")) {
            for (_, value) in self.arguments(id) {
                self.assign(scope, object, value);
            }
        }
    }

    /// Counts a step; `false` when there have been too many.
    pub(crate) fn work(&self, steps: usize) -> bool {
        self.left.set(self.left.get().saturating_sub(steps));
        self.left.get() > 0
    }

    /// The answer to `question`, which is kept: it is not looked for again, unless deeper.
    pub(super) fn once(
        &self,
        question: Question,
        id: Id,
        depth: usize,
        answer: impl FnOnce() -> Option<f64>,
    ) -> Option<f64> {
        let known = self.answers.borrow().get(&(question, id)).copied();
        if let Some((_, found)) = known.filter(|(before, _)| *before >= depth) {
            return found;
        }
        let found = answer();
        self.answers.borrow_mut().insert((question, id), (depth, found));
        found
    }

    /// Answers a question within others, unless they are too many.
    pub(crate) fn nested<T>(&self, answer: impl FnOnce() -> T) -> Option<T> {
        let deep = self.nested.get();
        if deep >= MOST_NESTED || !self.work(1) {
            return None;
        }
        self.nested.set(deep + 1);
        let found = answer();
        self.nested.set(deep);
        Some(found)
    }

    // --- nodes

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn kind(&self, id: Id) -> &'t str {
        self.items.get(id).map_or("", |item| item.kind)
    }

    pub(crate) fn text(&self, id: Id) -> &'s str {
        self.items.get(id).map_or("", |item| syntax::text(item.node, self.source))
    }

    /// The text of a name; nothing if it is too long for one.
    pub(crate) fn short(&self, id: Id) -> &'s str {
        Some(self.text(id)).filter(|text| text.len() <= LONGEST_NAME).unwrap_or_default()
    }

    pub(crate) fn line(&self, id: Id) -> u32 {
        self.items.get(id).map_or(0, |item| syntax::line(item.node))
    }

    /// Its bytes in the source.
    pub(crate) fn range(&self, id: Id) -> Range<usize> {
        self.items.get(id).map_or(0..0, |item| item.node.byte_range())
    }

    pub(crate) fn scope(&self, id: Id) -> usize {
        self.items.get(id).map_or(0, |item| item.scope)
    }

    pub(crate) fn end(&self, id: Id) -> Id {
        self.items.get(id).map_or(id + 1, |item| item.end)
    }

    pub(crate) fn parent(&self, id: Id) -> Id {
        self.items.get(id).map_or(0, |item| item.parent)
    }

    pub(crate) fn field(&self, id: Id) -> &'t str {
        self.items.get(id).map_or("", |item| item.field)
    }

    /// From the parent to the module.
    pub(crate) fn parents(&self, id: Id) -> impl Iterator<Item = Id> {
        let up = move |at: &Id| (*at != 0 && self.work(1)).then(|| self.parent(*at));
        std::iter::successors(up(&id), up)
    }

    /// Its children, operators aside.
    pub(crate) fn below(&self, id: Id) -> impl Iterator<Item = Id> {
        self.all_below(id).filter(|child| self.items.get(*child).is_some_and(|item| item.named))
    }

    pub(crate) fn all_below(&self, id: Id) -> impl Iterator<Item = Id> {
        let end = self.end(id);
        let first = (id + 1 < end).then_some(id + 1);
        std::iter::successors(first, move |at| {
            Some(self.end(*at)).filter(|next| *next < end && self.work(1))
        })
    }

    /// All that is in it.
    pub(crate) fn within(&self, id: Id) -> impl Iterator<Item = Id> {
        (id + 1..self.end(id)).take_while(|_| self.work(1))
    }

    pub(crate) fn child(&self, id: Id, field: &str) -> Option<Id> {
        self.all_below(id).find(|child| self.field(*child) == field)
    }

    /// What a text literal says.
    pub(crate) fn literal(&self, id: Id) -> Option<String> {
        match self.kind(id) {
            "string" => {
                let node = self.items.get(id)?.node;
                let (pieces, _) = literal::pieces(node, self.source)?;
                let text = |piece| match piece {
                    literal::Piece::Text(text) => Some(text),
                    _ => None,
                };
                pieces.into_iter().map(text).collect()
            }
            "concatenated_string" => self.below(id).map(|part| self.literal(part)).collect(),
            _ => None,
        }
    }

    pub(crate) fn number(&self, id: Id) -> Option<f64> {
        let text = self.text(id).replace('_', "");
        match self.kind(id) {
            "integer" => text.parse().ok().or_else(|| {
                let digits = text.get(2..)?;
                let base = match text.get(..2)? {
                    "0x" | "0X" => 16,
                    "0b" | "0B" => 2,
                    "0o" | "0O" => 8,
                    _ => return None,
                };
                u32::from_str_radix(digits, base).ok().map(f64::from)
            }),
            "float" => text.parse().ok(),
            _ => None,
        }
    }

    /// The arguments of a call, with the names of those that have one.
    pub(crate) fn arguments(&self, call: Id) -> Vec<(Option<&'s str>, Id)> {
        let Some(list) = self.child(call, "arguments") else { return Vec::new() };
        if self.kind(list) != "argument_list" {
            return vec![(None, list)];
        }
        let argument = |id: Id| match self.kind(id) {
            "keyword_argument" => {
                let name = self.child(id, "name").map(|name| self.text(name));
                (name, self.child(id, "value").unwrap_or(id))
            }
            _ => (None, id),
        };
        self.below(list).map(argument).collect()
    }

    /// The argument at that place or of that name.
    pub(crate) fn argument(&self, call: Id, place: usize, name: &str) -> Option<Id> {
        let all = self.arguments(call);
        let named = all.iter().find(|(given, _)| *given == Some(name));
        let placed = || all.iter().filter(|(given, _)| given.is_none()).nth(place);
        named.or_else(placed).map(|(_, id)| *id)
    }
}
