use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::answer::{blocks, encode_usage, message, part, reason, stop, usage};
use crate::{
    answer::{Answer, Delta},
    error::{DecodeError, report},
    request::Part,
    sse::Event,
    value::{count, owned, pieces, text, word},
};

#[derive(Debug, Default)]
pub(crate) struct Decoder {
    id: String,
    model: String,
    blocks: BTreeMap<u64, Block>,
    calls: usize,
    /// The last delta of the message as a whole: why it stopped.
    last: Value,
    usage: Map<String, Value>,
    ended: bool,
}

#[derive(Debug)]
struct Block {
    /// As it began.
    start: Value,
    /// Text, reasoning or arguments.
    grown: String,
    signature: String,
    /// Its place among the calls.
    call: usize,
}

impl Decoder {
    pub(crate) fn event(
        &mut self,
        event: &Event,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        let value: Value =
            serde_json::from_str(&event.data).map_err(|error| DecodeError::json(&error))?;
        let index = count(&value, "/index");
        match text(&value, "type").or(event.event.as_deref()).unwrap_or_default() {
            "error" => return Err(report(value.get("error").unwrap_or(&value))),
            "message_start" => {
                let message = value.get("message").unwrap_or(&Value::Null);
                self.id = owned(message, "id");
                self.model = owned(message, "model");
                self.count(message);
            }
            "content_block_start" => {
                let start = value.get("content_block").unwrap_or(&Value::Null);
                self.begin(index, start, deltas);
            }
            "content_block_delta" => {
                let delta = value.get("delta").unwrap_or(&Value::Null);
                if let Some(block) = self.blocks.get_mut(&index) {
                    block.grow(delta, deltas);
                }
            }
            "message_delta" => {
                self.count(&value);
                self.last = value.get("delta").cloned().unwrap_or_default();
            }
            "message_stop" => self.ended = true,
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, index: u64, start: &Value, deltas: &mut Vec<Delta>) {
        let call = self.calls;
        if text(start, "type") == Some("tool_use") {
            self.calls += 1;
            deltas.push(Delta::CallBegun { at: call, name: owned(start, "name") });
        }
        let mut block =
            Block { start: start.clone(), grown: String::new(), signature: String::new(), call };
        // What it begins with; arguments are whole from the start at some servers.
        block.grow(start, deltas);
        self.blocks.insert(index, block);
    }

    /// Counts come twice, the later ones with more in them.
    fn count(&mut self, value: &Value) {
        if let Some(Value::Object(usage)) = value.get("usage") {
            let there = usage.iter().filter(|(_, value)| !value.is_null());
            self.usage.extend(there.map(|(key, value)| (key.clone(), value.clone())));
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(crate) fn finish(self) -> Result<Answer, DecodeError> {
        if !self.ended {
            return Err(DecodeError::Cut);
        }
        let parts: Vec<Part> = self
            .blocks
            .into_values()
            .filter_map(|block| {
                let call = block.call;
                part(&block.whole(), &self.id, call)
            })
            .collect();
        Ok(Answer {
            model: self.model,
            stop: stop(&self.last).settled(&parts),
            parts,
            usage: usage(&Value::Object(self.usage)),
            probabilities: Vec::new(),
        })
    }
}

impl Block {
    fn grow(&mut self, delta: &Value, deltas: &mut Vec<Delta>) {
        let at = self.call;
        if let Some(more) = word(delta, "text") {
            self.grown.push_str(more);
            deltas.push(Delta::Text(more.to_owned()));
        } else if let Some(more) = word(delta, "partial_json") {
            self.grown.push_str(more);
            deltas.push(Delta::Arguments { at, text: more.to_owned() });
        } else if let Some(more) = word(delta, "thinking") {
            self.grown.push_str(more);
            deltas.push(Delta::Reasoning(more.to_owned()));
        }
        self.signature.push_str(text(delta, "signature").unwrap_or_default());
    }

    /// The block as it would stand in an answer that comes at once.
    fn whole(self) -> Value {
        let mut block = self.start;
        let kind = owned(&block, "type");
        let Some(fields) = block.as_object_mut() else { return block };
        match kind.as_str() {
            "text" => {
                fields.insert("text".to_owned(), self.grown.into());
            }
            "thinking" => {
                fields.insert("thinking".to_owned(), self.grown.into());
                fields.insert("signature".to_owned(), self.signature.into());
            }
            // As text, since it may be cut off.
            "tool_use" if !self.grown.is_empty() => {
                fields.insert("input".to_owned(), self.grown.into());
            }
            _ => {}
        }
        block
    }
}

pub(crate) fn encode(answer: &Answer, piece: usize) -> Vec<Event> {
    let mut events = Vec::new();
    let mut say = |kind: &str, mut value: Value| {
        if let Some(value) = value.as_object_mut() {
            value.insert("type".to_owned(), kind.into());
        }
        events.push(Event { event: Some(kind.to_owned()), data: value.to_string() });
    };
    let begun = message(answer, &[], &Value::Null, &Value::Null);
    say("message_start", json!({ "message": begun }));
    for (index, block) in blocks(answer).into_iter().enumerate() {
        let (start, kind, key, text, signature) = taken_apart(block);
        say("content_block_start", json!({ "index": index, "content_block": start }));
        for more in pieces(&text, piece) {
            let delta = json!({ "type": kind, key: more });
            say("content_block_delta", json!({ "index": index, "delta": delta }));
        }
        if let Some(signature) = signature {
            let delta = json!({ "type": "signature_delta", "signature": signature });
            say("content_block_delta", json!({ "index": index, "delta": delta }));
        }
        say("content_block_stop", json!({ "index": index }));
    }
    let (reason, details) = reason(&answer.stop);
    let delta = json!({ "stop_reason": reason, "stop_sequence": null, "stop_details": details });
    say("message_delta", json!({ "delta": delta, "usage": encode_usage(&answer.usage) }));
    say("message_stop", json!({}));
    events
}

/// A block before anything of it has come, and what is to come.
fn taken_apart(mut block: Value) -> (Value, &'static str, &'static str, String, Option<Value>) {
    let (kind, key, delta, nothing) = match text(&block, "type") {
        Some("text") => ("text_delta", "text", "text", json!("")),
        Some("thinking") => ("thinking_delta", "thinking", "thinking", json!("")),
        Some("tool_use") => ("input_json_delta", "input", "partial_json", json!({})),
        _ => return (block, "", "", String::new(), None),
    };
    let Some(fields) = block.as_object_mut() else {
        return (block, "", "", String::new(), None);
    };
    let grown = match fields.insert(key.to_owned(), nothing) {
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let signature = fields.get_mut("signature").map(|held| std::mem::replace(held, json!("")));
    (block, kind, delta, grown, signature)
}
