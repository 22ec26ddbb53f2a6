//! What is said to a model.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Dialect {
    /// OpenAI Chat Completions: also Ollama, llama.cpp, vLLM and whatever calls itself compatible.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini `generateContent`.
    Gemini,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::OpenAiChat, Self::OpenAiResponses, Self::Anthropic, Self::Gemini];

    /// Its name in messages and settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One request. What a dialect cannot say is left out when it is encoded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// The model, as its provider calls it.
    pub model: String,
    /// Instructions: trusted, and the same from request to request, so that a provider's cache hits.
    pub system: String,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// Tools that the model may call.
    pub tools: Vec<Tool>,
    /// Whether it may, must, or must not call one.
    pub tool_choice: ToolChoice,
    /// The form of the answer, where it is not free text.
    pub output: Option<Schema>,
    /// Most tokens of the answer.
    pub max_output_tokens: Option<u32>,
    /// From 0; absent: the provider's default.
    pub temperature: Option<f64>,
    /// For repeatable sampling, where the provider has that.
    pub seed: Option<u64>,
    /// How many alternatives of each token to report with their probability.
    pub top_logprobs: Option<u8>,
    /// Whether the answer comes in pieces.
    pub stream: bool,
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub parts: Vec<Part>,
}

impl Message {
    /// A text of the user's side.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, parts: vec![Part::Text(text.into())] }
    }

    /// A text of the model's.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self { role: Role::Assistant, parts: vec![Part::Text(text.into())] }
    }
}

/// Who speaks. Results of tools are the user's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The program that asks.
    User,
    /// The model.
    Assistant,
}

/// A piece of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Part {
    /// Text.
    Text(String),
    /// A picture.
    Image {
        /// Such as `image/png`.
        media_type: String,
        /// The file's bytes.
        data: Arc<[u8]>,
    },
    /// The model wants a tool called.
    ToolCall(ToolCall),
    /// What a tool returned.
    ToolResult {
        /// The call's id.
        call: String,
        /// The tool's name: one dialect knows results by it.
        name: String,
        /// Text.
        content: String,
        /// Whether the tool failed.
        is_error: bool,
    },
    /// What a provider wants back unchanged with the next request, such as signed reasoning.
    Opaque {
        /// Whose it is: sent to this dialect alone.
        dialect: Dialect,
        /// As it came.
        item: Value,
    },
}

/// A call that the model wants made. Untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Identifies it in the conversation. Made up by the decoder where the dialect has none.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments as JSON text: cut off where the answer was.
    pub arguments: String,
}

impl ToolCall {
    /// The arguments, parsed; no text at all counts as none.
    ///
    /// # Errors
    ///
    /// Why they are not an object.
    pub fn parsed(&self) -> Result<Map<String, Value>, String> {
        if self.arguments.trim().is_empty() {
            return Ok(Map::new());
        }
        match serde_json::from_str(&self.arguments) {
            Ok(Value::Object(fields)) => Ok(fields),
            Ok(_) => Err("the arguments are no object".to_owned()),
            Err(error) => Err(format!("the arguments are no JSON: {error}")),
        }
    }
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub parameters: Value,
}

/// Whether a model may call tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// It may.
    #[default]
    Auto,
    /// It must not.
    None,
    /// It must call one.
    Required,
    /// It must call this one. Servers that do not know this take it for [`Self::Required`].
    Named(String),
}

/// The form of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// Its name.
    pub name: String,
    /// JSON Schema, an object; every property required and no others allowed, as strict modes demand.
    pub schema: Value,
}
