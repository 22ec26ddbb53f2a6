//! UTF-16 and UTF-32: letters with zeros between them.

use super::{Decoded, SHORTEST, Transform, then};
use crate::trace::Budget;

pub(super) fn decode(
    content: &[u8],
    before: &[Transform],
    decoded: &mut Decoded,
    budget: &mut Budget,
) {
    let how = then(before, Transform::Utf16);
    match content {
        [0xff, 0xfe, rest @ ..] => decoded.push(&how, marked(rest, u16::from_le_bytes), budget),
        [0xfe, 0xff, rest @ ..] => decoded.push(&how, marked(rest, u16::from_be_bytes), budget),
        _ => {}
    }
    if content.contains(&0) {
        decoded.push(&how, unmarked(content), budget);
    }
}

fn marked(content: &[u8], unit: fn([u8; 2]) -> u16) -> Vec<u8> {
    let units = content.chunks_exact(2).filter_map(|two| Some(unit(two.try_into().ok()?)));
    let text: String = char::decode_utf16(units)
        .map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    text.into_bytes()
}

/// Rows of letters with one zero after each, or three: plain letters, in whichever byte order.
fn unmarked(content: &[u8]) -> Vec<u8> {
    let (mut kept, mut row) = (Vec::new(), Vec::new());
    let mut zeros = 0usize;
    for byte in content {
        if *byte == 0 {
            zeros += 1;
            continue;
        }
        if zeros != 1 && zeros != 3 {
            if row.len() >= SHORTEST {
                kept.append(&mut row);
            }
            row.clear();
        }
        zeros = 0;
        row.push(*byte);
    }
    if row.len() >= SHORTEST {
        kept.append(&mut row);
    }
    kept
}
