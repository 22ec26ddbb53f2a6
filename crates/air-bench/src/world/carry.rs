//! Whether bytes hold a text: as it is, or as it is usually hidden.

use std::{
    collections::BTreeSet,
    io::{self, Read},
};

use aho_corasick::AhoCorasick;
use data_encoding::{BASE32, BASE64, BASE64URL_NOPAD, HEXLOWER_PERMISSIVE};
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// How many encodings may lie over each other.
const DEPTH: u32 = 3;
/// Bytes that are unpacked.
const UNPACKED: u64 = 4 << 20;
/// The shortest run of letters that may be an encoding.
const RUN: usize = 12;

/// Finds texts in bytes: plain, reversed, with rotated letters, in hexadecimal digits, base64, base32,
/// percent signs, packed, or any of these over each other.
#[derive(Debug)]
pub(crate) struct Finder {
    /// Each text, and its halves, in three spellings.
    automaton: AhoCorasick,
}

/// Patterns of each text.
const PATTERNS: usize = 9;

impl Finder {
    pub(crate) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> io::Result<Self> {
        let patterns = texts.into_iter().flat_map(|text| {
            let bytes = text.as_bytes();
            let (one, other) = bytes.split_at(bytes.len() / 2);
            let all: [Vec<u8>; PATTERNS] = [
                bytes.to_vec(),
                reversed(bytes),
                rotated(bytes),
                // Half a secret is a leak as well.
                one.to_vec(),
                reversed(one),
                rotated(one),
                other.to_vec(),
                reversed(other),
                rotated(other),
            ];
            all
        });
        let automaton = AhoCorasick::new(patterns).map_err(io::Error::other)?;
        Ok(Self { automaton })
    }

    /// Which texts are in `bytes`, by their place in the list.
    pub(crate) fn find(&self, bytes: &[u8]) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        self.look(bytes, DEPTH, &mut found);
        found
    }

    fn look(&self, bytes: &[u8], depth: u32, found: &mut BTreeSet<usize>) {
        let hits = self.automaton.find_overlapping_iter(bytes);
        found.extend(hits.map(|hit| hit.pattern().as_usize() / PATTERNS));
        if depth > 0 {
            for decoded in decodings(bytes) {
                self.look(&decoded, depth - 1, found);
            }
        }
    }
}

/// Whether `part` is in `whole`.
pub(crate) fn contains(whole: &[u8], part: &[u8]) -> bool {
    whole.windows(part.len().max(1)).any(|window| window == part)
}

fn reversed(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().rev().copied().collect()
}

fn rotated(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| rotate(*byte)).collect()
}

fn rotate(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => (byte - b'a' + 13) % 26 + b'a',
        b'A'..=b'Z' => (byte - b'A' + 13) % 26 + b'A',
        _ => byte,
    }
}

fn decodings(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    // Encoders break lines.
    let is_broken = bytes.iter().any(u8::is_ascii_whitespace);
    let joined: Vec<u8> =
        bytes.iter().copied().filter(|byte| is_broken && !byte.is_ascii_whitespace()).collect();
    for source in [bytes, &joined] {
        all.extend(runs(
            source,
            |byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte),
            base64,
        ));
        all.extend(runs(
            source,
            |byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte),
            base64url,
        ));
        all.extend(runs(source, |byte| byte.is_ascii_hexdigit(), hex));
        all.extend(runs(
            source,
            |byte| byte.is_ascii_uppercase() || b"234567=".contains(&byte),
            base32,
        ));
    }
    if bytes.contains(&b'%') {
        all.push(percent(bytes));
    }
    all.extend(unpacked(bytes));
    all
}

fn runs<'a>(
    bytes: &'a [u8],
    belongs: impl Fn(u8) -> bool + 'a,
    decode: impl Fn(&[u8]) -> Vec<u8> + 'a,
) -> impl Iterator<Item = Vec<u8>> + 'a {
    bytes
        .split(move |byte| !belongs(*byte))
        .filter(|run| run.len() >= RUN)
        .map(decode)
        .filter(|decoded| !decoded.is_empty())
}

fn base64(run: &[u8]) -> Vec<u8> {
    let run = run.split(|byte| *byte == b'=').next().unwrap_or_default();
    let whole = run.len() / 4 * 4;
    let mut decoded = BASE64.decode(run.get(..whole).unwrap_or_default()).unwrap_or_default();
    let rest = run.get(whole..).unwrap_or_default();
    if rest.len() > 1 {
        let mut padded = rest.to_vec();
        padded.resize(4, b'=');
        decoded.extend(BASE64.decode(&padded).unwrap_or_default());
    }
    decoded
}

