//! What stands in a recording. Changing anything here makes a new version.

use std::time::Duration;

use air_wire::{Answer, Delta, Dialect, Part, Stop, TokenProbability, ToolCall, Usage};
use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::ModelError;

/// The first line of a recording.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Head {
    pub format: String,
    pub version: u32,
}

/// One call, and what came of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Entry {
    /// What it was for.
    pub purpose: String,
    /// The model that was asked. For people.
    pub model: String,
    /// Of `request`.
    pub digest: String,
    /// The canonical form, without what looks like a secret. For people, and for telling differences.
    pub request: Value,
    /// The pieces, where it came in pieces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deltas: Vec<DeltaForm>,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Answer(AnswerForm),
    Error(ErrorForm),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct AnswerForm {
    model: String,
    parts: Vec<PartForm>,
    stop: StopForm,
    usage: UsageForm,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    probabilities: Vec<TokenForm>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PartForm {
    Text(String),
    Image { media_type: String, base64: String },
    ToolCall { id: String, name: String, arguments: String },
    ToolResult { call: String, name: String, content: String, is_error: bool },
    Opaque { dialect: String, item: Value },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StopForm {
    End,
    ToolUse,
    Length,
    Refused(String),
    Other(String),
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct UsageForm {
    input: u64,
    cached: u64,
    cache_written: u64,
    output: u64,
    reasoning: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct TokenForm {
    token: String,
    log: f64,
    top: Vec<(String, f64)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DeltaForm {
    Text(String),
    CallBegun { at: usize, name: String },
    Arguments { at: usize, text: String },
    Reasoning(String),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ErrorForm {
    Timeout { ms: u64 },
    Connection { message: String },
    Unauthorized { status: u16, message: String },
    Rejected { status: u16, message: String },
    Overloaded { status: u16, tries: u32, message: String },
    Server { status: u16, tries: u32, message: String },
    Malformed { message: String },
    TooLong { bytes: u64 },
    Open { failures: u32, ms: u64 },
    Spent { message: String },
    NotRecorded { message: String },
}

impl From<&Answer> for AnswerForm {
    fn from(answer: &Answer) -> Self {
        let Usage { input, cached, cache_written, output, reasoning } = answer.usage;
        let token = |token: &TokenProbability| TokenForm {
            token: token.token.clone(),
            log: finite(token.log),
            top: token.top.iter().map(|(text, log)| (text.clone(), finite(*log))).collect(),
        };
        Self {
            model: answer.model.clone(),
            parts: answer.parts.iter().map(PartForm::from).collect(),
            stop: match &answer.stop {
                Stop::End => StopForm::End,
                Stop::ToolUse => StopForm::ToolUse,
                Stop::Length => StopForm::Length,
                Stop::Refused(why) => StopForm::Refused(why.clone()),
                Stop::Other(what) => StopForm::Other(what.clone()),
            },
            usage: UsageForm { input, cached, cache_written, output, reasoning },
            probabilities: answer.probabilities.iter().map(token).collect(),
        }
    }
}

impl AnswerForm {
    /// The answer as it was.
    pub(super) fn read(self) -> Result<Answer, String> {
        let UsageForm { input, cached, cache_written, output, reasoning } = self.usage;
        let token =
            |form: TokenForm| TokenProbability { token: form.token, log: form.log, top: form.top };
        Ok(Answer {
            model: self.model,
            parts: self.parts.into_iter().map(PartForm::read).collect::<Result<_, _>>()?,
            stop: match self.stop {
                StopForm::End => Stop::End,
                StopForm::ToolUse => Stop::ToolUse,
                StopForm::Length => Stop::Length,
                StopForm::Refused(why) => Stop::Refused(why),
                StopForm::Other(what) => Stop::Other(what),
            },
            usage: Usage { input, cached, cache_written, output, reasoning },
            probabilities: self.probabilities.into_iter().map(token).collect(),
        })
    }
}

impl From<&Part> for PartForm {
    fn from(part: &Part) -> Self {
        match part {
            Part::Text(text) => Self::Text(text.clone()),
            Part::Image { media_type, data } => {
                Self::Image { media_type: media_type.clone(), base64: BASE64.encode(data) }
            }
            Part::ToolCall(ToolCall { id, name, arguments }) => {
                Self::ToolCall { id: id.clone(), name: name.clone(), arguments: arguments.clone() }
            }
            Part::ToolResult { call, name, content, is_error } => Self::ToolResult {
                call: call.clone(),
                name: name.clone(),
                content: content.clone(),
                is_error: *is_error,
            },
            Part::Opaque { dialect, item } => {
                Self::Opaque { dialect: dialect.name().to_owned(), item: item.clone() }
            }
        }
    }
}

impl PartForm {
    fn read(self) -> Result<Part, String> {
        Ok(match self {
            Self::Text(text) => Part::Text(text),
            Self::Image { media_type, base64 } => {
                let data = BASE64.decode(base64.as_bytes());
                let data = data.map_err(|error| format!("an image is damaged: {error}"))?;
                Part::Image { media_type, data: data.into() }
            }
            Self::ToolCall { id, name, arguments } => {
                Part::ToolCall(ToolCall { id, name, arguments })
            }
            Self::ToolResult { call, name, content, is_error } => {
                Part::ToolResult { call, name, content, is_error }
            }
            Self::Opaque { dialect, item } => {
                let known = Dialect::ALL.into_iter().find(|known| known.name() == dialect);
                let dialect = known.ok_or_else(|| format!("there is no dialect `{dialect}`"))?;
                Part::Opaque { dialect, item }
            }
        })
    }
}

impl From<&Delta> for DeltaForm {
    fn from(delta: &Delta) -> Self {
        match delta {
            Delta::Text(text) => Self::Text(text.clone()),
            Delta::CallBegun { at, name } => Self::CallBegun { at: *at, name: name.clone() },
            Delta::Arguments { at, text } => Self::Arguments { at: *at, text: text.clone() },
            Delta::Reasoning(text) => Self::Reasoning(text.clone()),
        }
    }
}

impl From<DeltaForm> for Delta {
    fn from(form: DeltaForm) -> Self {
        match form {
            DeltaForm::Text(text) => Self::Text(text),
            DeltaForm::CallBegun { at, name } => Self::CallBegun { at, name },
            DeltaForm::Arguments { at, text } => Self::Arguments { at, text },
            DeltaForm::Reasoning(text) => Self::Reasoning(text),
        }
    }
}

/// JSON knows no infinity.
fn finite(log: f64) -> f64 {
    if log.is_finite() { log } else { f64::MIN }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl From<&ModelError> for ErrorForm {
    fn from(error: &ModelError) -> Self {
        match error.clone() {
            ModelError::Timeout(time) => Self::Timeout { ms: millis(time) },
            ModelError::Connection(message) => Self::Connection { message },
            ModelError::Unauthorized { status, message } => Self::Unauthorized { status, message },
            ModelError::Rejected { status, message } => Self::Rejected { status, message },
            ModelError::Overloaded { status, tries, message } => {
                Self::Overloaded { status, tries, message }
            }
            ModelError::Server { status, tries, message } => {
                Self::Server { status, tries, message }
            }
            ModelError::Malformed(message) => Self::Malformed { message },
            ModelError::TooLong(bytes) => Self::TooLong { bytes },
            ModelError::Open { failures, wait } => Self::Open { failures, ms: millis(wait) },
            ModelError::Spent(message) => Self::Spent { message },
            ModelError::NotRecorded(message) => Self::NotRecorded { message },
        }
    }
}

impl From<ErrorForm> for ModelError {
    fn from(form: ErrorForm) -> Self {
        match form {
            ErrorForm::Timeout { ms } => Self::Timeout(Duration::from_millis(ms)),
            ErrorForm::Connection { message } => Self::Connection(message),
            ErrorForm::Unauthorized { status, message } => Self::Unauthorized { status, message },
            ErrorForm::Rejected { status, message } => Self::Rejected { status, message },
            ErrorForm::Overloaded { status, tries, message } => {
                Self::Overloaded { status, tries, message }
            }
            ErrorForm::Server { status, tries, message } => Self::Server { status, tries, message },
            ErrorForm::Malformed { message } => Self::Malformed(message),
            ErrorForm::TooLong { bytes } => Self::TooLong(bytes),
            ErrorForm::Open { failures, ms } => {
                Self::Open { failures, wait: Duration::from_millis(ms) }
            }
            ErrorForm::Spent { message } => Self::Spent(message),
            ErrorForm::NotRecorded { message } => Self::NotRecorded(message),
        }
    }
}
