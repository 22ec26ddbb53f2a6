//! The text of a clause as words, and phrases to look for in it.

use std::ops::Range;

use crate::syntax::view::Clause;

/// A word of a text.
#[derive(Debug)]
pub(super) struct Word<'s> {
    /// Without the punctuation around it.
    pub(super) text: &'s str,
    /// In lower case.
    pub(super) lower: String,
    /// Where it is, in bytes of the file.
    pub(super) span: Range<usize>,
    /// Whether a sentence or list item starts with it.
    pub(super) first: bool,
    /// Whether a sentence or part of one ends with it.
    pub(super) last: bool,
}

/// A text.
#[derive(Debug, Default)]
pub(super) struct Prose<'s> {
    pub(super) words: Vec<Word<'s>>,
}

impl<'s> Prose<'s> {
    /// The words of a clause's argument and body.
    pub(super) fn of(clause: &Clause<'s>) -> Self {
        let argument = clause.argument.into_iter();
        let mut prose = Self::default();
        let mut first = true;
        for piece in argument.chain(clause.lines().map(|(_, piece)| piece)) {
            let mut at = piece.start;
            for token in piece.text.split([' ', '\t', '\u{a0}']) {
                first = prose.push(token, at, first);
                at += token.len() + 1;
            }
        }
        prose
    }

    fn push(&mut self, token: &'s str, at: usize, first: bool) -> bool {
        let text = token.trim_start_matches(|c: char| !begins_word(c));
        let start = at + token.len() - text.len();
        let text = text.trim_end_matches(|c: char| !c.is_alphanumeric() && !"/*~$+#".contains(c));
        if text.is_empty() {
            return first || token.contains(['-', '*']) && token.len() == 1;
        }
        let ends = token.ends_with(['.', ';', ':', '!', '?', ',', ')']);
        let (lower, span) = (text.to_lowercase(), start..start + text.len());
        self.words.push(Word { text, lower, span, first, last: ends });
        token.ends_with(['.', ';', ':', '!', '?'])
    }

    /// The bytes of the file from the first to the last word of a range.
    pub(super) fn span(&self, range: Range<usize>) -> Range<usize> {
        let words = self.words.get(range).unwrap_or_default();
        let start = words.first().map_or(0, |word| word.span.start);
        start..words.last().map_or(start, |word| word.span.end)
    }

    /// Whether one of these is a word of it.
    pub(super) fn has(&self, words: &[&str]) -> bool {
        self.words.iter().any(|word| words.contains(&word.lower.as_str()))
    }
}

fn begins_word(c: char) -> bool {
    c.is_alphanumeric() || "/.~$@\\".contains(c)
}

/// Phrases, each a line: words with blanks between. `a|b` is either, `ab*` every word that begins so,
/// `_` any word, `?a` may be missing, and `...` stands for up to four words of the same part.
#[derive(Debug)]
pub(super) struct Phrases(Vec<Vec<Part>>);

#[derive(Debug)]
enum Part {
    Gap,
    Word { alternatives: Vec<&'static str>, optional: bool },
}

impl Phrases {
    pub(super) fn new(text: &'static str) -> Self {
        let part = |word: &'static str| {
            if word == "..." {
                return Part::Gap;
            }
            let rest = word.strip_prefix('?');
            let alternatives = rest.unwrap_or(word).split('|').collect();
            Part::Word { alternatives, optional: rest.is_some() }
        };
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        Self(lines.map(|line| line.split_whitespace().map(part).collect()).collect())
    }

    /// The words of the first phrase that `prose` has.
    pub(super) fn find(&self, prose: &Prose<'_>) -> Option<Range<usize>> {
        (0..prose.words.len()).find_map(|start| {
            let end = self.0.iter().find_map(|phrase| matched(phrase, prose, start));
            end.map(|end| start..end)
        })
    }
}

/// The word after the phrase, where `prose` has it at `at`.
fn matched(phrase: &[Part], prose: &Prose<'_>, at: usize) -> Option<usize> {
    let Some((part, rest)) = phrase.split_first() else { return Some(at) };
    match part {
        Part::Gap => (at..=at + 4)
            .take_while(|end| {
                let passed = prose.words.get(at.saturating_sub(1)..*end).unwrap_or_default();
                !passed.iter().any(|word| word.last)
            })
            .find_map(|end| matched(rest, prose, end)),
        Part::Word { alternatives, optional } => {
            let fits = |word: &Word<'_>| alternatives.iter().any(|it| word_fits(it, &word.lower));
            let next = prose.words.get(at).filter(|word| fits(word));
            let taken = next.and_then(|_| matched(rest, prose, at + 1));
            taken.or_else(|| optional.then(|| matched(rest, prose, at)).flatten())
        }
    }
}

/// Whether `word` is what `pattern` stands for.
pub(super) fn word_fits(pattern: &str, word: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(stem) => word.starts_with(stem),
        None => pattern == "_" || pattern == word,
    }
}
