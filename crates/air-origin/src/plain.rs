//! A content without what copying often changes: white space. And when two bytes count as equal.

use std::{iter, sync::LazyLock};

/// How far apart the marks are by which a position is found again.
const STRIDE: usize = 1024;

/// A content without its white space, so that line ends and indentation do not matter.
#[derive(Debug, Default)]
pub(crate) struct Plain {
    pub bytes: Vec<u8>,
    /// Where every [`STRIDE`]th byte stood.
    marks: Vec<usize>,
}

pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

impl Plain {
    pub(crate) fn of(content: &[u8]) -> Self {
        let mut plain = Self { bytes: Vec::with_capacity(content.len()), marks: Vec::new() };
        for (at, byte) in content.iter().enumerate() {
            if !is_space(*byte) {
                if plain.bytes.len().is_multiple_of(STRIDE) {
                    plain.marks.push(at);
                }
                plain.bytes.push(*byte);
            }
        }
        plain
    }

    /// Where byte `at` stood in `content`, of which this was made.
    pub(crate) fn position(&self, content: &[u8], at: usize) -> usize {
        let mark = self.marks.get(at / STRIDE).copied().unwrap_or(content.len());
        let rest = content.get(mark..).unwrap_or_default();
        let mut kept = rest.iter().enumerate().filter(|(_, byte)| !is_space(**byte));
        kept.nth(at % STRIDE).map_or(content.len(), |(offset, _)| mark + offset)
    }
}

/// One of each class of bytes that count as equal: a letter, the same letter in the other case, and
/// what rot13 makes of them. It tells less apart than bytes do, but of a dozen in a row, enough.
pub(crate) fn folded(byte: u8) -> u8 {
    let lower = byte.to_ascii_lowercase();
    if matches!(lower, b'n'..=b'z') { lower - 13 } else { lower }
}

static FOLDED: LazyLock<[u8; 256]> = LazyLock::new(|| {
    let mut bytes = 0..=u8::MAX;
    std::array::from_fn(|_| folded(bytes.next().unwrap_or_default()))
});

/// [`folded`], by table.
pub(crate) fn folds() -> impl Fn(u8) -> u8 {
    let table = &*FOLDED;
    move |byte| table.get(usize::from(byte)).copied().unwrap_or(byte)
}

pub(crate) fn rot13(byte: u8) -> u8 {
    match byte {
        b'a'..=b'm' | b'A'..=b'M' => byte + 13,
        b'n'..=b'z' | b'N'..=b'Z' => byte - 13,
        _ => byte,
    }
}

/// How many bytes in a row are equal, [`folded`].
pub(crate) fn common<'a>(
    one: impl Iterator<Item = &'a u8>,
    other: impl Iterator<Item = &'a u8>,
) -> usize {
    let fold = folds();
    iter::zip(one, other).take_while(|(one, other)| fold(**one) == fold(**other)).count()
}
