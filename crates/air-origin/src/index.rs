//! Finds the picks of sources by their hashes.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// A pick of a source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub source: usize,
    pub pick: usize,
}

/// Places by hash. Most hashes have one place; further ones are chained.
#[derive(Default)]
pub(crate) struct Index {
    filter: Filter,
    first: HashMap<u64, u32, BuildHasherDefault<Spread>>,
    places: Vec<(Place, u32)>,
}

impl Index {
    const END: u32 = u32::MAX;

    pub(crate) fn add(&mut self, hash: u64, place: Place) {
        let Ok(at) = u32::try_from(self.places.len()) else { return };
        let next = self.first.insert(hash, at).unwrap_or(Self::END);
        self.places.push((place, next));
        if self.filter.is_full(self.first.len()) {
            self.filter.grow();
            self.first.keys().for_each(|hash| self.filter.add(*hash));
        }
        self.filter.add(hash);
    }

    #[inline]
    pub(crate) fn get(&self, hash: u64) -> impl Iterator<Item = Place> {
        let mut at = if self.filter.may_have(hash) { self.first(hash) } else { Self::END };
        std::iter::from_fn(move || {
            let (place, next) = *self.places.get(usize::try_from(at).ok()?)?;
            at = next;
            Some(place)
        })
    }

    #[inline(never)]
    fn first(&self, hash: u64) -> u32 {
        self.first.get(&hash).copied().unwrap_or(Self::END)
    }
}

/// Tells nearly all hashes that are not there from the others, by one look into a small memory: a
/// Bloom filter of two bits for each hash, both in one word.
#[derive(Default)]
struct Filter {
    /// A power of two, or none.
    words: Vec<u64>,
}

impl Filter {
    /// Hashes for each word, at most. Then about one of 20 that are not there is let through.
    const LOAD: usize = 8;

    fn is_full(&self, hashes: usize) -> bool {
        hashes > self.words.len() * Self::LOAD
    }

    /// Twice as large, and empty.
    fn grow(&mut self) {
        self.words = vec![0; (self.words.len() * 2).max(64)];
    }

    /// Of which word which bits stand for a hash.
    #[inline]
    fn bits(&self, hash: u64) -> (usize, u64) {
        let word = usize::try_from(spread(hash) >> 32).unwrap_or_default();
        let bits = 1 << (hash % 64) | 1 << ((hash >> 6) % 64);
        (word & self.words.len().wrapping_sub(1), bits)
    }

    fn add(&mut self, hash: u64) {
        let (word, bits) = self.bits(hash);
        if let Some(word) = self.words.get_mut(word) {
            *word |= bits;
        }
    }

    #[inline]
    fn may_have(&self, hash: u64) -> bool {
        let (word, bits) = self.bits(hash);
        self.words.get(word).is_some_and(|word| word & bits == bits)
    }
}

/// Picked hashes are small ones, and only their lower bits are evenly spread.
#[inline]
const fn spread(hash: u64) -> u64 {
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[derive(Debug, Default, Clone, Copy)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0.rotate_left(8) ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = spread(hash);
    }
}
