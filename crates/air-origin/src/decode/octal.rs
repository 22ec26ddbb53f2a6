//! Dumps of `od` as it is, `od -b` and `od -c`: bytes as octal numbers, after an octal offset.

use super::{Decoded, Transform, then};
use crate::trace::Budget;

pub(super) fn decode(
    content: &[u8],
    before: &[Transform],
    decoded: &mut Decoded,
    budget: &mut Budget,
) {
    let rows = content.split(|byte| *byte == b'\n').filter_map(row);
    let bytes: Vec<u8> = rows.flatten().collect();
    decoded.push(&then(before, Transform::Hex), bytes, budget);
}

/// The bytes of a line, if it is one of a dump.
fn row(line: &[u8]) -> Option<Vec<u8>> {
    const OFFSET: usize = 7;
    let (offset, rest) = line.split_at_checked(OFFSET)?;
    if !offset.iter().all(|byte| is_octal(*byte)) {
        return None;
    }
    words(rest).or_else(|| columns(rest))
}

fn is_octal(byte: u8) -> bool {
    (b'0'..=b'7').contains(&byte)
}

fn number(digits: &[u8]) -> Option<u16> {
    let digits = digits.iter().all(|byte| is_octal(*byte)).then_some(digits)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

/// Words of two bytes, the lower one first.
fn words(rest: &[u8]) -> Option<Vec<u8>> {
    const WIDTH: usize = 7;
    let word = |word: &[u8]| number(word.strip_prefix(b" ").filter(|word| word.len() == 6)?);
    let words: Option<Vec<u16>> = rest.trim_ascii_end().chunks(WIDTH).map(word).collect();
    words.map(|words| words.into_iter().flat_map(u16::to_le_bytes).collect())
}

/// Columns of one byte each: a number, a letter, or an escape.
fn columns(rest: &[u8]) -> Option<Vec<u8>> {
    const WIDTH: usize = 4;
    let column = |column: &[u8]| match column {
        b"    " => Some(b' '),
        [b' ', b' ', b' ', letter] => Some(*letter),
        [b' ', b' ', b'\\', escape] => match escape {
            b'0' => Some(0),
            b'a' => Some(7),
            b'b' => Some(8),
            b't' => Some(b'\t'),
            b'n' => Some(b'\n'),
            b'v' => Some(11),
            b'f' => Some(12),
            b'r' => Some(b'\r'),
            _ => None,
        },
        [b' ', digits @ ..] if digits.len() == 3 => u8::try_from(number(digits)?).ok(),
        _ => None,
    };
    rest.chunks(WIDTH).map(column).collect()
}
