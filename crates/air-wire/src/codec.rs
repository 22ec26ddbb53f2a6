//! The codecs of all dialects.

use serde_json::{Value, json};

use crate::{
    answer::{Answer, Delta},
    anthropic, chat,
    error::{self, DecodeError},
    gemini,
    request::{Dialect, Request},
    responses,
    sse::{Event, Parser},
};

/// A request as it is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// Path with query, to be put after the base URL. The base URL of the dialects of OpenAI ends in
    /// the version, such as `/v1`; that of the others is the host.
    pub path: String,
    /// Headers, without authentication and content type.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The body.
    pub body: Value,
}

/// A request in a dialect, which leaves out what the dialect cannot say.
///
/// - The limit of the answer is `max_completion_tokens` for OpenAI's own models in Chat Completions,
///   `max_tokens` for others. Anthropic demands one: 8192 where there is none.
/// - Anthropic and Gemini have no name for a schema: it becomes its title. Anthropic takes schemas as
///   `output_config` and refuses bounds of numbers and lengths in them; its models before 4.5 take none.
/// - Arguments of earlier calls that are no object go back as `{}`: servers fail on them.
/// - Models of Gemini before the third generation take no schema together with tools: it is left out,
///   so the instructions must tell the form as well.
/// - Anthropic knows neither seeds nor log-probabilities, Responses no seeds.
/// - A temperature is sent as it is. Many reasoning models refuse any.
/// - A tool that must be called is named in the dialect's object form. A server may take it for any
///   tool, or none: that is for the caller to see.
/// - Instructions to Anthropic are marked for its cache; without any, the tools are.
pub fn encode_request(dialect: Dialect, request: &Request) -> Encoded {
    let (path, headers, body) = match dialect {
        Dialect::OpenAiChat => {
            ("/chat/completions".to_owned(), Vec::new(), chat::request::encode(request))
        }
        Dialect::OpenAiResponses => {
            ("/responses".to_owned(), Vec::new(), responses::request::encode(request))
        }
        Dialect::Anthropic => (
            "/v1/messages".to_owned(),
            vec![("anthropic-version", "2023-06-01")],
            anthropic::request::encode(request),
        ),
        Dialect::Gemini => {
            (gemini::request::path(request), Vec::new(), gemini::request::encode(request))
        }
    };
    Encoded { path, headers, body }
}

/// The header that carries a key, and its value. Secret.
pub fn authorization(dialect: Dialect, key: &str) -> (&'static str, String) {
    match dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses => {
            ("authorization", format!("Bearer {key}"))
        }
        Dialect::Anthropic => ("x-api-key", key.to_owned()),
        Dialect::Gemini => ("x-goog-api-key", key.to_owned()),
    }
}

/// An answer that came at once.
///
/// # Errors
///
/// It is none.
pub fn decode_answer(dialect: Dialect, body: &[u8]) -> Result<Answer, DecodeError> {
    let value = serde_json::from_slice(body).map_err(|error| DecodeError::json(&error))?;
    match dialect {
        Dialect::OpenAiChat => chat::answer::decode(&value),
        Dialect::OpenAiResponses => responses::answer::decode(&value),
        Dialect::Anthropic => anthropic::answer::decode(&value),
        Dialect::Gemini => gemini::answer::decode(&value),
    }
}

/// What the provider says in the body of an HTTP error: one line, at most 500 characters. Untrusted,
/// and it may repeat what was sent: whoever shows it takes the key out first.
pub fn decode_error(_dialect: Dialect, status: u16, body: &[u8]) -> String {
    // Servers that speak one dialect often report errors in another: all are tried.
    error::decode_error(status, body)
}

/// The dialect of requests to a path.
pub fn dialect_of(path: &str) -> Option<Dialect> {
    let path = path.split('?').next().unwrap_or(path);
    [
        ("/chat/completions", Dialect::OpenAiChat),
        ("/responses", Dialect::OpenAiResponses),
        ("/messages", Dialect::Anthropic),
        (":generateContent", Dialect::Gemini),
        (":streamGenerateContent", Dialect::Gemini),
    ]
    .into_iter()
    .find_map(|(end, dialect)| path.ends_with(end).then_some(dialect))
}

/// A request as a server reads it. One message a turn, whatever the client made of it. What is of no
/// known kind is left out; pictures must come with their data.
///
/// # Errors
///
/// It is none.
pub fn decode_request(dialect: Dialect, path: &str, body: &Value) -> Result<Request, DecodeError> {
    match dialect {
        Dialect::OpenAiChat => chat::request::decode(body),
        Dialect::OpenAiResponses => responses::request::decode(body),
        Dialect::Anthropic => anthropic::request::decode(body),
        Dialect::Gemini => gemini::request::decode(path, body),
    }
}

/// An answer that goes out at once.
pub fn encode_answer(dialect: Dialect, answer: &Answer) -> Value {
    match dialect {
        Dialect::OpenAiChat => chat::answer::encode(answer),
        Dialect::OpenAiResponses => responses::answer::encode(answer),
        Dialect::Anthropic => anthropic::answer::encode(answer),
        Dialect::Gemini => gemini::answer::encode(answer),
    }
}

