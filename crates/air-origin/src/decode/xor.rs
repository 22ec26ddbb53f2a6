//! Keys under which a packed content shows the mark at its start.

/// How packed contents start.
const MARKS: [&[u8]; 5] = [
    &[0x1f, 0x8b, 0x08, 0x00],
    &[0x1f, 0x8b, 0x08, 0x08],
    &[0x28, 0xb5, 0x2f, 0xfd],
    &[0xfd, b'7', b'z', b'X', b'Z', 0],
    b"PK\x03\x04",
];

/// Keys, each of one byte, that bring forth the start of a packed content somewhere.
pub(super) fn keys_of_packed(content: &[u8]) -> Vec<u8> {
    let mut keys = Vec::new();
    for (at, [one, other]) in content.array_windows().enumerate() {
        // The differences between the first two bytes of the marks.
        if !matches!(one ^ other, 0x94 | 0x9d | 0xca | 0x1b) {
            continue;
        }
        let rest = content.get(at..).unwrap_or_default();
        for mark in MARKS {
            let key = one ^ mark.first().copied().unwrap_or_default();
            let shown =
                rest.len() > mark.len() && rest.iter().zip(mark).all(|(a, b)| a ^ key == *b);
            if shown && key != 0 && !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    keys
}
