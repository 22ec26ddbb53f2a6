//! How much a piece of a content tells: whether finding it elsewhere can be chance.
//!
//! There is no list of common words or texts here. What a piece tells is estimated from its form: how
//! its bytes follow one another, and whether it looks like a record, an assignment or a secret.

use std::{collections::HashSet, ops::Range};

use crate::{fingerprint::WINDOW, plain::is_space};

/// A shared run that tells so much is a copy: some 110 letters of prose or code, 90 of a table, 60 of
/// base64, 40 bytes of a binary.
pub(crate) const COPY: u32 = 260;

/// A whole content that tells so much is a copy, however short it is.
pub(crate) const WHOLE: u32 = 40;

/// Whether a whole content of so many bytes, which tells `bits`, is a copy where it is as it was.
pub(crate) fn is_short_copy(length: usize, bits: u32) -> bool {
    bits >= WHOLE || length >= WORD && bits >= WHOLE * 3 / 4
}

/// Lines that together tell so much, and a quarter of all that the content tells, are a copy.
pub(crate) const LINES: u32 = 400;

/// The shortest line that is a copy by itself, in bytes.
const LINE: usize = 20;

/// The shortest word that can be a secret, in bytes.
const WORD: usize = 16;

/// An estimate of what `piece` tells, in bits.
pub(crate) fn bits(piece: &[u8]) -> u32 {
    bits_up_to(piece, u32::MAX)
}

/// The same, of as much of `piece` as is needed to tell `most` bits.
pub(crate) fn bits_up_to(piece: &[u8], most: u32) -> u32 {
    /// Four bytes in a row that were there before, and what they cost.
    const AGAIN: u32 = 2;
    let mut seen: HashSet<[u8; 4]> = HashSet::new();
    let mut last = [0u8; 4];
    let mut quarters = 0u32;
    for byte in piece {
        let [_, second, third, previous] = last;
        last = [second, third, previous, *byte];
        let cost = if seen.insert(last) { quarter_bits(previous, *byte) } else { AGAIN };
        quarters = quarters.saturating_add(cost);
        if quarters / 4 >= most {
            break;
        }
    }
    quarters / 4
}

/// What `byte` tells after `previous`, in quarters of a bit. Letters go on as letters do.
fn quarter_bits(previous: u8, byte: u8) -> u32 {
    let digit = |byte: u8| byte.is_ascii_digit();
    match (previous, byte) {
        (a, b) if a == b => 2,
        (a, b) if a.is_ascii_lowercase() && b.is_ascii_lowercase() => 8,
        (a, b) if a.is_ascii_uppercase() && b.is_ascii_uppercase() => 9,
        (a, b) if digit(a) && digit(b) => 12,
        (a, b) if a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric() => 18,
        (_, b) if b.is_ascii_alphanumeric() => 12,
        (_, b'!'..=b'~') => 10,
        _ => 24,
    }
}

/// The pieces of `content` each of which is a copy by itself, if it is found whole: as ranges of the
/// content without its white space.
pub(crate) fn pieces(content: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in content.split(|byte| *byte == b'\n') {
        let mut at = start;
        for word in line.split(|byte| !is_of_a_word(*byte)) {
            let length = plain_length(word);
            if is_secret(word) {
                found.push(at..at + length);
            }
            at += length + 1;
        }
        let length = plain_length(line);
        // Where words are apart by white space, no byte stands between them.
        let spaced = line.len() != length;
        if spaced {
            found.retain(|piece: &Range<usize>| piece.start < start);
            found.extend(secrets_of_spaced(line, start));
        }
        if is_record(line.trim_ascii()) {
            found.push(start..start + length);
        }
        start += length;
    }
    found
}

/// The lines of `content`, as ranges of it without its white space.
pub(crate) fn lines(content: &[u8]) -> Vec<Range<usize>> {
    let mut start = 0;
    let line = |line: &[u8]| {
        let range = start..start + plain_length(line);
        start = range.end;
        range
    };
    content.split(|byte| *byte == b'\n').map(line).filter(|line| line.len() >= WINDOW).collect()
}

fn secrets_of_spaced(line: &[u8], start: usize) -> impl Iterator<Item = Range<usize>> {
    let mut at = start;
    line.split(|byte| is_space(*byte)).flat_map(move |part| {
        let mut inner = at;
        at += part.len();
        part.split(|byte| !is_of_a_word(*byte)).filter_map(move |word| {
            let range = inner..inner + word.len();
            inner += word.len() + 1;
            is_secret(word).then_some(range)
        })
    })
}

