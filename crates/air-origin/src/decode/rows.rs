//! Letters of an alphabet in a row, found without a look at every byte.

use std::{array, borrow::Cow, iter, ops::Range};

use crate::plain::is_space;

/// Which bytes are letters of an alphabet.
pub(super) type Letters = [bool; 256];

pub(super) fn letters(is_letter: impl Fn(u8) -> bool) -> Letters {
    let mut bytes = 0..=u8::MAX;
    array::from_fn(|_| bytes.next().is_some_and(&is_letter))
}

/// The parts of `content` that are letters and nothing else, at least `shortest` of them.
pub(super) fn runs<'a>(
    content: &'a [u8],
    letters: &'a Letters,
    shortest: usize,
) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    iter::from_fn(move || {
        let run = run(content, from, letters, shortest)?;
        from = run.end;
        Some(run)
    })
}

/// The first run at `from` or behind it. What cannot be part of one is skipped: all up to the last
/// byte that is no letter, among the next `shortest`.
fn run(
    content: &[u8],
    mut from: usize,
    letters: &Letters,
    shortest: usize,
) -> Option<Range<usize>> {
    let is_letter = |byte: &u8| letters.get(usize::from(*byte)).copied().unwrap_or_default();
    while let Some(next) = content.get(from..from + shortest) {
        if let Some(last) = next.iter().rposition(|byte| !is_letter(byte)) {
            from += last + 1;
            continue;
        }
        let rest = content.get(from + shortest..).unwrap_or_default();
        let more = rest.iter().position(|byte| !is_letter(byte)).unwrap_or(rest.len());
        return Some(from..from + shortest + more);
    }
    None
}

/// A line that is shorter does not go on.
const LINE: usize = 16;

/// Rows of at least `shortest` letters. A row goes on after the end of a line, be it written as `\n`,
/// with what stands there in a list of strings.
pub(super) fn rows<'a>(
    content: &'a [u8],
    letters: &Letters,
    shortest: usize,
) -> Vec<Cow<'a, [u8]>> {
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(mut line) = run(content, from, letters, LINE) {
        line.start += usize::from(is_end_of_line(content, line.start));
        let mut row = Cow::Borrowed(content.get(line.clone()).unwrap_or_default());
        from = line.end;
        while line.len() >= LINE
            && let Some(next) = next_line(content, line.end, letters)
        {
            line = next;
            from = line.end;
            row.to_mut().extend_from_slice(content.get(line.clone()).unwrap_or_default());
        }
        if row.len() >= shortest {
            found.push(row);
        }
    }
    found
}

/// Whether the letter at `at` only stands for the end of a line.
fn is_end_of_line(content: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| content.get(before..));
    matches!(before, Some([b'\\', b'n' | b'r', ..]))
}

/// The line that follows the one which ends at `end`; none where no line ends there.
fn next_line(content: &[u8], end: usize, letters: &Letters) -> Option<Range<usize>> {
    let is_letter = |byte: &u8| letters.get(usize::from(*byte)).copied().unwrap_or_default();
    let (mut at, mut ends_line) = (end, false);
    while let Some(byte) = content.get(at) {
        match (byte, content.get(at + 1)) {
            (b'\\', Some(b'n' | b'r' | b'\n')) => (at, ends_line) = (at + 2, true),
            (byte, _) if is_letter(byte) => break,
            (b'\n' | b'\r', _) => (at, ends_line) = (at + 1, true),
            (b'"' | b'\'' | b',' | b'\\', _) => at += 1,
            (byte, _) if is_space(*byte) => at += 1,
            _ => return None,
        }
    }
    let rest = content.get(at..).unwrap_or_default();
    let length = rest.iter().position(|byte| !is_letter(byte)).unwrap_or(rest.len());
    (ends_line && length > 0).then_some(at..at + length)
}
