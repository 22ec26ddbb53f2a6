//! Streams as text: `session/<id>` and `incident/<id>`. Durable: never changes.

use air_core::{
    id::{IncidentId, SessionId},
    port::Stream,
};

/// The stream as text.
pub fn stream_name(stream: &Stream) -> String {
    match stream {
        Stream::Session(id) => format!("session/{id}"),
        Stream::Incident(id) => format!("incident/{id}"),
    }
}

/// Reads what [`stream_name`] writes; `None` for anything else.
pub fn parse_stream(text: &str) -> Option<Stream> {
    match text.split_once('/')? {
        ("session", id) => Some(Stream::Session(SessionId::from(id))),
        ("incident", id) => Some(Stream::Incident(IncidentId::from(id))),
        _ => None,
    }
}
