//! What a shell knows at one point of its source.

use std::{collections::BTreeMap, rc::Rc};

use air_core::place::{Place, PlaceKind};
use brush_parser::ast;

use super::word::{Data, Word, merge};

/// What a descriptor is connected to.
#[derive(Debug, Clone)]
pub(super) enum Channel {
    /// It reads that.
    Input(Data),
    /// The shell's own output.
    Output,
    /// What is written is gathered there.
    Capture(usize),
    /// A file or a connection.
    Place(Place),
    /// Nowhere.
    Nothing,
}

/// A variable's values; more than one for an array.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Variable {
    pub(super) values: Vec<Word>,
    pub(super) array: bool,
}

/// Links that lead to links are followed this far.
const MAX_LINKS: usize = 8;

/// Variables, functions, the directory, descriptors.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) variables: Rc<BTreeMap<String, Variable>>,
    pub(super) functions: Rc<BTreeMap<String, Rc<ast::FunctionDefinition>>>,
    pub(super) aliases: Rc<BTreeMap<String, String>>,
    /// `$1` and the others, where they are known.
    pub(super) arguments: Option<Rc<Vec<Word>>>,
    /// Where relative paths are meant from, as far as `cd` says; empty at the start.
    pub(super) directory: String,
    /// Symbolic links that were made, and where they lead.
    pub(super) links: Rc<BTreeMap<String, String>>,
    pub(super) channels: BTreeMap<i32, Channel>,
    /// The source has ended: `exit`, `return`.
    pub(super) ended: bool,
}

impl State {
    pub(super) fn new(input: Data, output: Channel) -> Self {
        let channels =
            BTreeMap::from([(0, Channel::Input(input)), (1, output), (2, Channel::Nothing)]);
        Self {
            variables: Rc::default(),
            functions: Rc::default(),
            aliases: Rc::default(),
            arguments: None,
            directory: String::new(),
            links: Rc::default(),
            channels,
            ended: false,
        }
    }

    pub(super) fn set(&mut self, name: &str, value: Word) {
        self.put(name, Variable { values: vec![value], array: false });
    }

    pub(super) fn put(&mut self, name: &str, variable: Variable) {
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), variable);
    }

    pub(super) fn get(&self, name: &str) -> Option<&Variable> {
        self.variables.get(name)
    }

    /// What a command reads from its input.
    pub(super) fn input(&self) -> Data {
        match self.channels.get(&0) {
            Some(Channel::Input(data)) => data.clone(),
            Some(Channel::Place(place)) => Data::from([place.clone()]),
            Some(Channel::Output | Channel::Capture(_)) => {
                Data::from([Place::new(PlaceKind::Input, "")])
            }
            Some(Channel::Nothing) | None => Data::none(),
        }
    }

    /// Where `path` leads from here, past the links in front of its last name.
    pub(super) fn path(&self, path: &str) -> String {
        let mut path = self.joined(path);
        for _ in 0..MAX_LINKS {
            let through = self.links.iter().find_map(|(link, to)| {
                let rest = path.strip_prefix(link.as_str())?.strip_prefix('/')?;
                Some(format!("{}/{rest}", to.trim_end_matches('/')))
            });
            let Some(through) = through else { break };
            path = through;
        }
        path
    }

    /// Where a file is written under that name: through the link that it may be.
    pub(super) fn written(&self, path: &str) -> String {
        let mut path = self.path(path);
        for _ in 0..MAX_LINKS {
            let Some(to) = self.links.get(&path) else { break };
            path.clone_from(to);
        }
        path
    }

    /// `name` leads to `to` from here on.
    pub(super) fn link(&mut self, name: &str, to: &str) {
        let name = self.joined(name).trim_end_matches('/').to_owned();
        let to = match name.rsplit_once('/') {
            Some((directory, _)) if !to.starts_with(['/', '~']) && !to.starts_with("${") => {
                format!("{directory}/{to}")
            }
            _ => to.to_owned(),
        };
        Rc::make_mut(&mut self.links).insert(name, to);
    }

    /// `path` as it is meant from here.
    fn joined(&self, path: &str) -> String {
        let rooted = path.starts_with(['/', '~']) || path.starts_with("${");
        if rooted || path.is_empty() {
            return path.to_owned();
        }
        if self.directory.is_empty() {
            return path
                .strip_prefix("./")
                .filter(|rest| !rest.is_empty())
                .unwrap_or(path)
                .to_owned();
        }
        let mut path = path;
        let mut directory = self.directory.trim_end_matches('/');
        loop {
            if let Some(rest) = path.strip_prefix("./") {
                path = rest;
            } else if let Some(rest) = path.strip_prefix("../").or((path == "..").then_some("")) {
                match directory.rsplit_once('/') {
                    Some((parent, name)) if name != ".." => {
                        directory = parent;
                        path = rest;
                    }
                    _ => break,
                }
            } else {
                break;
            }
        }
        if path.is_empty() || path == "." {
            return if directory.is_empty() { "/".to_owned() } else { directory.to_owned() };
        }
        format!("{directory}/{path}")
    }

    /// What is known after either of two ways.
    pub(super) fn join(&mut self, other: &Self) {
        match (self.ended, other.ended) {
            (true, false) => return self.clone_from(other),
            (false, true) => return,
            _ => {}
        }
        if !Rc::ptr_eq(&self.variables, &other.variables) {
            let variables = Rc::make_mut(&mut self.variables);
            for (name, theirs) in other.variables.iter() {
                match variables.get_mut(name) {
                    Some(ours) if ours == theirs => {}
                    Some(ours) => *ours = either(name, ours, theirs),
                    None => {
                        let either = either(name, &Variable::default(), theirs);
                        variables.insert(name.clone(), either);
                    }
                }
            }
            let gone: Vec<String> = variables
                .keys()
                .filter(|name| !other.variables.contains_key(*name))
                .cloned()
                .collect();
            for name in gone {
                if let Some(ours) = variables.get_mut(&name) {
                    *ours = either(&name, ours, &Variable::default());
                }
            }
        }
        if !Rc::ptr_eq(&self.functions, &other.functions) {
            let functions = Rc::make_mut(&mut self.functions);
            for (name, function) in other.functions.iter() {
                functions.entry(name.clone()).or_insert_with(|| Rc::clone(function));
            }
        }
        if !Rc::ptr_eq(&self.links, &other.links) {
            let links = Rc::make_mut(&mut self.links);
            for (name, to) in other.links.iter() {
                links.entry(name.clone()).or_insert_with(|| to.clone());
            }
        }
        if self.directory != other.directory {
            "${PWD}".clone_into(&mut self.directory);
        }
    }
}

/// A value that is one of two.
fn either(name: &str, ours: &Variable, theirs: &Variable) -> Variable {
    let mut sources = Vec::new();
    for value in ours.values.iter().chain(&theirs.values) {
        merge(&mut sources, value.sources().iter().cloned());
    }
    let value = Word::computed(format!("${{{name}}}")).from(sources);
    Variable { values: vec![value], array: ours.array || theirs.array }
}
