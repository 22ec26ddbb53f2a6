//! What names stand for, through imports and plain aliases.
//!
//! Without regard to scope or order: a name that two statements bind stands for both.

use std::{collections::BTreeMap, ops::ControlFlow};

use tree_sitter::Node;

use super::literal::{Literal, literal};
use crate::{
    collect::{Collector, cap},
    syntax::{self, line, named, text},
};

/// Longer chains of attributes and calls are computed.
const MAX_CHAIN: usize = 64;
/// Built-in functions that are followed through an alias.
const BUILTINS: [&str; 7] = ["exec", "eval", "compile", "__import__", "getattr", "open", "globals"];

/// Names, and what they stand for.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    /// Modules and functions.
    functions: BTreeMap<String, Vec<String>>,
    /// Values, by the function that made them.
    values: BTreeMap<String, Vec<String>>,
}

/// What is called.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// One of these dotted names; never empty.
    Known(Vec<String>),
    /// The value of this expression.
    Computed(String),
}

impl Bindings {
    /// The bindings of a module. Imports go to `out`.
    pub(super) fn of(root: Node, source: &str, out: &mut Collector) -> Self {
        let mut imports = Self::default();
        let mut assignments = Vec::new();
        // What does not parse is noted when the calls are read, so not here.
        syntax::walk(root, &mut Collector::new("", &air_core::port::Alone), |node, _, _| {
            match node.kind() {
                "import_statement" => imports.import(node, source, out),
                "import_from_statement" => imports.import_from(node, source, out),
                "assignment" | "named_expression" | "as_pattern" => assignments.push(node),
                _ => return ControlFlow::Continue(()),
            }
            ControlFlow::Continue(())
        });
        let mut aliases = Vec::new();
        for node in assignments {
            let field = |name| node.child_by_field_name(name);
            let (target, value) = match node.kind() {
                "assignment" => (field("left"), field("right")),
                "named_expression" => (field("name"), field("value")),
                _ => (field("alias").and_then(|alias| alias.named_child(0)), node.named_child(0)),
            };
            let (Some(target), Some(value)) = (target, value) else { continue };
            if target.kind() == "identifier" {
                let resolved = imports.bound(value, source);
                let made = matches!(value.kind(), "call" | "await");
                aliases.extend(resolved.into_iter().map(|to| (text(target, source), to, made)));
            }
        }
        for (name, to, made) in aliases {
            bind(if made { &mut imports.values } else { &mut imports.functions }, name, to);
        }
        imports
    }

    /// The names that `function` is called by.
    pub(super) fn callee(&self, function: Node, source: &str) -> Name {
        self.resolve(function, source, true)
    }

    /// The names of the function, or of what made the value, that `node` is.
    pub(super) fn names(&self, node: Node, source: &str) -> Name {
        self.resolve(node, source, false)
    }

    fn resolve(&self, node: Node, source: &str, called: bool) -> Name {
        let Some((head, tail)) = chain(node, source, called) else {
            return Name::Computed(cap(text(node, source)));
        };
        let heads = match head {
            Head::Name(name) => {
                let known = [self.functions.get(name), self.values.get(name)];
                let known: Vec<String> = known.into_iter().flatten().flatten().cloned().collect();
                if known.is_empty() { vec![name.to_owned()] } else { known }
            }
            Head::Module(name) => vec![name],
        };
        let whole = |head: String| tail.iter().fold(head, |name, part| name + "." + part);
        Name::Known(heads.into_iter().map(whole).collect())
    }

    /// The imported functions that the expression `node` may be.
    pub(super) fn handed_on(&self, node: Node, source: &str) -> Vec<String> {
        let function = |name: &String| {
            let last = name.rsplit('.').next().unwrap_or_default();
            name.contains('.') && last.starts_with(|c: char| c.is_lowercase())
                || BUILTINS.contains(&name.as_str())
        };
        let made = node.kind() == "identifier" && self.values.contains_key(text(node, source));
        if made {
            return Vec::new();
        }
        self.bound(node, source).into_iter().filter(function).collect()
    }

