//! Operations on texts and numbers that are known.

use std::rc::Rc;

use crate::decode;

use super::value::{GAP, Text, Value};

/// Paths joined as `/` and `os.path.join` do.
pub(super) fn joined(left: &Text, right: &Text) -> Text {
    if right.text.starts_with('/') || left.text.is_empty() {
        return right.clone();
    }
    let separator = if left.text.ends_with('/') { "" } else { "/" };
    left.then(&Text::new(separator)).then(right)
}

/// `text % items`.
pub(super) fn percent(text: &Text, items: Option<&[Value]>) -> Text {
    let mut whole = Text::new("");
    let mut items = items.map(<[Value]>::iter);
    let mut rest = &*text.text;
    while let Some(at) = rest.find('%') {
        whole = whole.then(&Text::new(rest.get(..at).unwrap_or_default()));
        rest = rest.get(at + 1..).unwrap_or_default();
        if let Some(after) = rest.strip_prefix('%') {
            whole = whole.then(&Text::new("%"));
            rest = after;
            continue;
        }
        let named = rest.starts_with('(');
        if named {
            rest = rest.split_once(')').map_or("", |(_, rest)| rest);
        }
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).map_or(rest.len(), |at| at + 1);
        let plain = rest.get(..end) == Some("s") || rest.get(..end) == Some("d");
        rest = rest.get(end..).unwrap_or_default();
        let item = items.as_mut().and_then(Iterator::next);
        let item = item.filter(|_| plain && !named).map_or_else(Text::gap, Value::as_text);
        whole = whole.then(&item);
    }
    let mut whole = whole.then(&Text::new(rest));
    whole.known &= text.known;
    whole
}

/// `text.format(…)`.
pub(super) fn format(text: &Text, given: &[Value], named: &[(Rc<str>, Value)]) -> Text {
    let mut whole = Text::new("");
    let mut next = 0;
    let mut rest = &*text.text;
    while let Some(at) = rest.find(['{', '}']) {
        whole = whole.then(&Text::new(rest.get(..at).unwrap_or_default()));
        let brace = rest.get(at..=at).unwrap_or_default();
        rest = rest.get(at + 1..).unwrap_or_default();
        if let Some(after) = rest.strip_prefix(brace) {
            whole = whole.then(&Text::new(brace));
            rest = after;
            continue;
        }
        let Some((field, after)) = rest.split_once('}') else { break };
        rest = after;
        let plain = !field.contains([':', '!', '.', '[']);
        let item = if field.is_empty() {
            next += 1;
            given.get(next - 1)
        } else if let Ok(index) = field.parse::<usize>() {
            given.get(index)
        } else {
            named.iter().find(|(name, _)| **name == *field).map(|(_, value)| value)
        };
        whole = whole.then(&item.filter(|_| plain).map_or_else(Text::gap, Value::as_text));
    }
    let mut whole = whole.then(&Text::new(rest));
    whole.known &= text.known;
    whole
}

/// The names that a template fills in: `{name}`, `{name!r:>8}`.
pub(super) fn fields(template: &str) -> Vec<String> {
    let opened = template.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    let name = |(field, _): (&str, &str)| {
        let end = field.find(['!', ':', '.', '[']).unwrap_or(field.len());
        field.get(..end).map(str::to_owned)
    };
    // By place, what is given may be all of it.
    let all = |name: String| {
        if name.parse::<usize>().is_ok() || name.is_empty() { "*".to_owned() } else { name }
    };
    opened.filter_map(name).map(all).collect()
}

/// `items[from:to:step]`.
pub(super) fn slice<T: Clone>(items: &[T], bounds: [Option<i64>; 3]) -> Vec<T> {
    let [from, to, step] = bounds;
    let step = step.unwrap_or(1);
    let Ok(length) = i64::try_from(items.len()) else { return Vec::new() };
    let place = |bound: i64| if bound < 0 { bound.saturating_add(length) } else { bound };
    let pick = |at: i64| usize::try_from(at).ok().and_then(|at| items.get(at)).cloned();
    let mut picked = Vec::new();
    if step > 0 {
        let mut at = from.map_or(0, place).clamp(0, length);
        let end = to.map_or(length, place).clamp(0, length);
        while at < end {
            picked.extend(pick(at));
            at = at.saturating_add(step);
        }
    } else if step < 0 {
        let mut at = from.map_or(length - 1, place).min(length - 1);
        let end = to.map_or(-1, place).max(-1);
        while at > end {
            picked.extend(pick(at));
            at = at.saturating_add(step);
        }
    }
    picked
}

pub(super) fn arithmetic(operator: &str, a: i64, b: i64) -> Option<i64> {
    match operator {
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        "//" => (b > 0).then(|| a.div_euclid(b)),
        "%" => (b > 0).then(|| a.rem_euclid(b)),
        "^" => Some(a ^ b),
        "&" => Some(a & b),
        "|" => Some(a | b),
        "<<" => u32::try_from(b).ok().filter(|b| *b < 40).and_then(|b| a.checked_mul(1 << b)),
        ">>" => u32::try_from(b).ok().and_then(|b| a.checked_shr(b)),
        "**" => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
        _ => None,
    }
}

