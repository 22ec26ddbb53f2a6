//! JSON in answers that hold more than JSON.

use serde_json::{Value, error::Category};

/// An answer that should be JSON holds no single JSON value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// There is none.
    #[error("the answer holds no JSON")]
    None,
    /// It breaks off.
    #[error("the JSON of the answer is cut off")]
    Cut,
    /// It is no valid JSON. Its valid pieces are not what was asked for.
    #[error("the JSON of the answer is broken: {0}")]
    Broken(String),
    /// Several that differ: which one is meant cannot be known.
    #[error("the answer holds several JSON values that differ")]
    Several,
}

/// The one JSON value of an answer to a request with a schema.
///
/// Models put it in code fences, or between sentences. It is the whole text or else the one object (or
/// list of objects) in it. A text with two that differ is refused, as the other one may be a quote of
/// something untrusted; so is one that breaks off, as a piece of a whole is not the whole.
///
/// # Errors
///
/// There is none, or not only one.
pub fn json_of(text: &str) -> Result<Value, ExtractError> {
    let text = text.trim_matches(|letter: char| letter.is_whitespace() || letter == '\u{feff}');
    let whole = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let mut found: Option<Value> = None;
    let mut rest = text;
    while let Some(at) = rest.find(['{', '[']) {
        let (_, here) = rest.split_at(at);
        if !begins_json(here) {
            rest = here.get(1..).unwrap_or_default();
            continue;
        }
        let mut values = serde_json::Deserializer::from_str(here).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                let (_, after) = here.split_at_checked(values.byte_offset()).unwrap_or_default();
                rest = after;
                match &found {
                    Some(other) if *other != value => return Err(ExtractError::Several),
                    _ => found = Some(value),
                }
            }
            Some(Err(error)) if error.classify() != Category::Eof => {
                return Err(ExtractError::Broken(error.to_string()));
            }
            _ => return Err(ExtractError::Cut),
        }
    }
    let eof = whole.classify() == Category::Eof && text.starts_with(['{', '[', '"']);
    found.ok_or(if eof { ExtractError::Cut } else { ExtractError::None })
}

/// Whether a bracket is meant as JSON: they have other uses in prose, such as `{x}` and `[1]`.
fn begins_json(text: &str) -> bool {
    let mut letters = text.chars().filter(|letter| !letter.is_whitespace());
    match letters.next() {
        Some('{') => matches!(letters.next(), Some('"')),
        Some('[') => matches!((letters.next(), letters.next()), (Some('{'), Some('"'))),
        _ => false,
    }
}
