//! Reads the store: sessions and incidents as they were journaled.

use air_core::{
    id::{IncidentId, SessionId, Timestamp},
    incident::{Incident, IncidentEvent},
    port::{Event, Journal, JournalError, Stream},
    session::{Session, SessionEvent},
};

use crate::AirError;

/// An incident with its story.
#[derive(Debug, Clone)]
pub struct IncidentRecord {
    /// As it stands.
    pub incident: Incident,
    /// How it came there, oldest first.
    pub events: Vec<(Timestamp, IncidentEvent)>,
}

/// Every incident, oldest first.
///
/// # Errors
///
/// If the journal cannot be read or followed.
pub async fn incidents(journal: &dyn Journal) -> Result<Vec<IncidentRecord>, AirError> {
    let mut all = Vec::new();
    for stream in journal.streams().await? {
        if let Stream::Incident(id) = stream {
            all.push(incident(journal, &id).await?);
        }
    }
    Ok(all)
}

/// One incident.
///
/// # Errors
///
/// If the journal cannot be read or followed.
pub async fn incident(journal: &dyn Journal, id: &IncidentId) -> Result<IncidentRecord, AirError> {
    let records = journal.read(&Stream::Incident(id.clone())).await?;
    let events: Vec<(Timestamp, IncidentEvent)> = records
        .into_iter()
        .filter_map(|record| match record.event {
            Event::Incident(event) => Some((record.at, event)),
            Event::Session(_) => None,
        })
        .collect();
    let incident = Incident::replay(id.clone(), events.iter().map(|(_, event)| event))
        .map_err(air_runtime::RuntimeError::from)?;
    Ok(IncidentRecord { incident, events })
}

/// All sessions, oldest first.
///
/// # Errors
///
/// If the journal cannot be read.
pub async fn sessions(journal: &dyn Journal) -> Result<Vec<SessionId>, JournalError> {
    let streams = journal.streams().await?.into_iter();
    let id = |stream| match stream {
        Stream::Session(id) => Some(id),
        Stream::Incident(_) => None,
    };
    Ok(streams.filter_map(id).collect())
}

/// One session, as it stands.
///
/// # Errors
///
/// If the journal cannot be read.
pub async fn session(journal: &dyn Journal, id: &SessionId) -> Result<Session, JournalError> {
    Ok(Session::replay(&session_events(journal, id).await?))
}

/// What happened in one session, oldest first.
///
/// # Errors
///
/// If the journal cannot be read.
pub async fn session_events(
    journal: &dyn Journal,
    id: &SessionId,
) -> Result<Vec<SessionEvent>, JournalError> {
    let records = journal.read(&Stream::Session(id.clone())).await?;
    let events = records.into_iter().filter_map(|record| match record.event {
        Event::Session(event) => Some(event),
        Event::Incident(_) => None,
    });
    Ok(events.collect())
}
