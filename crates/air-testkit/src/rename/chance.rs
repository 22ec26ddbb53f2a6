//! Chance that is always the same for a seed.

use std::collections::HashSet;

/// Makes words that mean nothing, each once.
pub(super) struct Chance {
    state: u64,
    used: HashSet<String>,
}

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_add(0x9e37_79b9_7f4a_7c15), used: HashSet::new() }
    }

    /// A number below `end`, which is not 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let end = u64::try_from(end.max(1)).unwrap_or(u64::MAX);
        usize::try_from((mixed ^ (mixed >> 31)) % end).unwrap_or_default()
    }

    /// One of them.
    pub(super) fn pick<'a>(&mut self, from: &[&'a str]) -> Option<&'a str> {
        let at = self.below(from.len());
        from.get(at).copied()
    }

    /// A word of six letters that was not given before.
    pub(super) fn word(&mut self) -> String {
        loop {
            let word: String = (0..3)
                .flat_map(|_| {
                    let consonant = self.pick(&["b", "d", "g", "k", "l", "m", "n", "r", "v", "z"]);
                    [consonant, self.pick(&["a", "e", "i", "o", "u"])]
                })
                .flatten()
                .collect();
            if self.used.insert(word.clone()) {
                return word;
            }
        }
    }
}
