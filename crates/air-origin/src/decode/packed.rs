//! Compressed streams, wherever in a content they start.

use std::io::{self, Read};

use super::{Decoded, SHORTEST, Transform, archive, then};
use crate::trace::Budget;

/// What starts at a place in a content, going by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Gzip,
    Zlib,
    Bzip2,
    Xz,
    Lzma,
    Zstd,
    ZipEntry,
    TarEntry,
    /// A format that is not looked into.
    Opaque(&'static str),
}

/// The first bytes of whatever [`kind`] tells, with all that may stand second.
const STARTS: [(u8, &[u8]); 12] = [
    (0x1f, &[0x8b]),
    (0x78, &[0x01, 0x5e, 0x9c, 0xda]),
    (b'B', b"Z"),
    (0xfd, b"7"),
    (0x5d, &[0]),
    (0x28, &[0xb5]),
    (b'P', b"K"),
    (b'u', b"s"),
    (b'7', b"z"),
    (b'R', b"a"),
    (b'S', b"a"),
    (0x04, &[0x22]),
];

/// Bytes that may stand behind a raw stream, such as the end of a line.
const SLACK: u64 = 8;

/// Places in one content; more make it incomplete.
pub(super) const MOST_PLACES: usize = 1 << 16;

/// The places in `content` where something packed seems to start, at most [`MOST_PLACES`] and one.
pub(super) fn places(content: &[u8]) -> Vec<(usize, Kind)> {
    let (mut firsts, mut seconds) = ([0u16; 256], [0u16; 256]);
    for (bit, (first, second)) in STARTS.iter().enumerate() {
        let slots = [(&mut firsts, std::slice::from_ref(first)), (&mut seconds, second)];
        for (slots, bytes) in slots {
            for byte in bytes {
                if let Some(slot) = slots.get_mut(usize::from(*byte)) {
                    *slot |= 1 << bit;
                }
            }
        }
    }
    let get = |slots: &[u16; 256], byte: u8| slots.get(usize::from(byte)).copied();
    let may_start = |[first, second]: &[u8; 2]| {
        get(&firsts, *first).zip(get(&seconds, *second)).is_some_and(|(a, b)| a & b != 0)
    };
    let candidates = content.array_windows().enumerate().filter(|(_, two)| may_start(two));
    candidates.filter_map(|(at, _)| kind(content, at)).take(MOST_PLACES + 1).collect()
}

fn kind(content: &[u8], at: usize) -> Option<(usize, Kind)> {
    /// Where `ustar` stands in an entry of a tar archive.
    const USTAR: usize = 257;
    let kind = match content.get(at..)? {
        // Flags that do not exist would be errors.
        [0x1f, 0x8b, 0x08, flags, ..] if flags & 0xe0 == 0 => Kind::Gzip,
        [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => Kind::Zlib,
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..] => Kind::Bzip2,
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Kind::Xz,
        [0x5d, 0, 0, _, _, rest @ ..] if has_lzma_size(rest) => Kind::Lzma,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Kind::Zstd,
        [b'P', b'K', 3, 4, ..] => Kind::ZipEntry,
        [b'u', b's', b't', b'a', b'r', 0 | b' ', ..] if at >= USTAR => {
            return Some((at - USTAR, Kind::TarEntry));
        }
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => Kind::Opaque("a 7z archive"),
        [b'R', b'a', b'r', b'!', 0x1a, 0x07, ..] => Kind::Opaque("a rar archive"),
        [b'S', b'a', b'l', b't', b'e', b'd', b'_', b'_', ..] => Kind::Opaque("an encrypted file"),
        [0x04, 0x22, 0x4d, 0x18, ..] if at == 0 => Kind::Opaque("an lz4 frame"),
        _ => return None,
    };
    Some((at, kind))
}

/// The length of what is compressed, eight bytes, is unknown or less than 256 GiB.
fn has_lzma_size(rest: &[u8]) -> bool {
    let size = rest.first_chunk().map(|size| u64::from_le_bytes(*size));
    size.is_some_and(|size| size == u64::MAX || size >> 38 == 0)
}

