//! Facts as they are found.

use std::collections::HashSet;

use air_core::code::{Call, CodeFacts};

use crate::words;

/// Source within source is read this deep.
const MAX_NESTING: u8 = 4;
/// An argument that is no literal shows this much of its source.
const MAX_SHOWN: usize = 200;
/// Reasons past this many are counted only.
const MAX_REASONS: usize = 20;

/// Gathers the facts of one source and of the sources within it.
#[derive(Debug)]
pub(crate) struct Collector {
    facts: CodeFacts,
    seen: HashSet<(Kind, String)>,
    more_reasons: usize,
    nesting: u8,
    /// Source within source has no lines of its own: what it does is on the line that holds it.
    within: Option<u32>,
}

/// The lists that name each item once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Import,
    Text,
    Path,
    Url,
    Reason,
}

impl Collector {
    pub(crate) fn new(language: &str) -> Self {
        Self {
            facts: CodeFacts { language: Some(language.to_owned()), ..CodeFacts::default() },
            seen: HashSet::new(),
            more_reasons: 0,
            nesting: 0,
            within: None,
        }
    }

    pub(crate) fn finish(mut self) -> CodeFacts {
        if self.more_reasons > 0 {
            self.facts.incomplete.push(format!("{} more", self.more_reasons));
        }
        self.facts
    }

    /// Reads source that the source at `line` runs, with `read`.
    pub(crate) fn nested(&mut self, line: u32, read: impl FnOnce(&mut Self)) {
        if self.nesting == MAX_NESTING {
            self.incomplete_at(line, "source within source is nested too deeply");
            return;
        }
        let outer = self.within;
        self.within = outer.or(Some(line));
        self.nesting += 1;
        read(self);
        self.nesting -= 1;
        self.within = outer;
    }

    pub(crate) fn call(&mut self, name: impl Into<String>, args: Vec<String>, line: u32) {
        let line = self.within.unwrap_or(line);
        self.facts.calls.push(Call { name: name.into(), args, line });
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
