//! Python literals, decoded.

use tree_sitter::Node;

use super::{fields::FIELDS, value::GAP};
use crate::{escape, syntax::text};

/// A part of a string literal.
pub(super) enum Piece<'t> {
    Text(String),
    /// The expression in braces.
    Value(Node<'t>),
    /// The same, and the expressions that say how it is written.
    Formatted(Vec<Node<'t>>),
}

/// The parts of the literal `node`, and whether it is bytes.
pub(super) fn pieces<'t>(node: Node<'t>, source: &str) -> Option<(Vec<Piece<'t>>, bool)> {
    if node.kind() != "string" {
        return None;
    }
    let mut prefix = "";
    let mut pieces = Vec::new();
    let has = |prefix: &str, letter: char| prefix.contains([letter, letter.to_ascii_uppercase()]);
    for part in node.children(&mut node.walk()) {
        match part.kind() {
            "string_start" => prefix = text(part, source).trim_end_matches(['"', '\'']),
            "string_content" => {
                let mut content = text(part, source).to_owned();
                if has(prefix, 'f') || has(prefix, 't') {
                    content = content.replace("{{", "{").replace("}}", "}");
                }
                if !has(prefix, 'r') && content.contains('\\') {
                    content = unescape(&content, has(prefix, 'b'));
                }
                pieces.push(Piece::Text(content));
            }
            "interpolation" => {
                let inner = expressions(part);
                pieces.push(match inner.as_slice() {
                    [only] => Piece::Value(*only),
                    _ => Piece::Formatted(inner),
                });
            }
            _ => {}
        }
    }
    Some((pieces, has(prefix, 'b')))
}

/// The expression of an interpolation, and those in its format.
fn expressions(interpolation: Node<'_>) -> Vec<Node<'_>> {
    let mut found: Vec<Node> = Vec::new();
    let mut stack = vec![interpolation];
    while let Some(node) = stack.pop() {
        found.extend(node.child_by_field_id(FIELDS.expression));
        let format = |part: &Node| matches!(part.kind(), "format_specifier" | "interpolation");
        let format_expression = |part: &Node| format(part) || part.kind() == "format_expression";
        stack.extend(node.named_children(&mut node.walk()).filter(format_expression));
    }
    found
}

/// An integer as written, if it is small.
pub(super) fn integer(written: &str) -> Option<i64> {
    let plain = written.replace('_', "").to_ascii_lowercase();
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = plain.strip_prefix(prefix) {
            return i64::from_str_radix(digits, radix).ok();
        }
    }
    plain.parse().ok()
}

/// Bytes are kept as the characters of the same numbers.
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
        if escape == 'N' && !bytes && rest.peek() == Some(&'{') {
            // The letter of that name: names are not known here.
            while rest.next().is_some_and(|c| c != '}') {}
            decoded.push_str(GAP);
            continue;
        }
        match escape::character(escape, &mut rest, !bytes) {
            Some(c) => decoded.push(c),
            None => decoded.extend(['\\', escape]),
        }
    }
    decoded
}
