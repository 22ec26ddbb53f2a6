//! What is written and read, as SQL. Knows nothing of threads, durability or the shape of bodies.

use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    chain::{GENESIS, Link},
    error::StoreError,
    key::Key,
};

/// Format version of a record's body.
pub const RECORD_VERSION: u32 = 1;

/// Format version of a guardrail's body.
pub const GUARDRAIL_FORMAT: u32 = 2;

/// One record to be written.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) at: i64,
    pub(crate) body: String,
}

/// One body as it was written, in the format of its version.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) at: i64,
    pub(crate) version: i64,
    pub(crate) body: String,
}

/// Appends to a stream that holds `expected` records. The caller's transaction makes it all or none.
pub(crate) fn append(
    conn: &Connection,
    key: &Key,
    stream: &str,
    expected: u64,
    rows: &[Row],
) -> Result<(), StoreError> {
    let first: i64 = conn
        .prepare_cached("SELECT coalesce(max(position) + 1, 0) FROM records WHERE stream = ?1")?
        .query_row([stream], |row| row.get(0))?;
    if first.cast_unsigned() != expected {
        return Err(StoreError::Conflict { expected, actual: first.cast_unsigned() });
    }
    let (mut seq, mut prev) = last(conn)?.unwrap_or((0, GENESIS.to_vec()));
    let mut insert = conn.prepare_cached(
        "INSERT INTO records (seq, stream, position, at, version, body, prev, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for (position, Row { at, body }) in (first..).zip(rows) {
        seq += 1;
        let version = i64::from(RECORD_VERSION);
        let hash = Link { prev: &prev, stream, position, at: *at, version, body }.hash(key);
        insert.execute(params![seq, stream, position, at, version, body, prev, hash])?;
        prev = hash.to_vec();
    }
    Ok(())
}

/// Number and hash of the last record.
pub(crate) fn last(conn: &Connection) -> Result<Option<(i64, Vec<u8>)>, StoreError> {
    Ok(conn
        .prepare_cached("SELECT seq, hash FROM records ORDER BY seq DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?)
}

/// The records of a stream, oldest first.
pub(crate) fn records(conn: &Connection, stream: &str) -> Result<Vec<Stored>, StoreError> {
    let mut query = conn.prepare_cached(
        "SELECT at, version, body, position FROM records WHERE stream = ?1 ORDER BY position",
    )?;
    let mut rows = query.query([stream])?;
    let mut records = Vec::new();
    let mut next = 0_i64;
    while let Some(row) = rows.next()? {
        // A stream with a hole would replay to another state: refused, not skipped.
        if row.get::<_, i64>(3)? != next {
            return Err(StoreError::Unusable(format!(
                "record {next} of `{stream}` is missing; restore a backup of the journal"
            )));
        }
        next += 1;
        records.push(Stored { at: row.get(0)?, version: row.get(1)?, body: row.get(2)? });
    }
    Ok(records)
}

/// The names of all streams, oldest first.
pub(crate) fn streams(conn: &Connection) -> Result<Vec<String>, StoreError> {
    let mut query =
        conn.prepare_cached("SELECT stream FROM records WHERE position = 0 ORDER BY seq")?;
    let names = query.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(names)
}

/// Keeps a payload.
pub(crate) fn put_payload(conn: &Connection, id: &str, content: &[u8]) -> Result<(), StoreError> {
    conn.prepare_cached("INSERT OR IGNORE INTO payloads (id, content) VALUES (?1, ?2)")?
        .execute(params![id, content])?;
    Ok(())
}

/// Erases a payload; whether there was one.
pub(crate) fn erase_payload(conn: &Connection, id: &str) -> Result<bool, StoreError> {
    Ok(conn.prepare_cached("DELETE FROM payloads WHERE id = ?1")?.execute([id])? > 0)
}

/// A payload.
pub(crate) fn payload(conn: &Connection, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(conn
        .prepare_cached("SELECT content FROM payloads WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?)
}

/// Adds a version of a guardrail. The same one again changes nothing.
pub(crate) fn put_guardrail(
    conn: &Connection,
    id: &str,
    version: u32,
    body: &str,
) -> Result<(), StoreError> {
    let Some(before) = version.checked_sub(1) else {
        return Err(StoreError::Unusable(format!(
            "guardrail `{id}` has version 0; versions start at 1"
        )));
    };
    let held: Option<String> = conn
        .prepare_cached("SELECT body FROM guardrails WHERE id = ?1 AND version = ?2")?
        .query_row(params![id, version], |row| row.get(0))
        .optional()?;
    if held.as_deref() == Some(body) {
        return Ok(());
    }
    let last: u32 = conn
        .prepare_cached("SELECT coalesce(max(version), 0) FROM guardrails WHERE id = ?1")?
        .query_row([id], |row| row.get(0))?;
    if last != before {
        return Err(StoreError::Conflict { expected: before.into(), actual: last.into() });
    }
    conn.prepare_cached(
        "INSERT INTO guardrails (id, version, format, body) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute(params![id, version, GUARDRAIL_FORMAT, body])?;
    Ok(())
}

/// One version of a guardrail as it was written, in the format of its version of air.
#[derive(Debug)]
pub(crate) struct StoredGuardrail {
    pub(crate) id: String,
    pub(crate) version: u32,
    pub(crate) format: i64,
    /// What is no text is empty.
    pub(crate) body: String,
}

/// The versions of one guardrail, or the last version of each, oldest first.
pub(crate) fn guardrails(
    conn: &Connection,
    id: Option<&str>,
) -> Result<Vec<StoredGuardrail>, StoreError> {
    let read = |row: &rusqlite::Row<'_>| {
        let (id, version) = (row.get(0)?, row.get(1)?);
        let format = row.get(2).unwrap_or(i64::MAX);
        Ok(StoredGuardrail { id, version, format, body: row.get(3).unwrap_or_default() })
    };
    let found = match id {
        Some(id) => conn
            .prepare_cached(
                "SELECT id, version, format, body FROM guardrails WHERE id = ?1 ORDER BY version",
            )?
            .query_map([id], read)?
            .collect::<Result<_, _>>()?,
        None => conn
            .prepare_cached(
                "SELECT g.id, g.version, g.format, g.body FROM guardrails g
                 JOIN (SELECT id, min(seq) AS first, max(version) AS last FROM guardrails GROUP BY id) a
                   ON a.id = g.id AND a.last = g.version
                 ORDER BY a.first",
            )?
            .query_map([], read)?
            .collect::<Result<_, _>>()?,
    };
    Ok(found)
}
