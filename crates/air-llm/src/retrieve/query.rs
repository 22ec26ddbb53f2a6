//! What guardrails are compared with.

use std::collections::HashSet;

use air_core::{
    fact::{Facts, Root},
    value::Value,
};

/// Text of one source that is looked at as a whole: half from its start, half from its end, in bytes.
const MOST_TEXT: usize = 64 << 10;
/// How deep values are looked into.
const DEPTH: usize = 8;
/// A part, in bytes: words further away belong to another.
const PART: usize = 128;
/// Operations, and parts of the text, that are compared one by one; of more, neighbours go together.
const MOST_PARTS: usize = 1024;
/// Where one part ends and another begins: commands, statements, lines.
const ENDS: [char; 4] = ['\n', ';', '|', '&'];

/// The call, the plan, and what AIR reads in both.
pub(super) fn wholes(facts: &Facts) -> [String; 3] {
    let of = |roots: &[Root]| {
        let mut text = String::new();
        for value in roots.iter().filter_map(|root| facts.get(*root)) {
            texts(value, DEPTH, &mut |leaf| whole(leaf, &mut text));
        }
        text
    };
    [of(&[Root::Args]), of(&[Root::Plan]), of(&[Root::Intents, Root::Code])]
}

/// Each operation that AIR reads in the call, then its commands, statements and arguments and the calls that
/// AIR reads in it; none twice. Words that do nothing are no operations: they come later, and crowd out none.
pub(super) fn parts(facts: &Facts) -> Vec<String> {
    let operations = read(facts, "operations");
    let mut words = Vec::new();
    facts.get(Root::Args).into_iter().for_each(|args| {
        texts(args, DEPTH, &mut |leaf| split(leaf, &mut words));
    });
    words.extend(read(facts, "calls"));
    let mut seen = HashSet::new();
    let mut parts = Vec::new();
    for mut group in [operations, words] {
        group.retain(|part| seen.insert(part.clone()));
        let together = group.len().div_ceil(MOST_PARTS).max(1);
        parts.extend(group.chunks(together).map(|parts| parts.join(" ")));
    }
    parts
}

/// The items of a list of the fact `code`, each as one text.
fn read(facts: &Facts, list: &str) -> Vec<String> {
    let Some(Value::Map(code)) = facts.get(Root::Code) else { return Vec::new() };
    let Some(Value::List(list)) = code.get(list) else { return Vec::new() };
    let items = list.items.iter().map(|item| {
        let mut text = String::new();
        texts(item, DEPTH, &mut |leaf| whole(leaf, &mut text));
        text
    });
    items.collect()
}

fn split(text: &str, parts: &mut Vec<String>) {
    for piece in text.split(ENDS) {
        let mut rest = piece.trim();
        while rest.len() > PART {
            let most = rest.floor_char_boundary(PART);
            let head = rest.get(..most).unwrap_or_default();
            let end = head.rfind(char::is_whitespace).filter(|end| *end > 0).unwrap_or(most);
            parts.push(rest.get(..end).unwrap_or_default().to_owned());
            rest = rest.get(end..).unwrap_or_default().trim_start();
        }
        if !rest.is_empty() {
            parts.push(rest.to_owned());
        }
    }
}

/// Adds a text, or both ends of it.
fn whole(text: &str, out: &mut String) {
    if out.len() >= MOST_TEXT {
        return;
    }
    let half = MOST_TEXT / 4;
    out.push(' ');
    if text.len() <= 2 * half {
        out.push_str(text);
    } else {
        let start = text.floor_char_boundary(half);
        let end = text.ceil_char_boundary(text.len() - half);
        out.push_str(text.get(..start).unwrap_or_default());
        out.push(' ');
        out.push_str(text.get(end..).unwrap_or_default());
    }
}

/// All texts in `value`.
fn texts(value: &Value, depth: usize, add: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => add(text),
        Value::List(list) if depth > 0 => {
            list.items.iter().for_each(|item| texts(item, depth - 1, add));
        }
        Value::Map(fields) if depth > 0 => {
            fields.values().for_each(|value| texts(value, depth - 1, add));
        }
        _ => {}
    }
}
