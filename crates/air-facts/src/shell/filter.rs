//! Commands whose output is known where their input is.

use super::{flow::Tool, word::Word};
use crate::decode;

/// Longer texts are not worked out.
const MAX_INPUT: usize = 1 << 14;

/// What `tool` prints for `input`.
pub(super) fn filtered(tool: &Tool, input: &str) -> Option<String> {
    if input.len() > MAX_INPUT {
        return None;
    }
    let options = tool.options;
    match tool.name {
        "cat" | "tee" | "more" | "less"
            if tool.args.iter().all(|arg| !arg.as_written().starts_with('-')) =>
        {
            Some(input.to_owned())
        }
        "base64" if options.has(&["d", "D", "--decode"]) => printed(decode::base64(input)),
        "openssl"
            if options.has(&["base64"]) || tool.args.iter().any(|arg| arg.text() == Some("-d")) =>
        {
            let named = |name: &str| {
                tool.args
                    .iter()
                    .any(|arg| arg.text().is_some_and(|text| text.trim_start_matches('-') == name))
            };
            if named("base64") && !named("d") && !named("k") && !named("pass") {
                return Some(decode::to_base64(input.as_bytes()) + "\n");
            }
            (named("base64") && named("d") || named("a") && named("d") && !named("k"))
                .then(|| printed(decode::base64(input)))?
        }
        "base64" => Some(decode::to_base64(input.as_bytes()) + "\n"),
        "base32" if !options.has(&["d", "D", "--decode"]) => {
            Some(decode::to_base32(input.as_bytes()) + "\n")
        }
        "xxd" if options.has(&["p", "ps", "plain"]) && !options.has(&["r"]) => {
            Some(decode::to_hex(input.as_bytes()) + "\n")
        }
        "xxd" if options.has(&["r"]) => printed(decode::hex(input)),
        "rev" => {
            let lines = input.split('\n').map(|line| line.chars().rev().collect::<String>());
            Some(lines.collect::<Vec<_>>().join("\n"))
        }
        "tac" => {
            let mut lines: Vec<&str> = input.lines().collect();
            lines.reverse();
            Some(lines.join("\n") + "\n")
        }
        "tr" => translated(tool, input),
        "sed" => substituted(tool, input),
        "head" if tool.args.is_empty() => Some(input.split_inclusive('\n').take(10).collect()),
        "cut" => {
            let by = options.value(&["d", "--delimiter"])?.text()?;
            let field: usize = options.value(&["f", "--fields"])?.text()?.parse().ok()?;
            let lines = input.lines().map(|line| {
                if line.contains(by) {
                    line.split(by).nth(field.saturating_sub(1)).unwrap_or_default()
                } else {
                    line
                }
            });
            Some(lines.collect::<Vec<_>>().join("\n") + "\n")
        }
        _ => None,
    }
}

/// What is printed, where it is text.
fn printed(bytes: Option<Vec<u8>>) -> Option<String> {
    String::from_utf8(bytes?).ok()
}

fn translated(tool: &Tool, input: &str) -> Option<String> {
    let set = |index: usize| tool.operand(index).and_then(Word::text).map(characters);
    let first = set(0)?;
    if tool.options.has(&["c", "C", "s"]) {
        return None;
    }
    if tool.options.has(&["d", "--delete"]) {
        return Some(input.chars().filter(|c| !first.contains(c)).collect());
    }
    let second = set(1)?;
    let last = *second.last()?;
    let map = |c: char| match first.iter().position(|from| *from == c) {
        Some(at) => second.get(at).copied().unwrap_or(last),
        None => c,
    };
    Some(input.chars().map(map).collect())
}

/// `a-z`, `[:upper:]`, `\n` as the characters that they stand for.
fn characters(set: &str) -> Vec<char> {
    let set = set
        .replace("[:upper:]", "A-Z")
        .replace("[:lower:]", "a-z")
        .replace("[:digit:]", "0-9")
        .replace("[:space:]", " \t\n");
    let chars: Vec<char> = super::lex::ansi_c(&set).chars().collect();
    let mut all = Vec::new();
    let mut rest = chars.as_slice();
    while let Some((first, after)) = rest.split_first() {
        match after {
            ['-', last, more @ ..] if first <= last => {
                all.extend((*first..=*last).take(256));
                rest = more;
            }
            _ => {
                all.push(*first);
                rest = after;
            }
        }
    }
    all
}

/// `sed s/a/b/g`, without patterns.
fn substituted(tool: &Tool, input: &str) -> Option<String> {
    let script = match tool.options.value(&["e"]) {
        Some(script) => script.text()?,
        None => tool.operand(0)?.text()?,
    };
    let separator = script.strip_prefix('s')?.chars().next()?;
    let mut parts = script.get(1 + separator.len_utf8()..)?.split(separator);
    let (from, to, flags) = (parts.next()?, parts.next()?, parts.next()?);
    let plain =
        !from.contains(['.', '*', '[', '^', '$', '\\', '+', '?']) && !to.contains(['&', '\\']);
    if !plain || from.is_empty() || parts.next().is_some() || !matches!(flags, "" | "g") {
        return None;
    }
    let lines = input.split('\n').map(|line| match flags {
        "g" => line.replace(from, to),
        _ => line.replacen(from, to, 1),
    });
    Some(lines.collect::<Vec<_>>().join("\n"))
}
