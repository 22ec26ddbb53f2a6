use serde_json::{Value, json};

use crate::{
    answer::{Answer, Stop, TokenProbability, Usage},
    error::{DecodeError, reported},
    request::{Dialect, Part, ToolCall},
    value::{arguments, bounded, count, fields, first, list, made_up, owned, text, texts, word},
};

pub(crate) fn decode(value: &Value) -> Result<Answer, DecodeError> {
    if let Some(error) = reported(value) {
        return Err(error);
    }
    let choice = first(value, "choices");
    let choice = choice.ok_or_else(|| DecodeError::form("`choices` is missing or empty"))?;
    let message = choice.get("message").filter(|message| message.is_object());
    let message = message.ok_or_else(|| DecodeError::form("`message` is missing"))?;
    let mut parts = Vec::new();
    parts.extend(thought(text(message, THOUGHT)));
    let said = texts(message.get("content"));
    if !said.is_empty() {
        parts.push(Part::Text(said));
    }
    let answer = text(value, "id").unwrap_or_default();
    let calls = list(message, "tool_calls").iter();
    // The form before there were several calls.
    let calls = calls.chain(message.get("function_call").filter(|call| call.is_object()));
    for (at, call) in calls.enumerate() {
        let function = call.get("function").unwrap_or(call);
        parts.push(Part::ToolCall(ToolCall {
            id: word(call, "id").map_or_else(|| made_up(answer, at), str::to_owned),
            name: owned(function, "name"),
            arguments: arguments(function.get("arguments")),
        }));
    }
    let refusal = text(message, "refusal");
    Ok(Answer {
        model: owned(value, "model"),
        stop: stop(text(choice, "finish_reason"), refusal).settled(&parts),
        parts,
        usage: value.get("usage").map(usage).unwrap_or_default(),
        probabilities: probabilities(choice.pointer("/logprobs/content")),
    })
}

/// Where servers other than OpenAI put what a model thinks. Some want it back with the calls that it led to.
pub(crate) const THOUGHT: &str = "reasoning_content";

pub(crate) fn thought(thought: Option<&str>) -> Option<Part> {
    let thought = thought.filter(|thought| !thought.is_empty())?;
    let item = json!({ THOUGHT: thought });
    Some(Part::Opaque { dialect: Dialect::OpenAiChat, item })
}

/// What the model thought, where it is held among the parts of its answer.
pub(crate) fn thought_of(part: &Part) -> Option<&str> {
    match part {
        Part::Opaque { dialect: Dialect::OpenAiChat, item } => word(item, THOUGHT),
        _ => None,
    }
}

pub(crate) fn stop(reason: Option<&str>, refusal: Option<&str>) -> Stop {
    if let Some(refusal) = refusal.filter(|refusal| !refusal.is_empty()) {
        return Stop::Refused(bounded(refusal));
    }
    match reason {
        None | Some("" | "stop" | "eos") => Stop::End,
        Some("tool_calls" | "function_call") => Stop::ToolUse,
        Some("length") => Stop::Length,
        Some(reason @ "content_filter") => Stop::Refused(reason.to_owned()),
        Some(other) => Stop::Other(bounded(other)),
    }
}

pub(crate) fn usage(usage: &Value) -> Usage {
    // The second name is that of DeepSeek.
    let cached = count(usage, "/prompt_tokens_details/cached_tokens");
    Usage {
        input: count(usage, "/prompt_tokens"),
        cached: cached.max(count(usage, "/prompt_cache_hit_tokens")),
        cache_written: count(usage, "/prompt_tokens_details/cache_write_tokens"),
        output: count(usage, "/completion_tokens"),
        reasoning: count(usage, "/completion_tokens_details/reasoning_tokens"),
    }
}

/// Tokens with probabilities in either dialect of OpenAI.
pub(crate) fn probabilities(tokens: Option<&Value>) -> Vec<TokenProbability> {
    let one = |token: &Value| {
        let log = token.get("logprob").and_then(Value::as_f64)?;
        Some((text(token, "token")?.to_owned(), log))
    };
    let tokens = tokens.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let tokens = tokens.iter().filter_map(|token| {
        let (name, log) = one(token)?;
        let top = list(token, "top_logprobs").iter().filter_map(one).collect();
        Some(TokenProbability { token: name, log, top })
    });
    tokens.collect()
}

pub(crate) fn encode(answer: &Answer) -> Value {
    let said = answer.text();
    let calls: Vec<Value> = answer.calls().map(call).collect();
    let message = fields([
        ("role", Some("assistant".into())),
        ("content", Some(if said.is_empty() { Value::Null } else { said.into() })),
        ("refusal", Some(refusal(&answer.stop))),
        (THOUGHT, answer.parts.iter().find_map(thought_of).map(Value::from)),
        ("tool_calls", (!calls.is_empty()).then(|| calls.into())),
    ]);
    let logprobs = (!answer.probabilities.is_empty())
        .then(|| json!({ "content": encode_probabilities(&answer.probabilities) }));
    json!({
        "id": "chatcmpl-air",
        "object": "chat.completion",
        "created": 0,
        "model": answer.model,
        "choices": [{
            "index": 0,
            "message": message,
            "logprobs": logprobs,
            "finish_reason": reason(&answer.stop),
        }],
        "usage": encode_usage(&answer.usage),
    })
}

pub(crate) fn refusal(stop: &Stop) -> Value {
    match stop {
        Stop::Refused(why) => why.as_str().into(),
        _ => Value::Null,
    }
}

pub(crate) fn reason(stop: &Stop) -> &str {
    match stop {
        Stop::End => "stop",
        Stop::ToolUse => "tool_calls",
        Stop::Length => "length",
        Stop::Refused(_) => "content_filter",
        Stop::Other(reason) => reason,
    }
}

pub(crate) fn call(call: &ToolCall) -> Value {
    let function = json!({ "name": call.name, "arguments": call.arguments });
    json!({ "id": call.id, "type": "function", "function": function })
}

pub(crate) fn encode_usage(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input.saturating_add(usage.output),
        "prompt_tokens_details": {
            "cached_tokens": usage.cached,
            "cache_write_tokens": usage.cache_written,
        },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning },
    })
}

pub(crate) fn encode_probabilities(tokens: &[TokenProbability]) -> Value {
    let one = |token: &str, log: f64| json!({ "token": token, "logprob": log, "bytes": token.as_bytes() });
    let tokens = tokens.iter().map(|token| {
        let mut value = one(&token.token, token.log);
        let top: Vec<Value> = token.top.iter().map(|(token, log)| one(token, *log)).collect();
        if let Some(value) = value.as_object_mut() {
            value.insert("top_logprobs".to_owned(), top.into());
        }
        value
    });
    tokens.collect()
}
