//! What must not turn up elsewhere.

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, ErrorKind, Read},
    ops::Range,
};

use crate::{
    fingerprint::{LAG, Pick, Picks, SHARED, WINDOW, Winnow},
    index::{Index, Place},
    plain::{Plain, folds, is_space},
    telling,
};

/// Of contents up to so many bytes, the text is kept, and every shared piece that tells enough is
/// found. Of larger ones, fingerprints alone are kept.
const KEPT: usize = 1 << 20;

/// The shortest content that is looked for, in bytes.
const SHORTEST: usize = 10;

/// Contents that must not turn up elsewhere, by name.
///
/// Of a content of up to 1 MiB, the text is kept, in memory only. Any shared run of 19 bytes, white
/// space not counted, is seen in contents of up to some 140 kB, of 35 bytes up to 280 kB, and so on;
/// whether it is then a match depends on how much it tells. Of a larger content, fingerprints alone
/// are kept, and the run must be about one part in 2,500: 1.5 kB of 3 MB, 25 kB of 50 MB.
///
/// Memory: the kept text, and for each content at most 8 MiB of fingerprints.
#[derive(Default)]
pub struct Sources {
    list: Vec<Source>,
    index: Index,
    keyed: Index,
    /// Those that are too short for two contents to share a fingerprint of them wherever they stand,
    /// and tell enough all the same.
    short: Vec<usize>,
}

/// One content.
#[derive(PartialEq)]
pub(crate) struct Source {
    pub name: String,
    pub picks: Vec<Pick>,
    /// Picks of the differences between neighbouring bytes, with the bytes at their ends. The
    /// differences stay as they are when every byte is combined with the same one by XOR.
    keyed: Vec<Pick>,
    /// The content without white space, where it is small enough.
    pub text: Option<Vec<u8>>,
    /// Pieces of the text that are a copy by themselves, as ranges of it.
    pub pieces: Vec<Range<usize>>,
    /// Its lines, likewise.
    pub lines: Vec<Range<usize>>,
    /// How much of the text is a block of comments at its head, which proves nothing.
    pub head: usize,
    /// Bytes without white space.
    pub length: u64,
    /// What the text tells, all in all, in bits.
    pub bits: u32,
}

impl fmt::Debug for Sources {
    /// The contents are secret, so they are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list.iter().map(|source| &source.name)).finish()
    }
}

impl Sources {
    /// Adds `content` under the name that matches are to report, such as its path. What was added
    /// under this name before stays: a file has several contents, and a copy under way is added under
    /// the name of its origin. Where a content is to be replaced, [`Self::remove`] the name first.
    ///
    /// A content of fewer than 10 bytes, white space not counted, is never found again, and one of
    /// fewer than 19 only as it is, unless what was made of it has nothing beside it.
    ///
    /// # Errors
    ///
    /// When `content` cannot be read; then nothing was added.
    pub fn add(&mut self, name: &str, content: &mut impl Read) -> io::Result<()> {
        let source = Source::read(name, content)?;
        if !self.list.contains(&source) {
            self.list.push(source);
            self.enter(self.list.len() - 1);
        }
        Ok(())
    }

    /// Forgets all contents of this name.
    pub fn remove(&mut self, name: &str) {
        let before = self.list.len();
        self.list.retain(|source| source.name != name);
        if self.list.len() < before {
            (self.index, self.keyed) = (Index::default(), Index::default());
            self.short.clear();
            (0..self.list.len()).for_each(|id| self.enter(id));
        }
    }

