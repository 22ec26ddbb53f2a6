//! Archives: the entries of zip files, and where those of tar files lie.
//!
//! A directory at the end of a zip file is not asked: whatever has the header of an entry is one, so
//! that a part of an archive, or one behind something else, is looked into as well.

use std::ops::Range;

use super::{
    Decoded, Transform,
    packed::{self, End, Kind, places},
    then,
};
use crate::trace::Budget;

/// The header of an entry of a zip file.
struct Entry {
    /// No writer of archives would make it; in bytes without order its mark is soon found by chance.
    odd: bool,
    encrypted: bool,
    method: u16,
    /// Bytes of the entry; unknown where they follow the data or are too many.
    size: Option<usize>,
    data: usize,
}

impl Entry {
    fn parse(bytes: &[u8]) -> Option<Self> {
        /// The fixed part of the header.
        const HEADER: usize = 30;
        /// Of the specification that a reader must know, times ten: 6.3 is the last.
        const LAST_VERSION: u16 = 63;
        /// Methods with a number, all that were ever given away.
        const METHODS: [std::ops::RangeInclusive<u16>; 2] = [0..=20, 92..=99];
        const LONGEST_NAME: u16 = 4096;
        let short = |at: usize| Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let long = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let (version, flags, method, size) = (short(4)?, short(6)?, short(8)?, long(18)?);
        let name = short(26)?;
        let data = HEADER + usize::from(name) + usize::from(short(28)?);
        // The upper half of the version is the system that it was made on.
        let odd = version & 0xff > LAST_VERSION
            || version >> 8 > 30
            || name > LONGEST_NAME
            || !METHODS.iter().any(|range| range.contains(&method));
        let known = flags & 8 == 0 && size != u32::MAX;
        let size = usize::try_from(size).ok().filter(|_| known);
        Some(Self { odd, encrypted: flags & 1 != 0, method, size, data })
    }
}

const STORED: u16 = 0;

/// Parts of archives that matches are said to be in; they are looked at in any number.
const MOST_SPANS: usize = 1024;

/// Looks into the entry of a zip file at the start of `bytes`.
pub(super) fn zip_entry(
    bytes: &[u8],
    before: &[Transform],
    decoded: &mut Decoded,
    budget: &mut Budget,
) {
    let Some(entry) = Entry::parse(bytes) else {
        return decoded.note("a zip entry in it is cut off");
    };
    // What does not look like one is still looked into, but nothing is missed where there is nothing.
    let mut note = |reason: &str| {
        if !entry.odd {
            decoded.note(reason);
        }
    };
    let Some(data) = bytes.get(entry.data..) else {
        return note("a zip entry in it is cut off");
    };
    if entry.encrypted {
        return note("a zip entry in it is encrypted");
    }
    let part = entry.size.and_then(|size| data.get(..size));
    let whole = entry.size.is_none() || part.is_some();
    let data = part.unwrap_or(data);
    let (mut unpacked, end) = match entry.method {
        // It is in the content as it is.
        STORED => (Vec::new(), End::Whole),
        8 => packed::inflate(data, budget),
        12 => packed::bunzip2(data, budget),
        93 => packed::unzstd(data, budget),
        95 => packed::unxz(data, budget),
        _ => return note("a zip entry in it is packed in an unknown way"),
    };
    if end == End::Damaged || !whole {
        note("a zip entry in it is damaged");
    }
    if end == End::Oversized {
        note("a zip entry in it needs more memory than it may take");
    }
    if !unpacked.is_empty() {
        // What the next entry begins with is at the start of a line there, and stays so.
        unpacked.push(b'\n');
    }
    decoded.append(&then(before, Transform::Zip), unpacked, budget);
}

/// The parts of a content that lie in an archive as they are.
pub(super) fn spans(content: &[u8]) -> Vec<(Range<usize>, Transform)> {
    spans_of(content, &places(content))
}

pub(super) fn spans_of(content: &[u8], places: &[(usize, Kind)]) -> Vec<(Range<usize>, Transform)> {
    let span = |(at, kind): &(usize, Kind)| {
        let bytes = content.get(*at..)?;
        match kind {
            Kind::TarEntry => Some((*at..at.saturating_add(tar_entry(bytes)?), Transform::Tar)),
            Kind::ZipEntry => {
                let entry = Entry::parse(bytes).filter(|entry| entry.method == STORED)?;
                let end = entry.data.saturating_add(entry.size.unwrap_or(bytes.len()));
                Some((*at..at.saturating_add(end), Transform::Zip))
            }
            _ => None,
        }
    };
    places.iter().filter_map(span).take(MOST_SPANS).collect()
}

/// The length of the entry of a tar file at the start of `bytes`, with its header.
fn tar_entry(bytes: &[u8]) -> Option<usize> {
    /// Of the header, and of what all is a multiple of.
    const BLOCK: usize = 512;
    let digits = bytes.get(124..136)?.iter().filter(|byte| matches!(byte, b'0'..=b'7'));
    let size = digits.fold(0usize, |size, digit| {
        size.saturating_mul(8).saturating_add(usize::from(digit - b'0'))
    });
    Some(size.saturating_add(BLOCK))
}
