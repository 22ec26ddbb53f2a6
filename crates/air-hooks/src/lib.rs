//! What hosts of agents hand to hooks, as `air-hook/1`, and answers as the hosts take them.
//!
//! An [`Adapter`] is a codec: it translates, and decides nothing. One folder a host, with the same files:
//! `decode.rs` (payload to [`Event`]), `encode.rs` ([`Answer`] to what the host reads). What
//! is written into the hosts' own configuration is in `settings`, behind the feature of that name.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod claude_code;
mod codex;
mod command;
mod copilot;
mod cursor;
mod event;
mod gemini;
mod opencode;
mod patch;
mod payload;
mod say;
#[cfg(feature = "settings")]
pub mod settings;
mod tools;

use air_protocol::{Answer, Event};

pub use opencode::{plugin as opencode_plugin, plugin_away as opencode_away};

/// All hosts.
static ADAPTERS: [Adapter; 6] = [
    claude_code::ADAPTER,
    codex::ADAPTER,
    copilot::ADAPTER,
    gemini::ADAPTER,
    opencode::ADAPTER,
    cursor::ADAPTER,
];

/// All hosts.
pub fn adapters() -> impl Iterator<Item = &'static Adapter> {
    ADAPTERS.iter()
}

/// The host of this name.
pub fn adapter(host: &str) -> Option<&'static Adapter> {
    adapters().find(|adapter| adapter.host() == host)
}

/// What becomes of a call while AIR's daemon is away and cannot be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Away {
    /// It does not run.
    #[default]
    Closed,
    /// A copy of the critical guardrails decides, and nothing else is looked at.
    Critical,
    /// It runs.
    Open,
}

impl Away {
    /// All of them, the strictest first.
    pub const ALL: [Self; 3] = [Self::Closed, Self::Critical, Self::Open];

    /// Its name, as settings have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Critical => "critical",
            Self::Open => "open",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|away| away.name() == name)
    }
}

/// What a host handed over.
#[derive(Debug, Clone, Copy)]
pub struct Native<'a> {
    /// The payload as it came, of any size; untrusted.
    pub payload: &'a [u8],
    /// The host's name of the event, where it is not in the payload.
    pub event: Option<&'a str>,
    /// How it came.
    pub via: Via,
    /// The version of the host, where that is known otherwise.
    pub version: Option<&'a str>,
}

/// How a payload reaches AIR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// A command that reads standard input.
    Command,
    /// A request over HTTP.
    Http,
    /// Code of AIR's inside the host.
    Plugin,
}

/// What the host reads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    /// Standard output of a command, or the body of a response; may be empty.
    pub stdout: String,
    /// Standard error of a command.
    pub stderr: String,
    /// Exit code of a command.
    pub exit: u8,
}

/// A payload that cannot be read. What a host sends is in no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// It is not what the host's documentation says.
    #[error("{host} sent what cannot be read: {why}")]
    Malformed {
        /// The host.
        host: &'static str,
        /// What is wrong, without its content.
        why: String,
    },
    /// An event that this version does not know: it needs no answer.
    #[error("{host} sent an event that is not known here: `{event}`")]
    UnknownEvent {
        /// The host.
        host: &'static str,
        /// Its name, cut to a sane length.
        event: String,
    },
}

/// One host: its name, and its codec.
#[derive(Debug)]
pub struct Adapter {
    host: &'static str,
    tested: &'static [&'static str],
    decode: fn(&Native<'_>) -> Result<Event, DecodeError>,
    encode: fn(&Event, &Answer) -> Reply,
    refuse: fn(&Native<'_>, &str) -> Reply,
}

impl Adapter {
    /// Its name, such as `claude-code`.
    pub fn host(&self) -> &'static str {
        self.host
    }

    /// Versions of the host that have been tested with it, newest first.
    pub fn tested(&self) -> &'static [&'static str] {
        self.tested
    }

    /// The payload as a question.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn decode(&self, native: &Native<'_>) -> Result<Event, DecodeError> {
        (self.decode)(native)
    }

    /// The answer as the host takes it at the point of `asked`: nothing that the host would reject.
    pub fn encode(&self, asked: &Event, answer: &Answer) -> Reply {
        (self.encode)(asked, answer)
    }

    /// The strongest refusal that the host understands at any event: for a payload that could not be
    /// read, or where AIR cannot be asked.
    pub fn refuse(&self, native: &Native<'_>, reason: &str) -> Reply {
        (self.refuse)(native, reason)
    }
}
