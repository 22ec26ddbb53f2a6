//! The journal and guardrail ports on SQLite.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use air_core::{
    guardrail::Guardrail,
    id::{GuardrailId, PayloadId, Timestamp},
    port::{
        BoxFuture, DamagedGuardrail, Durability, GuardrailStore, Journal, JournalError, Record,
        Stream,
    },
};
use rusqlite::Connection;
use serde::de::DeserializeOwned;

use crate::{
    chain::{self, ChainError, ChainHead, ChainReport, Walk},
    error::{OpenError, StoreError},
    key::{self, Key},
    open,
    store::{self, GUARDRAIL_FORMAT, RECORD_VERSION, Row, Stored, StoredGuardrail},
    stream::{parse_stream, stream_name},
    writer::{Job, Writer},
};

/// A journal in one SQLite file. A request whose future is dropped after its first poll is carried
/// out all the same. Dropping the journal waits for what was asked of it.
pub struct SqliteJournal {
    path: PathBuf,
    key: Key,
    // INVARIANT: before `writer`, since fields are dropped in order: whoever closes last moves the
    // write-ahead log into the file, and only the writer may.
    reader: Mutex<Connection>,
    writer: Option<Writer>,
}

impl std::fmt::Debug for SqliteJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteJournal")
            .field("path", &self.path)
            .field("writable", &self.writer.is_some())
            .finish_non_exhaustive()
    }
}

impl SqliteJournal {
    /// Opens the database file at `path`, with its directory (0700), the file (0600) and a key beside
    /// it if there is none yet.
    ///
    /// # Errors
    ///
    /// What is wrong and what to do about it. Nothing was changed then.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let (conn, key) = open::writer(path)?;
        let reader = open::reader(path)?;
        let writer = Writer::start(conn, key.clone()).map_err(OpenError::Thread)?;
        Ok(Self { path: path.to_path_buf(), key, reader: Mutex::new(reader), writer: Some(writer) })
    }

    /// Opens a journal that is there, for reading. Its writer may be at work.
    ///
    /// # Errors
    ///
    /// What is wrong and what to do about it.
    pub fn open_read_only(path: &Path) -> Result<Self, OpenError> {
        let reader = open::reader(path)?;
        let key = key::read(path)?;
        Ok(Self { path: path.to_path_buf(), key, reader: Mutex::new(reader), writer: None })
    }

    /// Walks the whole chain, on a connection of its own, after the indexes that reads rely on.
    ///
    /// # Errors
    ///
    /// The first break, or why the chain could not be walked.
    pub fn verify(&self) -> Result<ChainReport, ChainError> {
        self.walk(None)
    }

    /// Walks the whole chain, which must hold `head`, exported earlier.
    ///
    /// # Errors
    ///
    /// As [`Self::verify`]; [`ChainError::Rewritten`] if `head` is not there.
    pub fn verify_against(&self, head: &ChainHead) -> Result<ChainReport, ChainError> {
        self.walk(Some(head))
    }

    /// The last record of the chain, to be kept elsewhere; `None` if there is none.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn head(&self) -> Result<Option<ChainHead>, JournalError> {
        let last = self.read_with(store::last)?;
        Ok(last.map(|(seq, hash)| chain::head(seq, &hash)))
    }

    /// Erases a payload from the file; whether there was one. The chain does not change.
    ///
    /// # Errors
    ///
    /// If it could not be erased, or a copy of it is left for now.
    pub fn erase_payload<'a>(
        &'a self,
        id: &'a PayloadId,
    ) -> BoxFuture<'a, Result<bool, JournalError>> {
        Box::pin(self.write(Job::ErasePayload { id: id.as_str().to_owned() }))
    }

    fn walk(&self, wanted: Option<&ChainHead>) -> Result<ChainReport, ChainError> {
        let conn =
            open::reader(&self.path).map_err(|error| JournalError::Unusable(error.to_string()))?;
        let at = |error: StoreError| error.at(&self.path);
        let sound: String = conn
            .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
            .map_err(|error| at(error.into()))?;
        if sound != "ok" {
            let error = OpenError::Damaged { path: self.path.clone(), detail: sound };
            return Err(JournalError::Unusable(error.to_string()).into());
        }
        match chain::walk(&conn, &self.key, wanted).map_err(at)? {
            Walk::Whole { report, met: true } => Ok(report),
            Walk::Whole { met: false, .. } => Err(wanted.cloned().map_or_else(
                || JournalError::Unusable("chain was cut".to_owned()).into(),
                ChainError::Rewritten,
            )),
            Walk::Broken { seq, stream, kind } => {
                Err(ChainError::Broken { seq: seq.cast_unsigned(), stream, kind })
            }
        }
    }

    async fn write(&self, job: Job) -> Result<bool, JournalError> {
        let Some(writer) = &self.writer else {
            return Err(JournalError::Unusable(format!(
                "journal `{}` was opened for reading only; open it for writing",
                self.path.display()
            )));
        };
        writer.write(job).await.map_err(|error| error.at(&self.path))
    }

    fn read_with<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, JournalError> {
        // Reading leaves nothing half-done that a panic could have poisoned.
        let conn: MutexGuard<'_, _> = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        read(&conn).map_err(|error| error.at(&self.path))
    }

    fn parse<T: DeserializeOwned>(
        &self,
        stored: &Stored,
        supported: u32,
        what: &str,
    ) -> Result<T, JournalError> {
        if stored.version > i64::from(supported) {
            return Err(JournalError::Unusable(format!(
                "{what} was written by a newer version of air (format {}, but {supported} is the last \
                 one known here); upgrade air",
                stored.version
            )));
        }
        serde_json::from_str(&stored.body).map_err(|error| {
            JournalError::Unusable(format!(
                "{what} of journal `{}` cannot be read: {error}; verify the chain, and restore a backup \
                 if it is broken",
                self.path.display()
            ))
        })
    }

    /// The versions of one guardrail that can be read, oldest first.
    fn versions(&self, id: &str) -> Result<Vec<Guardrail>, JournalError> {
        let stored = self.read_with(|conn| store::guardrails(conn, Some(id)))?;
        Ok(stored.iter().filter_map(|one| guardrail(one).ok()).collect())
    }
}

