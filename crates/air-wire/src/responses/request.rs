use serde_json::{Value, json};

use crate::{
    chat::request::{choice_of, is_openai, schema_of, tool_of},
    error::DecodeError,
    request::{Dialect, Part, Request, Role, Schema, Tool, ToolCall, ToolChoice},
    turns::{Turns, merged},
    value::{arguments, data_url, fields, flag, from_data_url, list, owned, text, texts, valid},
};

/// Log-probabilities come only where they are asked for twice.
const PROBABILITIES: &str = "message.output_text.logprobs";

/// Reasoning that can be sent back, as nothing is stored at the provider.
const REASONING: &str = "reasoning.encrypted_content";

pub(crate) fn encode(request: &Request) -> Value {
    let mut input = Vec::new();
    for (role, parts) in merged(&request.messages) {
        match role {
            Role::User => user(&parts, &mut input),
            Role::Assistant => input.extend(parts.into_iter().filter_map(assistant)),
        }
    }
    let tools: Vec<Value> = request.tools.iter().map(tool).collect();
    let mut include = Vec::new();
    if request.top_logprobs.is_some() {
        include.push(PROBABILITIES);
    }
    if reasons(&request.model) {
        include.push(REASONING);
    }
    let some = |text: &str| (!text.is_empty()).then(|| text.into());
    fields([
        ("model", Some(request.model.as_str().into())),
        ("instructions", some(&request.system)),
        ("input", Some(input.into())),
        ("tool_choice", choice(&request.tool_choice).filter(|_| !tools.is_empty())),
        ("tools", (!tools.is_empty()).then(|| tools.into())),
        ("text", request.output.as_ref().map(form)),
        ("max_output_tokens", request.max_output_tokens.map(Value::from)),
        ("temperature", request.temperature.map(Value::from)),
        ("top_logprobs", request.top_logprobs.map(Value::from)),
        ("include", (!include.is_empty()).then(|| include.into())),
        ("store", Some(false.into())),
        ("stream", request.stream.then(|| true.into())),
    ])
}

/// Whether the model reasons: OpenAI refuses the request for reasoning from one that does not.
fn reasons(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    is_openai(name) && !["gpt-3", "gpt-4", "chatgpt-"].iter().any(|old| name.starts_with(old))
}

fn tool(tool: &Tool) -> Value {
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": false,
    })
}

fn choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("none".into()),
        ToolChoice::Required => Some("required".into()),
        ToolChoice::Named(name) => Some(json!({ "type": "function", "name": name })),
    }
}

fn form(schema: &Schema) -> Value {
    json!({ "format": {
        "type": "json_schema", "name": schema.name, "schema": schema.schema, "strict": true,
    } })
}

fn user(parts: &[&Part], input: &mut Vec<Value>) {
    let mut content = Vec::new();
    for part in parts {
        match part {
            Part::ToolResult { call, content, .. } => input.push(
                json!({ "type": "function_call_output", "call_id": call, "output": content }),
            ),
            Part::Text(text) if !text.is_empty() => {
                content.push(json!({ "type": "input_text", "text": text }));
            }
            Part::Image { media_type, data } => {
                let url = data_url(media_type, data);
                content.push(json!({ "type": "input_image", "image_url": url, "detail": "auto" }));
            }
            _ => {}
        }
    }
    if !content.is_empty() {
        input.push(json!({ "type": "message", "role": "user", "content": content }));
    }
}

fn assistant(part: &Part) -> Option<Value> {
    match part {
        Part::Text(text) if !text.is_empty() => {
            Some(json!({ "type": "message", "role": "assistant", "content": text }))
        }
        Part::ToolCall(call) => Some(json!({
            "type": "function_call", "call_id": call.id, "name": call.name,
            "arguments": valid(call),
        })),
        Part::Opaque { dialect: Dialect::OpenAiResponses, item } => Some(item.clone()),
        _ => None,
    }
}

pub(crate) fn decode(body: &Value) -> Result<Request, DecodeError> {
    let mut system: Vec<String> = Vec::new();
    system.extend(text(body, "instructions").map(str::to_owned));
    let mut turns = Turns::default();
    match body.get("input") {
        Some(Value::String(said)) => turns.text(Role::User, said),
        Some(Value::Array(items)) => {
            for item in items {
                decode_item(item, &mut system, &mut turns)?;
            }
        }
        _ => return Err(DecodeError::form("`input` is missing")),
    }
    let asked = list(body, "include").iter().any(|what| what == PROBABILITIES);
    let top = body.get("top_logprobs").and_then(Value::as_u64);
    let probabilities = top.or(asked.then_some(0));
    let most = body.get("max_output_tokens").and_then(Value::as_u64);
    Ok(Request {
        model: owned(body, "model"),
        system: system.join("\n\n"),
        messages: turns.done(),
        tools: list(body, "tools").iter().filter_map(tool_of).collect(),
        tool_choice: choice_of(body.get("tool_choice")),
        output: body.pointer("/text/format").and_then(schema_of),
        max_output_tokens: most.and_then(|most| u32::try_from(most).ok()),
        temperature: body.get("temperature").and_then(Value::as_f64),
        seed: None,
        top_logprobs: probabilities.map(|top| u8::try_from(top).unwrap_or(u8::MAX)),
        stream: flag(body, "stream"),
    })
}

fn decode_item(
    item: &Value,
    system: &mut Vec<String>,
    turns: &mut Turns,
) -> Result<(), DecodeError> {
    let content = item.get("content");
    match (text(item, "type"), text(item, "role")) {
        (None | Some("message"), Some("system" | "developer")) => system.push(texts(content)),
        (None | Some("message"), Some("assistant")) => {
            turns.text(Role::Assistant, &texts(content));
        }
        (None | Some("message"), Some("user")) => said(content, turns)?,
        (Some("function_call"), _) => turns.push(
            Role::Assistant,
            Part::ToolCall(ToolCall {
                id: owned(item, "call_id"),
                name: owned(item, "name"),
                arguments: arguments(item.get("arguments")),
            }),
        ),
        (Some("function_call_output"), _) => {
            turns.result(&owned(item, "call_id"), texts(item.get("output")), false);
        }
        (Some("reasoning"), _) => turns.push(
            Role::Assistant,
            Part::Opaque { dialect: Dialect::OpenAiResponses, item: item.clone() },
        ),
        (None | Some("message"), role) => {
            let role = role.unwrap_or("none");
            return Err(DecodeError::form(&format!("unknown role `{role}`")));
        }
        _ => {}
    }
    Ok(())
}

fn said(content: Option<&Value>, turns: &mut Turns) -> Result<(), DecodeError> {
    let Some(Value::Array(parts)) = content else {
        turns.text(Role::User, &texts(content));
        return Ok(());
    };
    for part in parts {
        match text(part, "type") {
            Some("input_text" | "text") => {
                turns.text(Role::User, text(part, "text").unwrap_or_default());
            }
            Some("input_image") => {
                let image = text(part, "image_url").and_then(from_data_url);
                let image = image.ok_or_else(|| DecodeError::form("a picture is no data URL"))?;
                turns.push(Role::User, image);
            }
            _ => {}
        }
    }
    Ok(())
}