fn plain_length(content: &[u8]) -> usize {
    content.iter().filter(|byte| !is_space(**byte)).count()
}

fn is_of_a_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+~".contains(&byte)
}

/// Whether a word is like a key or a token: letters and digits in turn, as no name has them.
fn is_secret(word: &[u8]) -> bool {
    if word.len() < WORD {
        return false;
    }
    let pairs = || word.iter().zip(word.iter().skip(1));
    let turns = pairs()
        .filter(|(a, b)| {
            a.is_ascii_alphabetic() && b.is_ascii_digit()
                || a.is_ascii_digit() && b.is_ascii_alphabetic()
        })
        .count();
    let cases = pairs().filter(|(a, b)| a.is_ascii_uppercase() && b.is_ascii_lowercase()).count();
    turns >= 4 || turns >= 1 && cases * 6 >= word.len()
}

/// Whether a line is a record of a table or an assignment with a value worth the name.
fn is_record(line: &[u8]) -> bool {
    if line.len() < LINE || distinct(line) < 8 {
        return false;
    }
    let digits = line.iter().any(u8::is_ascii_digit);
    let bracketed = line.iter().any(|byte| b"()[]{}".contains(byte));
    let fields = b":,;|\t".iter().map(|mark| line.split(|byte| byte == mark).count() - 1).max();
    let table = digits && fields.is_some_and(|fields| fields >= 4 || fields == 3 && !bracketed);
    table || is_assignment(line)
}

/// `NAME=value`, as in a file of settings.
fn is_assignment(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"export ").unwrap_or(line);
    let Some(at) = line.iter().position(|byte| *byte == b'=') else { return false };
    let (name, value) = line.split_at(at);
    let named =
        name.iter().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'0'..=b'9'));
    named && !name.is_empty() && distinct(value) > 5 && value.get(1) != Some(&b' ')
}

fn distinct(bytes: &[u8]) -> usize {
    bytes.iter().collect::<HashSet<_>>().len()
}

/// How many bytes of `content`, white space aside, are a block of comments at its head: a licence or
/// a file's description, which other files have too. Zero where little else is in it.
pub(crate) fn head(content: &[u8]) -> usize {
    const MARKS: [&[u8]; 6] = [b"#", b"//", b"/*", b"*", b"--", b";"];
    let mut length = 0;
    for line in content.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        if !line.is_empty() && !MARKS.iter().any(|mark| line.starts_with(mark)) {
            break;
        }
        length += plain_length(line);
    }
    if length * 2 < plain_length(content) { length } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let plain: Vec<u8> = text.bytes().filter(|byte| !is_space(*byte)).collect();
        let piece = |range: Range<usize>| String::from_utf8_lossy(&plain[range]).into_owned();
        pieces(text.as_bytes()).into_iter().map(piece).collect()
    }

    #[test]
    fn records_assignments_and_secrets_are_pieces() {
        #[rustfmt::skip]
        let table: &[(&str, &[&str])] = &[
            ("root:x:0:0:root:/root:/bin/bash\nx",      &["root:x:0:0:root:/root:/bin/bash"]),
            ("a\nDB_PASSWORD=hunter2-correct\n",        &["DB_PASSWORD=hunter2-correct"]),
            ("key is sk-9f8a7b6c5d4e3f2a1b0c here",     &["sk-9f8a7b6c5d4e3f2a1b0c"]),
            ("x = 'sk-9f8a7b6c5d4e3f2a1b0c';",          &["sk-9f8a7b6c5d4e3f2a1b0c"]),
            ("from __future__ import annotations",      &[]),
            ("id,name,email,amount,created",            &[]),
            ("if __name__ == \"__main__\":",            &[]),
            ("https://www.apache.org/licenses/LICENSE-2.0", &[]),
            ("--------------------------------",        &[]),
        ];
        for (text, expected) in table {
            assert_eq!(found(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn random_bytes_tell_more_than_prose() {
        let prose = b"thequickbrownfoxjumpsoverthelazydog";
        let key = b"b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAA";
        assert!(bits(prose) * 4 < bits(key) * 3, "{} {}", bits(prose), bits(key));
        assert!(bits(&[7; 1000]) < WHOLE * 13);
    }
}
