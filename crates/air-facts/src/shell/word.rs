//! Words as a command gets them, and data as it goes from command to command.

use air_core::place::Place;

use crate::collect::computed;

/// Longer texts are not followed.
pub(super) const MAX_TEXT: usize = 1 << 16;
/// Sources past this many of one datum are not told apart.
const MAX_SOURCES: usize = 32;

/// A word that a command is given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Word {
    /// Unquoted; `${…}` stands for what is computed.
    text: String,
    /// As it is written, where it is computed or a pattern.
    written: Option<String>,
    known: bool,
    /// Where what is in it comes from.
    sources: Vec<Place>,
}

impl Word {
    pub(crate) fn literal(text: impl Into<String>) -> Self {
        Self { text: text.into(), written: None, known: true, sources: Vec::new() }
    }

    /// A word that is not known; `shown` stands for it.
    pub(crate) fn computed(shown: String) -> Self {
        let text = if shown.contains("${") { shown.clone() } else { computed(&shown) };
        Self { text, written: Some(shown), known: false, sources: Vec::new() }
    }

    /// This word, which comes from there.
    pub(crate) fn from(mut self, sources: impl IntoIterator<Item = Place>) -> Self {
        merge(&mut self.sources, sources);
        self
    }

    pub(super) fn data(data: &Data, shown: &str) -> Self {
        let word = match &data.text {
            Some(text) if text.len() <= MAX_TEXT => Self::literal(text.clone()),
            _ => Self::computed(computed(shown)),
        };
        word.from(data.sources.iter().cloned())
    }

    /// The word, if it is known.
    pub(crate) fn text(&self) -> Option<&str> {
        self.known.then_some(self.text.as_str())
    }

    /// Unquoted, with `${…}` for what is computed.
    pub(crate) fn as_written(&self) -> &str {
        &self.text
    }

    /// As an argument of a [`Call`](air_core::code::Call).
    pub(crate) fn shown(&self) -> &str {
        self.written.as_deref().unwrap_or(&self.text)
    }

    pub(crate) fn sources(&self) -> &[Place] {
        &self.sources
    }

    /// This word with `other` after it.
    pub(super) fn then(mut self, other: &Self) -> Self {
        self.push(other);
        self
    }

    /// Appends `other`.
    pub(super) fn push(&mut self, other: &Self) {
        if self.text.len() + other.text.len() > MAX_TEXT {
            self.known = false;
            if !self.text.ends_with("${…}") {
                self.text.push_str("${…}");
            }
        } else {
            self.text.push_str(&other.text);
            self.known &= other.known;
        }
        merge(&mut self.sources, other.sources.iter().cloned());
    }

    /// A part of this word: what is known of it goes for the part.
    pub(super) fn part(&self, text: impl Into<String>) -> Self {
        let text = text.into();
        let known = self.known || !text.contains("${");
        Self { text, written: None, known, sources: self.sources.clone() }
    }

    /// This word, as `raw` in the source.
    pub(super) fn written_as(mut self, raw: &str, pattern: bool) -> Self {
        self.written = (!self.known || pattern).then(|| computed(raw));
        self
    }

    /// This word, shown as `written`.
    pub(super) fn written_as_text(mut self, written: &str) -> Self {
        self.written = Some(written.to_owned());
        self
    }

    /// What is in it, as data.
    pub(super) fn into_data(self) -> Data {
        Data { text: self.known.then_some(self.text), sources: self.sources, endless: false }
    }
}

/// What a command writes or reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Data {
    pub(super) text: Option<String>,
    pub(super) sources: Vec<Place>,
    /// It never ends.
    pub(super) endless: bool,
}

impl Data {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    pub(super) fn from(sources: impl IntoIterator<Item = Place>) -> Self {
        let mut data = Self::default();
        merge(&mut data.sources, sources);
        data
    }

    /// Nothing at all.
    pub(super) fn none() -> Self {
        Self::text("")
    }

    pub(super) fn append(&mut self, other: Self) {
        self.text = match (self.text.take(), other.text) {
            (Some(mut text), Some(more)) if text.len() + more.len() <= MAX_TEXT => {
                text.push_str(&more);
                Some(text)
            }
            _ => None,
        };
        merge(&mut self.sources, other.sources);
        self.endless |= other.endless;
    }

    /// The same without its text.
    pub(super) fn obscured(self) -> Self {
        Self { text: None, ..self }
    }
}

pub(super) fn merge(into: &mut Vec<Place>, from: impl IntoIterator<Item = Place>) {
    for place in from {
        if into.len() < MAX_SOURCES && !into.contains(&place) {
            into.push(place);
        }
    }
}
