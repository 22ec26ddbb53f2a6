//! A program's functions, assignments and calls, each with the function that it is in.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
};

use super::names;
use super::tree::{Assigned, Command, Node, Piece, Text, Turns, Value, Variable, walk};

/// Values are followed through as many variables and calls.
const MAX_DEPTH: usize = 8;
/// Values of one word that are told apart.
const MAX_VALUES: usize = 16;
/// Calls and assignments of one name that are looked at.
const MAX_CALLS: usize = 64;
/// Names of one function that are looked at.
const MAX_NAMES: usize = 64;
/// Values are looked for as often, in one program.
const MAX_LOOKS: usize = 20_000;

/// The function that something is in; nothing for the program itself.
pub(super) type Scope = Option<usize>;

/// A program, and what is where in it.
#[derive(Debug)]
pub(super) struct Source<'n> {
    /// The program's own statements, those within others too.
    pub(super) main: Vec<&'n Node>,
    /// The same without those within others.
    pub(super) tops: Vec<&'n Node>,
    /// A descriptor is connected to somewhere.
    pub(super) connected: bool,
    pub(super) functions: Vec<Function<'n>>,
    pub(super) commands: Vec<(&'n Command, Scope)>,
    pub(super) assigned: Vec<(&'n Assigned, Scope)>,
    /// Names that `read` and its like set.
    pub(super) read: Vec<(String, Scope)>,
    each: Vec<(&'n str, &'n [Text], Scope)>,
    by_name: BTreeMap<&'n str, usize>,
    called: BTreeMap<String, Vec<usize>>,
    set: BTreeMap<&'n str, Vec<usize>>,
    looks: Cell<usize>,
    /// The words that are printed.
    said: BTreeMap<Scope, BTreeSet<String>>,
    /// The words in front of a variable where it is printed.
    labels: BTreeMap<(String, Scope), BTreeSet<String>>,
}

#[derive(Debug)]
pub(super) struct Function<'n> {
    pub(super) name: &'n str,
    pub(super) body: &'n [Node],
}

/// What a word may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    Constant(String),
    /// Given to the program, or typed.
    Outside,
    /// What a command prints.
    Output,
    Unknown,
}

impl<'n> Source<'n> {
    pub(super) fn new(nodes: &'n [Node]) -> Self {
        let mut source = Self {
            main: Vec::new(),
            tops: nodes.iter().filter(|node| !matches!(node, Node::Function { .. })).collect(),
            connected: false,
            functions: Vec::new(),
            commands: Vec::new(),
            assigned: Vec::new(),
            read: Vec::new(),
            each: Vec::new(),
            by_name: BTreeMap::new(),
            called: BTreeMap::new(),
            set: BTreeMap::new(),
            looks: Cell::new(0),
            said: BTreeMap::new(),
            labels: BTreeMap::new(),
        };
        source.block(nodes, None);
        let mut at = 0;
        while let Some(body) = source.functions.get(at).map(|function| function.body) {
            source.block(body, Some(at));
            at += 1;
        }
        for (at, function) in source.functions.iter().enumerate() {
            source.by_name.insert(function.name, at);
        }
        source.connected = source.commands.iter().any(|(command, _)| {
            let connects = |text: &Text| {
                let shown = text.shown();
                shown.starts_with("/dev/tcp/") || shown.starts_with("/dev/udp/")
            };
            command.is(&["exec"]) && command.redirects.iter().any(|one| connects(&one.word))
        });
        source.listen();
        for (at, (command, _)) in source.commands.iter().enumerate() {
            if let Some(name) = command.name() {
                source.called.entry(name).or_default().push(at);
            }
        }
        for (at, (assigned, _)) in source.assigned.iter().enumerate() {
            source.set.entry(assigned.name.as_str()).or_default().push(at);
        }
        source
    }