pub(super) fn decode(
    content: &[u8],
    before: &[Transform],
    decoded: &mut Decoded,
    budget: &mut Budget,
) {
    let places = places(content);
    if places.len() > MOST_PLACES {
        decoded.note("more streams and archives are in it than are looked at");
    }
    let spans = archive::spans_of(content, &places);
    for (at, kind) in places {
        if budget.is_spent() {
            return;
        }
        let Some(bytes) = content.get(at..) else { continue };
        let inside = spans.iter().find(|(range, _)| range.contains(&at) && range.start != at);
        let before: Vec<_> = before.iter().copied().chain(inside.map(|(_, step)| *step)).collect();
        match kind {
            Kind::ZipEntry => archive::zip_entry(bytes, &before, decoded, budget),
            // What is in it is in the content as it is.
            Kind::TarEntry => {}
            Kind::Opaque(what) => decoded.note(&format!("{what} cannot be looked into")),
            kind => stream(kind, bytes, at == 0, &before, decoded, budget),
        }
    }
    // Nothing marks it, and much is one by chance, so it is only looked for where it would be alone.
    let mut decoder = flate2::bufread::DeflateDecoder::new(content);
    let (bytes, end) = decoder.by_ref().unpacked(budget);
    let rest = (content.len() as u64).saturating_sub(decoder.total_in());
    if end == End::Whole && rest <= SLACK && bytes.len() >= SHORTEST {
        decoded.append(&then(before, Transform::Deflate), bytes, budget);
    }
}

/// Whether the bytes behind the time are what some writer puts there, going by RFC 1952.
fn has_gzip_header(stream: &[u8]) -> bool {
    matches!(stream.get(8..10), Some([0 | 2 | 4, 0..=13 | 255]))
}

/// Whether a first block follows the header of the zstd frame, going by RFC 8878.
fn has_zstd_block(frame: &[u8]) -> bool {
    const LARGEST_BLOCK: usize = 1 << 17;
    let Some(descriptor) = frame.get(4) else { return false };
    let single = descriptor & 0x20 != 0;
    let dictionary = match descriptor & 3 {
        3 => 4,
        id => usize::from(id),
    };
    let size = match descriptor >> 6 {
        0 => usize::from(single),
        flag => 1 << flag,
    };
    let at = 5 + usize::from(!single) + dictionary + size;
    let Some([one, two, three]) = frame.get(at..).and_then(<[u8]>::first_chunk) else {
        return false;
    };
    let header = u32::from_le_bytes([*one, *two, *three, 0]);
    let (kind, size) = (header >> 1 & 3, usize::try_from(header >> 3).unwrap_or(usize::MAX));
    let kept = if kind == 1 { 1 } else { size };
    descriptor & 8 == 0 && kind != 3 && size <= LARGEST_BLOCK && at + 3 + kept <= frame.len()
}

/// Bytes that a zlib stream inside something has at least before it is called damaged. In bytes without
/// order, one in ten goes wrong with each.
const LEAST_DAMAGED: u64 = 256;

fn stream(
    kind: Kind,
    packed: &[u8],
    alone: bool,
    before: &[Transform],
    decoded: &mut Decoded,
    budget: &mut Budget,
) {
    let mut decoder = flate2::bufread::ZlibDecoder::new(packed);
    let (step, bytes, end) = match kind {
        Kind::Gzip => (Transform::Gzip, flate2::bufread::GzDecoder::new(packed).unpacked(budget)),
        Kind::Zlib => (Transform::Zlib, decoder.by_ref().unpacked(budget)),
        Kind::Bzip2 => (Transform::Bzip2, bunzip2(packed, budget)),
        Kind::Xz => (Transform::Xz, unxz(packed, budget)),
        Kind::Lzma => (Transform::Lzma, unlzma(packed, budget)),
        Kind::Zstd => (Transform::Zstd, unzstd(packed, budget)),
        Kind::ZipEntry | Kind::TarEntry | Kind::Opaque(_) => return,
    }
    .flatten();
    // A mark of a few bytes is soon found by chance, most of all where a key is chosen so that one is;
    // then hardly anything goes in, or comes out.
    let little = bytes.len() < 256 || kind == Kind::Zlib && decoder.total_in() < 64;
    let chance = match kind {
        Kind::Zlib => end == End::Damaged && little,
        Kind::Gzip => end == End::Damaged && (little || !has_gzip_header(packed)),
        Kind::Zstd => bytes.is_empty() && !has_zstd_block(packed),
        _ => false,
    };
    if chance && !alone {
        return;
    }
    // Of bytes without order, under each key that one may be chosen for, a few in a thousand files have as
    // much as this by chance. What comes out is compared all the same.
    let is_short = kind == Kind::Zlib && decoder.total_in() < LEAST_DAMAGED;
    let doubtful = is_short && (!alone || bytes.is_empty());
    if end == End::Damaged && (alone || !bytes.is_empty()) && !doubtful {
        decoded.note(&format!("a {step} stream in it is damaged"));
    }
    if end == End::Oversized {
        decoded.note(&format!("a {step} stream in it needs more memory than it may take"));
    }
    decoded.append(&then(before, step), bytes, budget);
}

