//! Bytes as text in messages (RFC 4648), for serde's `with`.

use serde::{Deserialize, Deserializer, Serializer, de::Error};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(crate) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for place in 0..4 {
            let digit = usize::try_from(bits >> (18 - 6 * place) & 63).ok();
            let digit = digit.filter(|_| place <= group.len()).and_then(|at| ALPHABET.get(at));
            text.push(digit.map_or('=', |digit| char::from(*digit)));
        }
    }
    to.serialize_str(&text)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    let text = std::borrow::Cow::<str>::deserialize(from)?;
    let text = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for group in text.chunks(4) {
        let mut bits = 0_u32;
        for byte in group {
            let digit = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return Err(D::Error::custom("not base64")),
            };
            bits = bits << 6 | u32::from(digit);
        }
        bits <<= 6 * (4 - group.len());
        let whole = bits.to_be_bytes();
        bytes.extend(whole.iter().skip(1).take(group.len() - 1));
    }
    Ok(bytes)
}
