//! What may be hidden in a content: finds what looks encoded or packed, and takes it out.
//!
//! Nothing here knows whether it is right: a word that only looks like base64 is decoded too, and what
//! comes out is like no source. So a decoder may guess, as long as it is cheap. What it finds of one
//! kind becomes one content, one piece after the other, so that pieces far apart are looked at together.

mod archive;
mod base85;
mod dump;
mod escape;
mod octal;
mod packed;
mod radix;
mod rows;
mod utf16;
mod xor;

use std::{fmt, ops::Range};

use crate::{Sources, trace::Budget};

/// One way to change or to pack a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Transform {
    /// Back to front, all of it or every line.
    Reversed,
    /// Upper and lower case.
    Case,
    /// Letters moved by 13.
    Rot13,
    /// Every byte combined with this one.
    Xor(u8),
    /// The standard or the URL alphabet, padded or not.
    Base64,
    /// Of RFC 4648.
    Base32,
    /// Ascii85, or the alphabet of RFC 1924.
    Base85,
    /// Digits in a row or apart, or a dump such as that of `xxd`.
    Hex,
    /// Numbers from 0 to 255.
    Decimal,
    /// `%41`, as in a URL.
    Percent,
    /// `\n`, `\x41`, `\u0041` and the like, as in a string literal.
    Escaped,
    /// UTF-16 or UTF-32.
    Utf16,
    /// A gzip stream.
    Gzip,
    /// A zlib stream.
    Zlib,
    /// A raw deflate stream.
    Deflate,
    /// A bzip2 stream.
    Bzip2,
    /// An xz stream.
    Xz,
    /// An lzma stream of the older form.
    Lzma,
    /// A Zstandard frame.
    Zstd,
    /// A zip archive.
    Zip,
    /// A tar archive.
    Tar,
}

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reversed => f.write_str("reversed"),
            Self::Case => f.write_str("other case"),
            Self::Rot13 => f.write_str("rot13"),
            Self::Xor(key) => write!(f, "xor {key:#04x}"),
            Self::Base64 => f.write_str("base64"),
            Self::Base32 => f.write_str("base32"),
            Self::Base85 => f.write_str("base85"),
            Self::Hex => f.write_str("hex"),
            Self::Decimal => f.write_str("decimal"),
            Self::Percent => f.write_str("percent encoding"),
            Self::Escaped => f.write_str("escapes"),
            Self::Utf16 => f.write_str("utf-16"),
            Self::Gzip => f.write_str("gzip"),
            Self::Zlib => f.write_str("zlib"),
            Self::Deflate => f.write_str("deflate"),
            Self::Bzip2 => f.write_str("bzip2"),
            Self::Xz => f.write_str("xz"),
            Self::Lzma => f.write_str("lzma"),
            Self::Zstd => f.write_str("zstd"),
            Self::Zip => f.write_str("zip"),
            Self::Tar => f.write_str("tar"),
        }
    }
}

/// The shortest thing worth decoding, in bytes that come out of it.
const SHORTEST: usize = 19;

/// Up to so many bytes, a content is also decoded back to front, and after rot13.
const TURNED: usize = 1 << 19;

/// Keys that are tried on one content.
const MOST_KEYS: usize = 4;

/// What came out of a content.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    pub contents: Vec<(Vec<Transform>, Vec<u8>)>,
    /// Why something did not come out.
    pub incomplete: Vec<String>,
}

impl Decoded {
    /// Adds to what came out in this way, as far as the budget goes.
    fn push(&mut self, how: &[Transform], mut bytes: Vec<u8>, budget: &mut Budget) {
        if bytes.len() > budget.decoded {
            bytes.truncate(budget.decoded);
            self.note("more is packed in it than may be unpacked");
        }
        budget.decoded -= bytes.len();
        budget.spend(bytes.len());
        if !bytes.is_empty() {
            self.contents.push((how.to_vec(), bytes));
        }
    }

    /// The same, behind what came out likewise before.
    fn append(&mut self, how: &[Transform], mut bytes: Vec<u8>, budget: &mut Budget) {
        let at = self.contents.iter().position(|(earlier, _)| earlier == how);
        self.push(how, std::mem::take(&mut bytes), budget);
        if let Some(at) = at
            && self.contents.last().is_some_and(|(last, _)| last == how)
            && at + 1 < self.contents.len()
            && let Some((_, mut piece)) = self.contents.pop()
            && let Some((_, earlier)) = self.contents.get_mut(at)
        {
            earlier.append(&mut piece);
        }
    }

    fn note(&mut self, reason: &str) {
        if !self.incomplete.iter().any(|known| known == reason) {
            self.incomplete.push(reason.to_owned());
        }
    }
}

/// The parts of `content` that belong to an archive and are in it as they are.
pub(crate) fn spans(content: &[u8]) -> Vec<(Range<usize>, Transform)> {
    archive::spans(content)
}

/// Takes out of `content` what is encoded or packed in it. `how` says how one came to it.
pub(crate) fn decode(
    sources: &Sources,
    content: &[u8],
    how: &[Transform],
    budget: &mut Budget,
) -> Decoded {
    let mut decoded = Decoded::default();
    packed::decode(content, &[], &mut decoded, budget);
    texts(content, &[], &mut decoded, budget);
    // Reversed twice is as it was.
    let again = |step: Transform| how.last() == Some(&step);
    if content.len() <= TURNED && !again(Transform::Reversed) {
        let turned: Vec<u8> = content.iter().rev().copied().collect();
        packed::decode(&turned, &[Transform::Reversed], &mut decoded, budget);
        texts(&turned, &[Transform::Reversed], &mut decoded, budget);
    }
    if content.len() <= TURNED {
        radix::decode_turned(content, &mut decoded, budget);
    }
    if !how.iter().any(|step| matches!(step, Transform::Xor(_))) {
        let mut keys = xor::keys_of_packed(content);
        keys.extend(sources.keys(content, MOST_KEYS));
        keys.dedup();
        for key in keys.into_iter().take(MOST_KEYS) {
            let bytes = content.iter().map(|byte| byte ^ key).collect();
            decoded.push(&[Transform::Xor(key)], bytes, budget);
        }
    }
    decoded
}

/// What is written as text.
fn texts(content: &[u8], before: &[Transform], decoded: &mut Decoded, budget: &mut Budget) {
    budget.spend(content.len());
    radix::decode(content, before, decoded, budget);
    base85::decode(content, before, decoded, budget);
    dump::decode(content, before, decoded, budget);
    octal::decode(content, before, decoded, budget);
    escape::decode(content, before, decoded, budget);
    utf16::decode(content, before, decoded, budget);
}

/// `before`, and then `step`.
fn then(before: &[Transform], step: Transform) -> Vec<Transform> {
    before.iter().copied().chain([step]).collect()
}
