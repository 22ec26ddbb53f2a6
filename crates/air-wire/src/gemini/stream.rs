use serde_json::Value;

use super::answer::{Draft, chunk, encode_parts};
use crate::{
    answer::{Answer, Delta},
    error::DecodeError,
    request::Part,
    sse::Event,
    value::text,
};

#[derive(Debug, Default)]
pub(crate) struct Decoder {
    draft: Draft,
    calls: usize,
}

impl Decoder {
    pub(crate) fn event(
        &mut self,
        event: &Event,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        let value: Value =
            serde_json::from_str(&event.data).map_err(|error| DecodeError::json(&error))?;
        let calls = &mut self.calls;
        self.draft.add(&value, |part| match part {
            Part::Text(text) => deltas.push(Delta::Text(text.clone())),
            Part::ToolCall(call) => {
                let at = *calls;
                *calls += 1;
                deltas.push(Delta::CallBegun { at, name: call.name.clone() });
                deltas.push(Delta::Arguments { at, text: call.arguments.clone() });
            }
            Part::Opaque { item, .. } => {
                let thought = text(item, "text").filter(|thought| !thought.is_empty());
                deltas.extend(thought.map(|thought| Delta::Reasoning(thought.to_owned())));
            }
            _ => {}
        })
    }

    pub(crate) fn finish(self) -> Result<Answer, DecodeError> {
        if !self.draft.has_ended() {
            return Err(DecodeError::Cut);
        }
        self.draft.answer()
    }
}

pub(crate) fn encode(answer: &Answer, piece: usize) -> Vec<Event> {
    let parts = encode_parts(answer, piece);
    let mut chunks: Vec<Value> =
        parts.iter().map(|part| chunk(answer, std::slice::from_ref(part), false)).collect();
    chunks.push(chunk(answer, &[], true));
    let event = |chunk: Value| Event { event: None, data: chunk.to_string() };
    chunks.into_iter().map(event).collect()
}