    /// What `value` is, if its head is imported or a built-in function worth following.
    fn bound(&self, value: Node, source: &str) -> Vec<String> {
        let known = match chain(value, source, false) {
            Some((Head::Name(name), tail)) => {
                self.functions.contains_key(name) || (tail.is_empty() && BUILTINS.contains(&name))
            }
            Some((Head::Module(_), _)) => true,
            None => false,
        };
        // The result of a built-in function is not that function.
        let value_of_builtin = |name: &String| value.kind() == "call" && !name.contains('.');
        match self.names(value, source) {
            Name::Known(names) if known => {
                names.into_iter().filter(|name| !value_of_builtin(name)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn import(&mut self, node: Node, source: &str, out: &mut Collector) {
        for module in named(node) {
            let (path, alias) = aliased(module, source);
            out.import(path);
            let head = path.split('.').next().unwrap_or(path);
            let (name, to) = alias.map_or((head, head), |alias| (alias, path));
            bind(&mut self.functions, name, to.to_owned());
        }
    }

    fn import_from(&mut self, node: Node, source: &str, out: &mut Collector) {
        let Some(module) = node.child_by_field_name("module_name") else { return };
        let path = text(module, source);
        out.import(path);
        for name in named(node).into_iter().filter(|name| *name != module) {
            if name.kind() == "wildcard_import" {
                let why = format!("`from {path} import *` hides where names come from");
                out.incomplete_at(line(name), why);
                continue;
            }
            let (item, alias) = aliased(name, source);
            let dot = if path.ends_with('.') { "" } else { "." };
            bind(&mut self.functions, alias.unwrap_or(item), format!("{path}{dot}{item}"));
        }
    }
}

fn aliased<'s>(node: Node, source: &'s str) -> (&'s str, Option<&'s str>) {
    let field = |name| node.child_by_field_name(name).map(|child| text(child, source));
    match node.kind() {
        "aliased_import" => (field("name").unwrap_or_default(), field("alias")),
        _ => (text(node, source), None),
    }
}

fn bind(names: &mut BTreeMap<String, Vec<String>>, name: &str, to: String) {
    let bound = names.entry(name.to_owned()).or_default();
    if !bound.contains(&to) && bound.len() < 4 {
        bound.push(to);
    }
}

/// Where a chain starts.
enum Head<'s> {
    Name(&'s str),
    /// Not looked up: a module reached without an import, or a value.
    Module(String),
}

/// `a.b.c` as head and attributes. Calls and subscripts within are seen through: `a.b(1)[0].c` is
/// `a.b.c`. `None` where what is `called` is itself the result of a call or a subscript.
fn chain<'s>(node: Node, source: &'s str, called: bool) -> Option<(Head<'s>, Vec<String>)> {
    let mut tail = Vec::new();
    let mut node = node;
    for _ in 0..MAX_CHAIN {
        let field = |name| node.child_by_field_name(name);
        match node.kind() {
            "identifier" => {
                tail.reverse();
                return Some((Head::Name(text(node, source)), tail));
            }
            "attribute" => {
                tail.push(text(field("attribute")?, source).to_owned());
                node = field("object")?;
            }
            "parenthesized_expression" | "await" => node = *named(node).first()?,
            "call" => {
                let function = field("function")?;
                let args = super::arguments(node);
                let arg = |index: usize| match literal(*args.get(index)?, source) {
                    Literal::Text(text) => Some(text),
                    _ => None,
                };
                match text(function, source) {
                    "__import__" | "importlib.import_module" => {
                        tail.reverse();
                        return Some((Head::Module(arg(0)?), tail));
                    }
                    "getattr" => {
                        tail.push(arg(1)?);
                        node = *args.first()?;
                    }
                    _ if called && tail.is_empty() => return None,
                    _ => node = function,
                }
            }
            "subscript" => {
                if let Some(module) = looked_up(node, source) {
                    tail.reverse();
                    return Some((Head::Module(module), tail));
                }
                if tail.is_empty() {
                    return None;
                }
                node = field("value")?;
            }
            "string" | "concatenated_string" => {
                tail.reverse();
                return (!tail.is_empty()).then(|| (Head::Module("str".to_owned()), tail));
            }
            // Its body is in the source and is read there.
            "lambda" => {
                tail.reverse();
                return Some((Head::Module("lambda".to_owned()), tail));
            }
            _ if tail.is_empty() => return None,
            _ => {
                tail.reverse();
                let shown = crate::collect::computed(text(node, source));
                return Some((Head::Module(shown), tail));
            }
        }
    }
    None
}

/// The module that `sys.modules["…"]` is.
pub(super) fn looked_up(subscript: Node, source: &str) -> Option<String> {
    let value = subscript.child_by_field_name("value")?;
    let key = subscript.child_by_field_name("subscript")?;
    match literal(key, source) {
        Literal::Text(module) if text(value, source) == "sys.modules" => Some(module),
        _ => None,
    }
}

/// How many of its first arguments the function of that name takes for paths, however they look.
pub(super) fn takes_paths(name: &str) -> usize {
    match name {
        "open" | "io.open" | "pathlib.Path" | "shutil.rmtree" | "os.remove" | "os.unlink"
        | "os.rmdir" | "os.removedirs" | "os.mkdir" | "os.makedirs" | "os.listdir" | "os.chmod"
        | "os.chown" | "os.open" | "os.truncate" => 1,
        "shutil.copy" | "shutil.copy2" | "shutil.copyfile" | "shutil.copytree" | "shutil.move"
        | "os.rename" | "os.replace" | "os.link" | "os.symlink" => 2,
        _ => 0,
    }
}
