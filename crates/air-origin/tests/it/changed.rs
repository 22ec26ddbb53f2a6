//! What is done to contents.

use std::io::Write;

use data_encoding::{
    BASE32, BASE32_NOPAD, BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD, HEXLOWER, HEXUPPER,
};

pub(crate) type Change = (&'static str, fn(&[u8]) -> Vec<u8>);

pub(crate) fn base64(content: &[u8]) -> Vec<u8> {
    BASE64.encode(content).into_bytes()
}

pub(crate) fn wrapped(content: &[u8], width: usize, between: &str) -> Vec<u8> {
    content.chunks(width).flat_map(|line| [line, between.as_bytes()].concat()).collect()
}

pub(crate) fn base85(content: &[u8], letter: impl Fn(u8) -> u8) -> Vec<u8> {
    let mut text = Vec::new();
    for chunk in content.chunks(4) {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        let mut number = u32::from_be_bytes(word);
        let mut digits = [0; 5];
        for digit in digits.iter_mut().rev() {
            *digit = letter(u8::try_from(number % 85).unwrap());
            number /= 85;
        }
        text.extend_from_slice(&digits[..=chunk.len()]);
    }
    text
}

pub(crate) const RFC_1924: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

pub(crate) fn hex_apart(content: &[u8], before: &str, between: &str) -> Vec<u8> {
    let words: Vec<_> = content.iter().map(|byte| format!("{before}{byte:02x}")).collect();
    words.join(between).into_bytes()
}

pub(crate) fn xxd(content: &[u8]) -> Vec<u8> {
    let mut text = String::new();
    for (row, line) in content.chunks(16).enumerate() {
        let words: Vec<_> = line.chunks(2).map(|two| HEXLOWER.encode(two)).collect();
        text += &format!("{:08x}: {:<39}  {}\n", row * 16, words.join(" "), shown(line));
    }
    text.into_bytes()
}

fn shown(line: &[u8]) -> String {
    line.iter().map(|byte| if byte.is_ascii_graphic() { char::from(*byte) } else { '.' }).collect()
}

pub(crate) fn od(content: &[u8]) -> Vec<u8> {
    let mut text = String::new();
    for (row, line) in content.chunks(16).enumerate() {
        let words: String = line.iter().map(|byte| format!(" {byte:02x}")).collect();
        text += &format!("{:07o}{words}\n", row * 16);
    }
    text.into_bytes()
}

pub(crate) fn od_words(content: &[u8]) -> Vec<u8> {
    let mut text = String::new();
    for (row, line) in content.chunks(16).enumerate() {
        let word =
            |two: &[u8]| u16::from(two[0]) | two.get(1).map_or(0, |high| u16::from(*high) << 8);
        let words: String = line.chunks(2).map(|two| format!(" {:06o}", word(two))).collect();
        text += &format!("{:07o}{words}\n", row * 16);
    }
    text.into_bytes()
}

pub(crate) fn od_letters(content: &[u8]) -> Vec<u8> {
    let letter = |byte: &u8| match byte {
        b'\n' => "  \\n".to_owned(),
        b'\t' => "  \\t".to_owned(),
        b' '..=b'~' => format!("   {}", char::from(*byte)),
        _ => format!(" {byte:03o}"),
    };
    let mut text = String::new();
    for (row, line) in content.chunks(16).enumerate() {
        let letters: String = line.iter().map(letter).collect();
        text += &format!("{:07o}{letters}\n", row * 16);
    }
    text.into_bytes()
}

pub(crate) fn hexdump(content: &[u8]) -> Vec<u8> {
    let mut text = String::new();
    for (row, line) in content.chunks(16).enumerate() {
        let halves: Vec<_> = line
            .chunks(8)
            .map(|half| half.iter().map(|byte| format!("{byte:02x} ")).collect::<String>())
            .collect();
        text += &format!("{:08x}  {:<50}|{}|\n", row * 16, halves.join(" "), shown(line));
    }
    text.into_bytes()
}

pub(crate) fn words(content: &[u8]) -> Vec<u8> {
    let mut text = String::new();
    for (row, line) in content.chunks(16).enumerate() {
        text += &format!("{:07x}", row * 16);
        for two in line.chunks(2) {
            text += &format!(" {:02x}{:02x}", two.get(1).copied().unwrap_or_default(), two[0]);
        }
        text += "\n";
    }
    text.into_bytes()
}

pub(crate) fn percent(content: &[u8]) -> Vec<u8> {
    let one = |byte: &u8| {
        if byte.is_ascii_alphanumeric() {
            char::from(*byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    content.iter().map(one).collect::<String>().into_bytes()
}

pub(crate) fn repr(content: &[u8]) -> Vec<u8> {
    let escaped: String =
        content.iter().map(|byte| std::ascii::escape_default(*byte).to_string()).collect();
    format!("b'{escaped}'").into_bytes()
}

pub(crate) fn json(content: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(content).replace('\\', "\\\\").replace('"', "\\\"");
    format!("{{\"text\": \"{}\"}}", text.replace('\n', "\\n")).into_bytes()
}

pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zlib(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn deflate(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn bzip2(content: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::new(9));
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn xz(content: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn lzma(content: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::LzmaOptions::with_preset(1);
    let mut encoder = lzma_rust2::LzmaWriter::new_use_header(Vec::new(), &options, None).unwrap();
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd(content: &[u8]) -> Vec<u8> {
    zstd::encode_all(content, 3).unwrap()
}

/// A zip file of one entry: its header, its data, and no directory, which is not looked at.
pub(crate) fn zip_entry(name: &str, content: &[u8], method: u16, flags: u16) -> Vec<u8> {
    let data = if method == 8 { deflate(content) } else { content.to_vec() };
    let mut bytes = b"PK\x03\x04\x14\x00".to_vec();
    bytes.extend(flags.to_le_bytes());
    bytes.extend(method.to_le_bytes());
    bytes.extend([0; 8]);
    let size = if flags & 8 == 0 { u32::try_from(data.len()).unwrap() } else { 0 };
    bytes.extend(size.to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
    bytes.extend([0; 2]);
    bytes.extend(name.as_bytes());
    bytes.extend(data);
    bytes.extend(b"PK\x05\x06\x00\x00\x00\x00\x00\x00\x00\x00");
    bytes
}

pub(crate) fn stored(content: &[u8]) -> Vec<u8> {
    zip_entry("notes.txt", content, 0, 0)
}

pub(crate) fn deflated(content: &[u8]) -> Vec<u8> {
    [zip_entry("readme", b"nothing in here", 8, 0), zip_entry("notes.txt", content, 8, 8)].concat()
}

pub(crate) fn tar(content: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..9].copy_from_slice(b"notes.txt");
    header[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
    header[257..263].copy_from_slice(b"ustar\0");
    header.extend_from_slice(content);
    header.resize(header.len().next_multiple_of(512) + 1024, 0);
    header
}

pub(crate) fn reversed(content: &[u8]) -> Vec<u8> {
    content.iter().rev().copied().collect()
}

pub(crate) fn lines(content: &[u8]) -> Vec<&[u8]> {
    content.strip_suffix(b"\n").unwrap_or(content).split(|byte| *byte == b'\n').collect()
}

pub(crate) fn tac(content: &[u8]) -> Vec<u8> {
    lines(content).into_iter().rev().flat_map(|line| [line, b"\n"].concat()).collect()
}

pub(crate) fn rev(content: &[u8]) -> Vec<u8> {
    lines(content).into_iter().flat_map(|line| [&reversed(line)[..], b"\n"].concat()).collect()
}

pub(crate) fn scattered(content: &[u8]) -> Vec<u8> {
    let mut number = 0;
    lines(content)
        .into_iter()
        .flat_map(|line| {
            number += 1;
            [format!("entry {number} of the list: <").as_bytes(), line, b"> and so on\n"].concat()
        })
        .collect()
}

pub(crate) fn utf16(content: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(content).encode_utf16().flat_map(u16::to_le_bytes).collect()
}

pub(crate) fn rot13(content: &[u8]) -> Vec<u8> {
    let turn = |byte: &u8, first: u8| first + (byte - first + 13) % 26;
    content
        .iter()
        .map(|byte| match byte {
            b'a'..=b'z' => turn(byte, b'a'),
            b'A'..=b'Z' => turn(byte, b'A'),
            other => *other,
        })
        .collect()
}

pub(crate) fn xor(content: &[u8]) -> Vec<u8> {
    content.iter().map(|byte| byte ^ 0x5a).collect()
}

pub(crate) fn around(content: &[u8]) -> Vec<u8> {
    [b"some words before it, and then: ", content, b" and some more behind"].concat()
}

/// For every content.
pub(crate) const BYTES: &[Change] = &[
    ("plain", <[u8]>::to_vec),
    ("base64", base64),
    ("base64 without padding", |content| BASE64_NOPAD.encode(content).into_bytes()),
    ("base64 for URLs", |content| BASE64URL.encode(content).into_bytes()),
    ("base64 for URLs without padding", |content| BASE64URL_NOPAD.encode(content).into_bytes()),
    ("base64 in lines of 64", |content| wrapped(&base64(content), 64, "\n")),
    ("base64 in lines of 76", |content| wrapped(&base64(content), 76, "\r\n")),
    ("base64 in JSON", |content| {
        [b"{\"data\": \"", &wrapped(&base64(content), 76, "\\n")[..], b"\"}"].concat()
    }),
    ("base64 one byte on", |content| base64(&[b"x", content].concat())),
    ("base64 two bytes on", |content| base64(&[b"xy", content].concat())),
    ("base64 behind a word", |content| [b"data/", &base64(content)[..]].concat()),
    ("base64 twice", |content| base64(&base64(content))),
    ("base32", |content| BASE32.encode(content).into_bytes()),
    ("base32 small", |content| BASE32_NOPAD.encode(content).to_lowercase().into_bytes()),
    ("ascii85", |content| base85(content, |value| value + b'!')),
    ("base85", |content| base85(content, |value| RFC_1924[usize::from(value)])),
    ("hex", |content| HEXLOWER.encode(content).into_bytes()),
    ("HEX", |content| HEXUPPER.encode(content).into_bytes()),
    ("hex in lines", |content| wrapped(HEXLOWER.encode(content).as_bytes(), 60, "\n")),
    ("hex with colons", |content| hex_apart(content, "", ":")),
    ("hex with spaces", |content| hex_apart(content, "", " ")),
    ("hex in C", |content| hex_apart(content, "0x", ", ")),
    ("hex in escapes", |content| hex_apart(content, "\\x", "")),
    ("decimal", |content| format!("{content:?}").into_bytes()),
    ("xxd", xxd),
    ("od -t x1", od),
    ("od as it is", od_words),
    ("od -c", od_letters),
    ("hexdump -C", hexdump),
    ("hexdump", words),
    ("percent", percent),
    ("repr", repr),
    ("gzip", gzip),
    ("zlib", zlib),
    ("deflate", deflate),
    ("bzip2", bzip2),
    ("xz", xz),
    ("lzma", lzma),
    ("zstd", zstd),
    ("zip, stored", stored),
    ("zip, deflated", deflated),
    ("tar", tar),
    ("tar.gz", |content| gzip(&tar(content))),
    ("gzip in tar", |content| tar(&gzip(content))),
    ("gzip and base64", |content| base64(&gzip(content))),
    ("reversed", reversed),
    ("base64 of reversed", |content| base64(&reversed(content))),
    ("reversed base64", |content| reversed(&base64(content))),
    ("xor", xor),
    ("xor of gzip", |content| xor(&gzip(content))),
    ("around", around),
    ("utf-16 of base64", |content| utf16(&base64(content))),
];

/// For what is text.
pub(crate) const TEXTS: &[Change] = &[
    ("JSON", json),
    ("tac", tac),
    ("rev", rev),
    ("scattered", scattered),
    ("UTF-16", utf16),
    ("CRLF", |content| {
        lines(content).into_iter().flat_map(|line| [line, b"\r\n"].concat()).collect()
    }),
    ("upper case", |content| content.to_ascii_uppercase()),
    ("lower case", |content| content.to_ascii_lowercase()),
    ("no white space", |content| {
        content.iter().filter(|byte| !byte.is_ascii_whitespace()).copied().collect()
    }),
    ("indented", |content| {
        lines(content).into_iter().flat_map(|line| [b"        ", line, b"\n"].concat()).collect()
    }),
    ("rot13", rot13),
    ("rot13 of base64", |content| rot13(&base64(content))),
];

/// For what is long.
pub(crate) const PARTS: &[Change] = &[
    ("first half", |content| content[..content.len() / 2].to_vec()),
    ("second half in base64", |content| base64(&content[content.len() / 2..])),
    ("slice", |content| {
        let middle = content.len() / 2;
        let length = 240.max(content.len() / 700);
        content[middle..middle + length].to_vec()
    }),
];