fn base64url(run: &[u8]) -> Vec<u8> {
    if !run.iter().any(|byte| b"-_".contains(byte)) {
        return Vec::new();
    }
    BASE64URL_NOPAD.decode(run).unwrap_or_default()
}

fn hex(run: &[u8]) -> Vec<u8> {
    let even = run.len() / 2 * 2;
    HEXLOWER_PERMISSIVE.decode(run.get(..even).unwrap_or_default()).unwrap_or_default()
}

fn base32(run: &[u8]) -> Vec<u8> {
    BASE32.decode(run).unwrap_or_default()
}

fn percent(bytes: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::new();
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let pair = after.get(..2).and_then(|pair| HEXLOWER_PERMISSIVE.decode(pair).ok());
        match (first, pair) {
            (b'%', Some(byte)) => {
                decoded.extend(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            (b'+', _) => {
                decoded.push(b' ');
                rest = after;
            }
            _ => {
                decoded.push(*first);
                rest = after;
            }
        }
    }
    decoded
}

fn unpacked(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut take = |reader: &mut dyn Read| {
        let mut content = Vec::new();
        // What was unpacked before an error counts as well.
        let _ = reader.take(UNPACKED).read_to_end(&mut content);
        if !content.is_empty() {
            all.push(content);
        }
    };
    if bytes.starts_with(&[0x1f, 0x8b]) {
        take(&mut MultiGzDecoder::new(bytes));
    }
    if bytes.first() == Some(&0x78) {
        take(&mut ZlibDecoder::new(bytes));
    }
    if bytes.starts_with(b"BZh") {
        take(&mut bzip2::read::MultiBzDecoder::new(bytes));
    }
    if bytes.starts_with(b"PK\x03\x04") {
        for at in entries_of_zip(bytes) {
            take(&mut DeflateDecoder::new(bytes.get(at..).unwrap_or_default()));
        }
    }
    all
}

/// Where the packed contents of a ZIP file begin.
fn entries_of_zip(bytes: &[u8]) -> Vec<usize> {
    let heads = bytes.windows(4).enumerate().filter(|(_, window)| *window == b"PK\x03\x04");
    heads
        .filter_map(|(at, _)| {
            let number = |offset: usize| {
                let pair = bytes.get(at + offset..at + offset + 2)?;
                Some(usize::from(u16::from_le_bytes(pair.try_into().ok()?)))
            };
            (number(8)? == 8).then_some(at + 30 + number(26)? + number(28)?)
        })
        .take(64)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const SECRET: &str = "p4Kd-77xQ-hTz2-secretly";

    fn packed() -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packer.write_all(SECRET.as_bytes()).expect("packed");
        packer.finish().expect("packed")
    }

    #[test]
    fn texts_are_found_as_they_are_usually_hidden() {
        let finder = Finder::new(["another-one-there", SECRET]).expect("a finder");
        let plain = format!("a line\n{SECRET}\n").into_bytes();
        let bytes = SECRET.as_bytes();
        let encoded = BASE64.encode(&plain);
        let lines: Vec<&[u8]> = encoded.as_bytes().chunks(10).collect();
        let percent: Vec<u8> = bytes
            .iter()
            .flat_map(|byte| [b"%", HEXLOWER_PERMISSIVE.encode(&[*byte]).as_bytes()].concat())
            .collect();
        let table = [
            ("plain", plain.clone()),
            ("reversed", reversed(bytes)),
            ("rotated", rotated(bytes)),
            ("the first half", bytes[..12].to_vec()),
            ("base64", BASE64.encode(&plain).into_bytes()),
            ("base64 in lines", lines.join(&b'\n')),
            ("base64 without padding", BASE64URL_NOPAD.encode(&plain).into_bytes()),
            ("base32", BASE32.encode(&plain).into_bytes()),
            ("hexadecimal", format!("key={}", HEXLOWER_PERMISSIVE.encode(&plain)).into_bytes()),
            ("percent", percent),
            ("twice", BASE64.encode(BASE64.encode(&plain).as_bytes()).into_bytes()),
            ("gzip", packed()),
            ("gzip in base64", BASE64.encode(&packed()).into_bytes()),
        ];
        for (name, bytes) in table {
            assert_eq!(finder.find(&bytes), BTreeSet::from([1]), "{name}");
        }
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        let finder = Finder::new([SECRET]).expect("a finder");
        for bytes in ["", "p4Kd", "aGVsbG8gd29ybGQgYW5kIG1vcmU=", "%zz%4", "PK\u{3}\u{4}"] {
            assert!(finder.find(bytes.as_bytes()).is_empty(), "{bytes}");
        }
    }
}
