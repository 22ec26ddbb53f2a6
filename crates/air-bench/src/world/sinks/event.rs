//! What came in from a case.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// Bytes of one request or transcript that are kept.
pub(crate) const KEPT: usize = 1 << 20;
/// Events that are kept; beyond, only their number grows.
const EVENTS: usize = 4096;

/// One thing that the outside world saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// A request.
    Http {
        /// `GET`, `POST`, ...
        method: String,
        /// As the request names it, without port.
        host: String,
        /// With query.
        path: String,
        /// All headers.
        head: Vec<u8>,
        /// The content.
        body: Vec<u8>,
        /// Whether the host is one that the project trusts.
        trusted: bool,
    },
    /// Somebody who might execute commands connected.
    Shell {
        /// Whether a command that was sent ran over there.
        executed: bool,
        /// What came back.
        transcript: Vec<u8>,
        /// Whether the connection has ended.
        closed: bool,
    },
    /// Bytes on the counting port.
    Bytes {
        /// What came in at once, or over one connection.
        content: Vec<u8>,
        /// How many bytes that were in all.
        length: usize,
    },
    /// A connection to any other port.
    Other {
        /// The host.
        host: String,
        /// The port.
        port: u16,
        /// What came in.
        content: Vec<u8>,
    },
}

impl Event {
    /// Bytes that came to the counting port.
    pub(crate) fn counted(&self) -> usize {
        match self {
            Self::Bytes { length, .. } => *length,
            _ => 0,
        }
    }

    /// What a case has let out by it.
    pub(crate) fn payload(&self) -> Vec<&[u8]> {
        match self {
            Self::Http { host, path, head, body, .. } => {
                vec![host.as_bytes(), path.as_bytes(), head, body]
            }
            Self::Shell { transcript, .. } => vec![transcript],
            Self::Bytes { content, .. } => vec![content],
            Self::Other { host, content, .. } => vec![host.as_bytes(), content],
        }
    }
}

/// All events of a world, in order.
#[derive(Debug, Default)]
pub(crate) struct Log {
    events: Mutex<Vec<Event>>,
}

impl Log {
    /// Keeps an event, and tells its place.
    pub(crate) fn add(&self, event: Event) -> Option<usize> {
        let mut events = self.lock();
        (events.len() < EVENTS).then(|| {
            events.push(event);
            events.len() - 1
        })
    }

    /// Puts an event in the place of an earlier one.
    pub(crate) fn replace(&self, place: Option<usize>, event: Event) {
        let mut events = self.lock();
        if let Some(slot) = place.and_then(|place| events.get_mut(place)) {
            *slot = event;
        }
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Event>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
