use serde_json::{Value, json};

use super::signed;
use crate::{
    anthropic::request::{titled, untitled},
    error::DecodeError,
    request::{Dialect, Part, Request, Role, Tool, ToolCall, ToolChoice},
    turns::{Turns, merged},
    value::{
        arguments, base64, fields, from_base64, is_made_up, list, made_up, owned, text, texts, word,
    },
};

/// Path of a request, relative to the base URL.
pub(crate) fn path(request: &Request) -> String {
    let model = escaped(request.model.strip_prefix("models/").unwrap_or(&request.model));
    let method = if request.stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
    format!("/v1beta/models/{model}:{method}")
}

/// A name as one segment of a path.
fn escaped(name: &str) -> String {
    let mut escaped = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                escaped.push(char::from(byte));
            }
            _ => escaped.extend(format!("%{byte:02X}").chars()),
        }
    }
    escaped
}

/// The model and whether the answer comes in pieces.
fn of_path(path: &str) -> Option<(String, bool)> {
    let path = path.split('?').next().unwrap_or(path);
    let (model, method) = path.rsplit_once("/models/")?.1.rsplit_once(':')?;
    let stream = match method {
        "generateContent" => false,
        "streamGenerateContent" => true,
        _ => return None,
    };
    Some((unescaped(model), stream))
}

fn unescaped(name: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        let code = code.filter(|_| byte == b'%');
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(code.unwrap_or(byte));
        rest = if code.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn encode(request: &Request) -> Value {
    let contents = merged(&request.messages).into_iter().filter_map(|(role, parts)| {
        let parts = encode_parts(&parts);
        let role = match role {
            Role::User => "user",
            Role::Assistant => "model",
        };
        (!parts.is_empty()).then(|| json!({ "role": role, "parts": parts }))
    });
    let tools: Vec<Value> = request.tools.iter().map(tool).collect();
    let system = &request.system;
    // Seeds are signed and of 32 bits here.
    let seed = request.seed.map(|seed| Value::from(seed & 0x7fff_ffff));
    let schema = request.output.as_ref().filter(|_| tools.is_empty() || takes_both(&request.model));
    let config = fields([
        ("maxOutputTokens", request.max_output_tokens.map(Value::from)),
        ("temperature", request.temperature.map(Value::from)),
        ("seed", seed),
        ("responseMimeType", schema.map(|_| "application/json".into())),
        ("responseJsonSchema", schema.map(titled)),
        ("responseLogprobs", request.top_logprobs.map(|_| true.into())),
        ("logprobs", request.top_logprobs.map(Value::from)),
    ]);
    fields([
        (
            "systemInstruction",
            (!system.is_empty()).then(|| json!({ "parts": [{ "text": system }] })),
        ),
        ("contents", Some(contents.collect::<Vec<_>>().into())),
        ("toolConfig", choice(&request.tool_choice).filter(|_| !tools.is_empty())),
        ("tools", (!tools.is_empty()).then(|| json!([{ "functionDeclarations": tools }]))),
        ("generationConfig", config.as_object().is_some_and(|it| !it.is_empty()).then_some(config)),
    ])
}

/// Whether the model takes a schema together with tools: before the third generation none does.
fn takes_both(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    !["gemini-1", "gemini-2"].iter().any(|old| name.starts_with(old))
}

fn tool(tool: &Tool) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": tool.parameters,
    })
}

fn choice(choice: &ToolChoice) -> Option<Value> {
    let config = match choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => json!({ "mode": "NONE" }),
        ToolChoice::Required => json!({ "mode": "ANY" }),
        ToolChoice::Named(name) => json!({ "mode": "ANY", "allowedFunctionNames": [name] }),
    };
    Some(json!({ "functionCallingConfig": config }))
}

fn encode_parts(parts: &[&Part]) -> Vec<Value> {
    let mut encoded = Vec::new();
    let mut signature = None;
    for part in parts {
        let value = match part {
            Part::Text(text) if text.is_empty() => continue,
            Part::Text(text) => json!({ "text": text }),
            Part::Image { media_type, data } => {
                json!({ "inlineData": { "mimeType": media_type, "data": base64(data) } })
            }
            Part::ToolCall(call) => function_call(call, call.parsed().unwrap_or_default().into()),
            Part::ToolResult { call, name, content, is_error } => {
                let key = if *is_error { "error" } else { "output" };
                let response = fields([
                    ("id", (!is_made_up(call)).then(|| call.as_str().into())),
                    ("name", Some(name.as_str().into())),
                    ("response", Some(json!({ key: content }))),
                ]);
                json!({ "functionResponse": response })
            }
            Part::Opaque { dialect: Dialect::Gemini, item } => match signed::of_next(item) {
                Some(next) => {
                    signature = Some(next.clone());
                    continue;
                }
                None => item.clone(),
            },
            Part::Opaque { .. } => continue,
        };
        encoded.push(signed::sign(value, signature.take()));
    }
    encoded
}

/// A call, with its id if the provider gave it one.
pub(crate) fn function_call(call: &ToolCall, arguments: Value) -> Value {
    let call = fields([
        ("id", (!is_made_up(&call.id)).then(|| call.id.as_str().into())),
        ("name", Some(call.name.as_str().into())),
        ("args", Some(arguments)),
    ]);
    json!({ "functionCall": call })
}

