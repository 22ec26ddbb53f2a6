//! What a model answers.

use crate::request::{Part, ToolCall};

/// One whole answer. Untrusted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The model that answered, as its provider calls it.
    pub model: String,
    /// What it says, in order.
    pub parts: Vec<Part>,
    /// Why it ended.
    pub stop: Stop,
    /// What it took.
    pub usage: Usage,
    /// The tokens of the text with their probabilities, where they were asked for and are known.
    pub probabilities: Vec<TokenProbability>,
}

impl Answer {
    /// All its text.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The calls that it wants made, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Stop {
    /// It is finished.
    #[default]
    End,
    /// Tools are to be called.
    ToolUse,
    /// The limit of tokens was reached: text and arguments may be cut off.
    Length,
    /// The provider withheld it, or the model declined.
    Refused(String),
    /// Something else, as the provider calls it.
    Other(String),
}

impl Stop {
    /// Made to agree with what was said: servers differ in what they call an answer with calls.
    pub(crate) fn settled(self, parts: &[Part]) -> Self {
        let calls = parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
        match self {
            Self::End if calls => Self::ToolUse,
            Self::ToolUse if !calls => Self::End,
            other => other,
        }
    }
}

/// Tokens that a request took. What a provider does not tell is zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Of the request, those from a cache included.
    pub input: u64,
    /// Of them, read from a cache.
    pub cached: u64,
    /// Of them, written to a cache.
    pub cache_written: u64,
    /// Of the answer, reasoning included.
    pub output: u64,
    /// Of them, reasoning.
    pub reasoning: u64,
}

/// A token of the answer, and what could have stood there.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenProbability {
    /// Its text.
    pub token: String,
    /// Natural logarithm of its probability. Not masked by a grammar: the alternatives may be texts that
    /// the schema does not allow.
    pub log: f64,
    /// Alternatives, itself mostly among them.
    pub top: Vec<(String, f64)>,
}

/// A piece of an answer that comes in pieces.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// More text.
    Text(String),
    /// A call begins.
    CallBegun {
        /// Position among the answer's calls, from 0.
        at: usize,
        /// The tool.
        name: String,
    },
    /// More of a call's arguments.
    Arguments {
        /// Position among the answer's calls, from 0.
        at: usize,
        /// JSON text.
        text: String,
    },
    /// More of the reasoning that the model shows.
    Reasoning(String),
}