/// A version of a guardrail.
fn guardrail(stored: &StoredGuardrail) -> Result<Guardrail, String> {
    if stored.format > i64::from(GUARDRAIL_FORMAT) {
        return Err("a newer version of air wrote it; upgrade air".to_owned());
    }
    let read: Guardrail = serde_json::from_str(&stored.body)
        .map_err(|error| format!("its record is damaged ({error}); restore a backup"))?;
    if read.id.as_str() != stored.id || read.version != stored.version {
        return Err("its record is that of another version; restore a backup".to_owned());
    }
    Ok(read)
}

fn to_json(value: &impl serde::Serialize) -> Result<String, JournalError> {
    serde_json::to_string(value).map_err(|error| JournalError::Storage(Box::new(error)))
}

impl Journal for SqliteJournal {
    fn append<'a>(
        &'a self,
        stream: &'a Stream,
        expected: u64,
        records: &'a [Record],
        durability: Durability,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        Box::pin(async move {
            let rows = records
                .iter()
                .map(|record| {
                    Ok(Row { at: record.at.0.cast_signed(), body: to_json(&record.event)? })
                })
                .collect::<Result<_, JournalError>>()?;
            let stream = stream_name(stream);
            self.write(Job::Append { stream, expected, rows, durability }).await.map(drop)
        })
    }

    fn read<'a>(&'a self, stream: &'a Stream) -> BoxFuture<'a, Result<Vec<Record>, JournalError>> {
        Box::pin(async move {
            let name = stream_name(stream);
            let stored = self.read_with(|conn| store::records(conn, &name))?;
            let read = |(position, one): (usize, &Stored)| {
                let what = format!("record {position} of `{name}`");
                let event = self.parse(one, RECORD_VERSION, &what)?;
                Ok(Record { at: Timestamp(one.at.cast_unsigned()), event })
            };
            stored.iter().enumerate().map(read).collect()
        })
    }

    fn streams(&self) -> BoxFuture<'_, Result<Vec<Stream>, JournalError>> {
        Box::pin(async move {
            let names = self.read_with(store::streams)?;
            let parse = |name: &String| {
                parse_stream(name).ok_or_else(|| {
                    JournalError::Unusable(format!(
                        "stream `{name}` was written by a newer version of air; upgrade air"
                    ))
                })
            };
            names.iter().map(parse).collect()
        })
    }

    fn put_payload<'a>(
        &'a self,
        content: &'a [u8],
    ) -> BoxFuture<'a, Result<PayloadId, JournalError>> {
        Box::pin(async move {
            let id = self.key.payload_id(content);
            self.write(Job::PutPayload { id: id.clone(), content: content.to_vec() }).await?;
            Ok(PayloadId::from(id.as_str()))
        })
    }

    fn payload<'a>(
        &'a self,
        id: &'a PayloadId,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, JournalError>> {
        Box::pin(async move {
            let content = self.read_with(|conn| store::payload(conn, id.as_str()))?;
            match content {
                Some(content) if self.key.payload_id(&content) != id.as_str() => {
                    Err(JournalError::Unusable(format!(
                        "payload `{id}` is not what was recorded; restore a backup of the journal"
                    )))
                }
                other => Ok(other),
            }
        })
    }
}

impl GuardrailStore for SqliteJournal {
    fn current(&self) -> BoxFuture<'_, Result<Vec<Guardrail>, JournalError>> {
        Box::pin(async move {
            let last = self.read_with(|conn| store::guardrails(conn, None))?;
            let mut current = Vec::new();
            for stored in last {
                match guardrail(&stored) {
                    Ok(guardrail) => current.push(guardrail),
                    Err(_) => current.extend(self.versions(&stored.id)?.pop()),
                }
            }
            Ok(current)
        })
    }

    fn history<'a>(
        &'a self,
        id: &'a GuardrailId,
    ) -> BoxFuture<'a, Result<Vec<Guardrail>, JournalError>> {
        Box::pin(async move { self.versions(id.as_str()) })
    }

    fn damaged(&self) -> BoxFuture<'_, Result<Vec<DamagedGuardrail>, JournalError>> {
        Box::pin(async move {
            let last = self.read_with(|conn| store::guardrails(conn, None))?;
            let damaged = last.iter().filter_map(|stored| {
                let why = guardrail(stored).err()?;
                let (id, version) = (stored.id.as_str().into(), stored.version);
                Some(DamagedGuardrail { id, version, why })
            });
            Ok(damaged.collect())
        })
    }

    fn put<'a>(&'a self, guardrail: &'a Guardrail) -> BoxFuture<'a, Result<(), JournalError>> {
        Box::pin(async move {
            let id = guardrail.id.as_str().to_owned();
            let body = to_json(guardrail)?;
            let version = guardrail.version;
            self.write(Job::PutGuardrail { id, version, body }).await.map(drop)
        })
    }
}
