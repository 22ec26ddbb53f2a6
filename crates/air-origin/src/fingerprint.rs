//! Fingerprints of a content: hashes of short windows, of which a few are picked by winnowing.
//!
//! The method is that of S. Schleimer, D. S. Wilkerson and A. Aiken, *Winnowing: Local Algorithms
//! for Document Fingerprinting*, SIGMOD 2003: of every [`SPAN`] windows in a row, the one with the
//! smallest hash is picked. Equal text is picked alike wherever it stands, so two contents that share
//! [`SHARED`] bytes in a row share a fingerprint.
//!
//! Three things are our own. The hash of a window is that of the smaller of the window read forwards
//! and backwards, so one look finds a reversed copy too. Picks can be thinned out afterwards, exactly
//! as if the span had been larger from the start: see [`Picks`]. And nothing is rolled: each window is
//! hashed by itself, a block of them at a time, so that the processor works on many at once.

use std::{
    collections::{HashMap, HashSet},
    iter::zip,
};

/// Bytes of a window.
pub(crate) const WINDOW: usize = 12;

/// One window of so many in a row is picked.
pub(crate) const SPAN: usize = 8;

/// Contents that share so many bytes in a row share a fingerprint.
pub(crate) const SHARED: usize = WINDOW + SPAN - 1;

/// A window with fewer different bytes says nothing: lines of dashes, zeros, `01010101`.
const DISTINCT: usize = 5;

/// Windows that are hashed at once.
const BLOCK: usize = 256;

/// The bytes of a block.
const ROOM: usize = BLOCK + WINDOW - 1;

/// A pick starts at most so many bytes before the last one that was fed.
pub(crate) const LAG: usize = ROOM;

/// A picked window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pick {
    /// The same for a window and its reverse.
    pub hash: u64,
    /// Where the window starts, in bytes put in before.
    pub at: u64,
    /// Whether the hash was taken backwards. A window and its reverse differ in this.
    pub backward: bool,
    /// What stands at the two ends of the window, for whom it matters.
    pub ends: (u8, u8),
}

/// Hashes windows as bytes come, and picks.
#[derive(Debug)]
pub(crate) struct Winnow {
    buffer: [u8; ROOM],
    filled: usize,
    /// Bytes that came before those in the buffer.
    before: u64,
    picked: Option<u64>,
    scratch: Box<Scratch>,
}

/// What is computed of a block. Of a block that is not full, the rest is of an earlier one.
#[derive(Debug)]
struct Scratch {
    keys: [u64; BLOCK],
    /// The smallest of two keys in a row, and of four.
    twos: [u64; BLOCK],
    fours: [u64; BLOCK],
    /// The smallest of each span, where it is another than before.
    picked: [u64; BLOCK],
    /// The lower bits of each byte, and of two, four and eight in a row.
    sets: [[u64; ROOM]; 4],
}

impl Winnow {
    pub(crate) fn new() -> Self {
        let [keys, twos, fours, picked] = [[0; BLOCK]; 4];
        let scratch = Box::new(Scratch { keys, twos, fours, picked, sets: [[0; ROOM]; 4] });
        Self { buffer: [0; ROOM], filled: 0, before: 0, picked: None, scratch }
    }

    /// Takes bytes; what is picked because of them, or of earlier ones, goes to `take`.
    #[inline]
    pub(crate) fn feed(
        &mut self,
        mut bytes: impl Iterator<Item = u8>,
        take: &mut impl FnMut(Pick),
    ) {
        loop {
            let mut filled = self.filled;
            for slot in self.buffer.iter_mut().skip(filled) {
                let Some(byte) = bytes.next() else {
                    self.filled = filled;
                    return;
                };
                *slot = byte;
                filled += 1;
            }
            self.filled = filled;
            self.pick(take);
        }
    }

    /// No more bytes come. A content too short for a whole span has its pick all the same.
    pub(crate) fn finish(mut self, take: &mut impl FnMut(Pick)) {
        if self.filled >= SHARED {
            self.pick(take);
        } else if self.before == 0 && self.filled >= WINDOW {
            self.scratch.hash(self.buffer.get(..self.filled).unwrap_or_default());
            let windows = self.filled + 1 - WINDOW;
            if let Some(key) = self.scratch.keys.iter().take(windows).min() {
                give(*key, 0, &mut self.picked, take);
            }
        }
    }

    /// Picks from the windows in the buffer, and keeps the bytes that spans to come begin with.
    fn pick(&mut self, take: &mut impl FnMut(Pick)) {
        let spans = (self.filled + 1).saturating_sub(SHARED);
        let scratch = &mut *self.scratch;
        scratch.hash(self.buffer.get(..self.filled).unwrap_or_default());
        let count = scratch.pick(spans);
        for key in scratch.picked.iter().take(count) {
            give(*key, self.before, &mut self.picked, take);
        }
        self.buffer.copy_within(spans..self.filled, 0);
        self.before += spans as u64;
        self.filled -= spans;
    }
}

