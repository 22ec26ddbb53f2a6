use serde_json::{Value, json};

use crate::{
    error::DecodeError,
    request::{Dialect, Part, Request, Role, Schema, Tool, ToolCall, ToolChoice},
    turns::{Turns, merged},
    value::{arguments, base64, fields, flag, from_base64, list, object, owned, text, texts, word},
};

/// Every request must have a limit.
const MOST_TOKENS: u32 = 8192;

/// The name of a schema that has none: this dialect has no place for one but the schema's title.
const UNNAMED: &str = "output";

pub(crate) fn encode(request: &Request) -> Value {
    let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
    let cached = json!({ "type": "ephemeral" });
    // The mark covers what stands before it as well: the tools.
    let system = (!request.system.is_empty())
        .then(|| json!([{ "type": "text", "text": request.system, "cache_control": cached }]));
    if system.is_none()
        && let Some(last) = tools.last_mut().and_then(Value::as_object_mut)
    {
        last.insert("cache_control".to_owned(), cached);
    }
    let messages = merged(&request.messages).into_iter().filter_map(|(role, parts)| {
        let content: Vec<Value> = parts.into_iter().filter_map(block).collect();
        let role = match role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        (!content.is_empty()).then(|| json!({ "role": role, "content": content }))
    });
    fields([
        ("model", Some(request.model.as_str().into())),
        ("max_tokens", Some(request.max_output_tokens.unwrap_or(MOST_TOKENS).into())),
        ("system", system),
        ("messages", Some(messages.collect::<Vec<_>>().into())),
        ("tool_choice", choice(&request.tool_choice).filter(|_| !tools.is_empty())),
        ("tools", (!tools.is_empty()).then(|| tools.into())),
        ("output_config", request.output.as_ref().map(form)),
        ("temperature", request.temperature.map(Value::from)),
        ("stream", request.stream.then(|| true.into())),
    ])
}

fn tool(tool: &Tool) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters,
    })
}

fn choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!({ "type": "none" })),
        ToolChoice::Required => Some(json!({ "type": "any" })),
        ToolChoice::Named(name) => Some(json!({ "type": "tool", "name": name })),
    }
}

fn form(schema: &Schema) -> Value {
    json!({ "format": { "type": "json_schema", "schema": titled(schema) } })
}

/// The schema with its name as title, where it has no other.
pub(crate) fn titled(schema: &Schema) -> Value {
    let mut titled = schema.schema.clone();
    if let Some(fields) = titled.as_object_mut() {
        fields.entry("title").or_insert_with(|| schema.name.as_str().into());
    }
    titled
}

pub(crate) fn untitled(schema: &Value) -> Schema {
    let mut schema = schema.clone();
    let title = schema.as_object_mut().and_then(|fields| fields.remove("title"));
    let name = title.as_ref().and_then(Value::as_str).unwrap_or(UNNAMED).to_owned();
    Schema { name, schema }
}

fn block(part: &Part) -> Option<Value> {
    Some(match part {
        // Blank texts are refused.
        Part::Text(text) if text.trim().is_empty() => return None,
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Image { media_type, data } => {
            let source =
                json!({ "type": "base64", "media_type": media_type, "data": base64(data) });
            json!({ "type": "image", "source": source })
        }
        Part::ToolCall(call) => json!({
            "type": "tool_use", "id": call.id, "name": call.name,
            "input": call.parsed().unwrap_or_default(),
        }),
        Part::ToolResult { call, content, is_error, .. } => fields([
            ("type", Some("tool_result".into())),
            ("tool_use_id", Some(call.as_str().into())),
            ("content", (!content.trim().is_empty()).then(|| content.as_str().into())),
            ("is_error", is_error.then(|| true.into())),
        ]),
        Part::Opaque { dialect: Dialect::Anthropic, item } => item.clone(),
        Part::Opaque { .. } => return None,
    })
}

/// A call in an answer, where arguments that are cut off stay as they are.
pub(crate) fn encode_call(call: &ToolCall) -> Value {
    json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": object(call) })
}

pub(crate) fn decode(body: &Value) -> Result<Request, DecodeError> {
    if !body.get("messages").is_some_and(Value::is_array) {
        return Err(DecodeError::form("`messages` is missing"));
    }
    let mut turns = Turns::default();
    for message in list(body, "messages") {
        let role = match text(message, "role") {
            // Programs put notices of their own between messages.
            Some("user" | "system") => Role::User,
            Some("assistant") => Role::Assistant,
            _ => return Err(DecodeError::form("a message is of no known role")),
        };
        match message.get("content") {
            Some(Value::Array(blocks)) => {
                for block in blocks {
                    decode_block(role, block, &mut turns)?;
                }
            }
            content => turns.text(role, &texts(content)),
        }
    }
    let most = body.get("max_tokens").and_then(Value::as_u64);
    Ok(Request {
        model: owned(body, "model"),
        system: texts(body.get("system")),
        messages: turns.done(),
        tools: list(body, "tools").iter().filter_map(tool_of).collect(),
        tool_choice: choice_of(body.get("tool_choice")),
        output: body.pointer("/output_config/format/schema").map(untitled),
        max_output_tokens: most.and_then(|most| u32::try_from(most).ok()),
        temperature: body.get("temperature").and_then(Value::as_f64),
        seed: None,
        top_logprobs: None,
        stream: flag(body, "stream"),
    })
}

fn tool_of(tool: &Value) -> Option<Tool> {
    Some(Tool {
        name: word(tool, "name")?.to_owned(),
        description: owned(tool, "description"),
        parameters: tool.get("input_schema")?.clone(),
    })
}

fn choice_of(choice: Option<&Value>) -> ToolChoice {
    let Some(choice) = choice else { return ToolChoice::Auto };
    match text(choice, "type") {
        Some("none") => ToolChoice::None,
        Some("any") => ToolChoice::Required,
        Some("tool") => ToolChoice::Named(owned(choice, "name")),
        _ => ToolChoice::Auto,
    }
}

fn decode_block(role: Role, block: &Value, turns: &mut Turns) -> Result<(), DecodeError> {
    match text(block, "type") {
        Some("text") => turns.text(role, text(block, "text").unwrap_or_default()),
        Some("image") => {
            let source = block.get("source").unwrap_or(&Value::Null);
            let data = text(source, "data").and_then(from_base64);
            let data = data.ok_or_else(|| DecodeError::form("a picture has no data"))?;
            turns.push(role, Part::Image { media_type: owned(source, "media_type"), data });
        }
        Some("tool_use") => turns.push(
            role,
            Part::ToolCall(ToolCall {
                id: owned(block, "id"),
                name: owned(block, "name"),
                arguments: arguments(block.get("input")),
            }),
        ),
        Some("tool_result") => {
            let content = texts(block.get("content"));
            turns.result(&owned(block, "tool_use_id"), content, flag(block, "is_error"));
        }
        Some("thinking" | "redacted_thinking") => {
            turns.push(role, Part::Opaque { dialect: Dialect::Anthropic, item: block.clone() });
        }
        _ => {}
    }
    Ok(())
}
