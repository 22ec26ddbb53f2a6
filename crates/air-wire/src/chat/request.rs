use serde_json::{Value, json};

use super::answer::{THOUGHT, thought, thought_of};
use crate::{
    error::DecodeError,
    request::{Part, Request, Role, Schema, Tool, ToolCall, ToolChoice},
    turns::{Turns, merged},
    value::{
        arguments, data_url, fields, flag, from_data_url, list, owned, text, texts, valid, word,
    },
};

pub(crate) fn encode(request: &Request) -> Value {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({ "role": "system", "content": request.system }));
    }
    for (role, parts) in merged(&request.messages) {
        match role {
            Role::User => user(&parts, &mut messages),
            Role::Assistant => messages.extend(assistant(&parts)),
        }
    }
    let tools: Vec<Value> = request.tools.iter().map(tool).collect();
    let most = request.max_output_tokens.map(Value::from);
    let (old, new) = if is_openai(&request.model) { (None, most) } else { (most, None) };
    let mut body = fields([
        ("model", Some(request.model.as_str().into())),
        ("messages", Some(messages.into())),
        ("tool_choice", choice(&request.tool_choice).filter(|_| !tools.is_empty())),
        ("tools", (!tools.is_empty()).then(|| tools.into())),
        ("response_format", request.output.as_ref().map(form)),
        ("max_tokens", old),
        ("max_completion_tokens", new),
        ("temperature", request.temperature.map(Value::from)),
        ("seed", request.seed.map(Value::from)),
        ("logprobs", request.top_logprobs.map(|_| true.into())),
        ("top_logprobs", request.top_logprobs.map(Value::from)),
    ]);
    if request.stream
        && let Some(body) = body.as_object_mut()
    {
        body.insert("stream".to_owned(), true.into());
        body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    }
    body
}

/// Whether this is a model of OpenAI's own. They refuse `max_tokens` when they reason; of the servers
/// that only speak the dialect, many do not know `max_completion_tokens`, and would answer without limit.
pub(crate) fn is_openai(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let o_series =
        name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let named =
        ["gpt-", "chatgpt-", "codex-", "computer-use-"].iter().any(|own| name.starts_with(own));
    o_series || named && !name.starts_with("gpt-oss")
}

fn tool(tool: &Tool) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        },
    })
}

fn choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("none".into()),
        ToolChoice::Required => Some("required".into()),
        ToolChoice::Named(name) => {
            Some(json!({ "type": "function", "function": { "name": name } }))
        }
    }
}

fn form(schema: &Schema) -> Value {
    json!({
        "type": "json_schema",
        "json_schema": { "name": schema.name, "schema": schema.schema, "strict": true },
    })
}

/// Results are messages of their own, which must directly follow the calls.
fn user(parts: &[&Part], messages: &mut Vec<Value>) {
    let mut content = Vec::new();
    for part in parts {
        match part {
            Part::ToolResult { call, content, .. } => {
                messages.push(json!({ "role": "tool", "tool_call_id": call, "content": content }));
            }
            Part::Text(text) if !text.is_empty() => {
                content.push(json!({ "type": "text", "text": text }));
            }
            Part::Image { media_type, data } => {
                let url = data_url(media_type, data);
                content.push(json!({ "type": "image_url", "image_url": { "url": url } }));
            }
            _ => {}
        }
    }
    match content.as_slice() {
        [] => {}
        // Servers without an eye for pictures often take nothing but a string.
        [only] if only.get("text").is_some() => {
            messages.push(json!({ "role": "user", "content": only.get("text") }));
        }
        _ => messages.push(json!({ "role": "user", "content": content })),
    }
}

fn assistant(parts: &[&Part]) -> Option<Value> {
    let mut said = String::new();
    let mut calls = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) => said.push_str(text),
            Part::ToolCall(call) => {
                let function = json!({ "name": call.name, "arguments": valid(call) });
                calls.push(json!({ "id": call.id, "type": "function", "function": function }));
            }
            _ => {}
        }
    }
    if said.is_empty() && calls.is_empty() {
        return None;
    }
    let thought = parts.iter().find_map(|part| thought_of(part)).map(Value::from);
    Some(fields([
        ("role", Some("assistant".into())),
        ("content", Some(if said.is_empty() { Value::Null } else { said.into() })),
        // Without calls it is of no further use, and some servers refuse it.
        (THOUGHT, thought.filter(|_| !calls.is_empty())),
        ("tool_calls", (!calls.is_empty()).then(|| calls.into())),
    ]))
}