/// How an answer is cut into pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pieces {
    /// Most characters of text or arguments in a piece.
    pub most: usize,
    /// Whether Chat Completions tells what was taken, in an event with no choices. Clients ask for it.
    pub usage: bool,
}

/// An answer that goes out in pieces, with the mark that ends it.
pub fn encode_stream(dialect: Dialect, answer: &Answer, pieces: Pieces) -> Vec<Event> {
    match dialect {
        Dialect::OpenAiChat => chat::stream::encode(answer, pieces.most, pieces.usage),
        Dialect::OpenAiResponses => responses::stream::encode(answer, pieces.most),
        Dialect::Anthropic => anthropic::stream::encode(answer, pieces.most),
        Dialect::Gemini => gemini::stream::encode(answer, pieces.most),
    }
}

/// The body of an HTTP error.
pub fn encode_error(dialect: Dialect, status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    };
    match dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses => {
            json!({ "error": { "message": message, "type": kind, "param": null, "code": null } })
        }
        Dialect::Anthropic => {
            json!({ "type": "error", "error": { "type": kind, "message": message } })
        }
        Dialect::Gemini => {
            let word = match status {
                400 => "INVALID_ARGUMENT",
                401 => "UNAUTHENTICATED",
                403 => "PERMISSION_DENIED",
                404 => "NOT_FOUND",
                429 => "RESOURCE_EXHAUSTED",
                503 => "UNAVAILABLE",
                504 => "DEADLINE_EXCEEDED",
                _ => "INTERNAL",
            };
            json!({ "error": { "code": status, "message": message, "status": word } })
        }
    }
}

/// The most bytes of a stream, where nobody says otherwise.
const MOST: usize = 32 << 20;

/// Reads an answer that comes in pieces. Whether it does is told by its content type: servers may
/// answer at once although a stream was asked for.
#[derive(Debug)]
pub struct StreamDecoder {
    events: Parser,
    dialect: Decoder,
    left: usize,
    most: usize,
}

#[derive(Debug)]
enum Decoder {
    Chat(chat::stream::Decoder),
    Responses(responses::stream::Decoder),
    Anthropic(anthropic::stream::Decoder),
    Gemini(gemini::stream::Decoder),
}

impl StreamDecoder {
    /// For a stream of at most 32 MiB.
    pub fn new(dialect: Dialect) -> Self {
        let decoder = match dialect {
            Dialect::OpenAiChat => Decoder::Chat(chat::stream::Decoder::default()),
            Dialect::OpenAiResponses => Decoder::Responses(responses::stream::Decoder::default()),
            Dialect::Anthropic => Decoder::Anthropic(anthropic::stream::Decoder::default()),
            Dialect::Gemini => Decoder::Gemini(gemini::stream::Decoder::default()),
        };
        Self { events: Parser::new(MOST), dialect: decoder, left: MOST, most: MOST }
    }

    /// For a stream of at most so many bytes.
    #[must_use]
    pub fn limit(mut self, bytes: usize) -> Self {
        self.events = Parser::new(bytes);
        (self.left, self.most) = (bytes, bytes);
        self
    }

    /// What came now.
    ///
    /// # Errors
    ///
    /// It is no piece of an answer, reports an error, or is too much. The stream is then of no use.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Delta>, DecodeError> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(DecodeError::TooLong(self.most))?;
        let mut deltas = Vec::new();
        for event in self.events.push(bytes)? {
            self.dialect.event(&event, &mut deltas)?;
        }
        Ok(deltas)
    }

    /// Whether its end mark has come: nothing follows, although some servers leave the connection open.
    /// Gemini has no mark but the end of the connection.
    pub fn has_ended(&self) -> bool {
        match &self.dialect {
            Decoder::Chat(decoder) => decoder.has_ended(),
            Decoder::Responses(decoder) => decoder.has_ended(),
            Decoder::Anthropic(decoder) => decoder.has_ended(),
            Decoder::Gemini(_) => false,
        }
    }

    /// The whole answer, when the stream has ended.
    ///
    /// # Errors
    ///
    /// It ended before its end mark, or is no answer.
    pub fn finish(mut self) -> Result<Answer, DecodeError> {
        if let Some(event) = self.events.rest() {
            match self.dialect.event(&event, &mut Vec::new()) {
                // A piece of an event: the end mark is missing as well, or what is missing is nothing.
                Ok(()) | Err(DecodeError::Json(_)) => {}
                Err(error) => return Err(error),
            }
        }
        match self.dialect {
            Decoder::Chat(decoder) => decoder.finish(),
            Decoder::Responses(decoder) => decoder.finish(),
            Decoder::Anthropic(decoder) => decoder.finish(),
            Decoder::Gemini(decoder) => decoder.finish(),
        }
    }
}

impl Decoder {
    fn event(&mut self, event: &Event, deltas: &mut Vec<Delta>) -> Result<(), DecodeError> {
        match self {
            Self::Chat(decoder) => decoder.event(event, deltas),
            Self::Responses(decoder) => decoder.event(event, deltas),
            Self::Anthropic(decoder) => decoder.event(event, deltas),
            Self::Gemini(decoder) => decoder.event(event, deltas),
        }
    }
}
