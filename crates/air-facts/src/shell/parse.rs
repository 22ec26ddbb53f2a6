//! Two parsers read the source; what they agree upon is believed.

use std::ops::ControlFlow;

use brush_parser::{ParseError, ParserOptions, Token, ast, parse_tokens, uncached_tokenize_str};
use tree_sitter::Node;

use super::{census, lex};
use crate::{
    collect::Collector,
    syntax::{self, line, text},
};

/// Brackets within each other: the parser's time doubles with each that does not close.
const MAX_BRACKETS: usize = 10;
/// Commands within commands.
const MAX_BLOCKS: usize = 40;
/// Substitutions and quotes within each other.
const MAX_SUBSTITUTIONS: usize = 16;
/// Larger sources are not parsed.
const MAX_SOURCE: usize = 1 << 20;

/// The source as a tree, if it is one.
pub(super) fn program(source: &str, out: &mut Collector) -> Option<ast::Program> {
    match parsed(source) {
        Ok(program) => Some(program),
        Err(why) => {
            out.incomplete(why);
            None
        }
    }
}

/// Compares both readings, and notes where they differ.
pub(super) fn compare(source: &str, program: &ast::Program, out: &mut Collector) {
    let Some(tree) = syntax::parse(&tree_sitter_bash::LANGUAGE.into(), source, out) else { return };
    let mut theirs = commands(tree.root_node(), source, out);
    let mut ours = census::commands(program);
    theirs.sort_unstable();
    ours.sort_unstable();
    let differ =
        ours.iter().zip(&theirs).find(|(ours, theirs)| (&ours.0, ours.1) != (&theirs.0, theirs.1));
    let beyond = || {
        let rest = if ours.len() > theirs.len() { &ours } else { &theirs };
        rest.get(ours.len().min(theirs.len()))
    };
    let first = differ.map(|(ours, theirs)| ours.min(theirs)).or_else(beyond);
    if let Some((name, _, at)) = first {
        out.incomplete_at(*at, format!("two parsers read different commands around `{name}`"));
    }
}

/// A command's word, the number of its words, and its line.
pub(super) type Seen = (String, usize, u32);

/// Commands that one of the parsers reads in a way of its own: their words are not counted.
pub(super) const UNCOUNTED: [&str; 10] =
    ["declare", "typeset", "export", "readonly", "local", "unset", "unsetenv", "[", "test", "[["];

/// The commands that tree-sitter sees.
fn commands(root: Node, source: &str, out: &mut Collector) -> Vec<Seen> {
    let mut seen = Vec::new();
    syntax::walk(root, out, |node, parent, _| {
        match node.kind() {
            "command" => {
                let name = node.child_by_field_name("name").map(|name| text(name, source));
                let mut cursor = node.walk();
                let words = node.children(&mut cursor).filter(|child| {
                    !matches!(
                        child.kind(),
                        "file_redirect"
                            | "variable_assignment"
                            | "heredoc_redirect"
                            | "herestring_redirect"
                            | "comment"
                    )
                });
                let mut count = words.count();
                // Words behind a redirection hang on it.
                let around = parent.filter(|parent| parent.kind() == "redirected_statement");
                let beside = around.map(syntax::named).unwrap_or_default();
                for redirect in beside.iter().copied().chain(syntax::named(node)) {
                    if redirect.kind() == "file_redirect" {
                        let targets = redirect
                            .children_by_field_name("destination", &mut redirect.walk())
                            .count();
                        count += targets.saturating_sub(1);
                    }
                }
                if let Some(name) = name {
                    let counted = !UNCOUNTED.contains(&name);
                    seen.push((name.to_owned(), if counted { count } else { 0 }, line(node)));
                }
            }
            "declaration_command" | "unset_command" | "test_command" => {
                let name = node.child(0).map_or("", |first| text(first, source));
                if name != "((" {
                    seen.push((name.to_owned(), 0, line(node)));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    seen
}

/// # Errors
///
/// Where it does not parse, or why it is not tried.
pub(super) fn parsed(source: &str) -> Result<ast::Program, String> {
    if source.len() > MAX_SOURCE {
        return Err(format!("source of {} bytes is too long to parse", source.len()));
    }
    if source.contains('\0') {
        return Err("source holds a NUL byte".to_owned());
    }
    if lex::nesting(source) > MAX_SUBSTITUTIONS {
        return Err("substitutions are nested too deeply".to_owned());
    }
    let options = ParserOptions::default();
    let tokens = uncached_tokenize_str(source, &options.tokenizer_options())
        .map_err(|error| format!("does not parse: {error}"))?;
    if let Some(at) = too_deep(&tokens) {
        return Err(format!("line {at}: nested too deeply"));
    }
    parse_tokens(&tokens, &options).map_err(|error| match error {
        ParseError::ParsingNear(at) => format!("line {}: does not parse", at.line),
        ParseError::ParsingAtEndOfInput => "does not parse to its end".to_owned(),
        ParseError::Tokenizing { inner, .. } => format!("does not parse: {inner}"),
    })
}

/// The line where too much is open.
fn too_deep(tokens: &[Token]) -> Option<usize> {
    let mut open: Vec<&str> = Vec::new();
    let mut brackets = 0_usize;
    let mut command_follows = true;
    for (at, token) in tokens.iter().enumerate() {
        let (text, is_word) = match token {
            Token::Operator(text, _) => (text.as_str(), false),
            Token::Word(text, _) => (text.as_str(), true),
        };
        let opens = match text {
            "(" => true,
            "{" | "if" | "do" | "[[" | "while" | "until" => is_word && command_follows,
            "case" => is_word && command_follows,
            _ => false,
        };
        let closed = match text {
            ")" => Some("("),
            "}" => Some("{"),
            "fi" => Some("if"),
            "done" => Some("do"),
            "esac" => Some("case"),
            "]]" => Some("[["),
            _ => None,
        };
        if opens {
            open.push(text);
            brackets += usize::from(text == "(");
        } else if closed.is_some() && open.last().copied() == closed {
            brackets -= usize::from(text == ")");
            open.pop();
            // `while` and `until` end with their body.
            while text == "done" && matches!(open.last(), Some(&("while" | "until"))) {
                open.pop();
            }
        }
        if brackets > MAX_BRACKETS || open.len() > MAX_BLOCKS {
            return tokens.get(at).map(|token| token.location().start.line);
        }
        command_follows = !is_word
            || matches!(
                text,
                "then"
                    | "do"
                    | "else"
                    | "elif"
                    | "if"
                    | "while"
                    | "until"
                    | "!"
                    | "{"
                    | "time"
                    | "coproc"
            )
            || text.ends_with(')');
    }
    None
}
