use serde_json::{Value, json};

use crate::{
    answer::{Answer, Stop, Usage},
    chat::answer::{encode_probabilities, probabilities},
    error::{DecodeError, report, reported},
    request::{Dialect, Part, ToolCall},
    value::{arguments, bounded, count, list, made_up, owned, text, word},
};

pub(crate) fn decode(value: &Value) -> Result<Answer, DecodeError> {
    if let Some(error) = reported(value) {
        return Err(error);
    }
    if text(value, "status") == Some("failed") {
        return Err(report(&Value::Null));
    }
    if !value.get("output").is_some_and(Value::is_array) {
        return Err(DecodeError::form("`output` is missing"));
    }
    let mut answer = Answer { model: owned(value, "model"), ..Answer::default() };
    let mut refusal = None;
    let id = text(value, "id").unwrap_or_default();
    for item in list(value, "output") {
        match text(item, "type") {
            Some("message") => {
                for part in list(item, "content") {
                    content(part, &mut answer, &mut refusal);
                }
            }
            Some("function_call") => {
                let at = answer.calls().count();
                answer.parts.push(Part::ToolCall(ToolCall {
                    id: word(item, "call_id")
                        .or_else(|| word(item, "id"))
                        .map_or_else(|| made_up(id, at), str::to_owned),
                    name: owned(item, "name"),
                    arguments: arguments(item.get("arguments")),
                }));
            }
            // Reasoning without content is known by its id only, and nothing is stored under that.
            Some("reasoning") if goes_back(item) => answer
                .parts
                .push(Part::Opaque { dialect: Dialect::OpenAiResponses, item: item.clone() }),
            _ => {}
        }
    }
    let incomplete = value.pointer("/incomplete_details/reason").and_then(Value::as_str);
    answer.stop = match (refusal, text(value, "status"), incomplete) {
        (Some(refusal), ..) => Stop::Refused(bounded(refusal)),
        (None, _, Some("max_output_tokens")) => Stop::Length,
        (None, _, Some(reason @ "content_filter")) => Stop::Refused(reason.to_owned()),
        (None, _, Some(reason)) => Stop::Other(bounded(reason)),
        (None, None | Some("completed"), None) => Stop::End,
        (None, Some(status), None) => Stop::Other(bounded(status)),
    };
    answer.stop = answer.stop.settled(&answer.parts);
    answer.usage = value.get("usage").map(usage).unwrap_or_default();
    Ok(answer)
}

fn content<'a>(part: &'a Value, answer: &mut Answer, refusal: &mut Option<&'a str>) {
    match text(part, "type") {
        Some("output_text" | "text") => {
            if let Some(said) = word(part, "text") {
                answer.parts.push(Part::Text(said.to_owned()));
            }
            answer.probabilities.extend(probabilities(part.get("logprobs")));
        }
        Some("refusal") => *refusal = Some(text(part, "refusal").unwrap_or("refusal")),
        _ => {}
    }
}

fn goes_back(item: &Value) -> bool {
    word(item, "encrypted_content").is_some() || !list(item, "content").is_empty()
}

fn usage(usage: &Value) -> Usage {
    Usage {
        input: count(usage, "/input_tokens"),
        cached: count(usage, "/input_tokens_details/cached_tokens"),
        cache_written: count(usage, "/input_tokens_details/cache_write_tokens"),
        output: count(usage, "/output_tokens"),
        reasoning: count(usage, "/output_tokens_details/reasoning_tokens"),
    }
}

pub(crate) fn encode(answer: &Answer) -> Value {
    response(answer, &items(answer))
}

/// The output, item by item. All probabilities stand with the first text.
pub(crate) fn items(answer: &Answer) -> Vec<Value> {
    let mut items = Vec::new();
    let mut tokens = answer.probabilities.as_slice();
    for (at, part) in answer.parts.iter().enumerate() {
        match part {
            Part::Text(text) => {
                let tokens = encode_probabilities(std::mem::take(&mut tokens));
                let content = json!({
                    "type": "output_text", "text": text, "annotations": [], "logprobs": tokens,
                });
                items.push(message(at, &content));
            }
            Part::ToolCall(ToolCall { id, name, arguments }) => items.push(json!({
                "type": "function_call", "id": format!("fc_{at}"), "call_id": id, "name": name,
                "arguments": arguments, "status": "completed",
            })),
            Part::Opaque { dialect: Dialect::OpenAiResponses, item } => items.push(item.clone()),
            _ => {}
        }
    }
    if let Stop::Refused(why) = &answer.stop {
        let content = json!({ "type": "refusal", "refusal": why });
        items.push(message(answer.parts.len(), &content));
    }
    items
}

fn message(at: usize, content: &Value) -> Value {
    json!({
        "type": "message", "id": format!("msg_{at}"), "status": "completed", "role": "assistant",
        "content": [content],
    })
}

pub(crate) fn response(answer: &Answer, items: &[Value]) -> Value {
    let (status, reason) = match &answer.stop {
        Stop::End | Stop::ToolUse | Stop::Refused(_) => ("completed", None),
        Stop::Length => ("incomplete", Some("max_output_tokens")),
        Stop::Other(reason) => ("incomplete", Some(reason.as_str())),
    };
    let usage = &answer.usage;
    json!({
        "id": "resp_air",
        "object": "response",
        "created_at": 0,
        "status": status,
        "model": answer.model,
        "output": items,
        "error": null,
        "incomplete_details": reason.map(|reason| json!({ "reason": reason })),
        "instructions": null,
        "metadata": {},
        "parallel_tool_calls": true,
        "temperature": 1.0,
        "top_p": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": usage.input,
            "input_tokens_details": {
                "cached_tokens": usage.cached, "cache_write_tokens": usage.cache_written,
            },
            "output_tokens": usage.output,
            "output_tokens_details": { "reasoning_tokens": usage.reasoning },
            "total_tokens": usage.input.saturating_add(usage.output),
        },
    })
}