/// Bytes as the text that they are in UTF-8, or else in Latin-1.
pub(super) fn decoded(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap_or_else(|_| latin(bytes))
}

/// Bytes as the characters of the same numbers.
pub(super) fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// The bytes that characters of the same numbers stand for; of a text, those of its UTF-8.
pub(super) fn bytes(text: &Text) -> Vec<u8> {
    if text.bytes {
        text.text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect()
    } else {
        text.text.as_bytes().to_vec()
    }
}

/// `%2e` as the byte of that number.
pub(super) fn unquoted(text: &Text) -> Text {
    let mut made = Vec::new();
    let mut rest = text.text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(byte) = byte.filter(|_| *first == b'%') {
            made.push(byte);
            rest = after.get(2..).unwrap_or_default();
        } else {
            made.push(*first);
            rest = after;
        }
    }
    text.with(decoded(&made))
}

pub(super) fn rot13(text: &str) -> String {
    let turn = |letter: char, first: u8| {
        u8::try_from(u32::from(letter))
            .map_or(letter, |byte| char::from(first + (byte - first + 13) % 26))
    };
    let turned = text.chars().map(|letter| match letter {
        'a'..='z' => turn(letter, b'a'),
        'A'..='Z' => turn(letter, b'A'),
        _ => letter,
    });
    turned.collect()
}

/// What `text.name(…)` gives, where all that matters is known; gaps stay where letters are not looked
/// at one by one.
pub(super) fn method(text: &Text, name: &str, given: &[Value]) -> Option<Text> {
    let argument = |index: usize| given.get(index).and_then(Value::known);
    let through = |change: fn(&str) -> String| {
        let pieces: Vec<String> = text.text.split(GAP).map(change).collect();
        Some(text.with(pieces.join(GAP)))
    };
    match name {
        "upper" => through(str::to_uppercase),
        "lower" | "casefold" => through(str::to_lowercase),
        "title" | "capitalize" if text.known => {
            let mut letters = text.text.chars();
            let first = letters.next().map(|c| c.to_uppercase().collect::<String>());
            Some(text.with(first.unwrap_or_default() + &letters.as_str().to_lowercase()))
        }
        "swapcase" => through(|text| {
            let swap = |c: char| {
                if c.is_uppercase() { c.to_ascii_lowercase() } else { c.to_ascii_uppercase() }
            };
            text.chars().map(swap).collect()
        }),
        "strip" | "lstrip" | "rstrip" => {
            let letters = match given.first() {
                None => None,
                Some(_) => Some(argument(0)?),
            };
            let cut = |c: char| match letters {
                None => c.is_whitespace(),
                Some(letters) => letters.contains(c),
            };
            let start =
                if name == "rstrip" { &text.text } else { text.text.trim_start_matches(cut) };
            Some(text.with(if name == "lstrip" { start } else { start.trim_end_matches(cut) }))
        }
        "replace" => {
            let (old, new) = (argument(0)?, argument(1)?);
            (!old.is_empty() && text.text.len() <= 1 << 14 && new.len() <= 256)
                .then(|| text.with(text.text.replace(old, new)))
        }
        "removeprefix" => {
            let prefix = argument(0)?;
            Some(text.with(text.text.strip_prefix(prefix).unwrap_or(&text.text)))
        }
        "removesuffix" => {
            let suffix = argument(0)?;
            Some(text.with(text.text.strip_suffix(suffix).unwrap_or(&text.text)))
        }
        "encode" => {
            if text.known {
                Some(Text { text: latin(text.text.as_bytes()).into(), known: true, bytes: true })
            } else {
                Some(text.clone())
            }
        }
        "decode" => {
            let codec = argument(0).unwrap_or("utf-8").to_ascii_lowercase();
            match codec.as_str() {
                "hex" if text.known => Some(Text::new(decoded(&decode::hex(&text.text)?))),
                "rot13" | "rot_13" => Some(Text::new(rot13(&text.text))),
                "base64" if text.known => Some(Text::new(decoded(&decode::base64(&text.text)?))),
                _ => {
                    let plain =
                        if text.bytes { decoded(&bytes(text)) } else { text.text.to_string() };
                    Some(Text { text: plain.into(), known: text.known, bytes: false })
                }
            }
        }
        "format_map" => Some(format(text, &[], &[])),
        "expandtabs" | "__str__" | "tobytes" => Some(text.clone()),
        "hex" if text.known => {
            let digits: Vec<String> =
                bytes(text).iter().map(|byte| format!("{byte:02x}")).collect();
            Some(Text::new(digits.concat()))
        }
        _ => None,
    }
}

/// What is known, in base 64 or base 16.
pub(super) fn encoded(base: &str, plain: &Text) -> Text {
    let bytes = bytes(plain);
    if !plain.known || bytes.len() > 1 << 15 {
        return Text::gap();
    }
    let made = if base == "base64" { decode::to_base64(&bytes) } else { decode::to_hex(&bytes) };
    Text { text: made.into(), known: true, bytes: true }
}

/// `shlex.split`; nothing where a quote is open.
pub(super) fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}
