//! A host's payload, read as values: no field is relied upon, and nothing in it is trusted.

use serde_json::{Map, Value};

use crate::DecodeError;

/// The longest text that an event carries, in bytes.
pub(crate) const MAX_TEXT: usize = 1 << 20;

/// The longest payload that goes into an event as it came, in bytes; of a longer one the short fields do.
const MAX_NATIVE: usize = 1 << 20;

/// The longest text of such a short field, in bytes.
const SHORT: usize = 4096;

/// The payload as an object. Bytes that are no UTF-8 and halves of surrogate pairs are replaced;
/// nesting is bounded by the parser.
pub(crate) fn read(host: &'static str, payload: &[u8]) -> Result<Value, DecodeError> {
    let payload = payload.strip_prefix(b"\xef\xbb\xbf").unwrap_or(payload);
    let value = match serde_json::from_slice(payload) {
        Ok(value) => value,
        Err(_) => serde_json::from_str::<Value>(&mended(&String::from_utf8_lossy(payload)))
            .map_err(|error| DecodeError::Malformed { host, why: error.to_string() })?,
    };
    if value.is_object() {
        return Ok(value);
    }
    Err(DecodeError::Malformed { host, why: "it is no object".to_owned() })
}

/// Escapes of half a surrogate pair become U+FFFD: what is written in JavaScript may hold them.
fn mended(text: &str) -> String {
    let mut rest = text;
    let mut out = String::with_capacity(text.len());
    while let Some((before, from)) = rest.split_once('\\') {
        out.push_str(before);
        let Some(code) = escaped(from) else {
            let next = from.chars().next();
            out.push('\\');
            out.extend(next);
            rest = next.and_then(|next| from.get(next.len_utf8()..)).unwrap_or_default();
            continue;
        };
        let (this, after) = from.split_at_checked(5).unwrap_or((from, ""));
        let partner = after.strip_prefix('\\').and_then(escaped);
        let pair = (0xd800..0xdc00).contains(&code)
            && partner.is_some_and(|low| (0xdc00..0xe000).contains(&low));
        if pair {
            let (low, after) = after.split_at_checked(6).unwrap_or((after, ""));
            out.extend(["\\", this, low]);
            rest = after;
            continue;
        }
        out.push('\\');
        out.push_str(if (0xd800..0xe000).contains(&code) { "ufffd" } else { this });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The code unit of `uXXXX` at the start of `text`.
fn escaped(text: &str) -> Option<u32> {
    let digits = text.strip_prefix('u')?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}

/// What goes into an event of a payload of `length` bytes.
pub(crate) fn native(payload: Value, length: usize) -> Value {
    if length <= MAX_NATIVE {
        return payload;
    }
    let Value::Object(fields) = payload else { return Value::Null };
    let short = |value: &Value| match value {
        Value::String(text) => text.len() <= SHORT,
        Value::Array(_) | Value::Object(_) => false,
        _ => true,
    };
    Value::Object(fields.into_iter().filter(|(_, value)| short(value)).collect())
}

/// `text` as far as an event carries it, and how many bytes it is short of.
pub(crate) fn clipped(mut text: String) -> (String, u64) {
    if text.len() <= MAX_TEXT {
        return (text, 0);
    }
    let whole = text.len();
    text.truncate(text.floor_char_boundary(MAX_TEXT));
    let omitted = u64::try_from(whole - text.len()).unwrap_or(u64::MAX);
    text.shrink_to_fit();
    (text, omitted)
}

/// A value as text, where it is one or is written as one.
pub(crate) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// What a tool returned, as text: texts, parts with a `text`, objects with a `content`, or else as JSON.
pub(crate) fn said(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Array(parts) => {
            let texts: Vec<_> = parts.iter().map(said).collect();
            texts.join("\n")
        }
        Value::Object(fields) => {
            let mut inner = ["text", "content", "llmContent", "output"].into_iter();
            let inner = inner.find_map(|name| fields.get(name).filter(|value| !value.is_null()));
            inner.map_or_else(|| value.to_string(), shallow)
        }
        _ => text_of(value).unwrap_or_default(),
    }
}

/// As [`said`], and no object is opened any more.
fn shallow(value: &Value) -> String {
    match value {
        Value::Object(_) => value.to_string(),
        _ => said(value),
    }
}

/// The fields of an object; those of anything else are absent. A field that is null is absent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a>(Option<&'a Map<String, Value>>);

impl<'a> Fields<'a> {
    pub(crate) fn of(value: &'a Value) -> Self {
        Self(value.as_object())
    }

    /// The first of `names` that is there.
    pub(crate) fn get(self, names: &[&str]) -> Option<&'a Value> {
        let fields = self.0?;
        names.iter().find_map(|name| fields.get(*name).filter(|value| !value.is_null()))
    }

    pub(crate) fn text(self, names: &[&str]) -> Option<String> {
        self.get(names).and_then(text_of)
    }

    /// As [`Self::text`], and not empty.
    pub(crate) fn name(self, names: &[&str]) -> Option<String> {
        self.text(names).filter(|name| !name.is_empty())
    }

    pub(crate) fn flag(self, names: &[&str]) -> bool {
        match self.get(names) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(text)) => text == "true",
            Some(Value::Number(number)) => number.as_i64() != Some(0),
            _ => false,
        }
    }

    /// A number of milliseconds or of things; a fraction is cut off.
    pub(crate) fn count(self, names: &[&str]) -> Option<u64> {
        let text = self.text(names)?;
        let whole = text.split_once('.').map_or(text.as_str(), |(whole, _)| whole);
        whole.parse().ok()
    }

    pub(crate) fn inner(self, names: &[&str]) -> Self {
        Self(self.get(names).and_then(Value::as_object))
    }

    /// Arguments of a tool: an object, or one that is written as JSON within a text.
    pub(crate) fn args(self, names: &[&str]) -> Map<String, Value> {
        match self.get(names) {
            Some(Value::Object(args)) => args.clone(),
            Some(Value::String(text)) => match serde_json::from_str(text) {
                Ok(Value::Object(args)) => args,
                _ => Map::from_iter([("input".to_owned(), Value::from(text.as_str()))]),
            },
            Some(other) => Map::from_iter([("input".to_owned(), other.clone())]),
            None => Map::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_surrogate_pairs_are_replaced() {
        let table = [
            (r#"{"a":"\ud800"}"#, "\u{fffd}"),
            (r#"{"a":"x\udc00y"}"#, "x\u{fffd}y"),
            (r#"{"a":"\ud83d\ude00 \ud83d"}"#, "\u{1f600} \u{fffd}"),
            (r#"{"a":"\ud800\ud800\\ud800"}"#, "\u{fffd}\u{fffd}\\ud800"),
        ];
        for (payload, expected) in table {
            let value = read("test", payload.as_bytes()).expect("readable");
            assert_eq!(Fields::of(&value).text(&["a"]).as_deref(), Some(expected), "{payload}");
        }
    }

    #[test]
    fn text_is_cut_at_a_character() {
        let (text, omitted) = clipped("é".repeat(MAX_TEXT));
        assert_eq!(text.len(), MAX_TEXT);
        assert_eq!(omitted, u64::try_from(MAX_TEXT).expect("small"));
        let (text, omitted) = clipped(format!("a{}", "é".repeat(MAX_TEXT)));
        assert_eq!(text.len(), MAX_TEXT - 1);
        assert_eq!(omitted, u64::try_from(MAX_TEXT + 2).expect("small"));
    }
}
