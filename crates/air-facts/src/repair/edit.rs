//! Changes of a source, by ranges of its bytes.

use std::ops::Range;

/// A text in the place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    range: Range<usize>,
    text: String,
}

impl Edit {
    pub(super) fn new(range: Range<usize>, text: impl Into<String>) -> Self {
        Self { range, text: text.into() }
    }

    pub(super) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self::new(at..at, text)
    }

    pub(super) fn remove(range: Range<usize>) -> Self {
        Self::new(range, "")
    }
}

/// `source` with `edits`; nothing if two of them overlap.
pub(super) fn apply(source: &str, mut edits: Vec<Edit>) -> Option<String> {
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut made = String::with_capacity(source.len());
    let mut at = 0;
    for edit in edits {
        made.push_str(source.get(at..edit.range.start)?);
        made.push_str(&edit.text);
        at = edit.range.end;
    }
    made.push_str(source.get(at..)?);
    Some(made)
}

/// The white space that the line of `at` begins with, if there is nothing else before `at`.
pub(super) fn indent(source: &str, at: usize) -> Option<&str> {
    let before = source.get(line_start(source, at)..at)?;
    before.chars().all(|c| c == ' ' || c == '\t').then_some(before)
}

/// Where the line of `at` begins.
pub(super) fn line_start(source: &str, at: usize) -> usize {
    source.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1)
}

/// The end of the line of `at`, without its newline.
pub(super) fn line_end(source: &str, at: usize) -> usize {
    source.get(at..).and_then(|rest| rest.find('\n')).map_or(source.len(), |length| at + length)
}
