//! Base85, as Ascii85 or with the alphabet of RFC 1924.

use super::{
    Decoded, SHORTEST, Transform,
    rows::{letters, rows},
    then,
};
use crate::trace::Budget;

const RFC_1924: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// What each byte stands for as a letter, if it is one.
type Values = [Option<u8>; 256];

fn ascii85() -> Values {
    values(b'!'..=b'u')
}

fn rfc_1924() -> Values {
    values(RFC_1924.iter().copied())
}

fn values(letters: impl Iterator<Item = u8>) -> Values {
    let mut values = [None; 256];
    for (letter, value) in letters.zip(0u8..) {
        if let Some(slot) = values.get_mut(usize::from(letter)) {
            *slot = Some(value);
        }
    }
    values
}

fn value(values: &Values, byte: u8) -> Option<u8> {
    values.get(usize::from(byte)).copied().flatten()
}

pub(super) fn decode(
    content: &[u8],
    before: &[Transform],
    decoded: &mut Decoded,
    budget: &mut Budget,
) {
    let how = then(before, Transform::Base85);
    // `z` is short for four zeros.
    for (values, zeros) in [(ascii85(), true), (rfc_1924(), false)] {
        let letters = letters(|byte| value(&values, byte).is_some() || zeros && byte == b'z');
        let rows = rows(content, &letters, SHORTEST * 5 / 4 + 1);
        if rows.is_empty() {
            continue;
        }
        for skip in 0..5 {
            let mut bytes = Vec::new();
            for row in &rows {
                unpack(row.get(skip..).unwrap_or_default(), &values, &mut bytes);
            }
            decoded.push(&how, bytes, budget);
        }
    }
}

/// Decodes until the first group that stands for nothing.
fn unpack(letters: &[u8], values: &Values, bytes: &mut Vec<u8>) {
    let (mut group, mut count) = (0u64, 0usize);
    for letter in letters {
        let Some(value) = value(values, *letter) else {
            if count == 0 {
                bytes.extend([0; 4]);
                continue;
            }
            return;
        };
        group = group * 85 + u64::from(value);
        count += 1;
        if count == 5 {
            let Ok(word) = u32::try_from(group) else { return };
            bytes.extend(word.to_be_bytes());
            (group, count) = (0, 0);
        }
    }
    // What is missing of the last group is filled up with the highest value.
    if count > 1 {
        let full = (count..5).fold(group, |group, _| group * 85 + 84);
        if let Ok(word) = u32::try_from(full) {
            bytes.extend(word.to_be_bytes().iter().take(count - 1));
        }
    }
}
