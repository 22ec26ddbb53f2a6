//! What was asked.

use air_wire::{Dialect, Message, Part, Request};
use bytes::Bytes;
use serde_json::Value;

/// One request, without its key.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Its number, from 0.
    pub number: usize,
    /// Path, without query.
    pub path: String,
    /// Dialect, by the path.
    pub dialect: Dialect,
    /// What it says, whatever the dialect.
    pub request: Request,
    /// The body as it came, parsed.
    pub body: Value,
    /// The body as it came.
    pub raw: Bytes,
    /// Headers, those with keys left out; names in lower case.
    pub headers: Vec<(String, String)>,
}

impl Seen {
    /// The text of the last turn, results of tools included.
    pub fn last(&self) -> String {
        self.request.messages.last().map(said).unwrap_or_default()
    }

    /// The whole text: instructions and conversation.
    pub fn text(&self) -> String {
        let turns = self.request.messages.iter().map(said);
        std::iter::once(self.request.system.clone()).chain(turns).collect::<Vec<_>>().join("\n")
    }

    /// Whether a tool is offered.
    pub fn offers(&self, tool: &str) -> bool {
        self.request.tools.iter().any(|offered| offered.name == tool)
    }

    /// The name of the schema that the answer must have. Some dialects keep it in the schema's title.
    pub fn schema(&self) -> Option<&str> {
        self.request.output.as_ref().map(|schema| schema.name.as_str())
    }

    /// How many pictures are shown.
    pub fn images(&self) -> usize {
        let parts = self.request.messages.iter().flat_map(|message| &message.parts);
        parts.filter(|part| matches!(part, Part::Image { .. })).count()
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

fn said(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.clone()),
        Part::ToolResult { content, .. } => Some(content.clone()),
        Part::ToolCall(call) => Some(format!("{}({})", call.name, call.arguments)),
        Part::Image { .. } | Part::Opaque { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
