//! What one content, as it is, shares with the sources.

use std::{cell::LazyCell, collections::HashMap, ops::Range};

use crate::{
    Transform,
    fingerprint::{Pick, WINDOW, Winnow},
    plain::{Plain, common, folds, is_space, rot13},
    sources::{Source, Sources},
    telling,
    trace::Budget,
};

/// What a content shares with one source.
#[derive(Debug)]
pub(crate) struct Shared {
    pub source: usize,
    /// What was done to it: reversed, other case, rot13.
    pub how: Vec<Transform>,
    /// Bytes of the source, white space not counted.
    pub bytes: u64,
    pub whole: bool,
    /// Where in the content the longest run starts.
    pub at: usize,
}

/// A shared run: so many bytes from `at` in the content and from `origin` in the source. Where it is
/// reversed, the last one in the content is at `origin` in the source.
#[derive(Debug, Clone, Copy)]
struct Run {
    at: usize,
    origin: usize,
    length: usize,
    reversed: bool,
}

impl Run {
    fn origin(&self) -> Range<usize> {
        self.origin..self.origin + self.length
    }

    /// What all runs have in common that are parts of one longer run.
    fn diagonal(&self) -> (bool, u64) {
        let (at, origin) = (self.at as u64, self.origin as u64);
        let shift =
            if self.reversed { at + origin + self.length as u64 } else { at.wrapping_sub(origin) };
        (self.reversed, shift)
    }
}

/// What was found of one source so far.
#[derive(Debug, Default)]
struct Found {
    runs: Vec<Run>,
    /// Up to where the content is known to be shared, by diagonal.
    ends: HashMap<(bool, u64), usize>,
}

/// Shared runs with one source; more say nothing new.
const MOST_RUNS: usize = 1 << 16;

/// The largest content that is searched for short texts, in bytes.
const SEARCHED: usize = 1 << 20;

/// What looking up a hit costs, in work units.
const HIT: usize = 8;

/// Looks for the sources in `content`, until the budget is used up.
pub(crate) fn scan(sources: &Sources, content: &[u8], budget: &mut Budget) -> Vec<Shared> {
    // Most contents have nothing of the sources in them.
    let plain = LazyCell::new(|| Plain::of(content));
    let (fold, mut winnow) = (folds(), Winnow::new());
    let mut found: HashMap<usize, Found> = HashMap::new();
    let mut look = |pick: Pick| {
        for (place, source, origin) in sources.places(pick.hash) {
            budget.spend(HIT);
            if budget.is_spent() {
                return;
            }
            let found = found.entry(place.source).or_default();
            if found.runs.len() < MOST_RUNS {
                meet(source, &plain.bytes, origin, pick, found, budget);
            }
        }
    };
    winnow.feed(content.iter().filter(|byte| !is_space(**byte)).map(|byte| fold(*byte)), &mut look);
    winnow.finish(&mut look);
    let judge = |(id, found): (usize, Found)| {
        let mut shared = judge(sources.source(id)?, id, &plain.bytes, found.runs)?;
        shared.at = plain.position(content, shared.at);
        Some(shared)
    };
    let mut shared: Vec<_> = found.into_iter().filter_map(judge).collect();
    let known: Vec<usize> = shared.iter().map(|found| found.source).collect();
    for (id, text) in sources.short().filter(|(id, _)| !known.contains(id)) {
        if content.len() > SEARCHED || budget.is_spent() {
            break;
        }
        budget.spend(content.len());
        if let Some(at) = position(&plain.bytes, text) {
            let (how, bytes) = (Vec::new(), text.len() as u64);
            let at = plain.position(content, at);
            shared.push(Shared { source: id, how, bytes, whole: true, at });
        }
    }
    shared
}

/// Where a short text stands.
fn position(content: &[u8], text: &[u8]) -> Option<usize> {
    content.windows(text.len()).position(|window| window == text)
}

/// A window of the content has the hash of a window of a source.
fn meet(
    source: &Source,
    content: &[u8],
    origin: Pick,
    pick: Pick,
    found: &mut Found,
    budget: &mut Budget,
) {
    let (Ok(at), Ok(from)) = (usize::try_from(pick.at), usize::try_from(origin.at)) else { return };
    let reversed = origin.backward != pick.backward;
    let seed = Run { at, origin: from, length: WINDOW, reversed };
    let end = found.ends.get(&seed.diagonal()).copied().unwrap_or_default();
    if at + WINDOW <= end {
        return;
    }
    budget.spend(WINDOW);
    let run = match &source.text {
        Some(text) => match extend(text, content, seed) {
            Some(run) => run,
            None => return,
        },
        None => seed,
    };
    budget.spend(run.length);
    found.ends.insert(run.diagonal(), run.at + run.length);
    found.runs.push(run);
}

