//! The search: a content, what is in it, and what is in that.

use std::{
    collections::{HashSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    io::Read,
};

use crate::{
    Sources, Transform,
    decode::{self, Decoded},
    fingerprint::WINDOW,
    scan::scan,
};

/// What a search may cost.
///
/// Memory: at most `3 * bytes + 2 * decoded`, and 34 MiB for a decompressor. What is packed with a
/// window above 32 MiB, as by `xz -9` where the content is that large, makes the answer incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the content that are looked at. By default 64 MiB.
    pub bytes: usize,
    /// Encodings and archives within one another. By default 6.
    pub depth: usize,
    /// Bytes that come out of all decoding and decompression. By default 128 MiB.
    pub decoded: usize,
    /// Work units: a unit is a byte that is looked at or compared, some 20 ns. By default 2^28.
    pub work: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 64 << 20, depth: 6, decoded: 128 << 20, work: 1 << 28 }
    }
}

/// A source, or a part of it, in a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The name of the source.
    pub name: String,
    /// What was done to it, outermost first: `[Base64, Gzip]` is to be decoded from base64, and then
    /// decompressed. Empty for a plain copy. Changed white space is not told apart.
    pub how: Vec<Transform>,
    /// How much of the source was found, in bytes, white space not counted. Of a source above 1 MiB,
    /// about.
    pub shared_bytes: u64,
    /// Whether the whole source is in the content, perhaps in another order.
    pub whole: bool,
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traced {
    /// At most one for each name: whole sources first, then by how much is shared.
    pub matches: Vec<Match>,
    /// Why something was not looked at. Then that there is no match proves nothing.
    pub incomplete: Option<String>,
}

/// What is left of the limits.
#[derive(Debug)]
pub(crate) struct Budget {
    work: u64,
    pub decoded: usize,
}

impl Budget {
    pub(crate) fn spend(&mut self, bytes: usize) {
        self.work = self.work.saturating_sub(bytes as u64);
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.work == 0
    }
}

/// A content to look at, and how one came to it.
struct Layer {
    how: Vec<Transform>,
    bytes: Vec<u8>,
}

impl Sources {
    /// Looks for the sources in `content`.
    pub fn trace(&self, content: &mut impl Read, limits: &Limits) -> Traced {
        let mut search = Search {
            sources: self,
            limits,
            budget: Budget { work: limits.work, decoded: limits.decoded },
            queue: VecDeque::new(),
            seen: HashSet::new(),
            traced: Traced::default(),
        };
        if !self.is_empty() {
            search.start(content);
            search.run();
        }
        search.traced
    }
}

struct Search<'a> {
    sources: &'a Sources,
    limits: &'a Limits,
    budget: Budget,
    queue: VecDeque<Layer>,
    seen: HashSet<u64>,
    traced: Traced,
}

impl Search<'_> {
    fn start(&mut self, content: &mut impl Read) {
        let mut bytes = Vec::new();
        let most = self.limits.bytes as u64;
        if let Err(error) = content.take(most.saturating_add(1)).read_to_end(&mut bytes) {
            self.incomplete(&format!("it cannot be read to its end: {error}"));
        }
        if bytes.len() > self.limits.bytes {
            bytes.truncate(self.limits.bytes);
            self.incomplete(&format!("only its first {most} bytes were looked at"));
        }
        self.queue.push_back(Layer { how: Vec::new(), bytes });
    }

    fn run(&mut self) {
        while let Some(layer) = self.queue.pop_front() {
            self.look(&layer);
            if self.budget.is_spent() {
                self.incomplete("it takes too long to look at all of it");
                return;
            }
        }
    }

    fn look(&mut self, layer: &Layer) {
        self.budget.spend(layer.bytes.len());
        let shared = scan(self.sources, &layer.bytes, &mut self.budget);
        let spans = if shared.is_empty() { Vec::new() } else { decode::spans(&layer.bytes) };
        for shared in shared {
            let Some(source) = self.sources.source(shared.source) else { continue };
            let inside = spans.iter().filter(|(range, _)| range.contains(&shared.at));
            let how = layer.how.iter().copied().chain(inside.map(|(_, what)| *what));
            let found = Match {
                name: source.name.clone(),
                how: how.chain(shared.how).collect(),
                shared_bytes: shared.bytes,
                whole: shared.whole,
            };
            self.found(found);
        }
        if self.budget.is_spent() {
            return;
        }
        let decoded = decode::decode(self.sources, &layer.bytes, &layer.how, &mut self.budget);
        self.queue_up(layer, decoded);
    }

    fn queue_up(&mut self, layer: &Layer, decoded: Decoded) {
        for reason in decoded.incomplete {
            self.incomplete(&reason);
        }
        for (steps, bytes) in decoded.contents {
            let how: Vec<_> = layer.how.iter().copied().chain(steps).collect();
            if bytes.len() < WINDOW {
                continue;
            }
            if how.len() > self.limits.depth {
                self.incomplete("it is nested too deeply");
            } else if self.is_new(&bytes) {
                self.queue.push_back(Layer { how, bytes });
            }
        }
    }

    fn is_new(&mut self, bytes: &[u8]) -> bool {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        self.seen.insert(hasher.finish())
    }

    fn found(&mut self, new: Match) {
        let rank =
            |found: &Match| (found.whole, found.shared_bytes, std::cmp::Reverse(found.how.len()));
        match self.traced.matches.iter_mut().find(|old| old.name == new.name) {
            Some(old) if rank(old) < rank(&new) => *old = new,
            Some(_) => {}
            None => self.traced.matches.push(new),
        }
        self.traced.matches.sort_by(|one, other| {
            rank(other).cmp(&rank(one)).then_with(|| one.name.cmp(&other.name))
        });
    }

    /// Notes why something was not looked at; the first reasons are enough.
    fn incomplete(&mut self, reason: &str) {
        const LONG: usize = 300;
        match &mut self.traced.incomplete {
            None => self.traced.incomplete = Some(reason.to_owned()),
            Some(reasons) if reasons.len() < LONG && !reasons.contains(reason) => {
                reasons.push_str("; ");
                reasons.push_str(reason);
            }
            Some(_) => {}
        }
    }
}
