//! Conversations, however a dialect cuts them into messages.

use std::collections::HashMap;

use crate::request::{Message, Part, Role, ToolCall};

/// Builds a conversation: what one side says in a row is one message.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    messages: Vec<Message>,
    /// The tool of each call, as results name only the call.
    tools: HashMap<String, String>,
}

impl Turns {
    pub(crate) fn push(&mut self, role: Role, part: Part) {
        if let Part::ToolCall(ToolCall { id, name, .. }) = &part {
            self.tools.insert(id.clone(), name.clone());
        }
        match self.messages.last_mut().filter(|last| last.role == role) {
            Some(last) => last.parts.push(part),
            None => self.messages.push(Message { role, parts: vec![part] }),
        }
    }

    pub(crate) fn text(&mut self, role: Role, text: &str) {
        if !text.is_empty() {
            self.push(role, Part::Text(text.to_owned()));
        }
    }

    /// The result of a call that was made before.
    pub(crate) fn result(&mut self, call: &str, content: String, is_error: bool) {
        let name = self.tools.get(call).cloned().unwrap_or_default();
        let call = call.to_owned();
        self.push(Role::User, Part::ToolResult { call, name, content, is_error });
    }

    pub(crate) fn len(&self) -> usize {
        self.messages.iter().map(|message| message.parts.len()).sum()
    }

    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub(crate) fn done(self) -> Vec<Message> {
        self.messages
    }
}

/// The conversation with one message a turn, as some dialects demand: the results of all calls of an
/// answer stand together, before anything else that is said.
pub(crate) fn merged(messages: &[Message]) -> Vec<(Role, Vec<&Part>)> {
    let mut turns: Vec<(Role, Vec<&Part>)> = Vec::new();
    for message in messages {
        match turns.last_mut().filter(|(role, _)| *role == message.role) {
            Some((_, parts)) => parts.extend(&message.parts),
            None => turns.push((message.role, message.parts.iter().collect())),
        }
    }
    for (_, parts) in &mut turns {
        parts.sort_by_key(|part| !matches!(part, Part::ToolResult { .. }));
    }
    turns
}