    /// The statements of `nodes` that are not in a function of their own.
    fn block(&mut self, nodes: &'n [Node], scope: Scope) {
        for node in nodes {
            if let Node::Function { name, body } = node {
                self.functions.push(Function { name, body });
                continue;
            }
            if scope.is_none() {
                self.main.push(node);
            }
            match node {
                Node::Command(command) => {
                    self.commands.push((command, scope));
                    self.assigned.extend(command.assigned.iter().map(|one| (one, scope)));
                    if command.is(&["read", "mapfile", "readarray"]) {
                        let names = command.args().iter().filter_map(Text::constant);
                        let names = names.filter(|name| !name.starts_with('-'));
                        self.read.extend(names.map(|name| (name, scope)));
                    }
                }
                Node::Loop(turns) => {
                    if let Turns::Each(name, words) = &turns.kind {
                        self.each.push((name, words, scope));
                    }
                }
                _ => {}
            }
            for text in node.texts() {
                for nodes in text.runs() {
                    self.block(nodes, scope);
                }
            }
            for nodes in node.blocks() {
                self.block(nodes, scope);
            }
        }
    }

    /// Gathers what is printed.
    fn listen(&mut self) {
        for (command, scope) in &self.commands {
            if !command.is(&["echo", "printf"]) {
                continue;
            }
            let said = self.said.entry(*scope).or_default();
            for arg in command.args() {
                said.extend(names::words(&arg.shown()));
                for pair in arg.pieces.windows(2) {
                    if let [Piece::Quoted(before) | Piece::Plain(before), Piece::Variable(one)] =
                        pair
                        && let Some(word) = before.split_whitespace().next_back()
                    {
                        let labels = self.labels.entry((one.name.clone(), *scope)).or_default();
                        labels.insert(word.to_owned());
                    }
                }
            }
        }
    }

    /// Whether one of the words of `known` is printed there.
    pub(super) fn says(&self, scope: Scope, known: &[&str]) -> bool {
        self.said.get(&scope).is_some_and(|said| known.iter().any(|word| said.contains(*word)))
    }

    /// The words in front of a variable where it is printed.
    pub(super) fn labels(&self, name: &str, scope: Scope) -> impl Iterator<Item = &String> {
        self.labels.get(&(name.to_owned(), scope)).into_iter().flatten()
    }

