//! Commands that Python runs.

use tree_sitter::Node;

use super::{
    literal::{Literal, literal},
    names::{Bindings, Name},
};
use crate::{
    collect::{Collector, computed},
    shell::{self, Word},
    syntax::{line, named, text},
};

/// How a function takes its command.
#[derive(Clone, Copy)]
enum Takes {
    /// Shell source, or a list of words, as its first argument.
    Command,
    /// A word for each argument, from this one on.
    Words(usize),
    /// A list of words as this argument.
    List(usize),
}

const RUNNERS: &[(&str, Takes)] = &[
    ("os.system", Takes::Command),
    ("os.popen", Takes::Command),
    ("posix.system", Takes::Command),
    ("subprocess.run", Takes::Command),
    ("subprocess.call", Takes::Command),
    ("subprocess.Popen", Takes::Command),
    ("subprocess.check_output", Takes::Command),
    ("subprocess.check_call", Takes::Command),
    ("subprocess.getoutput", Takes::Command),
    ("subprocess.getstatusoutput", Takes::Command),
    ("commands.getoutput", Takes::Command),
    ("pty.spawn", Takes::Command),
    ("pexpect.run", Takes::Command),
    ("pexpect.spawn", Takes::Command),
    ("asyncio.create_subprocess_shell", Takes::Command),
    ("asyncio.create_subprocess_exec", Takes::Words(0)),
    ("os.execl", Takes::Words(1)),
    ("os.execle", Takes::Words(1)),
    ("os.execlp", Takes::Words(1)),
    ("os.execv", Takes::List(1)),
    ("os.execve", Takes::List(1)),
    ("os.execvp", Takes::List(1)),
    ("os.execvpe", Takes::List(1)),
    ("os.spawnl", Takes::Words(2)),
    ("os.spawnlp", Takes::Words(2)),
    ("os.spawnv", Takes::List(2)),
    ("os.spawnvp", Takes::List(2)),
    ("os.posix_spawn", Takes::List(1)),
    ("os.posix_spawnp", Takes::List(1)),
];

/// Reads the command that the call `node` of `name` runs, if it runs one.
pub(super) fn command(
    name: &str,
    node: Node,
    source: &str,
    bindings: &Bindings,
    out: &mut Collector,
) {
    let Some((_, takes)) = RUNNERS.iter().find(|(runner, _)| *runner == name) else { return };
    let at = line(node);
    let Some(list) = node.child_by_field_name("arguments") else { return };
    let arguments = named(list);
    let positional = |argument: &&Node| argument.kind() != "keyword_argument";
    let words = |skip: usize| arguments.iter().filter(positional).skip(skip).copied();
    let value = match takes {
        Takes::Words(first) => {
            let words: Vec<Word> = words(*first).map(|argument| word(argument, source)).collect();
            out.nested(at, |out| shell::command(&words, at, out));
            return;
        }
        Takes::Command => words(0).next().or_else(|| by_keyword(&arguments, source)),
        Takes::List(index) => words(*index).next(),
    };
    let Some(value) = value else {
        return out.incomplete_at(at, format!("`{name}` runs a computed command"));
    };
    match literal(value, source) {
        Literal::Text(command) => out.nested(at, |out| shell::collect(&command, out)),
        Literal::Template(pieces) => {
            out.incomplete_at(at, format!("`{name}` runs a partly computed command"));
            // What is computed can be anything; what is around it is still worth reading.
            let pieces = pieces.into_iter().map(|piece| piece.unwrap_or_else(|| "${_}".to_owned()));
            let command: String = pieces.collect();
            out.nested(at, |out| shell::collect(&command, out));
        }
        _ => match split_in_place(value, source, bindings) {
            Some(command) => out.nested(at, |out| shell::collect(&command, out)),
            None if matches!(value.kind(), "list" | "tuple") => {
                let words: Vec<Word> =
                    named(value).into_iter().map(|item| word(item, source)).collect();
                out.nested(at, |out| shell::command(&words, at, out));
            }
            None => out.incomplete_at(at, format!("`{name}` runs a computed command")),
        },
    }
}

fn by_keyword<'t>(arguments: &[Node<'t>], source: &str) -> Option<Node<'t>> {
    arguments.iter().find_map(|argument| {
        let name = text(argument.child_by_field_name("name")?, source);
        let command = matches!(name, "args" | "cmd" | "command" | "argv");
        argument.child_by_field_name("value").filter(|_| command)
    })
}

/// `shlex.split("ls -l")` and `"ls -l".split()`.
fn split_in_place(value: Node, source: &str, bindings: &Bindings) -> Option<String> {
    if value.kind() != "call" {
        return None;
    }
    let function = value.child_by_field_name("function")?;
    let arguments = super::arguments(value);
    let Name::Known(names) = bindings.names(function, source) else { return None };
    let text = match names.first()?.as_str() {
        "shlex.split" => *arguments.first()?,
        "str.split" if arguments.is_empty() => function.child_by_field_name("object")?,
        _ => return None,
    };
    match literal(text, source) {
        Literal::Text(text) => Some(text),
        _ => None,
    }
}

fn word(node: Node, source: &str) -> Word {
    match literal(node, source) {
        Literal::Text(text) | Literal::Plain(text) => Word::literal(text),
        Literal::Template(_) | Literal::None => Word::computed(computed(text(node, source))),
    }
}
