//! The journal as its users see it. No event type is needed beyond the smallest ones.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests")]

mod crash;
mod damage;
mod format;
mod journal;

use std::path::{Path, PathBuf};

use air_core::{
    id::{SessionId, Timestamp},
    incident::IncidentEvent,
    port::{Durability, Event, Journal, JournalError, Record, Stream},
    session::SessionEvent,
};
use air_journal::SqliteJournal;
use futures::executor::block_on;
use tempfile::TempDir;

fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("air").join("journal.sqlite");
    (dir, path)
}

fn session(id: &str) -> Stream {
    Stream::Session(SessionId::from(id))
}

fn record(at: u64) -> Record {
    let event = if at.is_multiple_of(2) {
        Event::Session(SessionEvent::Released)
    } else {
        Event::Incident(IncidentEvent::GivenUp { why: format!("reason {at}") })
    };
    Record { at: Timestamp(at), event }
}

fn append(journal: &SqliteJournal, stream: &Stream, expected: u64) -> Result<(), JournalError> {
    block_on(journal.append(stream, expected, &[record(expected)], Durability::Process))
}

fn read(journal: &SqliteJournal, stream: &Stream) -> Vec<Record> {
    block_on(journal.read(stream)).unwrap()
}

/// Another connection, to do what AIR never does.
fn raw(path: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(path).unwrap()
}
