use serde_json::{Value, json};

use super::answer::{
    THOUGHT, call, encode_probabilities, encode_usage, probabilities, reason, refusal, stop,
    thought, thought_of, usage,
};
use crate::{
    answer::{Answer, Delta, TokenProbability, Usage},
    error::{DecodeError, reported},
    request::{Part, ToolCall},
    sse::Event,
    value::MOST_CALLS,
    value::{arguments, count, fields, list, made_up, pieces, text, texts, word},
};

#[derive(Debug, Default)]
pub(crate) struct Decoder {
    id: String,
    model: String,
    said: String,
    thought: String,
    refusal: String,
    calls: Vec<Call>,
    reason: Option<String>,
    usage: Usage,
    probabilities: Vec<TokenProbability>,
    ended: bool,
}

#[derive(Debug)]
struct Call {
    /// As the server numbers it, where it does.
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Decoder {
    pub(crate) fn event(
        &mut self,
        event: &Event,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        if event.data.trim() == "[DONE]" {
            self.ended = true;
            return Ok(());
        }
        let value: Value =
            serde_json::from_str(&event.data).map_err(|error| DecodeError::json(&error))?;
        if let Some(error) = reported(&value) {
            return Err(error);
        }
        for (held, key) in [(&mut self.id, "id"), (&mut self.model, "model")] {
            if held.is_empty() {
                text(&value, key).unwrap_or_default().clone_into(held);
            }
        }
        if let Some(taken) = value.get("usage").filter(|usage| usage.is_object()) {
            self.usage = usage(taken);
        }
        let choices = list(&value, "choices").iter();
        for choice in choices.filter(|choice| count(choice, "/index") == 0) {
            if let Some(delta) = choice.get("delta") {
                self.delta(delta, deltas)?;
            }
            self.probabilities.extend(probabilities(choice.pointer("/logprobs/content")));
            if let Some(reason) = word(choice, "finish_reason") {
                self.reason = Some(reason.to_owned());
            }
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value, deltas: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let said = texts(delta.get("content"));
        if !said.is_empty() {
            self.said.push_str(&said);
            deltas.push(Delta::Text(said));
        }
        let thought = [THOUGHT, "reasoning"].into_iter().find_map(|key| word(delta, key));
        if let Some(thought) = thought {
            deltas.push(Delta::Reasoning(thought.to_owned()));
            self.thought.push_str(text(delta, THOUGHT).unwrap_or_default());
        }
        self.refusal.push_str(text(delta, "refusal").unwrap_or_default());
        for call in list(delta, "tool_calls") {
            self.call(call, deltas);
        }
        if self.calls.len() > MOST_CALLS {
            Err(DecodeError::form("too many calls"))
        } else {
            Ok(())
        }
    }

    fn call(&mut self, call: &Value, deltas: &mut Vec<Delta>) {
        let function = call.get("function").unwrap_or(call);
        let (id, name) = (word(call, "id"), word(function, "name"));
        let index = call.get("index").and_then(Value::as_u64);
        let known = self.calls.iter().rposition(|held| match (index, id) {
            // Some servers give all calls the same number: then the id tells them apart.
            (Some(_), Some(id)) if !held.id.is_empty() && name.is_some() => {
                held.index == index && held.id == id
            }
            (Some(_), _) => held.index == index,
            (None, Some(id)) => held.id == id,
            (None, None) => name.is_none(),
        });
        let at = known.unwrap_or_else(|| {
            let id = id.map_or_else(String::new, str::to_owned);
            self.calls.push(Call { index, id, name: String::new(), arguments: String::new() });
            self.calls.len() - 1
        });
        let Some(held) = self.calls.get_mut(at) else { return };
        if held.id.is_empty() {
            id.unwrap_or_default().clone_into(&mut held.id);
        }
        if let Some(name) = name.filter(|_| held.name.is_empty()) {
            name.clone_into(&mut held.name);
            deltas.push(Delta::CallBegun { at, name: held.name.clone() });
        }
        let more = arguments(function.get("arguments"));
        if !more.is_empty() {
            held.arguments.push_str(&more);
            deltas.push(Delta::Arguments { at, text: more });
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// A reason counts as the end mark as well: whatever comes after it is accounting.
    pub(crate) fn finish(self) -> Result<Answer, DecodeError> {
        if !self.ended && self.reason.is_none() {
            return Err(DecodeError::Cut);
        }
        let mut parts = Vec::from_iter(thought(Some(&self.thought)));
        if !self.said.is_empty() {
            parts.push(Part::Text(self.said));
        }
        for (at, Call { id, name, arguments, .. }) in self.calls.into_iter().enumerate() {
            let id = if id.is_empty() { made_up(&self.id, at) } else { id };
            parts.push(Part::ToolCall(ToolCall { id, name, arguments }));
        }
        Ok(Answer {
            model: self.model,
            stop: stop(self.reason.as_deref(), Some(&self.refusal)).settled(&parts),
            parts,
            usage: self.usage,
            probabilities: self.probabilities,
        })
    }
}

pub(crate) fn encode(answer: &Answer, piece: usize, with_usage: bool) -> Vec<Event> {
    let chunk = |choices: Value, usage: Option<Value>| {
        let chunk = fields([
            ("id", Some("chatcmpl-air".into())),
            ("object", Some("chat.completion.chunk".into())),
            ("created", Some(0.into())),
            ("model", Some(answer.model.as_str().into())),
            ("choices", Some(choices)),
            ("usage", usage),
        ]);
        Event { event: None, data: chunk.to_string() }
    };
    let delta =
        |delta: Value| chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]), None);
    let mut events = vec![delta(json!({ "role": "assistant", "content": "" }))];
    let thought = answer.parts.iter().find_map(thought_of).unwrap_or_default();
    for text in pieces(thought, piece) {
        events.push(delta(json!({ THOUGHT: text })));
    }
    for text in pieces(&answer.text(), piece) {
        events.push(delta(json!({ "content": text })));
    }
    if !answer.probabilities.is_empty() {
        let content = encode_probabilities(&answer.probabilities);
        let choice = json!({
            "index": 0, "delta": {}, "logprobs": { "content": content }, "finish_reason": null,
        });
        events.push(chunk(json!([choice]), None));
    }
    let refusal = refusal(&answer.stop);
    if !refusal.is_null() {
        events.push(delta(json!({ "refusal": refusal })));
    }
    for (index, made) in answer.calls().enumerate() {
        let begun = ToolCall { arguments: String::new(), ..made.clone() };
        let mut begun = call(&begun);
        if let Some(begun) = begun.as_object_mut() {
            begun.insert("index".to_owned(), index.into());
        }
        events.push(delta(json!({ "tool_calls": [begun] })));
        for text in pieces(&made.arguments, piece) {
            let more = json!({ "index": index, "function": { "arguments": text } });
            events.push(delta(json!({ "tool_calls": [more] })));
        }
    }
    let last = json!([{ "index": 0, "delta": {}, "finish_reason": reason(&answer.stop) }]);
    events.push(chunk(last, None));
    if with_usage {
        events.push(chunk(json!([]), Some(encode_usage(&answer.usage))));
    }
    events.push(Event { event: None, data: "[DONE]".to_owned() });
    events
}
