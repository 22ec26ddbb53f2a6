//! Reading JSON that may have any form.

use std::sync::Arc;

use data_encoding::{BASE64, BASE64_NOPAD};
use serde_json::{Map, Value};

use crate::request::{Part, ToolCall};

/// The longest message of a provider that is kept, in characters.
const MESSAGE: usize = 500;

/// The most calls in a stream, as each piece is looked up among them.
pub(crate) const MOST_CALLS: usize = 1024;

/// Ids that a decoder made up begin so.
const MADE_UP: &str = "air-";

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// A text that says something.
pub(crate) fn word<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    text(value, key).filter(|text| !text.is_empty())
}

pub(crate) fn owned(value: &Value, key: &str) -> String {
    text(value, key).unwrap_or_default().to_owned()
}

/// A count; 0 where there is none.
pub(crate) fn count(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

pub(crate) fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or_default()
}

/// A list; empty where there is none.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Of several candidates the one that all dialects call the first.
pub(crate) fn first<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    list(value, key).iter().min_by_key(|candidate| count(candidate, "/index"))
}

/// Text as it may stand in a message: one line, bounded.
pub(crate) fn bounded(text: &str) -> String {
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    let mut kept: String = text.chars().take(MESSAGE).map(plain).collect();
    if text.chars().nth(MESSAGE).is_some() {
        kept.push('…');
    }
    kept
}

/// A text, or the texts in a list of parts, whatever their kind is called.
pub(crate) fn texts(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.as_str().or_else(|| text(part, "text")))
            .collect::<Vec<_>>()
            .concat(),
        _ => String::new(),
    }
}

/// Arguments as JSON text: some servers send an object where a text belongs, and the reverse.
pub(crate) fn arguments(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Arguments as they go back to a provider. Servers fail on those that were cut off, and the result of the
/// call tells what was wrong with them.
pub(crate) fn valid(call: &ToolCall) -> &str {
    let blank = call.arguments.trim().is_empty();
    if blank || call.parsed().is_err() { "{}" } else { &call.arguments }
}

/// Arguments as an object. What is none, because it was cut off, stays text.
pub(crate) fn object(call: &ToolCall) -> Value {
    call.parsed().map_or_else(|_| Value::String(call.arguments.clone()), Value::Object)
}

/// An id for a call that came without one. `answer` tells answers of one conversation apart.
pub(crate) fn made_up(answer: &str, at: usize) -> String {
    let kept = |letter: &char| letter.is_ascii_alphanumeric();
    let answer: String = answer.chars().rev().filter(kept).take(20).collect();
    let answer: String = answer.chars().rev().collect();
    format!("{MADE_UP}{answer}-{at}")
}

/// Whether the provider has never seen this id.
pub(crate) fn is_made_up(id: &str) -> bool {
    id.starts_with(MADE_UP)
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// Either alphabet, padded or not.
pub(crate) fn from_base64(text: &str) -> Option<Arc<[u8]>> {
    let plain = text.trim_end_matches('=').replace('-', "+").replace('_', "/");
    BASE64_NOPAD.decode(plain.as_bytes()).ok().map(Arc::from)
}

pub(crate) fn data_url(media_type: &str, data: &[u8]) -> String {
    format!("data:{media_type};base64,{}", base64(data))
}

pub(crate) fn from_data_url(url: &str) -> Option<Part> {
    let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some(Part::Image { media_type: media_type.to_owned(), data: from_base64(data)? })
}

/// An object of those fields that are there.
pub(crate) fn fields<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let there = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(there.collect::<Map<_, _>>())
}

/// Text in pieces of at most so many characters.
pub(crate) fn pieces(text: &str, most: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(most.max(1)).map(|piece| piece.iter().collect()).collect()
}
