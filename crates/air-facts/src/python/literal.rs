//! Python literals, decoded.

use tree_sitter::Node;

use super::fields::FIELDS;
use crate::{escape, syntax::text};

/// A part of a string literal.
pub(super) enum Piece<'t> {
    Text(String),
    /// The expression in braces.
    Value(Node<'t>),
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
                pieces.extend(part.child_by_field_id(FIELDS.expression).map(Piece::Value));
            }
            _ => {}
        }
    }
    Some((pieces, has(prefix, 'b')))
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
        match escape::character(escape, &mut rest, !bytes) {
            Some(c) => decoded.push(c),
            None => decoded.extend(['\\', escape]),
        }
    }
    decoded
}