/// How unpacking ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Whole,
    /// At an error, or at the end of what there is.
    Damaged,
    /// Before it started: its window is larger than [`MEMORY`].
    Oversized,
}

impl End {
    fn of(error: &io::Error) -> Self {
        /// What zstd says, whose errors have no kind.
        const OVERSIZED: &str = "Frame requires too much memory for decoding";
        let oversized =
            error.kind() == io::ErrorKind::OutOfMemory || error.to_string() == OVERSIZED;
        if oversized { Self::Oversized } else { Self::Damaged }
    }
}

/// What came out, and how it ended.
pub(super) type Unpacked = (Vec<u8>, End);

trait Flatten {
    fn flatten(self) -> (Transform, Vec<u8>, End);
}

impl Flatten for (Transform, Unpacked) {
    fn flatten(self) -> (Transform, Vec<u8>, End) {
        let (step, (bytes, end)) = self;
        (step, bytes, end)
    }
}

trait Unpack {
    fn unpacked(self, budget: &mut Budget) -> Unpacked;
}

impl<R: Read> Unpack for R {
    /// Reads to the end, or one byte more than may be unpacked.
    fn unpacked(self, budget: &mut Budget) -> Unpacked {
        /// What setting up a decompressor costs, in work units.
        const SET_UP: usize = 4096;
        budget.spend(SET_UP);
        let mut bytes = Vec::new();
        let read = self.take(budget.decoded as u64 + 1).read_to_end(&mut bytes);
        (bytes, read.map_or_else(|error| End::of(&error), |_| End::Whole))
    }
}

/// Memory that a decompressor may use, in KiB: for windows of up to 32 MiB, and what else it keeps.
/// That is enough for `xz -8` and `zstd --ultra -22` with windows of that size; `xz -9` needs 64 MiB.
const MEMORY: u32 = 33 << 10;

pub(super) fn inflate(bytes: &[u8], budget: &mut Budget) -> Unpacked {
    flate2::bufread::DeflateDecoder::new(bytes).unpacked(budget)
}

pub(super) fn bunzip2(bytes: &[u8], budget: &mut Budget) -> Unpacked {
    bzip2::bufread::BzDecoder::new(bytes).unpacked(budget)
}

pub(super) fn unxz(bytes: &[u8], budget: &mut Budget) -> Unpacked {
    lzma_rust2::XzReader::new_mem_limit(bytes, false, MEMORY).unpacked(budget)
}

fn unlzma(bytes: &[u8], budget: &mut Budget) -> Unpacked {
    match lzma_rust2::LzmaReader::new_mem_limit(bytes, MEMORY, None) {
        Ok(reader) => reader.unpacked(budget),
        Err(error) => (Vec::new(), End::of(&error)),
    }
}

pub(super) fn unzstd(bytes: &[u8], budget: &mut Budget) -> Unpacked {
    /// The binary logarithm of the largest window, in bytes.
    const WINDOW: u32 = 25;
    let decoder = zstd::stream::read::Decoder::with_buffer(bytes).and_then(|mut decoder| {
        decoder.window_log_max(WINDOW)?;
        Ok(decoder.single_frame())
    });
    match decoder {
        Ok(decoder) => decoder.unpacked(budget),
        Err(error) => (Vec::new(), End::of(&error)),
    }
}
