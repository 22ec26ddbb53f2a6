//! TOML that a person wrote, with errors that show where they are.

use std::fmt;

use serde::de::DeserializeOwned;

/// A TOML file was rejected: where, why, and the line itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TomlError {
    /// The file, as it is shown.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    excerpt: String,
    width: usize,
}

impl std::error::Error for TomlError {}

impl fmt::Display for TomlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, excerpt, width } = self;
        let number = line.to_string();
        let gutter = " ".repeat(number.len());
        let indent = " ".repeat(column.saturating_sub(1));
        let marks = "^".repeat(*width);
        write!(f, "{file}:{line}:{column}: {message}\n{gutter} |\n{number} | {excerpt}\n")?;
        write!(f, "{gutter} | {indent}{marks}")
    }
}

/// Reads `text`, the content of `file`.
///
/// # Errors
///
/// The first thing in it that does not fit.
pub fn from_str<T: DeserializeOwned>(text: &str, file: &str) -> Result<T, TomlError> {
    toml::from_str(text).map_err(|error| {
        at(text, file, error.span().unwrap_or_default(), in_words_of_toml(error.message()))
    })
}

/// The message on one line, and in the words that a person who writes TOML knows.
fn in_words_of_toml(message: &str) -> String {
    const WORDS: [(&str, &str); 5] = [
        ("unknown field ", "unknown key "),
        ("missing field ", "missing key "),
        ("unknown variant ", "unknown value "),
        ("invalid type: map,", "invalid type: table,"),
        ("invalid type: sequence,", "invalid type: array,"),
    ];
    let mut message = message.trim().replace('\n', ", ");
    for (from, to) in WORDS {
        if let Some(rest) = message.strip_prefix(from) {
            message = format!("{to}{rest}");
        }
    }
    for (from, to) in [
        (", expected a sequence", ", expected an array"),
        (", expected a map", ", expected a table"),
    ] {
        if let Some(start) = message.strip_suffix(from) {
            message = format!("{start}{to}");
        }
    }
    message
}

/// The error that `message` holds of the bytes `span` of `text`.
pub fn at(
    text: &str,
    file: &str,
    span: std::ops::Range<usize>,
    message: impl Into<String>,
) -> TomlError {
    let start = text.floor_char_boundary(span.start);
    let before = text.get(..start).unwrap_or("");
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let source = text.get(line_start..).unwrap_or("").lines().next().unwrap_or("");
    let end = text.ceil_char_boundary(span.end);
    let marked = text.get(start..end).unwrap_or("").lines().next().unwrap_or("");
    // A tab has no fixed width and would shift the marks; other control characters could do worse.
    let excerpt: String = source.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    TomlError {
        file: file.to_owned(),
        line: before.matches('\n').count() + 1,
        column: before.get(line_start..).map_or(0, |text| text.chars().count()) + 1,
        message: message.into(),
        excerpt,
        width: marked.chars().count().max(1),
    }
}