    /// The names that are set there.
    pub(super) fn sets(&self, scope: Scope) -> impl Iterator<Item = &'n str> {
        let at = self.set.iter().filter(move |(_, at)| {
            let mut at = at.iter().take(MAX_CALLS).filter_map(|at| self.assigned.get(*at));
            at.any(|(_, at)| *at == scope)
        });
        at.map(|(name, _)| *name).take(MAX_NAMES)
    }

    pub(super) fn function(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The calls of a function, with where they are.
    pub(super) fn calls(&self, function: usize) -> Vec<(&'n Command, Scope)> {
        let name = self.functions.get(function).map_or("", |function| function.name);
        let at = self.called.get(name).into_iter().flatten();
        at.filter_map(|at| self.commands.get(*at)).take(MAX_CALLS).copied().collect()
    }

    /// The assignments to `name` right there.
    pub(super) fn assigned_to(
        &self,
        name: &str,
        scope: Scope,
    ) -> impl Iterator<Item = (&'n Assigned, Scope)> {
        let at = self.set.get(name).into_iter().flatten();
        at.filter_map(|at| self.assigned.get(*at)).filter(move |(_, at)| *at == scope).copied()
    }

    /// All assignments to `name` that count in `scope`.
    pub(super) fn assignments(&self, name: &str, scope: Scope) -> Vec<(&'n Assigned, Scope)> {
        let at = self.set.get(name).into_iter().flatten();
        let every: Vec<(&'n Assigned, Scope)> =
            at.filter_map(|at| self.assigned.get(*at)).take(MAX_CALLS).copied().collect();
        let own: Vec<_> = every.iter().filter(|(_, at)| *at == scope).copied().collect();
        if own.is_empty() { every } else { own }
    }

    /// What `text` may be.
    pub(super) fn origins(&self, text: &Text, scope: Scope) -> Vec<Origin> {
        self.origins_at(text, scope, 0)
    }

    /// The constants that `text` may be, where it is nothing else.
    pub(super) fn constants(&self, text: &Text, scope: Scope) -> Option<Vec<String>> {
        let all = self.origins(text, scope).into_iter().map(|origin| match origin {
            Origin::Constant(text) => Some(text),
            _ => None,
        });
        all.collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())
    }

    fn origins_at(&self, text: &Text, scope: Scope, depth: usize) -> Vec<Origin> {
        self.looks.set(self.looks.get() + 1);
        if depth > MAX_DEPTH || self.looks.get() > MAX_LOOKS {
            return vec![Origin::Unknown];
        }
        if let Some(variable) = text.only() {
            return self.variable_at(variable, scope, depth);
        }
        let mut all = String::new();
        let mut odd = Vec::new();
        for piece in &text.pieces {
            match piece {
                Piece::Plain(text) | Piece::Quoted(text) => all.push_str(text),
                Piece::Variable(variable) => {
                    let values = self.variable_at(variable, scope, depth + 1);
                    match values.as_slice() {
                        [Origin::Constant(text)] => all.push_str(text),
                        [_, ..] => odd.extend(values),
                        [] => {}
                    }
                }
                Piece::Run(_) => odd.push(Origin::Output),
                Piece::Math(_) => odd.push(Origin::Unknown),
            }
        }
        if odd.is_empty() { vec![Origin::Constant(all)] } else { odd }
    }

    fn variable_at(&self, variable: &Variable, scope: Scope, depth: usize) -> Vec<Origin> {
        if depth > MAX_DEPTH {
            return vec![Origin::Unknown];
        }
        let mut found = Vec::new();
        if variable.prefix.is_some() {
            return vec![Origin::Unknown];
        }
        let altered = !variable.rest.is_empty() && !variable.rest.starts_with(":-");
        if let Ok(number) = variable.name.parse::<usize>() {
            self.parameter(number, scope, depth, &mut found);
        } else if matches!(variable.name.as_str(), "@" | "*") {
            self.parameter(1, scope, depth, &mut found);
        } else {
            for (assigned, at) in self.assignments(&variable.name, scope) {
                match &assigned.value {
                    Value::One(text) if assigned.append => {
                        if !text.names().contains(&variable.name) {
                            found.push(Origin::Unknown);
                        }
                    }
                    Value::One(text) => found.extend(self.origins_at(text, at, depth + 1)),
                    Value::Many(items) => {
                        for (_, text) in items {
                            found.extend(self.origins_at(text, at, depth + 1));
                        }
                    }
                }
            }
            if self.read.iter().any(|(name, at)| *name == variable.name && *at == scope) {
                found.push(Origin::Outside);
            }
            for (name, words, at) in &self.each {
                if *name == variable.name && *at == scope {
                    for word in *words {
                        found.extend(self.origins_at(word, *at, depth + 1));
                    }
                }
            }
        }
        if altered {
            for origin in &mut found {
                if matches!(origin, Origin::Constant(_)) {
                    *origin = Origin::Unknown;
                }
            }
        }
        if found.is_empty() {
            found.push(Origin::Unknown);
        }
        found.truncate(MAX_VALUES);
        found
    }

    fn parameter(&self, number: usize, scope: Scope, depth: usize, found: &mut Vec<Origin>) {
        let Some(function) = scope else {
            found.push(Origin::Outside);
            return;
        };
        for (call, at) in self.calls(function) {
            match call.words.get(number) {
                Some(text) => found.extend(self.origins_at(text, at, depth + 1)),
                None => found.push(Origin::Constant(String::new())),
            }
            if found.len() > MAX_VALUES {
                return;
            }
        }
    }

    /// The name of the function that `scope` is.
    pub(super) fn name(&self, scope: Scope) -> &'n str {
        scope.and_then(|at| self.functions.get(at)).map_or("", |function| function.name)
    }

    /// Calls `visit` for every statement of the program and its functions, with where it is.
    pub(super) fn each_node(&self, mut visit: impl FnMut(&'n Node, Scope)) {
        for node in &self.main {
            visit(node, None);
        }
        for (at, function) in self.functions.iter().enumerate() {
            walk(function.body, &mut |node| visit(node, Some(at)));
        }
    }
}
