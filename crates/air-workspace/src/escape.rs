//! Paths as text and back: JSON has no bytes.

use std::fmt::Write;

/// Bytes as text, reversibly.
pub(crate) fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '%' => text.push_str("%25"),
                _ => text.push(character),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "%{byte:02x}");
        }
    }
    text
}

pub(crate) fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let Some((code, after)) = after.split_at_checked(2) else { break };
        bytes.extend(u8::from_str_radix(code, 16));
        rest = after;
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}
