//! Shell source.

mod run;
mod word;

use std::ops::ControlFlow;

use air_core::{code::CodeFacts, port::Surroundings};
use tree_sitter::Node;

use crate::{
    collect::Collector,
    syntax::{self, line, text},
};
pub(crate) use run::command;
pub(crate) use word::Word;

/// What `source` does.
pub fn read(source: &str, around: &dyn Surroundings) -> CodeFacts {
    let mut out = Collector::new("shell", around);
    collect(source, &mut out);
    out.finish()
}

/// Adds what `source` does to `out`.
pub(crate) fn collect(source: &str, out: &mut Collector) {
    let Some(tree) = syntax::parse(&tree_sitter_bash::LANGUAGE.into(), source, out) else { return };
    syntax::walk(tree.root_node(), out, |node, parent, out| {
        match node.kind() {
            "command" => simple(node, parent, source, out),
            "declaration_command" | "unset_command" | "test_command" => {
                builtin(node, source, out);
            }
            "file_redirect" => redirect(node, source, out),
            // Of loops, tests, assignments and lists as well as of commands.
            "word" | "concatenation"
                if parent.is_none_or(|parent| parent.kind() != "concatenation") =>
            {
                out.mention(Word::of(node, source).as_written());
            }
            "heredoc_redirect" => {
                // tree-sitter-bash misreads some of them without an error.
                out.incomplete_at(line(node), "here-documents are not read reliably");
            }
            "heredoc_body" => out.string(text(node, source)),
            "string" | "raw_string" | "ansi_c_string" => {
                if let Some(literal) = Word::of(node, source).text() {
                    out.string(literal);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
}

/// A command, with the words that a redirection before them swallowed.
fn simple(node: Node, parent: Option<Node>, source: &str, out: &mut Collector) {
    let mut words: Vec<Word> = Vec::new();
    for child in node.children(&mut node.walk()) {
        match child.kind() {
            "command_name" => words.push(Word::of(child, source)),
            "file_redirect" => words.extend(after_target(child, source)),
            "variable_assignment" | "herestring_redirect" | "heredoc_redirect" | "comment" => {}
            _ if child.is_named() => words.push(Word::of(child, source)),
            // `==` and `=~` are words outside `[[`.
            "==" | "=~" | "(" | ")" => words.push(Word::literal(child.kind().to_owned())),
            _ => {}
        }
    }
    // The grammar hangs redirections after the first word on the statement around the command.
    let around = parent.filter(|parent| parent.kind() == "redirected_statement");
    for redirect in around.map(syntax::named).unwrap_or_default() {
        if redirect.kind() == "file_redirect" {
            words.extend(after_target(redirect, source));
        }
    }
    if words.is_empty() {
        return;
    }
    command(&words, line(node), out);
}

/// `export`, `unset`, `[` and their like, which the grammar keeps apart.
fn builtin(node: Node, source: &str, out: &mut Collector) {
    let name = node.child(0).map_or("", |first| text(first, source));
    let mut words = Vec::new();
    let mut rest = syntax::named(node);
    rest.reverse();
    while let Some(part) = rest.pop() {
        match part.kind() {
            "unary_expression" | "binary_expression" | "parenthesized_expression" => {
                let first = rest.len();
                rest.extend(part.children(&mut part.walk()));
                if let Some(parts) = rest.get_mut(first..) {
                    parts.reverse();
                }
            }
            _ => words.push(Word::of(part, source).into_shown()),
        }
    }
    out.call(name, words, line(node));
}

fn redirect(node: Node, source: &str, out: &mut Collector) {
    let Some(target) = targets(node).first().copied() else { return };
    let operator = node.children(&mut node.walk()).find(|child| !child.is_named());
    let name = match operator.map_or(">", |operator| text(operator, source)) {
        ">&" | "<&" if is_descriptor(text(target, source)) => return,
        ">&-" | "<&-" => return,
        ">" | "&>" | ">|" | ">&" | "<>" => ">",
        ">>" | "&>>" => ">>",
        _ => "<",
    };
    let word = Word::of(target, source);
    match word.text() {
        Some(path) => out.path(path),
        None => out.mention(word.as_written()),
    }
    out.call(name, vec![word.into_shown()], line(node));
}

fn is_descriptor(target: &str) -> bool {
    target == "-" || target.trim_end_matches('-').chars().all(|c| c.is_ascii_digit())
}

/// The grammar takes words after the target for more targets: `> file word`.
fn after_target(redirect: Node, source: &str) -> Vec<Word> {
    targets(redirect).into_iter().skip(1).map(|target| Word::of(target, source)).collect()
}

fn targets(redirect: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = redirect.walk();
    redirect.children_by_field_name("destination", &mut cursor).collect()
}