impl Scratch {
    /// The keys of windows: hashes, with the place in the block and the direction in their lowest
    /// bits, so that of equal hashes the last is the smallest.
    fn hash(&mut self, bytes: &[u8]) {
        let [sets, twos, fours, eights] = &mut self.sets;
        for (set, byte) in zip(sets.iter_mut(), bytes) {
            *set = 1 << (byte % 64);
        }
        union(sets, 1, twos);
        union(twos, 2, fours);
        union(fours, 4, eights);
        let sets = zip(&*eights, fours.iter().skip(8)).map(|(eight, four)| eight | four);
        let mut place = LOW;
        for ((key, window), set) in zip(&mut self.keys, bytes.array_windows()).zip(sets) {
            let (hash, backward, same) = hash(window);
            // A window that is its own reverse has no direction.
            let silent = same || few(set) && is_dull(window, set);
            let hash = if silent { SILENT } else { hash & !LOW };
            *key = hash | place.wrapping_sub(u64::from(backward));
            place = place.wrapping_sub(2);
        }
    }

    /// Collects the smallest keys of so many spans, and says how many there are.
    fn pick(&mut self, spans: usize) -> usize {
        smaller(&self.keys, 1, &mut self.twos);
        smaller(&self.twos, 2, &mut self.fours);
        let (mut last, mut count) = (u64::MAX, 0usize);
        let fours = zip(&self.fours, self.fours.iter().skip(SPAN / 2));
        for (one, other) in fours.take(spans) {
            let smallest = *one.min(other);
            if let Some(slot) = self.picked.get_mut(count) {
                *slot = smallest;
            }
            count += usize::from(smallest != last);
            last = smallest;
        }
        count
    }
}

/// Gives what was picked in a block behind so many bytes, unless an earlier block gave it.
#[inline]
fn give(key: u64, before: u64, picked: &mut Option<u64>, take: &mut impl FnMut(Pick)) {
    let low = LOW - (key & LOW);
    let at = before + low / 2;
    if key < SILENT && *picked != Some(at) {
        *picked = Some(at);
        take(Pick { hash: key >> LOW_BITS, at, backward: low % 2 == 1, ends: (0, 0) });
    }
}

/// The bits of a key that say where in its block a window is, and in the lowest, its direction.
const LOW_BITS: u32 = 12;
const LOW: u64 = (1 << LOW_BITS) - 1;

/// Keys from here on are not picked: their windows say nothing.
const SILENT: u64 = !LOW;

/// The hash of a window or of its reverse, whether it is that of the reverse, and whether the two are
/// the same.
#[inline]
fn hash(window: &[u8; WINDOW]) -> (u64, bool, bool) {
    const KEYS: (u64, u64) = (0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9);
    let first = window.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let last = window.last_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let (turned_first, turned_last) = (last.swap_bytes(), first.swap_bytes());
    let backward = turned_first < first;
    let one = if backward { turned_first } else { first };
    let other = if backward { turned_last } else { last };
    let (low, high) = (one ^ KEYS.0).carrying_mul(other ^ KEYS.1, 0);
    (low ^ high, backward, turned_first == first)
}

/// In each place, what the bytes there and `step` further on are together.
fn union(sets: &[u64; ROOM], step: usize, unions: &mut [u64; ROOM]) {
    for (union, (one, other)) in zip(unions, zip(sets, sets.iter().skip(step))) {
        *union = one | other;
    }
}

/// In each place, the smaller of the keys there and `step` further on.
fn smaller(keys: &[u64; BLOCK], step: usize, smaller: &mut [u64; BLOCK]) {
    for (smaller, (one, other)) in zip(smaller, zip(keys, keys.iter().skip(step))) {
        *smaller = *one.min(other);
    }
}

/// Whether a set has fewer than [`DISTINCT`] members.
#[inline]
fn few(set: u64) -> bool {
    (1..DISTINCT).fold(set, |set, _| set & set.wrapping_sub(1)) == 0
}

/// Whether a window has fewer than [`DISTINCT`] different bytes, of which `set` has the lower bits.
#[cold]
fn is_dull(window: &[u8; WINDOW], set: u64) -> bool {
    // Four different bytes at most have the same lower bits.
    set.is_power_of_two() || window.iter().collect::<HashSet<_>>().len() < DISTINCT
}

/// At most so many picks of one content.
pub(crate) const MOST: usize = 32_768;

/// At most so many picks of one content are alike.
const REPEATED: u32 = 8;

/// The picks of one content, thinned out as it grows, so that they stay within [`MOST`].
///
/// The smallest of `2n` windows is the smallest of one of the two halves. So what a larger span
/// picks is among what a smaller one picked, and thinning out needs no second look at the content.
#[derive(Debug, Default)]
pub(crate) struct Picks {
    /// Picks, each with its reach: of so many windows in a row, it is the smallest.
    list: Vec<(Pick, u64)>,
    /// Picks of which no smaller one came after yet, each smaller than the next.
    open: Vec<Pick>,
    /// The span that all picks of the list have.
    span: u64,
}

