//! Server-sent events, as far as model providers use them.

use std::fmt;

use crate::error::DecodeError;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Its kind, where it has one.
    pub event: Option<String>,
    /// Its data; several lines are joined by line feeds.
    pub data: String,
}

/// As it stands in a stream, with the empty line that ends it.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(event) = &self.event {
            writeln!(f, "event: {event}")?;
        }
        for line in self.data.split('\n') {
            writeln!(f, "data: {line}")?;
        }
        writeln!(f)
    }
}

/// Takes bytes as they come and gives events as they end. Lines end in CR, LF or both.
#[derive(Debug)]
pub struct Parser {
    line: Vec<u8>,
    /// The last byte was a CR, so that a LF ends no further line.
    after_return: bool,
    first_line: bool,
    event: Option<String>,
    data: Option<String>,
    limit: usize,
}

impl Parser {
    /// A parser that refuses events of more than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            after_return: false,
            first_line: true,
            event: None,
            data: None,
            limit,
        }
    }

    /// The events that end within `bytes`.
    ///
    /// # Errors
    ///
    /// An event is too long.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, DecodeError> {
        let mut events = Vec::new();
        while let Some(&byte) = bytes.first() {
            if std::mem::take(&mut self.after_return) && byte == b'\n' {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let (piece, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            let held = self.line.len() + self.data.as_ref().map_or(0, String::len);
            if held.saturating_add(piece.len()) > self.limit {
                return Err(DecodeError::TooLong(self.limit));
            }
            self.line.extend_from_slice(piece);
            bytes = rest;
            if let Some((&ending, rest)) = bytes.split_first() {
                self.after_return = ending == b'\r';
                bytes = rest;
                events.extend(self.end_line());
            }
        }
        Ok(events)
    }

    /// What stands at the end of the stream without the empty line that should end it.
    pub fn rest(&mut self) -> Option<Event> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.end_event()
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            return self.end_event();
        }
        let line = String::from_utf8_lossy(line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event = Some(value.to_owned()),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            // Comments, and fields that serve to resume a stream.
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<Event> {
        let event = self.event.take();
        self.data.take().map(|data| Event { event, data })
    }
}
