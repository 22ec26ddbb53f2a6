//! Python literals, decoded.

use tree_sitter::Node;

use crate::{
    escape,
    syntax::{named, text},
};

/// Sums of literals nested deeper than this are not joined.
const MAX_NESTING: usize = 100;

/// What an expression is worth without running it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Literal {
    /// Text or bytes.
    Text(String),
    /// A number, a truth value or `None`, as written.
    Plain(String),
    /// Text with gaps (`None`) that are computed.
    Template(Vec<Option<String>>),
    /// No literal.
    None,
}

/// The literal that `node` is.
pub(super) fn literal(node: Node, source: &str) -> Literal {
    literal_within(node, source, 0)
}

fn literal_within(node: Node, source: &str, depth: usize) -> Literal {
    if depth > MAX_NESTING {
        return Literal::None;
    }
    match node.kind() {
        "string" => string(node, source),
        "concatenated_string" => {
            named(node).into_iter().map(|part| string(part, source)).fold(empty(), join)
        }
        "binary_operator" => {
            let plus = node.child_by_field_name("operator").is_some_and(|node| node.kind() == "+");
            let sides = (node.child_by_field_name("left"), node.child_by_field_name("right"));
            let (true, (Some(left), Some(right))) = (plus, sides) else { return Literal::None };
            let left = literal_within(left, source, depth + 1);
            let right = literal_within(right, source, depth + 1);
            join(left, right)
        }
        "parenthesized_expression" => match named(node).as_slice() {
            [inner] => literal_within(*inner, source, depth + 1),
            _ => Literal::None,
        },
        "integer" | "float" | "true" | "false" | "none" => {
            Literal::Plain(text(node, source).to_owned())
        }
        _ => Literal::None,
    }
}

fn empty() -> Literal {
    Literal::Text(String::new())
}

fn join(left: Literal, right: Literal) -> Literal {
    match (left, right) {
        (Literal::Text(left), Literal::Text(right)) => Literal::Text(left + &right),
        // `"rm " + name` is text with a gap; two unknowns may be numbers.
        (Literal::None, Literal::None) | (Literal::Plain(_), _) | (_, Literal::Plain(_)) => {
            Literal::None
        }
        (left, right) => {
            let mut pieces = pieces(left);
            pieces.extend(self::pieces(right));
            Literal::Template(pieces)
        }
    }
}

fn pieces(literal: Literal) -> Vec<Option<String>> {
    match literal {
        Literal::Text(text) => vec![Some(text)],
        Literal::Template(pieces) => pieces,
        Literal::Plain(_) | Literal::None => vec![None],
    }
}

fn string(node: Node, source: &str) -> Literal {
    if node.kind() != "string" {
        return Literal::None;
    }
    let mut prefix = "";
    let mut pieces: Vec<Option<String>> = Vec::new();
    for part in node.children(&mut node.walk()) {
        match part.kind() {
            "string_start" => prefix = text(part, source).trim_end_matches(['"', '\'']),
            "string_content" => {
                let has = |letter: char| prefix.contains([letter, letter.to_ascii_uppercase()]);
                let mut content = text(part, source).to_owned();
                if has('f') || has('t') {
                    content = content.replace("{{", "{").replace("}}", "}");
                }
                if !has('r') {
                    content = unescape(&content, has('b'));
                }
                pieces.push(Some(content));
            }
            "interpolation" => pieces.push(None),
            _ => {}
        }
    }
    if pieces.iter().any(Option::is_none) {
        Literal::Template(pieces)
    } else {
        Literal::Text(pieces.into_iter().flatten().collect())
    }
}

fn unescape(text: &str, bytes: bool) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            decoded.push(c);
            continue;
        }
        let Some(escape) = rest.next() else {
            decoded.push('\\');
            break;
        };
        if escape == '\n' {
            continue;
        }
        match escape::character(escape, &mut rest, !bytes) {
            Some(c) => decoded.push(c),
            None => decoded.extend(['\\', escape]),
        }
    }
    decoded
}