    /// How many contents there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    fn enter(&mut self, id: usize) {
        let Some(source) = self.list.get(id) else { return };
        if let Some(text) = &source.text
            && (SHORTEST..SHARED).contains(&text.len())
            && telling::is_short_copy(text.len(), source.bits)
        {
            self.short.push(id);
        }
        for (pick, found) in source.picks.iter().enumerate() {
            self.index.add(found.hash, Place { source: id, pick });
        }
        for (pick, found) in source.keyed.iter().enumerate() {
            self.keyed.add(found.hash, Place { source: id, pick });
        }
    }

    /// The picks with this hash, with their sources.
    #[inline]
    pub(crate) fn places(&self, hash: u64) -> impl Iterator<Item = (Place, &Source, Pick)> {
        self.index.get(hash).filter_map(|place| {
            let source = self.list.get(place.source)?;
            Some((place, source, *source.picks.get(place.pick)?))
        })
    }

    /// Sources that are looked for as they are, with their texts.
    pub(crate) fn short(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.short.iter().filter_map(|id| Some((*id, self.list.get(*id)?.text.as_deref()?)))
    }

    pub(crate) fn source(&self, id: usize) -> Option<&Source> {
        self.list.get(id)
    }

    /// The bytes which, combined with every byte of `content`, may bring forth a source; by how often
    /// that was seen. At most `most`.
    pub(crate) fn keys(&self, content: &[u8], most: usize) -> Vec<u8> {
        let mut seen: BTreeMap<u8, u32> = BTreeMap::new();
        let mut winnow = Winnow::new();
        let mut look = |pick: Pick| {
            let known = self
                .keyed
                .get(pick.hash)
                .filter_map(|place| self.list.get(place.source)?.keyed.get(place.pick));
            for known in known {
                let first = usize::try_from(pick.at).ok().and_then(|at| content.get(at)).copied();
                let same_way = known.backward == pick.backward;
                let outer = if same_way { known.ends.0 } else { known.ends.1 };
                let key = first.unwrap_or(outer) ^ outer;
                if key != 0 {
                    *seen.entry(key).or_default() += 1;
                }
            }
        };
        winnow.feed(differences(content), &mut look);
        winnow.finish(&mut look);
        let mut keys: Vec<_> = seen.into_iter().collect();
        keys.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        keys.into_iter().take(most).map(|(key, _)| key).collect()
    }
}

impl Source {
    fn read(name: &str, content: &mut impl Read) -> io::Result<Self> {
        let fold = folds();
        let (mut picks, mut plain) = (Picks::default(), Winnow::new());
        let (mut keyed, mut changes) = (Picks::default(), Winnow::new());
        let (mut recent, mut start) = (Recent::default(), Vec::new());
        let mut length = 0usize;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let read = match content.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let bytes = buffer.get(..read).unwrap_or_default();
            let room = (KEPT + 1).saturating_sub(start.len()).min(read);
            start.extend_from_slice(bytes.get(..room).unwrap_or_default());
            let new = recent.extend(bytes);
            let bytes_and_last = recent.bytes.get(new.saturating_sub(1)..).unwrap_or_default();
            let take = &mut |pick| keyed.push(recent.with_ends(pick));
            changes.feed(differences(bytes_and_last), take);
            let shown = bytes.iter().filter(|byte| !is_space(**byte));
            length += shown.clone().count();
            plain.feed(shown.map(|byte| fold(*byte)), &mut |pick| picks.push(pick));
        }
        plain.finish(&mut |pick| picks.push(pick));
        changes.finish(&mut |pick| keyed.push(recent.with_ends(pick)));
        let mut source = Self {
            name: name.to_owned(),
            picks: picks.finish(),
            keyed: keyed.finish(),
            text: None,
            pieces: Vec::new(),
            lines: Vec::new(),
            head: 0,
            length: length as u64,
            bits: 0,
        };
        if start.len() <= KEPT {
            source.keep(&start);
        }
        Ok(source)
    }

    fn keep(&mut self, content: &[u8]) {
        self.head = telling::head(content);
        let head = self.head as u64;
        self.picks.retain(|pick| pick.at >= head);
        let text = Plain::of(content).bytes;
        self.pieces = telling::pieces(content);
        self.lines = telling::lines(content);
        self.lines.retain(|line| line.start >= self.head);
        self.bits = telling::bits(&text);
        self.text = Some(text);
    }
}

/// How bytes differ from the ones before them.
fn differences(content: &[u8]) -> impl Iterator<Item = u8> {
    content.iter().zip(content.iter().skip(1)).map(|(one, other)| one ^ other)
}

/// The last bytes of a content.
#[derive(Default)]
struct Recent {
    bytes: Vec<u8>,
    /// How many came before them.
    before: u64,
}

impl Recent {
    /// Puts `bytes` behind those that are still needed, and says how many these are.
    fn extend(&mut self, bytes: &[u8]) -> usize {
        let old = self.bytes.len().saturating_sub(LAG + WINDOW);
        self.bytes.drain(..old);
        self.before += old as u64;
        let kept = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        kept
    }

    fn with_ends(&self, pick: Pick) -> Pick {
        let at = usize::try_from(pick.at - self.before).unwrap_or_default();
        let get = |at: usize| self.bytes.get(at).copied().unwrap_or_default();
        Pick { ends: (get(at), get(at + WINDOW)), ..pick }
    }
}