pub(crate) fn decode(body: &Value) -> Result<Request, DecodeError> {
    if !body.get("messages").is_some_and(Value::is_array) {
        return Err(DecodeError::form("`messages` is missing"));
    }
    let mut system = Vec::new();
    let mut turns = Turns::default();
    for message in list(body, "messages") {
        let content = message.get("content");
        match text(message, "role") {
            Some("system" | "developer") => system.push(texts(content)),
            Some("user") => said(content, &mut turns)?,
            Some("assistant") => {
                if let Some(thought) = thought(text(message, THOUGHT)) {
                    turns.push(Role::Assistant, thought);
                }
                turns.text(Role::Assistant, &texts(content));
                for call in list(message, "tool_calls") {
                    turns.push(Role::Assistant, Part::ToolCall(call_of(call)));
                }
            }
            Some("tool") => {
                turns.result(&owned(message, "tool_call_id"), texts(content), false);
            }
            other => {
                let role = other.unwrap_or("none");
                return Err(DecodeError::form(&format!("unknown role `{role}`")));
            }
        }
    }
    let most = body.get("max_completion_tokens").or_else(|| body.get("max_tokens"));
    let probabilities = flag(body, "logprobs").then(|| {
        let top = body.get("top_logprobs").and_then(Value::as_u64).unwrap_or_default();
        u8::try_from(top).unwrap_or(u8::MAX)
    });
    Ok(Request {
        model: owned(body, "model"),
        system: system.join("\n\n"),
        messages: turns.done(),
        tools: list(body, "tools")
            .iter()
            .filter_map(|tool| tool_of(tool.get("function")?))
            .collect(),
        tool_choice: choice_of(body.get("tool_choice")),
        output: body.pointer("/response_format/json_schema").and_then(schema_of),
        max_output_tokens: most.and_then(Value::as_u64).and_then(|most| u32::try_from(most).ok()),
        temperature: body.get("temperature").and_then(Value::as_f64),
        seed: body.get("seed").and_then(Value::as_u64),
        top_logprobs: probabilities,
        stream: flag(body, "stream"),
    })
}

fn said(content: Option<&Value>, turns: &mut Turns) -> Result<(), DecodeError> {
    let Some(Value::Array(parts)) = content else {
        turns.text(Role::User, &texts(content));
        return Ok(());
    };
    for part in parts {
        match text(part, "type") {
            Some("text") => turns.text(Role::User, text(part, "text").unwrap_or_default()),
            Some("image_url") => {
                let url = part.pointer("/image_url/url").and_then(Value::as_str);
                let image = url.and_then(from_data_url);
                let image = image.ok_or_else(|| DecodeError::form("a picture is no data URL"))?;
                turns.push(Role::User, image);
            }
            _ => {}
        }
    }
    Ok(())
}

fn call_of(call: &Value) -> ToolCall {
    let function = call.get("function").unwrap_or(call);
    ToolCall {
        id: owned(call, "id"),
        name: owned(function, "name"),
        arguments: arguments(function.get("arguments")),
    }
}

/// A function as both dialects of OpenAI declare it.
pub(crate) fn tool_of(function: &Value) -> Option<Tool> {
    Some(Tool {
        name: word(function, "name")?.to_owned(),
        description: owned(function, "description"),
        parameters: function.get("parameters").cloned().unwrap_or_else(|| json!({})),
    })
}

/// A choice in either dialect of OpenAI.
pub(crate) fn choice_of(choice: Option<&Value>) -> ToolChoice {
    match choice {
        Some(Value::String(word)) if word == "none" => ToolChoice::None,
        Some(Value::String(word)) if word == "required" => ToolChoice::Required,
        Some(choice @ Value::Object(_)) => {
            let named = choice.get("function").unwrap_or(choice);
            word(named, "name").map_or(ToolChoice::Auto, |name| ToolChoice::Named(name.to_owned()))
        }
        _ => ToolChoice::Auto,
    }
}

/// A schema in either dialect of OpenAI.
pub(crate) fn schema_of(form: &Value) -> Option<Schema> {
    let schema = form.get("schema")?.clone();
    Some(Schema { name: owned(form, "name"), schema })
}
