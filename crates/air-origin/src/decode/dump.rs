//! Bytes as numbers apart: hexadecimal pairs, dumps with offsets, lists of decimal numbers.

use super::{
    Decoded, SHORTEST, Transform,
    radix::hex,
    rows::{letters, runs},
    then,
};
use crate::trace::Budget;

pub(super) fn decode(
    content: &[u8],
    before: &[Transform],
    decoded: &mut Decoded,
    budget: &mut Budget,
) {
    let (pairs, decimals) = numbers(content);
    decoded.push(&then(before, Transform::Hex), pairs, budget);
    decoded.push(&then(before, Transform::Decimal), decimals, budget);
    let (straight, swapped) = dumped(content);
    decoded.push(&then(before, Transform::Hex), straight, budget);
    decoded.push(&then(before, Transform::Hex), swapped, budget);
}

/// Numbers apart by little: `41 42`, `41:42`, `0x41, 0x42`, `\x41\x42`, and `65, 66`.
fn numbers(content: &[u8]) -> (Vec<u8>, Vec<u8>) {
    // As many numbers of a letter each, with one byte between them.
    const SHORTEST_ROW: usize = 2 * SHORTEST - 1;
    let may_be =
        letters(|byte| !byte.is_ascii_alphanumeric() || byte.is_ascii_hexdigit() || byte == b'x');
    let (mut pairs, mut decimals) = (Row::default(), Row::default());
    for run in runs(content, &may_be, SHORTEST_ROW) {
        let run = content.get(run).unwrap_or_default();
        numbers_of(run, &mut pairs, &mut decimals);
        pairs.close();
        decimals.close();
    }
    (pairs.kept, decimals.kept)
}

fn numbers_of(content: &[u8], pairs: &mut Row, decimals: &mut Row) {
    /// Bytes between two numbers at most.
    const GAP: usize = 4;
    let mut gap = 0;
    for word in content.split(|byte| !byte.is_ascii_alphanumeric()) {
        gap += 1;
        if word.is_empty() {
            continue;
        }
        if gap > GAP {
            pairs.close();
            decimals.close();
        }
        gap = 0;
        let digits = word.strip_prefix(b"0x").or_else(|| word.strip_prefix(b"x")).unwrap_or(word);
        pairs.push(match digits {
            [high, low] => hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low),
            _ => None,
        });
        decimals.push(decimal(word));
    }
}

fn decimal(word: &[u8]) -> Option<u8> {
    if word.len() > 3 {
        return None;
    }
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Numbers in a row; those of rows that are long enough.
#[derive(Default)]
struct Row {
    kept: Vec<u8>,
    row: Vec<u8>,
}

impl Row {
    fn push(&mut self, number: Option<u8>) {
        match number {
            Some(number) => self.row.push(number),
            None => self.close(),
        }
    }

    fn close(&mut self) {
        if self.row.len() >= SHORTEST {
            self.kept.append(&mut self.row);
        }
        self.row.clear();
    }
}

/// Lines with an offset, as `xxd`, `od -x` and `hexdump` write them: the bytes in their order, and the
/// bytes of words of two with the lower one first.
fn dumped(content: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut straight, mut swapped) = (Vec::new(), Vec::new());
    // In an archive, zeros stand before the first line.
    for line in content.split(|byte| matches!(byte, b'\n' | 0)) {
        let Some(rest) = after_offset(line) else { continue };
        let (bytes, words) = dumped_line(rest);
        if words {
            swapped.extend(bytes.chunks(2).flat_map(|word| word.iter().rev()));
        }
        straight.extend(bytes);
    }
    (straight, swapped)
}

fn after_offset(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_start();
    let digits = line.iter().take_while(|byte| hex(**byte).is_some()).count();
    let rest = line.get(digits..)?;
    let rest = rest.strip_prefix(b":").unwrap_or(rest);
    ((6..=16).contains(&digits) && rest.first() == Some(&b' ')).then_some(rest)
}

/// The bytes of a line up to the column of text, and whether all but the last are in words of two.
fn dumped_line(mut rest: &[u8]) -> (Vec<u8>, bool) {
    /// Bytes on a line before the text, where the two are apart by no more than the bytes are.
    const LINE: usize = 16;
    let (mut bytes, mut words) = (Vec::new(), true);
    loop {
        let spaces = rest.iter().take_while(|byte| **byte == b' ').count();
        rest = rest.get(spaces..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        let word = word.trim_ascii_end();
        // The text of a short line is far away.
        let text = spaces >= 2 && (bytes.len() >= LINE || !bytes.is_empty() && spaces > 8);
        let values: Option<Vec<u8>> = word.iter().map(|byte| hex(*byte)).collect();
        let Some(values) = values.filter(|values| {
            !text && !values.is_empty() && values.len() <= 16 && values.len().is_multiple_of(2)
        }) else {
            return (bytes, words);
        };
        words &= values.len() == 4 || after.is_empty();
        bytes.extend(values.chunks(2).filter_map(|pair| match pair {
            [high, low] => Some(high << 4 | low),
            _ => None,
        }));
        rest = after;
    }
}