/// The longest run around `seed`; none where the hashes were equal by chance.
fn extend(text: &[u8], content: &[u8], seed: Run) -> Option<Run> {
    let (before, from) = content.split_at_checked(seed.at)?;
    let (text_before, text_from) = text.split_at_checked(seed.origin)?;
    if !seed.reversed {
        let ahead = common(from.iter(), text_from.iter());
        let behind = common(before.iter().rev(), text_before.iter().rev());
        let length = behind + ahead;
        let run = Run { at: seed.at - behind, origin: seed.origin - behind, length, ..seed };
        return (ahead >= WINDOW).then_some(run);
    }
    let (text_before, text_from) = text.split_at_checked(seed.origin + WINDOW)?;
    let ahead = common(from.iter(), text_before.iter().rev());
    let behind = common(before.iter().rev(), text_from.iter());
    let origin = (seed.origin + WINDOW).checked_sub(ahead)?;
    let run = Run { at: seed.at - behind, origin, length: behind + ahead, ..seed };
    (ahead >= WINDOW).then_some(run)
}

fn judge(source: &Source, id: usize, content: &[u8], runs: Vec<Run>) -> Option<Shared> {
    let runs = if source.text.is_some() { runs } else { chained(source, runs) };
    let telling = |run: &Run| run.length - source.head.saturating_sub(run.origin).min(run.length);
    let longest = *runs.iter().max_by_key(|run| telling(run))?;
    let covered = union(runs.iter().map(Run::origin).collect());
    let bytes: u64 = covered.iter().map(|range| range.len() as u64).sum();
    // The head of the source is at the end of the run, where that is reversed.
    let start = longest.at + if longest.reversed { 0 } else { longest.length - telling(&longest) };
    let piece = content.get(start..start + telling(&longest))?;
    let told = telling::bits_up_to(piece, telling::COPY);
    // Of a large source, the picks alone are known, and a little is missing at both ends.
    let whole =
        bytes == source.length || source.text.is_none() && bytes >= source.length / 100 * 98;
    let tells = match &source.text {
        None => told >= telling::COPY,
        Some(text) => {
            let reach = Reach::of(&runs);
            told >= telling::COPY
                || whole && told >= telling::WHOLE
                || source.pieces.iter().any(|piece| reach.contains(piece))
                || tells_in_lines(source, text, &reach)
        }
    };
    tells.then(|| Shared {
        source: id,
        how: changes(source, content, &longest),
        bytes,
        whole,
        at: longest.at,
    })
}

/// Which pieces of a source lie within a single run.
struct Reach {
    /// Starts of runs, each with the furthest end of a run that starts there or before.
    ends: Vec<(usize, usize)>,
}

impl Reach {
    fn of(runs: &[Run]) -> Self {
        let mut ends: Vec<_> =
            runs.iter().map(|run| (run.origin().start, run.origin().end)).collect();
        ends.sort_unstable();
        let mut furthest = 0;
        for (_, end) in &mut ends {
            furthest = furthest.max(*end);
            *end = furthest;
        }
        Self { ends }
    }

    fn contains(&self, piece: &Range<usize>) -> bool {
        let after = self.ends.partition_point(|(start, _)| *start <= piece.start);
        let last = after.checked_sub(1).and_then(|at| self.ends.get(at));
        last.is_some_and(|(_, end)| piece.end <= *end)
    }
}

/// Whether many lines, none of which is a copy by itself, are one together.
fn tells_in_lines(source: &Source, text: &[u8], reach: &Reach) -> bool {
    let found = source.lines.iter().filter(|line| reach.contains(line));
    let bits = found.filter_map(|line| text.get(line.clone())).map(telling::bits);
    bits.fold(0, u32::saturating_add) >= telling::LINES.max(source.bits / 4)
}

/// Runs of a source of which only picks are known: three in a row, at their distances.
fn chained(source: &Source, mut runs: Vec<Run>) -> Vec<Run> {
    let place = |run: &Run| source.picks.partition_point(|pick| pick.at < run.origin as u64);
    runs.sort_by_key(|run| (run.diagonal(), run.origin));
    let next = |one: &Run, other: &Run| {
        one.diagonal() == other.diagonal() && place(other) <= place(one) + 2
    };
    let chains = runs.chunk_by(next).filter(|chain| chain.len() >= 3);
    chains
        .filter_map(|chain| {
            let (first, last) = (chain.first()?, chain.last()?);
            let length = last.origin + last.length - first.origin;
            Some(Run { at: first.at.min(last.at), length, ..*first })
        })
        .collect()
}

fn union(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// What was done to the bytes of a run, order and letters.
fn changes(source: &Source, content: &[u8], run: &Run) -> Vec<Transform> {
    let mut how = Vec::new();
    if run.reversed {
        how.push(Transform::Reversed);
    }
    let text = source.text.as_ref().and_then(|text| text.get(run.origin()));
    let Some((text, piece)) = text.zip(content.get(run.at..run.at + run.length)) else {
        return how;
    };
    let mut piece = piece.to_vec();
    if run.reversed {
        piece.reverse();
    }
    let differ = |change: fn(u8) -> u8| {
        piece.iter().zip(text).filter(|(one, other)| change(**one) != **other).count()
    };
    let lower = |change: fn(u8) -> u8| {
        let pairs = piece.iter().zip(text);
        pairs.filter(|(one, other)| !change(**one).eq_ignore_ascii_case(other)).count()
    };
    let (plain, turned) = (lower(|byte| byte), lower(rot13));
    if turned < plain {
        how.push(Transform::Rot13);
    }
    if differ(if turned < plain { rot13 } else { |byte| byte }) > plain.min(turned) {
        how.push(Transform::Case);
    }
    how
}
