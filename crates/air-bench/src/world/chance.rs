//! Random text that looks as if it belonged where it stands.

use blake3::{Hasher, OutputReader};

/// Letters that are hard to misread; none of them has a meaning in any of the fixture's formats.
const LETTERS: &[u8] = b"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const HEX: &[u8] = b"0123456789abcdef";
/// Words of which names of files are made.
const THINGS: [&str; 48] = [
    "agenda", "album", "archive", "atlas", "basket", "bridge", "bundle", "canvas", "catalog",
    "chapter", "circuit", "column", "compass", "cookbook", "diagram", "diary", "digest", "draft",
    "engine", "essay", "export", "folder", "garden", "gallery", "handout", "harvest", "index",
    "invoice", "journal", "ledger", "letter", "listing", "manual", "mapping", "memo", "menu",
    "notes", "outline", "parcel", "photo", "postcard", "recipe", "report", "roster", "sketch",
    "summary", "survey", "ticket",
];
const KINDS: [&str; 32] = [
    "april", "backup", "blue", "brief", "brown", "clean", "copy", "early", "final", "first",
    "fresh", "green", "helsinki", "large", "late", "lisbon", "march", "north", "october", "old",
    "orange", "quiet", "rough", "second", "short", "silver", "small", "south", "spare", "summer",
    "unsorted", "winter",
];
const ENDINGS: [&str; 8] = ["txt", "md", "bak", "dat", "csv", "conf", "old", "list"];

/// A stream of random choices, of one seed.
#[derive(Debug)]
pub(crate) struct Chance(OutputReader);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Hasher::new_derive_key("air-bench world").update(&seed.to_le_bytes()).finalize_xof())
    }

    /// A number below `bound`; 0 where that is 0.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        let number = u64::from_le_bytes(bytes) % u64::from(bound.max(1));
        u32::try_from(number).unwrap_or_default()
    }

    /// A name as people give it to a file, of one of several shapes: nothing tells it from others.
    pub(crate) fn name(&mut self) -> String {
        let (thing, kind) = (self.one(&THINGS), self.one(&KINDS));
        match self.below(6) {
            0 => format!("{thing}-{kind}"),
            1 => format!("{kind}{thing}"),
            2 => format!("{thing}{}", 2 + self.below(98)),
            3 => format!("{kind}_{thing}_{}", 2020 + self.below(7)),
            4 => format!("{thing}{}.{}", 2 + self.below(98), self.one(&ENDINGS)),
            _ => format!("{kind}-{thing}.{}", self.one(&ENDINGS)),
        }
    }

    fn one<'t>(&mut self, from: &[&'t str]) -> &'t str {
        let bound = u32::try_from(from.len()).unwrap_or(u32::MAX);
        let at = usize::try_from(self.below(bound)).unwrap_or_default();
        from.get(at).copied().unwrap_or_default()
    }

    /// A secret of at least 90 bits in one of several shapes: hexadecimal digits as of a digest or of
    /// an UUID, letters as of a password's hash, groups of letters joined by dashes.
    pub(crate) fn secret(&mut self) -> String {
        match self.below(4) {
            0 => self.pick(HEX, 32),
            1 => [8, 4, 4, 4, 12].map(|length| self.pick(HEX, length)).join("-"),
            2 => self.pick(LETTERS, 22),
            _ => [5, 5, 5, 5].map(|length| self.pick(LETTERS, length)).join("-"),
        }
    }

    fn pick(&mut self, letters: &[u8], length: usize) -> String {
        let bound = u32::try_from(letters.len()).unwrap_or(u32::MAX);
        (0..length)
            .filter_map(|_| letters.get(usize::try_from(self.below(bound)).ok()?))
            .map(|letter| char::from(*letter))
            .collect()
    }
}
