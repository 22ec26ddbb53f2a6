//! What is answered.

use std::{fmt, sync::Arc, time::Duration};

use air_wire::{Answer, Part, Stop, TokenProbability, ToolCall, Usage};
use bytes::Bytes;
use serde_json::Value;

/// Changes a body, or each event of a stream, on its way out.
pub(super) type Edit = Arc<dyn Fn(&mut Value) + Send + Sync>;

/// One reply.
#[derive(Clone)]
pub struct Reply {
    pub(super) what: What,
    pub(super) delay: Duration,
    pub(super) pace: Duration,
    pub(super) piece: usize,
    pub(super) reset_after: Option<usize>,
    pub(super) edit: Option<Edit>,
}

#[derive(Debug, Clone)]
pub(super) enum What {
    Answer(Answer),
    Error { status: u16, headers: Vec<(String, String)>, message: String, body: Option<Value> },
    Raw { status: u16, content_type: &'static str, body: Bytes },
    Size(usize),
    Reset,
    Never,
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reply").field(&self.what).finish()
    }
}

impl Reply {
    fn new(what: What) -> Self {
        let (delay, pace) = (Duration::ZERO, Duration::ZERO);
        Self { what, delay, pace, piece: 16, reset_after: None, edit: None }
    }

    /// An answer as it is. What is empty is filled in: its model, ids of calls, and usage by length.
    pub fn answer(answer: Answer) -> Self {
        Self::new(What::Answer(answer))
    }

    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::answer(Answer { parts: vec![Part::Text(text.into())], ..Answer::default() })
    }

    /// JSON, as where a schema was asked for.
    pub fn json(value: &Value) -> Self {
        Self::text(value.to_string())
    }

    /// JSON in a code fence, with a sentence before it.
    pub fn fenced(value: &Value) -> Self {
        Self::text(format!("Here is the answer:\n\n```json\n{value:#}\n```\n"))
    }

    /// One call.
    pub fn call(tool: impl Into<String>, arguments: &Value) -> Self {
        Self::answer(Answer::default()).and_call(tool, arguments)
    }

    /// A call whose arguments, and with them the answer, are cut off.
    pub fn cut_call(tool: impl Into<String>, arguments: impl Into<String>) -> Self {
        let call = ToolCall { id: String::new(), name: tool.into(), arguments: arguments.into() };
        let parts = vec![Part::ToolCall(call)];
        Self::answer(Answer { parts, stop: Stop::Length, ..Answer::default() })
    }

    /// An HTTP error.
    pub fn error(status: u16, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::new(What::Error { status, headers: Vec::new(), message, body: None })
    }

    /// Any body, said to be JSON.
    pub fn raw(status: u16, body: impl Into<Bytes>) -> Self {
        Self::new(What::Raw { status, content_type: "application/json", body: body.into() })
    }

    /// Any body, said to be a stream.
    pub fn raw_stream(body: impl Into<Bytes>) -> Self {
        Self::new(What::Raw { status: 200, content_type: "text/event-stream", body: body.into() })
    }

    /// A valid answer with a text of at least so many bytes. It is made while it is sent.
    pub fn of_size(bytes: usize) -> Self {
        Self::new(What::Size(bytes))
    }

    /// The connection is reset instead of an answer.
    pub fn reset() -> Self {
        Self::new(What::Reset)
    }

    /// Nothing is ever answered.
    pub fn never() -> Self {
        Self::new(What::Never)
    }

    /// One call more.
    #[must_use]
    pub fn and_call(self, tool: impl Into<String>, arguments: &Value) -> Self {
        let (id, name, arguments) = (String::new(), tool.into(), arguments.to_string());
        self.with(|answer| answer.parts.push(Part::ToolCall(ToolCall { id, name, arguments })))
    }

    /// A header of an error, such as `retry-after`.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let What::Error { headers, .. } = &mut self.what {
            headers.push((name.into(), value.into()));
        }
        self
    }

    /// The body of an error, instead of the one that its dialect has.
    #[must_use]
    pub(super) fn body(mut self, value: Option<Value>) -> Self {
        if let What::Error { body, .. } = &mut self.what {
            *body = value;
        }
        self
    }

    /// The text's tokens with their probabilities, told where they were asked for.
    #[must_use]
    pub fn with_probabilities(self, tokens: Vec<TokenProbability>) -> Self {
        self.with(|answer| answer.probabilities = tokens)
    }

    /// Why it ends.
    #[must_use]
    pub fn stop(self, stop: Stop) -> Self {
        self.with(|answer| answer.stop = stop)
    }

    /// What it took.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        self.with(|answer| answer.usage = usage)
    }

    /// Only after so long.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// With so long between the events of a stream.
    #[must_use]
    pub fn paced(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }

    /// Streamed in pieces of at most so many characters. Default 16.
    #[must_use]
    pub fn in_pieces(mut self, most: usize) -> Self {
        self.piece = most;
        self
    }

    /// The connection is reset after so many events of a stream, or in the midst of an answer.
    #[must_use]
    pub fn reset_after(mut self, events: usize) -> Self {
        self.reset_after = Some(events);
        self
    }

    /// The body, or each event of a stream, is changed before it is sent.
    #[must_use]
    pub fn edited(mut self, edit: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        self.edit = Some(Arc::new(edit));
        self
    }

    /// Arguments are objects where the dialect of OpenAI wants text, as some servers have it.
    #[must_use]
    pub fn arguments_as_objects(self) -> Self {
        self.in_pieces(usize::MAX).edited(objects)
    }

    /// Calls have neither id nor number, as at some servers.
    #[must_use]
    pub fn calls_without_ids(self) -> Self {
        self.in_pieces(usize::MAX).edited(without_ids)
    }

    fn with(mut self, change: impl FnOnce(&mut Answer)) -> Self {
        if let What::Answer(answer) = &mut self.what {
            change(answer);
        }
        self
    }
}

/// Does something to each object within a value.
fn each(value: &mut Value, change: &dyn Fn(&mut serde_json::Map<String, Value>)) {
    match value {
        Value::Object(fields) => {
            change(fields);
            fields.values_mut().for_each(|value| each(value, change));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| each(value, change)),
        _ => {}
    }
}

fn objects(value: &mut Value) {
    each(value, &|fields| {
        if let Some(arguments) = fields.get_mut("arguments")
            && let Some(object) =
                arguments.as_str().and_then(|text| serde_json::from_str(text).ok())
        {
            *arguments = object;
        }
    });
}

fn without_ids(value: &mut Value) {
    each(value, &|fields| {
        if fields.contains_key("function") || fields.contains_key("functionCall") {
            fields.remove("id");
            fields.remove("index");
        }
        if let Some(Value::Object(call)) = fields.get_mut("functionCall") {
            call.remove("id");
        }
    });
}
