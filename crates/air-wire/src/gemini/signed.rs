//! Signatures of thoughts, which stand on the parts of an answer and must go back with them.
//!
//! The signature of a text or call is kept as an item of its own before it, that of anything else as the
//! whole part.

use serde_json::{Value, json};

use crate::value::{flag, text, word};

const SIGNATURE: &str = "thoughtSignature";

/// The part itself, where its signature stands on no text and no call.
pub(crate) fn whole(part: &Value) -> Option<Value> {
    signature(part)?;
    let carried = text(part, "text").is_some_and(|text| !text.is_empty()) && !is_thought(part);
    (!carried && part.get("functionCall").is_none() && part.get("function_call").is_none())
        .then(|| part.clone())
}

/// The signature of a text or call.
pub(crate) fn before(part: &Value) -> Option<Value> {
    signature(part).map(|signature| json!({ SIGNATURE: signature }))
}

/// In either spelling.
fn signature(part: &Value) -> Option<&str> {
    word(part, SIGNATURE).or_else(|| word(part, "thought_signature"))
}

/// Whether the part is what the model thinks, not what it says.
pub(crate) fn is_thought(part: &Value) -> bool {
    flag(part, "thought")
}

/// The signature of the part that follows this item.
pub(crate) fn of_next(item: &Value) -> Option<&Value> {
    let fields = item.as_object()?;
    fields.get(SIGNATURE).filter(|_| fields.len() == 1)
}

pub(crate) fn sign(mut part: Value, signature: Option<Value>) -> Value {
    if let (Some(fields), Some(signature)) = (part.as_object_mut(), signature) {
        fields.insert(SIGNATURE.to_owned(), signature);
    }
    part
}
