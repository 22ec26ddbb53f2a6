//! A request as a recording knows it: the same whenever the same is asked.
//!
//! Left out are the model and whether the answer streams. Random texts that the caller names
//! ([`Call::nonces`]) are replaced by their number; pictures by their digest.

use std::fmt::Write;

use air_core::redact::redact;
use air_wire::{Message, Part, Role, ToolChoice};
use serde_json::{Map, Value, json};

use crate::model::Call;

/// Shorter texts are no nonces: they would be found everywhere.
const SHORTEST: usize = 8;

/// The canonical form of what a call asks.
pub(super) fn request(call: &Call) -> Value {
    let request = &call.request;
    let tools = request.tools.iter().map(|tool| {
        json!({ "name": tool.name, "description": tool.description, "parameters": tool.parameters })
    });
    let choice = match &request.tool_choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named(name) => json!({ "named": name }),
    };
    let output = request.output.as_ref();
    let whole = json!({
        "purpose": call.purpose.name(),
        "system": request.system,
        "messages": request.messages.iter().map(message).collect::<Vec<_>>(),
        "tools": tools.collect::<Vec<_>>(),
        "tool_choice": choice,
        "output": output.map(|form| json!({ "name": form.name, "schema": form.schema })),
        "max_output_tokens": request.max_output_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
        "top_logprobs": request.top_logprobs,
    });
    sorted(map_texts(whole, &|text| mask(text, &call.nonces)))
}

fn message(message: &Message) -> Value {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let part = |part: &Part| match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Image { media_type, data } => {
            json!({ "image": media_type, "digest": blake3::hash(data).to_hex().as_str() })
        }
        Part::ToolCall(call) => {
            json!({ "call": call.id, "name": call.name, "arguments": call.arguments })
        }
        Part::ToolResult { call, name, content, is_error } => {
            json!({ "result": call, "name": name, "content": content, "is_error": is_error })
        }
        Part::Opaque { dialect, item } => json!({ "opaque": dialect.name(), "item": item }),
    };
    json!({ "role": role, "parts": message.parts.iter().map(part).collect::<Vec<_>>() })
}

/// The digest of a canonical form that is [`safe`]: of one with a secret in it, a short secret could be
/// found by trying.
pub(super) fn digest(canonical: &Value) -> String {
    blake3::hash(canonical.to_string().as_bytes()).to_hex().to_string()
}

/// A canonical form without what looks like a secret.
pub(super) fn safe(canonical: Value) -> Value {
    map_texts(canonical, &redact)
}

fn placeholder(number: usize) -> String {
    format!("[nonce {}]", number + 1)
}

fn nonces(all: &[String]) -> impl Iterator<Item = (String, &String)> {
    let long = all.iter().enumerate().filter(|(_, nonce)| nonce.len() >= SHORTEST);
    long.map(|(number, nonce)| (placeholder(number), nonce))
}

/// `text` with the nonces' numbers in their place.
pub(super) fn mask(text: &str, all: &[String]) -> String {
    nonces(all).fold(text.to_owned(), |text, (place, nonce)| text.replace(nonce, &place))
}

/// The reverse of [`mask`], with the nonces of now.
pub(super) fn unmask(text: &str, all: &[String]) -> String {
    nonces(all).fold(text.to_owned(), |text, (place, nonce)| text.replace(&place, nonce))
}

/// Every text in `value` by `change`, names of fields aside.
pub(super) fn map_texts(value: Value, change: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(&text)),
        Value::Array(items) => items.into_iter().map(|item| map_texts(item, change)).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, map_texts(value, change))).collect()
        }
        plain => plain,
    }
}

/// With fields in the order of their names, whatever map this program was built with.
fn sorted(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.into_iter().collect();
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
            let fields = fields.into_iter().map(|(name, value)| (name, sorted(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        plain => plain,
    }
}

/// Where two forms differ first, without saying what stands there.
pub(super) fn difference(old: &Value, new: &Value) -> Option<String> {
    fn walk(old: &Value, new: &Value, path: &mut String) -> Option<String> {
        let length = path.len();
        match (old, new) {
            (Value::Object(a), Value::Object(b)) => {
                let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
                for name in names {
                    path.push('.');
                    path.push_str(name);
                    let null = Value::Null;
                    let found =
                        walk(a.get(name).unwrap_or(&null), b.get(name).unwrap_or(&null), path);
                    if found.is_some() {
                        return found;
                    }
                    path.truncate(length);
                }
                None
            }
            (Value::Array(a), Value::Array(b)) => {
                for (at, (a, b)) in a.iter().zip(b).enumerate() {
                    let _ = write!(path, "[{at}]");
                    let found = walk(a, b, path);
                    if found.is_some() {
                        return found;
                    }
                    path.truncate(length);
                }
                (a.len() != b.len()).then(|| {
                    format!("`{path}` has {} items where {} are recorded", b.len(), a.len())
                })
            }
            (Value::String(a), Value::String(b)) if a != b => {
                let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
                Some(format!("`{path}` differs from character {} on", same + 1))
            }
            _ => (old != new).then(|| format!("`{path}` differs")),
        }
    }
    let mut path = String::new();
    walk(old, new, &mut path).map(|found| found.replacen("`.", "`", 1))
}
