//! Bytes written as letters. `None` where a letter is none of the alphabet.

/// `bytes` in hexadecimal digits.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    to_letters(bytes, b"0123456789abcdef", 4, 1)
}

/// `bytes` in base 64, on one line.
pub(crate) fn to_base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    to_letters(bytes, LETTERS, 6, 4)
}

/// `bytes` in base 32, on one line.
pub(crate) fn to_base32(bytes: &[u8]) -> String {
    to_letters(bytes, b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 5, 8)
}

/// As many bits a letter, in groups of as many letters.
fn to_letters(bytes: &[u8], letters: &[u8], width: u32, group: usize) -> String {
    let mut all = String::new();
    let mut bits = 0_u32;
    let mut held = 0;
    let mut put = |bits: u32| {
        let at = usize::try_from(bits).unwrap_or_default();
        all.extend(letters.get(at).copied().map(char::from));
    };
    for byte in bytes {
        bits = (bits << 8) | u32::from(*byte);
        held += 8;
        while held >= width {
            held -= width;
            put(bits >> held);
            bits &= (1 << held) - 1;
        }
    }
    if held > 0 {
        put(bits << (width - held));
    }
    while !all.len().is_multiple_of(group) {
        all.push('=');
    }
    all
}

/// Hexadecimal digits.
pub(crate) fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|c| !c.is_ascii_whitespace())
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()?;
    digits
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => u8::try_from(high * 16 + low).ok(),
            _ => None,
        })
        .collect()
}

/// Base 64, also that of URLs.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bits = 0_u32;
    let mut held = 0;
    let mut bytes = Vec::new();
    for letter in text.bytes().filter(|letter| !letter.is_ascii_whitespace()) {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff).ok()?);
            bits &= (1 << held) - 1;
        }
    }
    Some(bytes)
}

/// Base 32.
pub(crate) fn base32(text: &str) -> Option<Vec<u8>> {
    let mut bits = 0_u32;
    let mut held = 0;
    let mut bytes = Vec::new();
    for letter in text.bytes().take_while(|letter| *letter != b'=') {
        let five = match letter.to_ascii_uppercase() {
            letter @ b'A'..=b'Z' => letter - b'A',
            letter @ b'2'..=b'7' => letter - b'2' + 26,
            _ => return None,
        };
        bits = (bits << 5) | u32::from(five);
        held += 5;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff).ok()?);
            bits &= (1 << held) - 1;
        }
    }
    Some(bytes)
}

/// Thirteen letters further, which is thirteen letters back as well.
pub(crate) fn turned(text: &str) -> String {
    let by = |c: char, start: u8| {
        u8::try_from(c).map_or(c, |c| char::from((c - start + 13) % 26 + start))
    };
    let letter = |c| match c {
        'a'..='z' => by(c, b'a'),
        'A'..='Z' => by(c, b'A'),
        _ => c,
    };
    text.chars().map(letter).collect()
}
