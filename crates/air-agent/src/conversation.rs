//! What was said so far, within bounds.

use air_wire::{Message, Part, Role};

/// Stands where an old observation was.
const LEFT_OUT: &str = "[an earlier result, left out]";

/// A conversation with a model, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// Its turns.
    pub messages: Vec<Message>,
}

impl Conversation {
    /// One that begins with what a user says.
    pub fn begin(text: impl Into<String>) -> Self {
        Self { messages: vec![Message::user(text)] }
    }

    /// The user says something more.
    pub fn say(&mut self, text: impl Into<String>) {
        self.messages.push(Message::user(text));
    }

    /// Leaves out the oldest results of tools until the texts of all take `most` bytes or less. What
    /// the user and the model said stays.
    pub fn fit(&mut self, most: usize) {
        let mut size: usize = self.messages.iter().flat_map(|it| &it.parts).map(size).sum();
        for message in &mut self.messages {
            for part in &mut message.parts {
                if size <= most {
                    return;
                }
                if let Part::ToolResult { content, .. } = part
                    && content.len() > LEFT_OUT.len()
                {
                    size -= content.len() - LEFT_OUT.len();
                    LEFT_OUT.clone_into(content);
                }
            }
        }
    }

    /// Answers the calls that the last turn of the model leaves unanswered, as after a crash: a provider
    /// refuses a conversation with open calls.
    pub fn close(&mut self, why: &str) {
        let Some(last) = self.messages.last() else { return };
        if last.role != Role::Assistant {
            return;
        }
        let open = last.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(Part::ToolResult {
                call: call.id.clone(),
                name: call.name.clone(),
                content: why.to_owned(),
                is_error: true,
            }),
            _ => None,
        });
        let parts: Vec<Part> = open.collect();
        if !parts.is_empty() {
            self.messages.push(Message { role: Role::User, parts });
        }
    }
}

fn size(part: &Part) -> usize {
    match part {
        Part::Text(text) => text.len(),
        Part::Image { data, .. } => data.len(),
        Part::ToolCall(call) => call.arguments.len(),
        Part::ToolResult { content, .. } => content.len(),
        Part::Opaque { .. } => 0,
    }
}