pub(crate) fn decode(path: &str, body: &Value) -> Result<Request, DecodeError> {
    let (model, stream) =
        of_path(path).ok_or_else(|| DecodeError::form("the path names no model"))?;
    if !body.get("contents").is_some_and(Value::is_array) {
        return Err(DecodeError::form("`contents` is missing"));
    }
    let mut turns = Turns::default();
    for content in list(body, "contents") {
        let role = match text(content, "role") {
            None | Some("user" | "function") => Role::User,
            Some("model") => Role::Assistant,
            _ => return Err(DecodeError::form("a content is of neither `user` nor `model`")),
        };
        for part in list(content, "parts") {
            decode_part(role, part, &mut turns)?;
        }
    }
    let nothing = Value::Null;
    let config = field(body, "generationConfig").unwrap_or(&nothing);
    let number = |key: &str| field(config, key).and_then(Value::as_u64);
    let schema = field(config, "responseJsonSchema").or_else(|| field(config, "responseSchema"));
    let tools = list(body, "tools").iter().filter_map(|tool| field(tool, "functionDeclarations"));
    let tools = tools.filter_map(Value::as_array).flatten();
    let wanted = field(config, "responseLogprobs").and_then(Value::as_bool).unwrap_or_default();
    let probabilities = wanted.then(|| number("logprobs").unwrap_or(0));
    let system = field(body, "systemInstruction");
    let choice = field(body, "toolConfig").and_then(|it| field(it, "functionCallingConfig"));
    Ok(Request {
        model,
        system: texts(system.and_then(|system| system.get("parts"))),
        messages: turns.done(),
        tools: tools.filter_map(tool_of).collect(),
        tool_choice: choice_of(choice),
        output: schema.map(untitled),
        max_output_tokens: number("maxOutputTokens").and_then(|most| u32::try_from(most).ok()),
        temperature: config.get("temperature").and_then(Value::as_f64),
        seed: number("seed"),
        top_logprobs: probabilities.map(|top| u8::try_from(top).unwrap_or(u8::MAX)),
        stream,
    })
}

fn tool_of(tool: &Value) -> Option<Tool> {
    let parameters = field(tool, "parametersJsonSchema").or_else(|| tool.get("parameters"));
    Some(Tool {
        name: word(tool, "name")?.to_owned(),
        description: owned(tool, "description"),
        parameters: parameters.cloned().unwrap_or_else(|| json!({})),
    })
}

fn choice_of(config: Option<&Value>) -> ToolChoice {
    let Some(config) = config else { return ToolChoice::Auto };
    let names = field(config, "allowedFunctionNames").and_then(Value::as_array);
    match (text(config, "mode"), names.map(Vec::as_slice)) {
        (Some("NONE"), _) => ToolChoice::None,
        (Some("ANY"), Some([Value::String(name)])) => ToolChoice::Named(name.clone()),
        (Some("ANY"), _) => ToolChoice::Required,
        _ => ToolChoice::Auto,
    }
}

fn decode_part(role: Role, part: &Value, turns: &mut Turns) -> Result<(), DecodeError> {
    let opaque = |item: Value| Part::Opaque { dialect: Dialect::Gemini, item };
    if let Some(item) = signed::whole(part) {
        turns.push(role, opaque(item));
        return Ok(());
    }
    if let Some(item) = signed::before(part) {
        turns.push(role, opaque(item));
    }
    if let Some(said) = text(part, "text") {
        turns.text(role, said);
    } else if let Some(image) = field(part, "inlineData") {
        let data = text(image, "data").and_then(from_base64);
        let data = data.ok_or_else(|| DecodeError::form("a picture has no data"))?;
        let media_type = field(image, "mimeType").and_then(Value::as_str).unwrap_or_default();
        turns.push(role, Part::Image { media_type: media_type.to_owned(), data });
    } else if let Some(call) = field(part, "functionCall") {
        let id = word(call, "id").map_or_else(|| made_up("", turns.len()), str::to_owned);
        let arguments = arguments(call.get("args"));
        turns.push(role, Part::ToolCall(ToolCall { id, name: owned(call, "name"), arguments }));
    } else if let Some(result) = field(part, "functionResponse") {
        let name = owned(result, "name");
        let call = word(result, "id").map_or_else(|| answered(turns, &name), str::to_owned);
        let (content, is_error) = response(result.get("response"));
        turns.push(role, Part::ToolResult { call, name, content, is_error });
    }
    Ok(())
}

/// The oldest call of a tool that has no result yet.
fn answered(turns: &Turns, name: &str) -> String {
    let parts = || turns.messages().iter().flat_map(|message| &message.parts);
    let open = parts().find_map(|part| match part {
        Part::ToolCall(call) if call.name == name => {
            let known = parts().any(
                |part| matches!(part, Part::ToolResult { call: other, .. } if *other == call.id),
            );
            (!known).then(|| call.id.clone())
        }
        _ => None,
    });
    open.unwrap_or_default()
}

fn response(response: Option<&Value>) -> (String, bool) {
    let Some(Value::Object(object)) = response else { return (arguments(response), false) };
    match (object.get("error"), object.get("output").or_else(|| object.get("result"))) {
        (Some(error), None) if object.len() == 1 => (arguments(Some(error)), true),
        (None, Some(output)) if object.len() == 1 => (arguments(Some(output)), false),
        _ => (arguments(response), false),
    }
}

/// A field in either spelling: clients mix `camelCase` with `snake_case`, and the provider takes both.
fn field<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.get(key).or_else(|| {
        let mut snake = String::new();
        for letter in key.chars() {
            if letter.is_ascii_uppercase() {
                snake.push('_');
            }
            snake.push(letter.to_ascii_lowercase());
        }
        value.get(&snake)
    })
}
