//! Encodings of so many bits a letter: base64, base32, and hexadecimal digits in a row.

use std::{array, borrow::Cow};

use super::{
    Decoded, SHORTEST, Transform,
    rows::{letters, rows, runs},
    then,
};
use crate::{plain::rot13, trace::Budget};

/// An encoding whose letters stand for so many bits each.
struct Radix {
    step: Transform,
    bits: u32,
    /// Letters until bits and bytes begin together again: as many places where a text may begin.
    cycle: usize,
    value: fn(u8) -> Option<u8>,
}

/// Base32 is of one case; in another there may be a word right before it.
const ALL: [Radix; 4] = [
    Radix { step: Transform::Hex, bits: 4, cycle: 2, value: hex },
    Radix { step: Transform::Base32, bits: 5, cycle: 8, value: base32 },
    Radix { step: Transform::Base32, bits: 5, cycle: 8, value: small_base32 },
    Radix { step: Transform::Base64, bits: 6, cycle: 4, value: base64 },
];

pub(super) fn hex(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

fn base32(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'2'..=b'7' => Some(byte - b'2' + 26),
        _ => None,
    }
}

fn small_base32(byte: u8) -> Option<u8> {
    if byte.is_ascii_uppercase() { None } else { base32(byte.to_ascii_uppercase()) }
}

/// Both alphabets at once.
fn base64(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

pub(super) fn decode(
    content: &[u8],
    before: &[Transform],
    decoded: &mut Decoded,
    budget: &mut Budget,
) {
    unpack_all(&rows_of(content), before, decoded, budget);
}

/// The same after rot13, which only moves letters within their alphabet.
pub(super) fn decode_turned(content: &[u8], decoded: &mut Decoded, budget: &mut Budget) {
    let mut rows = rows_of(content);
    for row in &mut rows {
        row.to_mut().iter_mut().for_each(|byte| *byte = rot13(*byte));
    }
    unpack_all(&rows, &[Transform::Rot13], decoded, budget);
}

/// Of the largest alphabet; the smaller ones are part of it.
fn rows_of(content: &[u8]) -> Vec<Cow<'_, [u8]>> {
    rows(content, &letters(|byte| base64(byte).is_some()), SHORTEST * 8 / 6 + 1)
}

fn unpack_all(
    rows: &[Cow<'_, [u8]>],
    before: &[Transform],
    decoded: &mut Decoded,
    budget: &mut Budget,
) {
    if rows.is_empty() {
        return;
    }
    for radix in &ALL {
        let bits = usize::try_from(radix.bits).unwrap_or(8);
        let shortest = (SHORTEST * 8).div_ceil(bits);
        let letters = letters(|byte| (radix.value)(byte).is_some());
        let parts = rows
            .iter()
            .flat_map(|row| runs(row, &letters, shortest).filter_map(|part| row.get(part)));
        let parts: Vec<_> = parts.collect();
        if parts.is_empty() {
            continue;
        }
        let mut bytes = 0..=u8::MAX;
        let values = array::from_fn(|_| bytes.next().and_then(radix.value).map_or(0, u32::from));
        for skip in 0..radix.cycle {
            let mut bytes = Vec::new();
            for part in &parts {
                unpack(&values, radix.bits, part.get(skip..).unwrap_or_default(), &mut bytes);
            }
            decoded.push(&then(before, radix.step), bytes, budget);
        }
    }
}

fn unpack(values: &[u32; 256], bits: u32, letters: &[u8], bytes: &mut Vec<u8>) {
    let (mut held, mut count) = (0u32, 0u32);
    bytes.extend(letters.iter().filter_map(|letter| {
        let value = values.get(usize::from(*letter)).copied().unwrap_or_default();
        held = held << bits | value;
        count += bits;
        if count < 8 {
            return None;
        }
        count -= 8;
        let [.., byte] = (held >> count).to_be_bytes();
        held &= (1 << count) - 1;
        Some(byte)
    }));
}
