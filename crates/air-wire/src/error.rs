//! Why something cannot be read.

use serde_json::Value;

use crate::value::{bounded, text};

/// What came is no request or answer of its dialect. Messages are bounded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// It is no JSON.
    #[error("it is no JSON: {0}")]
    Json(String),
    /// It is JSON, but not of this form.
    #[error("it has not the form of its dialect: {0}")]
    Form(String),
    /// An error stands where an answer should be, with status 200 or within a stream.
    #[error("the provider reports: {message}")]
    Reported {
        /// The HTTP status that says the same, where the provider's word for it is known.
        status: Option<u16>,
        /// What it says.
        message: String,
    },
    /// A stream ended before its end mark.
    #[error("the stream ended before its end mark")]
    Cut,
    /// More bytes than were allowed.
    #[error("it is longer than {0} bytes")]
    TooLong(usize),
}

impl DecodeError {
    pub(crate) fn form(what: &str) -> Self {
        Self::Form(bounded(what))
    }

    pub(crate) fn json(error: &serde_json::Error) -> Self {
        Self::Json(bounded(&error.to_string()))
    }
}

/// The error that `value` reports, if it does.
pub(crate) fn reported(value: &Value) -> Option<DecodeError> {
    let error = value.get("error").filter(|error| !error.is_null())?;
    Some(report(error))
}

/// An error object of any dialect, or its bare message.
pub(crate) fn report(error: &Value) -> DecodeError {
    let known = ["code", "type", "status"].into_iter().find_map(|key| match error.get(key) {
        Some(Value::Number(code)) => code
            .as_u64()
            .and_then(|code| u16::try_from(code).ok())
            .filter(|code| (400..600).contains(code)),
        Some(Value::String(word)) => status_of(word),
        _ => None,
    });
    DecodeError::Reported { status: known, message: message_of(error) }
}

fn status_of(word: &str) -> Option<u16> {
    Some(match word {
        "invalid_request_error" | "INVALID_ARGUMENT" | "context_length_exceeded" => 400,
        "authentication_error" | "invalid_api_key" | "UNAUTHENTICATED" => 401,
        "permission_error" | "PERMISSION_DENIED" => 403,
        "not_found_error" | "model_not_found" | "NOT_FOUND" => 404,
        "request_too_large" => 413,
        "rate_limit_error"
        | "rate_limit_exceeded"
        | "insufficient_quota"
        | "RESOURCE_EXHAUSTED" => 429,
        "api_error" | "server_error" | "INTERNAL" => 500,
        "UNAVAILABLE" => 503,
        "timeout_error" | "DEADLINE_EXCEEDED" => 504,
        "overloaded_error" => 529,
        _ => return None,
    })
}

fn message_of(error: &Value) -> String {
    let said = match error {
        Value::Null => Some("no reason is given"),
        Value::String(said) => Some(said.as_str()),
        _ => ["message", "detail", "type", "status"].into_iter().find_map(|key| text(error, key)),
    };
    said.map_or_else(|| bounded(&error.to_string()), bounded)
}

/// A provider's message in the body of an HTTP error: bounded, on one line. It may repeat what was
/// sent, so whoever shows it takes the key out first.
pub(crate) fn decode_error(status: u16, body: &[u8]) -> String {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    // One dialect wraps errors of streams in a list.
    let value = value.get(0).unwrap_or(&value);
    let said = if value.is_object() {
        message_of(value.get("error").unwrap_or(value))
    } else {
        let head = body.get(..body.len().min(4096)).unwrap_or_default();
        bounded(&String::from_utf8_lossy(head))
    };
    if said.trim().is_empty() { format!("HTTP {status} without a message") } else { said }
}
