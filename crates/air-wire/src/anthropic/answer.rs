use serde_json::{Value, json};

use super::request::encode_call;
use crate::{
    answer::{Answer, Stop, Usage},
    error::{DecodeError, reported},
    request::{Dialect, Part, ToolCall},
    value::{arguments, bounded, count, list, made_up, owned, text, word},
};

pub(crate) fn decode(value: &Value) -> Result<Answer, DecodeError> {
    if let Some(error) = reported(value) {
        return Err(error);
    }
    if !value.get("content").is_some_and(Value::is_array) {
        return Err(DecodeError::form("`content` is missing"));
    }
    let mut parts = Vec::new();
    let mut calls = 0;
    let id = text(value, "id").unwrap_or_default();
    for block in list(value, "content") {
        if let Some(part) = part(block, id, calls) {
            calls += usize::from(matches!(part, Part::ToolCall(_)));
            parts.push(part);
        }
    }
    Ok(Answer {
        model: owned(value, "model"),
        stop: stop(value).settled(&parts),
        parts,
        usage: value.get("usage").map(usage).unwrap_or_default(),
        probabilities: Vec::new(),
    })
}

/// One block of an answer; `at` is its place among the calls.
pub(crate) fn part(block: &Value, answer: &str, at: usize) -> Option<Part> {
    match text(block, "type")? {
        "text" => Some(Part::Text(word(block, "text")?.to_owned())),
        "tool_use" => Some(Part::ToolCall(ToolCall {
            id: word(block, "id").map_or_else(|| made_up(answer, at), str::to_owned),
            name: owned(block, "name"),
            arguments: arguments(block.get("input")),
        })),
        "thinking" | "redacted_thinking" => {
            Some(Part::Opaque { dialect: Dialect::Anthropic, item: block.clone() })
        }
        _ => None,
    }
}

/// Why a message, or the event that ends one, stopped.
pub(crate) fn stop(value: &Value) -> Stop {
    match text(value, "stop_reason") {
        None | Some("end_turn" | "stop_sequence") => Stop::End,
        Some("tool_use") => Stop::ToolUse,
        Some("max_tokens" | "model_context_window_exceeded") => Stop::Length,
        Some(reason @ "refusal") => {
            let why = value.pointer("/stop_details/explanation").and_then(Value::as_str);
            Stop::Refused(bounded(why.unwrap_or(reason)))
        }
        Some(other) => Stop::Other(bounded(other)),
    }
}

/// What the input is counted without here: what was read from a cache or written to one.
pub(crate) fn usage(usage: &Value) -> Usage {
    let cached = count(usage, "/cache_read_input_tokens");
    let written = count(usage, "/cache_creation_input_tokens");
    let input = count(usage, "/input_tokens");
    Usage {
        input: input.saturating_add(cached).saturating_add(written),
        cached,
        cache_written: written,
        output: count(usage, "/output_tokens"),
        reasoning: count(usage, "/output_tokens_details/thinking_tokens"),
    }
}

pub(crate) fn encode(answer: &Answer) -> Value {
    let (reason, details) = reason(&answer.stop);
    message(answer, &blocks(answer), &reason.into(), &details)
}

pub(crate) fn blocks(answer: &Answer) -> Vec<Value> {
    let blocks = answer.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(json!({ "type": "text", "text": text })),
        Part::ToolCall(call) => Some(encode_call(call)),
        Part::Opaque { dialect: Dialect::Anthropic, item } => Some(item.clone()),
        _ => None,
    });
    blocks.collect()
}

pub(crate) fn reason(stop: &Stop) -> (&str, Value) {
    match stop {
        Stop::End => ("end_turn", Value::Null),
        Stop::ToolUse => ("tool_use", Value::Null),
        Stop::Length => ("max_tokens", Value::Null),
        Stop::Refused(why) => {
            ("refusal", json!({ "type": "refusal", "category": null, "explanation": why }))
        }
        Stop::Other(reason) => (reason, Value::Null),
    }
}

pub(crate) fn message(
    answer: &Answer,
    content: &[Value],
    reason: &Value,
    details: &Value,
) -> Value {
    json!({
        "id": "msg_air",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": reason,
        "stop_sequence": null,
        "stop_details": details,
        "usage": encode_usage(&answer.usage),
    })
}

pub(crate) fn encode_usage(usage: &Usage) -> Value {
    let elsewhere = usage.cached.saturating_add(usage.cache_written);
    json!({
        "input_tokens": usage.input.saturating_sub(elsewhere),
        "cache_read_input_tokens": usage.cached,
        "cache_creation_input_tokens": usage.cache_written,
        "output_tokens": usage.output,
        "output_tokens_details": { "thinking_tokens": usage.reasoning },
    })
}
