//! One request failed: how, and whether it is worth another try.

use std::{error::Error, time::Duration};

use air_core::redact::redact;
use air_wire::DecodeError;
use reqwest::header::HeaderMap;

use super::retry;
use crate::{key::Key, model::ModelError};

/// Longest message, in characters.
const MESSAGE: usize = 400;

/// Why one request has no answer.
#[derive(Debug)]
pub(super) struct Fault {
    pub kind: Kind,
    /// Whether it may be sent again.
    pub again: bool,
    /// How long the provider asks to wait.
    pub after: Option<Duration>,
    /// Whether the provider refused before it did anything, and so charges nothing.
    pub free: bool,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// The provider says no.
    Status { status: u16, said: String, raw: String },
    /// No connection, or it broke.
    Connection(String),
    /// No answer in what came.
    Malformed(String),
    /// More came than may be read.
    TooLong(u64),
    /// Nothing came for so long.
    Idle(Duration),
}

impl Fault {
    /// One that another try does not better.
    pub(super) fn last(kind: Kind) -> Self {
        Self { kind, again: false, after: None, free: false }
    }

    /// The provider's refusal: what it says, and the whole of it as it came.
    pub(super) fn status(status: u16, headers: &HeaderMap, said: String, raw: String) -> Self {
        if status == 500 && unparsable(&said) {
            return Self::last(Kind::Malformed(said));
        }
        let told = headers.get("x-should-retry").and_then(|value| value.to_str().ok());
        let again = matches!(status, 408 | 409 | 429 | 500 | 502 | 503 | 504 | 529)
            && told != Some("false")
            // Nothing left to pay with: that does not pass.
            && !raw.contains("insufficient_quota");
        let after = retry::asked(headers);
        Self { kind: Kind::Status { status, said, raw }, again, after, free: true }
    }

    /// An answer that cannot be read, or an error in its place.
    pub(super) fn decoding(error: DecodeError, limit: u64) -> Self {
        match error {
            DecodeError::Reported { status: Some(status), message } => {
                let fault = Self::status(status, &HeaderMap::new(), message.clone(), message);
                Self { free: false, ..fault }
            }
            DecodeError::Cut => Self::last(Kind::Connection(error.to_string())),
            DecodeError::TooLong(_) => Self::last(Kind::TooLong(limit)),
            error => Self::last(Kind::Malformed(error.to_string())),
        }
    }

    /// No answer began.
    pub(super) fn connection(error: reqwest::Error, host: &str) -> Self {
        let error = error.without_url();
        let mut why = format!("{host}: {}", causes(&error));
        let again = !why.contains("invalid peer certificate");
        if !again {
            why.push_str("; if its authority is your own, name its file in SSL_CERT_FILE");
        }
        if error.is_connect() && why.contains("refused") {
            why.push_str("; is the server running?");
        }
        Self { kind: Kind::Connection(why), again, after: None, free: false }
    }

    /// What is told of it, after so many tries.
    pub(super) fn into_error(self, tries: u32, key: Option<&Key>) -> ModelError {
        let clean = |text: String| scrub(&text, key);
        match self.kind {
            Kind::Connection(why) => ModelError::Connection(clean(why)),
            Kind::Malformed(why) => ModelError::Malformed(clean(why)),
            Kind::TooLong(bytes) => ModelError::TooLong(bytes),
            Kind::Idle(time) => ModelError::Timeout(time),
            Kind::Status { status, said, .. } => {
                let asked = self.after.filter(|wait| *wait > Duration::ZERO);
                let asked = asked.map(|wait| format!("; it asks to wait {wait:?}"));
                let message = clean(said) + &asked.unwrap_or_default();
                match status {
                    401 | 403 => ModelError::Unauthorized { status, message },
                    408 | 409 | 429 | 503 | 529 => {
                        ModelError::Overloaded { status, tries, message }
                    }
                    500.. => ModelError::Server { status, tries, message },
                    _ => ModelError::Rejected { status, message },
                }
            }
        }
    }
}

/// llama.cpp and its kin answer so when they cannot read what the model itself wrote. What it is asked
/// to read again from the conversation is no such case.
fn unparsable(said: &str) -> bool {
    said.contains("Failed to parse input at pos") || said.contains("Failed to parse output")
}

/// An error with its causes.
fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        next = cause.source();
    }
    text
}

/// `text` on one line, bounded, without the key and what looks like one.
pub(super) fn scrub(text: &str, key: Option<&Key>) -> String {
    let text = match key {
        Some(key) => text.replace(key.text(), "[redacted]"),
        None => text.to_owned(),
    };
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = redact(&text).chars().map(plain).collect();
    let text = text.trim();
    match text.char_indices().nth(MESSAGE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
