//! Python source.

mod embedded;
mod literal;
mod names;

use std::ops::ControlFlow;

use air_core::{code::CodeFacts, port::Surroundings};
use tree_sitter::Node;

use crate::{
    collect::{Collector, computed},
    syntax::{self, line, named, text},
};
use literal::{Literal, literal};
use names::{Bindings, Name};

/// What `source` does.
pub fn read(source: &str, around: &dyn Surroundings) -> CodeFacts {
    let mut out = Collector::new("python", around);
    collect(source, &mut out);
    out.finish()
}

/// Attributes through which anything can be reached without naming it.
const REFLECTION: [&str; 7] = [
    "__builtins__",
    "__dict__",
    "__getattribute__",
    "__globals__",
    "__subclasses__",
    "__import__",
    "__code__",
];
/// Calls that run files, which are not read here.
const RUNS_FILES: [&str; 4] = ["runpy.run_path", "runpy.run_module", "execfile", "runfile"];
/// Calls that run, or turn into code, what is in data.
const RUNS_DATA: [&str; 7] = [
    "pickle.load",
    "pickle.loads",
    "marshal.loads",
    "types.FunctionType",
    "types.CodeType",
    "ctypes.CDLL",
    "importlib.reload",
];

/// Adds what `source` does to `out`.
pub(crate) fn collect(source: &str, out: &mut Collector) {
    let Some(tree) = syntax::parse(&tree_sitter_python::LANGUAGE.into(), source, out) else {
        return;
    };
    let bindings = Bindings::of(tree.root_node(), source, out);
    syntax::walk(tree.root_node(), out, |node, parent, out| {
        let reader = Reader { source, bindings: &bindings };
        match node.kind() {
            "call" => reader.call(node, out),
            "string" | "concatenated_string" | "binary_operator" => return reader.text(node, out),
            "identifier" | "attribute" => return reader.reference(node, parent, out),
            "subscript" => reader.subscript(node, out),
            // The names in them are bound already and call nothing.
            "import_statement" | "import_from_statement" | "future_import_statement" => {
                return ControlFlow::Break(());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
}

/// Reads single nodes.
#[derive(Clone, Copy)]
struct Reader<'a> {
    source: &'a str,
    bindings: &'a Bindings,
}

impl Reader<'_> {
    fn call(self, node: Node, out: &mut Collector) {
        let Some(function) = node.child_by_field_name("function") else { return };
        let at = line(node);
        let values = arguments(node);
        let args: Vec<String> = values.iter().map(|&value| self.argument(value)).collect();
        let names = match self.bindings.callee(function, self.source) {
            Name::Known(names) => names,
            Name::Computed(shown) => {
                out.incomplete_at(at, format!("`{shown}` is computed and then called"));
                out.call(computed(&shown), args, at);
                return;
            }
        };
        for name in &names {
            out.call(name.as_str(), args.clone(), at);
            for value in values.iter().take(names::takes_paths(name)) {
                if let Literal::Text(path) = literal(*value, self.source) {
                    out.path(&path);
                }
            }
            self.dynamic(name, node, &values, out);
            embedded::command(name, node, self.source, self.bindings, out);
        }
    }

    fn argument(self, value: Node) -> String {
        match literal(value, self.source) {
            Literal::Text(text) | Literal::Plain(text) => text,
            Literal::Template(_) | Literal::None => computed(text(value, self.source)),
        }
    }

    /// Notes calls that run code, or reach names, that cannot be read in the source.
    fn dynamic(self, name: &str, call: Node, values: &[Node], out: &mut Collector) {
        let at = line(call);
        let plain = name
            .strip_prefix("builtins.")
            .or_else(|| name.strip_prefix("__builtins__."))
            .unwrap_or(name);
        let position =
            usize::from(matches!(plain, "getattr" | "setattr" | "operator.methodcaller"));
        let value = values.get(position).or(values.last()).copied();
        let code = value.map(|value| literal(value, self.source));
        match plain {
            "exec" | "eval" | "compile" => match code {
                Some(Literal::Text(code)) => out.nested(at, |out| collect(&code, out)),
                // What was compiled in place has been read as the argument of `compile`.
                Some(_) if value.is_some_and(|value| self.compiles(value)) => {}
                _ => out.incomplete_at(at, format!("`{plain}` runs computed code")),
            },
            "__import__" | "importlib.import_module" => match code {
                Some(Literal::Text(module)) => out.import(&module),
                _ => out.incomplete_at(at, format!("`{plain}` imports a computed module")),
            },
            "getattr" | "operator.attrgetter" | "operator.methodcaller"
                if !matches!(code, Some(Literal::Text(_))) =>
            {
                out.incomplete_at(at, format!("`{plain}` reads a computed name"));
            }
            _ if RUNS_FILES.contains(&plain) => {
                out.incomplete_at(at, format!("`{plain}` runs code from elsewhere"));
            }
            _ if RUNS_DATA.contains(&plain) => {
                out.incomplete_at(at, format!("`{plain}` makes code from data"));
            }
            _ => {}
        }
    }

    fn compiles(self, value: Node) -> bool {
        let function = (value.kind() == "call").then(|| value.child_by_field_name("function"));
        function.flatten().is_some_and(|function| text(function, self.source) == "compile")
    }

    /// String literals, joined where the source joins them. Parts of a joined one are no facts.
    fn text(self, node: Node, out: &mut Collector) -> ControlFlow<()> {
        match literal(node, self.source) {
            Literal::Text(text) => {
                out.string(&text);
                ControlFlow::Break(())
            }
            Literal::Template(pieces) => {
                for piece in pieces.into_iter().flatten() {
                    out.string(&piece);
                }
                ControlFlow::Continue(())
            }
            Literal::Plain(_) | Literal::None => ControlFlow::Continue(()),
        }
    }

    /// A function that is handed on, as in `map(os.remove, names)`, may be called by whoever gets it.
    fn reference(self, node: Node, parent: Option<Node>, out: &mut Collector) -> ControlFlow<()> {
        let name = text(node, self.source);
        if node.kind() == "attribute" {
            let last = node.child_by_field_name("attribute").map(|last| text(last, self.source));
            if last.is_some_and(|last| REFLECTION.contains(&last)) {
                let last = last.unwrap_or_default();
                out.incomplete_at(line(node), format!("`{last}` reaches what is not named"));
            }
        } else if matches!(name, "__builtins__" | "__loader__" | "__spec__") {
            out.incomplete_at(line(node), format!("`{name}` reaches what is not named"));
        }
        let handed_on = parent.is_some_and(|parent| {
            matches!(
                parent.kind(),
                "argument_list" | "list" | "tuple" | "set" | "expression_list" | "pair"
            ) || (matches!(parent.kind(), "keyword_argument" | "default_parameter" | "assignment")
                && parent.child_by_field_name(if parent.kind() == "assignment" {
                    "right"
                } else {
                    "value"
                }) == Some(node))
        });
        if handed_on {
            for name in self.bindings.handed_on(node, self.source) {
                out.call(name, vec![computed("…")], line(node));
            }
        }
        ControlFlow::Continue(())
    }

    fn subscript(self, node: Node, out: &mut Collector) {
        let Some(value) = node.child_by_field_name("value") else { return };
        let Name::Known(names) = self.bindings.names(value, self.source) else { return };
        let reaches = |name: &String| matches!(name.as_str(), "globals" | "locals" | "vars");
        if value.kind() == "call" && names.iter().any(reaches) {
            out.incomplete_at(line(node), "a variable is reached by a computed name");
        }
        let modules = names.iter().any(|name| name == "sys.modules");
        if modules && names::looked_up(node, self.source).is_none() {
            out.incomplete_at(line(node), "a module is reached by a computed name");
        }
    }
}

/// The values that a call passes, positional and named, in order.
fn arguments(call: Node<'_>) -> Vec<Node<'_>> {
    let Some(list) = call.child_by_field_name("arguments") else { return Vec::new() };
    if list.kind() != "argument_list" {
        return vec![list];
    }
    named(list)
        .into_iter()
        .map(|argument| match argument.kind() {
            "keyword_argument" => argument.child_by_field_name("value").unwrap_or(argument),
            _ => argument,
        })
        .collect()
}
