//! Facts as they are found.

use std::{
    cell::Cell,
    collections::{BTreeMap, HashSet},
};

use air_core::{
    code::{Call, CodeFacts, Defect, Flow, Operation},
    place::{Held, Place, PlaceKind},
    port::Surroundings,
};

use crate::{content, words};

/// Source within source is read this deep.
const MAX_NESTING: u8 = 4;
/// An argument that is no literal shows this much of its source.
const MAX_SHOWN: usize = 200;
/// Reasons past this many are counted only.
const MAX_REASONS: usize = 20;
/// Files that are asked for while one source is read.
const MAX_FILES: usize = 32;
/// Longer texts are not kept for later steps.
pub(crate) const MAX_LEFT: usize = 1 << 16;
/// Operations and flows past this many make the facts incomplete.
const MAX_DONE: usize = 10_000;

/// The detail of making a directory: no file has changed.
pub(crate) const DIRECTORY: &str = "directory";
/// The detail of removing a directory that is empty: nothing is lost.
pub(crate) const EMPTY: &str = "empty";

/// Gathers the facts of one source and of the sources within it.
pub(crate) struct Collector<'a> {
    facts: CodeFacts,
    around: &'a dyn Surroundings,
    /// Whether something of earlier steps would show.
    asked: Cell<bool>,
    /// What the source has put where so far.
    left: BTreeMap<Place, Held>,
    /// What each place that changes in a branch was before it, innermost last.
    branches: Vec<Changed>,
    /// The same since the source may have ended.
    since_end: Option<Changed>,
    operations: HashSet<Operation>,
    flows: HashSet<Flow>,
    files: usize,
    /// Steps that were taken, and may be taken.
    spent: usize,
    allowed: usize,
    seen: HashSet<(Kind, String)>,
    more_reasons: usize,
    nesting: u8,
    /// The line of what was done last.
    at: u32,
    /// Source within source has no lines of its own: what it does is on the line that holds it.
    within: Option<u32>,
}

/// Where the source around a source was.
#[derive(Clone, Copy)]
pub(crate) struct Outer(Option<u32>);

/// What places held before they changed.
pub(crate) type Changed = BTreeMap<Place, Option<Held>>;

