//! Which commands of a tree were followed.

use std::collections::HashSet;

use brush_parser::ast::{self, SourceLocation as _};

/// A command by where it is in its source, and its word.
type Key = (usize, usize, String);

/// What was followed so far, and what never runs.
#[derive(Debug, Default)]
pub(super) struct Visited {
    commands: HashSet<Key>,
    functions: HashSet<String>,
    dead: HashSet<String>,
}

fn key(simple: &ast::SimpleCommand) -> Key {
    let (start, end) = simple.location().map_or((0, 0), |span| (span.start.index, span.end.index));
    let name = simple.word_or_name.as_ref().map_or("", |word| word.value.as_str());
    (start, end, name.to_owned())
}

impl Visited {
    pub(super) fn follow(&mut self, simple: &ast::SimpleCommand) {
        self.commands.insert(key(simple));
    }

    pub(super) fn has(&self, simple: &ast::SimpleCommand) -> bool {
        self.commands.contains(&key(simple))
    }

    /// Whether this is the first time that the function ran.
    pub(super) fn first(&mut self, function: &ast::FunctionDefinition) -> bool {
        self.functions.insert(function.to_string())
    }

    /// Source that never runs: a default of what is set, a loop over nothing.
    pub(super) fn dead(&mut self, source: String) {
        self.dead.insert(source);
    }

    pub(super) fn is_dead(&self, source: &str) -> bool {
        self.dead.iter().any(|dead| source.ends_with(dead.as_str()))
    }
}
