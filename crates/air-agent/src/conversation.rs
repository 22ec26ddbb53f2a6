//! What was said so far, within bounds.

use air_wire::{Message, Part, Role, ToolCall};

/// What a result begins with where it is a text.
pub(crate) const OBSERVATION: &str = "Observation:\n";
/// Stand where something older was.
const LEFT_OUT: &str = "[an earlier result, left out]";
const PICTURE_LEFT_OUT: &str = "[an earlier picture, left out]";
const WORDS_LEFT_OUT: &str = "[earlier words, left out]";
const CALL_LEFT_OUT: &str = r#"{"left_out":"an earlier call"}"#;

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

    /// Leaves things out, the oldest first, until all of it takes `most` bytes or less: results and pictures
    /// that are not of the last turn; then what the model said and called before; then results of the last
    /// turn. What the user said, what a provider wants back as it was, and new pictures stay.
    pub fn fit(&mut self, most: usize) {
        let all: usize = self.messages.iter().flat_map(|it| &it.parts).map(size).sum();
        let mut excess = all.saturating_sub(most);
        let newest = self.messages.len().saturating_sub(1);
        let (old, new) = self.messages.split_at_mut(newest);
        let mut leave_out =
            |messages: &mut [Message], by: Role, shorter: fn(&Part) -> Option<Part>| {
                let messages = messages.iter_mut().filter(|message| message.role == by);
                for part in messages.flat_map(|message| &mut message.parts) {
                    if excess == 0 {
                        return;
                    }
                    if let Some(short) = shorter(part).filter(|short| size(short) < size(part)) {
                        excess = excess.saturating_sub(size(part) - size(&short));
                        *part = short;
                    }
                }
            };
        leave_out(old, Role::User, |part| picture(part).or_else(|| result(part)));
        leave_out(old, Role::Assistant, words);
        leave_out(new, Role::User, result);
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

/// A result of a tool, left out. In the style of code, results are texts.
fn result(part: &Part) -> Option<Part> {
    match part {
        Part::ToolResult { call, name, is_error, .. } => Some(Part::ToolResult {
            call: call.clone(),
            name: name.clone(),
            content: LEFT_OUT.to_owned(),
            is_error: *is_error,
        }),
        Part::Text(text) if text.starts_with(OBSERVATION) => {
            Some(Part::Text(format!("{OBSERVATION}{LEFT_OUT}")))
        }
        _ => None,
    }
}

fn picture(part: &Part) -> Option<Part> {
    matches!(part, Part::Image { .. }).then(|| Part::Text(PICTURE_LEFT_OUT.to_owned()))
}

/// Words or a call of the model, left out.
fn words(part: &Part) -> Option<Part> {
    match part {
        Part::Text(_) => Some(Part::Text(WORDS_LEFT_OUT.to_owned())),
        Part::ToolCall(call) => {
            Some(Part::ToolCall(ToolCall { arguments: CALL_LEFT_OUT.to_owned(), ..call.clone() }))
        }
        _ => None,
    }
}

/// In bytes as they travel, about.
fn size(part: &Part) -> usize {
    match part {
        Part::Text(text) => text.len(),
        Part::Image { data, .. } => data.len().div_ceil(3) * 4,
        Part::ToolCall(call) => call.arguments.len(),
        Part::ToolResult { content, .. } => content.len(),
        Part::Opaque { item, .. } => item.to_string().len(),
    }
}
