//! Escapes in text: those of string literals, and those of URLs.

use super::{
    Decoded, SHORTEST, Transform,
    radix::hex,
    rows::{Letters, letters, runs},
    then,
};
use crate::trace::Budget;

pub(super) fn decode(
    content: &[u8],
    before: &[Transform],
    decoded: &mut Decoded,
    budget: &mut Budget,
) {
    let shown = letters(|byte| matches!(byte, b' '..=b'~' | b'\t'));
    let escaped = texts_with(content, &shown, b'\\').flat_map(unescape).collect();
    decoded.push(&then(before, Transform::Escaped), escaped, budget);
    let percent = texts_with(content, &shown, b'%').filter(|text| has_percent(text));
    decoded.push(&then(before, Transform::Percent), percent.flat_map(unpercent).collect(), budget);
}

/// The runs of visible letters with this mark. In bytes that are no text, marks stand by chance.
fn texts_with<'a>(
    content: &'a [u8],
    shown: &'a Letters,
    mark: u8,
) -> impl Iterator<Item = &'a [u8]> {
    // Most texts have no such mark at all.
    let content = if content.contains(&mark) { content } else { &[] };
    let rows = runs(content, shown, SHORTEST).filter_map(|run| content.get(run));
    rows.filter(move |row| row.contains(&mark))
}

fn has_percent(line: &[u8]) -> bool {
    line.windows(3).any(|three| matches!(three, [b'%', high, low] if pair(*high, *low).is_some()))
}

fn pair(high: u8, low: u8) -> Option<u8> {
    Some(hex(high)? << 4 | hex(low)?)
}

fn unpercent(line: &[u8]) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(line.len()), line);
    loop {
        match rest {
            [b'%', high, low, after @ ..] if pair(*high, *low).is_some() => {
                bytes.extend(pair(*high, *low));
                rest = after;
            }
            // In a form, a plus sign is a space, and one that is meant is escaped.
            [b'+', after @ ..] => {
                bytes.push(b' ');
                rest = after;
            }
            [byte, after @ ..] => {
                bytes.push(*byte);
                rest = after;
            }
            [] => return bytes,
        }
    }
}

fn unescape(line: &[u8]) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(line.len()), line);
    loop {
        let Some((first, after)) = rest.split_first() else { return bytes };
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        match after {
            [b'x', high, low, after @ ..] if pair(*high, *low).is_some() => {
                bytes.extend(pair(*high, *low));
                rest = after;
            }
            [b'u', digits @ ..] if digits.len() >= 4 => {
                let (digits, after) = digits.split_at(4);
                let number = digits
                    .iter()
                    .try_fold(0, |number, digit| Some(number << 4 | u32::from(hex(*digit)?)));
                if let Some(letter) = number.and_then(char::from_u32) {
                    bytes.extend(letter.encode_utf8(&mut [0; 4]).bytes());
                }
                rest = after;
            }
            [b'0'..=b'7', ..] => {
                let count = after.iter().take(3).take_while(|b| matches!(b, b'0'..=b'7')).count();
                let (digits, after) = after.split_at(count);
                let number = digits
                    .iter()
                    .fold(0u8, |number, digit| number.wrapping_shl(3) | (digit - b'0'));
                bytes.push(number);
                rest = after;
            }
            [letter, after @ ..] => {
                bytes.push(match letter {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    other => *other,
                });
                rest = after;
            }
            [] => {}
        }
    }
}
