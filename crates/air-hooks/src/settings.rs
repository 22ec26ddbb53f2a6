//! A host's own configuration with AIR's hooks in it, and without: text in, text out. Pure.
//!
//! Every byte that is not AIR's stays: comments, order, indentation, trailing commas, line ends, byte
//! order mark. AIR's entries are known again by what they run, and come after all others: hosts keep
//! what they trust by its place. Start at [`Hooks`]. `OpenCode` has no such settings: its plugin is a file of
//! AIR's own. Texts are untrusted.

mod claude_code;
mod codex;
mod command;
mod copilot;
mod cursor;
mod document;
mod edit;
mod gemini;
mod json;
mod survey;
#[cfg(test)]
mod tests;
pub mod trust;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Away;
use json::Json;
pub use survey::{Other, State};

/// How a host reaches AIR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link<'a> {
    /// It runs a program at every event.
    Command {
        /// The program, absolute.
        program: &'a str,
        /// What it does while AIR is away.
        away: Away,
    },
    /// It asks over HTTP where it can, with the token in its variable `AIR_TOKEN`, and runs the program
    /// elsewhere. Only for versions that honour `onFailure`: others let calls pass while AIR is away.
    Http {
        /// The program, absolute.
        program: &'a str,
        /// Where it asks: on this machine, with the path `/hook/<host>`.
        url: &'a str,
        /// What becomes of a call while AIR is away. The host cannot ask the critical guardrails: over HTTP
        /// it is held by all but [`Away::Open`].
        away: Away,
    },
}

impl Link<'_> {
    fn program(&self) -> &str {
        match self {
            Self::Command { program, .. } | Self::Http { program, .. } => program,
        }
    }

    fn away(&self) -> Away {
        match self {
            Self::Command { away, .. } | Self::Http { away, .. } => *away,
        }
    }

    /// What the host has its shell run.
    fn command(&self, host: &str, event: Option<&str>) -> String {
        let mut line = format!("{} {host}", command::quote(self.program()));
        if let Some(event) = event {
            line.push(' ');
            line.push_str(event);
        }
        // What is not said is closed.
        if self.away() != Away::Closed {
            line = format!("{line} {} {}", command::AWAY, self.away().name());
        }
        line
    }
}

/// What a host's parser takes beside JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Nothing: a file with a comment is silently not read, and neither are AIR's hooks in it.
    Strict,
    /// A byte order mark.
    Marked,
    /// Comments.
    Comments,
    /// A byte order mark, comments, and trailing commas.
    Lenient,
}

/// A text that is left alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// It cannot be read.
    #[error("line {line}, column {column}: {what}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong.
        what: String,
    },
    /// It is not built as the host documents it.
    #[error("line {line}, column {column}: {what}")]
    Shape {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong.
        what: String,
    },
    /// It is too large to be a settings file.
    #[error("{bytes} bytes are too many for a settings file")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// The text that came out does not say what it should: a defect of AIR. Nothing is to be written.
    #[error("the text with AIR's hooks would not say what it said before")]
    Unfaithful,
}

impl SettingsError {
    /// Where it is, from 1: line and column.
    pub fn place(&self) -> Option<(usize, usize)> {
        match self {
            Self::Syntax { line, column, .. } | Self::Shape { line, column, .. } => {
                Some((*line, *column))
            }
            Self::TooLarge { .. } | Self::Unfaithful => None,
        }
    }
}

/// What has been added to a file, so that exactly that can be taken away.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The program that the entries run.
    pub program: String,
    /// There was no file.
    pub file: bool,
    /// The file said nothing: what was put before and after an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<(String, String)>,
    /// Names that were not there, such as `/hooks` and `/hooks/Stop`.
    pub created: Vec<String>,
    /// What was put after the first item of what had been empty.
    pub suffixes: BTreeMap<String, String>,
}

/// A text with AIR's hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The text.
    pub text: String,
    /// What has been added to it.
    pub receipt: Receipt,
}

/// AIR's hooks in the settings of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hooks {
    host: &'static str,
    dialect: Dialect,
    program: String,
    spec: Spec,
}

/// What is to stand in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Spec {
    /// Beside `hooks`.
    top: Vec<(&'static str, Json)>,
    entries: Vec<Entry>,
    nesting: Nesting,
}

/// One of AIR's entries in the list of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    event: &'static str,
    value: Json,
}

/// What the list of an event holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nesting {
    /// Objects with a list `hooks` of handlers.
    Groups,
    /// Handlers.
    Handlers,
}

impl Hooks {
    /// Those for `host`; `None` where it has no such settings.
    pub fn new(host: &str, link: &Link<'_>) -> Option<Self> {
        let (host, dialect, spec) = match host {
            "claude-code" => ("claude-code", Dialect::Marked, claude_code::spec(link)),
            "codex" => ("codex", Dialect::Strict, codex::spec(link)),
            "copilot" => ("copilot", Dialect::Strict, copilot::spec(link)),
            "gemini" => ("gemini", Dialect::Comments, gemini::spec(link)),
            "cursor" => ("cursor", Dialect::Lenient, cursor::spec(link)),
            _ => return None,
        };
        Some(Self { host, dialect, program: link.program().to_owned(), spec })
    }

    /// The events on which AIR is asked.
    pub fn events(&self) -> impl Iterator<Item = &'static str> {
        self.spec.entries.iter().map(|entry| entry.event)
    }
}