/// The lists that name each item once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Import,
    Text,
    Path,
    Url,
    Reason,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(language: &str, around: &'a dyn Surroundings) -> Self {
        Self {
            facts: CodeFacts { language: Some(language.to_owned()), ..CodeFacts::default() },
            around,
            left: BTreeMap::new(),
            branches: Vec::new(),
            since_end: None,
            operations: HashSet::new(),
            flows: HashSet::new(),
            asked: Cell::new(false),
            files: 0,
            spent: 0,
            allowed: 0,
            seen: HashSet::new(),
            more_reasons: 0,
            nesting: 0,
            at: 1,
            within: None,
        }
    }

    /// What earlier steps put there.
    fn remembered(&self, place: &Place) -> Option<Held> {
        self.asked.set(true);
        self.around.held(place)
    }

    pub(crate) fn finish(mut self) -> CodeFacts {
        if self.more_reasons > 0 {
            self.facts.incomplete.push(format!("{} more", self.more_reasons));
        }
        // What asks nothing of earlier steps is not told less for what was forgotten.
        if self.asked.get() && self.around.forgets() {
            let why = "not all that earlier steps left is remembered";
            self.facts.incomplete.push(why.to_owned());
        }
        self.end(None);
        self.facts.leaves = self.left.into_iter().collect();
        self.facts
    }

    /// How deep the source lies within others.
    pub(crate) fn nesting(&self) -> u8 {
        self.nesting
    }

    /// Lets the source take as many steps, together with the sources within it.
    pub(crate) fn allow(&mut self, steps: usize) {
        self.allowed = self.allowed.max(steps);
    }

    /// Counts steps; `false` when they are more than it may take.
    pub(crate) fn spend(&mut self, steps: usize) -> bool {
        self.spent = self.spent.saturating_add(steps);
        self.spent <= self.allowed
    }

    /// The steps that were taken so far.
    pub(crate) fn spent(&self) -> usize {
        self.spent
    }

    /// Reads source that the source at `line` runs, with `read`.
    pub(crate) fn nested(&mut self, line: u32, read: impl FnOnce(&mut Self)) {
        if let Some(outer) = self.enter(line) {
            read(self);
            self.leave_nested(outer);
        }
    }

    /// What follows is source that the source at `line` runs, until [`Self::leave_nested`] is called
    /// with what this returns.
    pub(crate) fn enter(&mut self, line: u32) -> Option<Outer> {
        if self.nesting == MAX_NESTING {
            self.incomplete_at(line, "source within source is nested too deeply");
            return None;
        }
        let outer = Outer(self.within);
        self.within = self.within.or(Some(line));
        self.nesting += 1;
        Some(outer)
    }

    pub(crate) fn leave_nested(&mut self, outer: Outer) {
        self.nesting -= 1;
        self.within = outer.0;
    }

    pub(crate) fn call(&mut self, name: impl Into<String>, args: Vec<String>, line: u32) {
        let line = self.within.unwrap_or(line);
        self.facts.calls.push(Call { name: name.into(), args, line });
    }

    /// Something that is done to the world. The same again on the same line counts once.
    pub(crate) fn operation(&mut self, mut operation: Operation) {
        operation.line = self.within.unwrap_or(operation.line);
        self.at = operation.line;
        if self.operations.len() + self.flows.len() >= MAX_DONE {
            self.incomplete("more is done than is listed");
        } else if self.operations.insert(operation.clone()) {
            self.facts.operations.push(operation);
        }
    }

    /// A flaw of the program itself; each kind once a line.
    pub(crate) fn defect(&mut self, kind: &str, line: u32, why: &str) {
        let line = self.within.unwrap_or(line);
        let defect = Defect { kind: kind.to_owned(), line, why: why.to_owned() };
        if !self.facts.defects.contains(&defect) && self.facts.defects.len() < MAX_REASONS {
            self.facts.defects.push(defect);
        }
    }

    /// What the machine shows or counts is watched; whatever the program then prints tells of it.
    pub(crate) fn watched(&mut self, what: &str, line: u32) {
        let machine = Place::new(PlaceKind::Machine, what);
        self.flow(&[machine], &Place::new(PlaceKind::Output, ""), line);
    }

    /// Not all flaws may have been found; what else the source does is told whole.
    pub(crate) fn defects_incomplete(&mut self, why: &str) {
        self.facts.defects_incomplete.get_or_insert_with(|| why.to_owned());
    }

    /// How many flaws were found so far; see [`Self::bounded`].
    pub(crate) fn flaws(&self) -> usize {
        self.facts.defects.len()
    }

    /// What was read since ends after a time, so that its loops have an end.
    pub(crate) fn bounded(&mut self, since: usize) {
        let mut at = 0..;
        self.facts
            .defects
            .retain(|defect| at.next() < Some(since) || defect.kind != "endless-loop");
    }

    /// What has been done so far; see [`Self::since`].
    pub(crate) fn done(&self) -> usize {
        self.facts.operations.len()
    }

    /// Operations since then.
    pub(crate) fn since(&self, done: usize) -> &[Operation] {
        self.facts.operations.get(done..).unwrap_or_default()
    }

    /// What is at each of `sources`, and what it was made from, goes to `sink`.
    pub(crate) fn flow(&mut self, sources: &[Place], sink: &Place, line: u32) {
        let line = self.within.unwrap_or(line);
        self.at = line;
        for source in self.origins(sources) {
            let flow = Flow { source, sink: sink.clone(), line };
            if self.operations.len() + self.flows.len() >= MAX_DONE {
                self.incomplete("more is done than is listed");
            } else if flow.source != flow.sink && self.flows.insert(flow.clone()) {
                self.facts.flows.push(flow);
            }
        }
    }

    /// `places`, and where what they hold comes from.
    pub(crate) fn origins(&self, places: &[Place]) -> Vec<Place> {
        let mut all: Vec<Place> = Vec::new();
        for place in places {
            let before = self.held(place).unwrap_or_default().sources;
            // A variable is a way, not where something comes from.
            let itself = (place.kind != PlaceKind::Variable).then(|| place.clone());
            for origin in itself.into_iter().chain(before) {
                if !all.contains(&origin) {
                    all.push(origin);
                }
            }
        }
        all
    }

    /// What is there by now: by this source, or else by earlier steps.
    pub(crate) fn held(&self, place: &Place) -> Option<Held> {
        self.left.get(place).cloned().or_else(|| self.remembered(place))
    }

    /// Notes what is notable of a text that goes to a file.
    pub(crate) fn wrote(&mut self, place: &Place, text: &str) {
        if place.kind != PlaceKind::File || text.is_empty() || !self.spend(text.len() / 64) {
            return;
        }
        for mark in content::hidden(&place.name, text) {
            let why = match mark {
                content::ENCODED => "program text is written to a file in letters that hide it",
                _ => "a usual command gets another meaning in every shell that starts",
            };
            self.defect(mark, self.at, why);
        }
    }

    /// From here on, `place` holds that.
    pub(crate) fn leave(&mut self, place: Place, mut held: Held) {
        if let Some(text) = &held.text {
            self.wrote(&place, text);
        }
        if held.text.as_ref().is_some_and(|text| text.len() > MAX_LEFT) {
            held.text = None;
        }
        let before =
            if held.perhaps { self.held(&place).unwrap_or_default() } else { Held::default() };
        // What earlier steps left there may still be there.
        let perhaps = held.perhaps && self.left.get(&place).is_none_or(|left| left.perhaps);
        let mut held = before.then(held);
        held.perhaps = perhaps;
        let before = self.left.get(&place);
        for changed in self.branches.last_mut().into_iter().chain(&mut self.since_end) {
            changed.entry(place.clone()).or_insert_with(|| before.cloned());
        }
        self.left.insert(place, held);
    }

    /// What follows happens under a condition, until [`Self::join`].
    pub(crate) fn branch(&mut self) {
        self.branches.push(Changed::new());
    }

    /// What was left since [`Self::branch`] may not be there.
    pub(crate) fn join(&mut self) {
        let changed = self.branches.pop().unwrap_or_default();
        self.doubt(changed);
    }

    /// The source may have ended here: what is left from here on may not be there.
    pub(crate) fn may_end(&mut self) {
        self.since_end.get_or_insert_default();
    }

    /// A source within starts, which may end by itself.
    pub(crate) fn start(&mut self) -> Option<Changed> {
        self.since_end.take()
    }

    /// A source within is read whole; `outer` is what [`Self::start`] gave.
    pub(crate) fn end(&mut self, outer: Option<Changed>) {
        let changed = std::mem::replace(&mut self.since_end, outer);
        self.doubt(changed.unwrap_or_default());
    }

    fn doubt(&mut self, changed: Changed) {
        for (place, before) in changed {
            let Some(after) = self.left.get(&place).cloned() else { continue };
            let perhaps = before.as_ref().is_none_or(|before| before.perhaps);
            for outer in self.branches.last_mut().into_iter().chain(&mut self.since_end) {
                outer.entry(place.clone()).or_insert_with(|| before.clone());
            }
            let before = before.or_else(|| self.remembered(&place)).unwrap_or_default();
            let mut held = before.then(Held { perhaps: true, ..after });
            held.perhaps = perhaps;
            self.left.insert(place, held);
        }
    }

    /// The text of a file that the source runs.
    ///
    /// # Errors
    ///
    /// Why it is not known.
    pub(crate) fn file(&mut self, path: &str) -> Result<String, String> {
        let place = Place::new(PlaceKind::File, path);
        if let Some(text) = self.held(&place).and_then(|held| held.text) {
            return Ok(text);
        }
        if self.left.contains_key(&place) {
            return Err("what is in it by then is not known".to_owned());
        }
        if self.files == MAX_FILES {
            return Err("more files are run than are read".to_owned());
        }
        self.files += 1;
        let bytes = self.around.file(path)?;
        String::from_utf8(bytes).map_err(|_| "it is no text".to_owned())
    }

    pub(crate) fn import(&mut self, name: &str) {
        if self.first(Kind::Import, name) {
            self.facts.imports.push(name.to_owned());
        }
    }

    /// A string literal, and what it reads as.
    pub(crate) fn string(&mut self, text: &str) {
        if self.first(Kind::Text, text) {
            self.facts.strings.push(text.to_owned());
        }
        self.mention(text);
    }

    /// Text that may name a path or a URL.
    pub(crate) fn mention(&mut self, text: &str) {
        for url in words::urls(text) {
            if let Some(path) = url.strip_prefix("file://") {
                self.path(path);
            }
            if self.first(Kind::Url, url) {
                self.facts.urls.push(url.to_owned());
            }
        }
        for path in words::paths(text) {
            self.path(path);
        }
    }

    pub(crate) fn path(&mut self, path: &str) {
        if !path.is_empty() && self.first(Kind::Path, path) {
            self.facts.paths.push(path.to_owned());
        }
    }

    pub(crate) fn incomplete_at(&mut self, line: u32, why: impl AsRef<str>) {
        let line = self.within.unwrap_or(line);
        self.incomplete(format!("line {line}: {}", why.as_ref()));
    }

    pub(crate) fn incomplete(&mut self, why: impl Into<String>) {
        let why = why.into();
        if self.facts.incomplete.len() == MAX_REASONS {
            self.more_reasons += 1;
        } else if self.first(Kind::Reason, &why) {
            self.facts.incomplete.push(why);
        }
    }

    fn first(&mut self, kind: Kind, text: &str) -> bool {
        self.seen.insert((kind, text.to_owned()))
    }
}

/// An argument that is no literal.
pub(crate) fn computed(source: &str) -> String {
    format!("${{{}}}", cap(source))
}

/// As much of `source` as an argument or a message shows.
pub(crate) fn cap(source: &str) -> String {
    let mut shown: String = source.chars().take(MAX_SHOWN).collect();
    if shown.len() < source.len() {
        shown.push('…');
    }
    shown
}
