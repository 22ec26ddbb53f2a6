use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::answer::{decode, items, response};
use crate::{
    answer::{Answer, Delta},
    error::{DecodeError, report},
    sse::Event,
    value::MOST_CALLS,
    value::{count, list, owned, pieces, text, word},
};

#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// Items that are finished, by their place.
    items: BTreeMap<u64, Value>,
    /// The places of calls, in the order in which they began.
    calls: Vec<u64>,
    /// The whole response, which comes last.
    response: Option<Value>,
}

impl Decoder {
    pub(crate) fn event(
        &mut self,
        event: &Event,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        if event.data.trim() == "[DONE]" {
            return Ok(());
        }
        let value: Value =
            serde_json::from_str(&event.data).map_err(|error| DecodeError::json(&error))?;
        let kind = text(&value, "type").or(event.event.as_deref()).unwrap_or_default();
        let place = count(&value, "/output_index");
        match kind {
            "error" => {
                return Err(report(value.get("error").unwrap_or(&value)));
            }
            "response.failed" => {
                return Err(report(value.pointer("/response/error").unwrap_or(&Value::Null)));
            }
            "response.output_text.delta" => {
                deltas.extend(word(&value, "delta").map(|text| Delta::Text(text.to_owned())));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                deltas.extend(word(&value, "delta").map(|text| Delta::Reasoning(text.to_owned())));
            }
            "response.output_item.added" => {
                let item = value.get("item").unwrap_or(&Value::Null);
                if text(item, "type") == Some("function_call") && !self.calls.contains(&place) {
                    let at = self.calls.len();
                    if at >= MOST_CALLS {
                        return Err(DecodeError::form("too many calls"));
                    }
                    self.calls.push(place);
                    deltas.push(Delta::CallBegun { at, name: owned(item, "name") });
                }
            }
            "response.function_call_arguments.delta" => {
                let at = self.calls.iter().position(|call| *call == place);
                if let (Some(at), Some(more)) = (at, word(&value, "delta")) {
                    deltas.push(Delta::Arguments { at, text: more.to_owned() });
                }
            }
            "response.output_item.done" => {
                if let Some(item) = value.get("item") {
                    self.items.insert(place, item.clone());
                }
            }
            "response.completed" | "response.incomplete" => {
                self.response = value.get("response").cloned();
            }
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.response.is_some()
    }

    /// The answer stands in the last event. Servers that leave its output empty have said it before.
    pub(crate) fn finish(self) -> Result<Answer, DecodeError> {
        let mut response = self.response.ok_or(DecodeError::Cut)?;
        if list(&response, "output").is_empty()
            && let Some(response) = response.as_object_mut()
        {
            let items: Vec<Value> = self.items.into_values().collect();
            response.insert("output".to_owned(), items.into());
        }
        decode(&response)
    }
}

pub(crate) fn encode(answer: &Answer, piece: usize) -> Vec<Event> {
    let mut events = Vec::new();
    let mut say = |kind: &str, mut value: Value| {
        if let Some(value) = value.as_object_mut() {
            value.insert("type".to_owned(), kind.into());
            value.insert("sequence_number".to_owned(), events.len().into());
        }
        events.push(Event { event: Some(kind.to_owned()), data: value.to_string() });
    };
    let items = items(answer);
    let mut begun = response(answer, &[]);
    if let Some(begun) = begun.as_object_mut() {
        begun.insert("status".to_owned(), "in_progress".into());
        begun.insert("incomplete_details".to_owned(), Value::Null);
        begun.insert("usage".to_owned(), Value::Null);
    }
    say("response.created", json!({ "response": begun }));
    for (at, item) in items.iter().enumerate() {
        say("response.output_item.added", json!({ "output_index": at, "item": started(item) }));
        let id = text(item, "id").unwrap_or_default();
        for part in list(item, "content").iter().filter(|_| text(item, "type") == Some("message")) {
            let place = json!({ "item_id": id, "output_index": at, "content_index": 0 });
            let with = |key: &str, value: Value| merge(&place, key, value);
            say("response.content_part.added", with("part", empty(part)));
            let (kind, key) = match text(part, "type") {
                Some("refusal") => ("response.refusal", "refusal"),
                _ => ("response.output_text", "text"),
            };
            let said = text(part, key).unwrap_or_default();
            for more in pieces(said, piece) {
                say(
                    &format!("{kind}.delta"),
                    merge(&with("delta", more.into()), "logprobs", json!([])),
                );
            }
            let logprobs = part.get("logprobs").cloned().unwrap_or_else(|| json!([]));
            say(&format!("{kind}.done"), merge(&with(key, said.into()), "logprobs", logprobs));
            say("response.content_part.done", with("part", part.clone()));
        }
        if let Some(arguments) = text(item, "arguments") {
            let place = json!({ "item_id": id, "output_index": at });
            for more in pieces(arguments, piece) {
                say("response.function_call_arguments.delta", merge(&place, "delta", more.into()));
            }
            let done = merge(&place, "name", owned(item, "name").into());
            let done = merge(&done, "arguments", arguments.into());
            say("response.function_call_arguments.done", done);
        }
        say("response.output_item.done", json!({ "output_index": at, "item": item }));
    }
    let whole = response(answer, &items);
    let kind = match text(&whole, "status") {
        Some("completed") => "response.completed",
        _ => "response.incomplete",
    };
    say(kind, json!({ "response": whole }));
    events
}

fn merge(object: &Value, key: &str, value: Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
    object
}

/// An item before anything of it has come.
fn started(item: &Value) -> Value {
    let mut item = item.clone();
    if let Some(fields) = item.as_object_mut() {
        for (key, nothing) in
            [("status", json!("in_progress")), ("content", json!([])), ("arguments", json!(""))]
        {
            if let Some(field) = fields.get_mut(key) {
                *field = nothing;
            }
        }
    }
    item
}

/// A part before anything of it has come.
fn empty(part: &Value) -> Value {
    let mut part = part.clone();
    if let Some(fields) = part.as_object_mut() {
        for (key, nothing) in [("text", json!("")), ("refusal", json!("")), ("logprobs", json!([]))]
        {
            if let Some(field) = fields.get_mut(key) {
                *field = nothing;
            }
        }
    }
    part
}
