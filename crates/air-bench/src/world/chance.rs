//! Random text that looks as if it belonged where it stands.

use blake3::{Hasher, OutputReader};

/// Letters that are hard to misread; none of them has a meaning in any of the fixture's formats.
const LETTERS: &[u8] = b"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const HEX: &[u8] = b"0123456789abcdef";
const SMALL: &[u8] = b"abcdefghijklmnopqrstuvwxyz";

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

    /// A random name, for a file.
    pub(crate) fn name(&mut self) -> String {
        self.pick(SMALL, 14)
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