impl Picks {
    pub(crate) fn push(&mut self, pick: Pick) {
        while let Some(last) = self.open.pop_if(|last| pick.hash <= last.hash) {
            self.close(last, pick.at);
        }
        self.open.push(pick);
        // That many only come in a content that is made so.
        if self.open.len() > MOST {
            halve(&mut self.open);
        }
    }

    /// Keeps a pick if it reaches far enough. The next smaller one, or a later equal one, is at
    /// `after`.
    #[inline]
    fn close(&mut self, pick: Pick, after: u64) {
        // One more than the distance, as positions before the start have no number.
        let before = self.open.last().map_or(0, |earlier| earlier.at + 1);
        let reach = after.saturating_sub(before);
        if reach >= self.span {
            self.list.push((pick, reach));
            while self.list.len() > MOST && self.span < u64::MAX / 2 {
                self.span = (self.span * 2).max(SPAN as u64);
                self.list.retain(|(_, reach)| *reach >= self.span);
            }
        }
    }

    pub(crate) fn finish(mut self) -> Vec<Pick> {
        while let Some(last) = self.open.pop() {
            self.close(last, u64::MAX);
        }
        let mut list: Vec<Pick> = self.list.into_iter().map(|(pick, _)| pick).collect();
        list.sort_unstable_by_key(|pick| pick.at);
        while list.len() > MOST {
            halve(&mut list);
        }
        // What is repeated all over a content is found by its first places.
        let mut times: HashMap<u64, u32> = HashMap::new();
        list.retain(|pick| {
            let times = times.entry(pick.hash).or_default();
            *times += 1;
            *times <= REPEATED
        });
        list.shrink_to_fit();
        list
    }
}

/// Keeps every second one.
fn halve(list: &mut Vec<Pick>) {
    let mut keep = false;
    list.retain(|_| {
        keep = !keep;
        keep
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The finaliser of `SplitMix64`.
    fn mix(value: u64) -> u64 {
        let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    fn noise(length: usize, seed: u64) -> Vec<u8> {
        (0..length as u64).map(|n| mix(seed ^ mix(n)).to_le_bytes()[0]).collect()
    }

    fn picks(content: &[u8]) -> Vec<Pick> {
        let (mut winnow, mut list) = (Winnow::new(), Vec::new());
        winnow.feed(content.iter().copied(), &mut |pick| list.push(pick));
        winnow.finish(&mut |pick| list.push(pick));
        list
    }

    #[test]
    fn shared_bytes_share_a_fingerprint_wherever_they_stand() {
        let source = noise(2000, 1);
        let known: Vec<_> = picks(&source).iter().map(|pick| pick.hash).collect();
        for at in 0..1900 {
            let mut run = source[at..at + SHARED].to_vec();
            for reversed in [false, true] {
                run.reverse();
                let content = [noise(at % 50, 2), run.clone(), noise(30, 3)].concat();
                let shared = picks(&content).iter().any(|pick| known.contains(&pick.hash));
                assert!(shared, "at {at}, reversed: {reversed}");
            }
        }
    }

    #[test]
    fn unrelated_bytes_share_none() {
        let known: Vec<_> = picks(&noise(5000, 1)).iter().map(|pick| pick.hash).collect();
        assert!(!picks(&noise(5000, 2)).iter().any(|pick| known.contains(&pick.hash)));
    }

    #[test]
    fn thinning_out_is_as_picking_with_a_larger_span() {
        let content = noise(3000, 4);
        let all: Vec<(u64, u64)> = {
            let mut hashes = Vec::new();
            for at in 0..=content.len() - WINDOW {
                hashes.push((picks(&content[at..at + WINDOW])[0].hash, at as u64));
            }
            hashes
        };
        for span in [16usize, 32, 128] {
            let mut expected: Vec<u64> = all
                .windows(span)
                .map(|some| some.iter().rev().min_by_key(|one| one.0).unwrap().1)
                .collect();
            expected.dedup();
            let mut thinned = Picks { span: span as u64, ..Picks::default() };
            for pick in picks(&content) {
                thinned.push(pick);
            }
            let thinned: Vec<u64> = thinned.finish().iter().map(|pick| pick.at).collect();
            let missing: Vec<_> = expected.iter().filter(|at| !thinned.contains(at)).collect();
            assert!(missing.is_empty(), "span {span}: {missing:?}");
            // At both ends, windows that might yet be smallest are kept.
            assert!(thinned.len() <= expected.len() + 12, "{} {}", thinned.len(), expected.len());
        }
    }

    #[test]
    fn dull_bytes_have_none() {
        assert!(picks(&[0; 500]).is_empty());
        assert!(picks(b"-=-=-=-=-=-=-=-=-=-=-=-=-=-=-=-=-=-=-=-=").is_empty());
    }

    #[test]
    fn picks_stay_within_bounds() {
        let rising = |at: u64| at;
        for hash in [mix, rising] {
            let mut picks = Picks::default();
            for at in 0..300_000u64 {
                picks.push(Pick { hash: hash(at), at: at * 4, backward: false, ends: (0, 0) });
            }
            let list = picks.finish();
            assert!(list.len() <= MOST && list.len() > MOST / 4, "{}", list.len());
        }
    }
}
