//! The hash chain over all records of a journal.

use std::fmt;

use air_core::port::JournalError;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use crate::{error::StoreError, key::Key};

/// What the first record's predecessor would hash to.
pub(crate) const GENESIS: [u8; 32] = [0; 32];

/// The last record of a chain. Kept elsewhere, it proves later that nothing up to it was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainHead {
    /// Number of the record, from 1, over all streams.
    pub seq: u64,
    /// Its hash, 64 hex digits.
    pub hash: String,
}

impl fmt::Display for ChainHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.hash)
    }
}

/// A whole chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChainReport {
    /// How many records it holds.
    pub records: u64,
    /// The last one; `None` if there is none.
    pub head: Option<ChainHead>,
}

/// What is wrong with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BreakKind {
    /// Its content is not what was hashed.
    Content,
    /// It does not follow the record before it, which was changed or removed.
    Predecessor,
}

impl fmt::Display for BreakKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Content => "its content was changed",
            Self::Predecessor => "the record before it was changed or removed",
        })
    }
}

/// A chain is not whole, or could not be walked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// The first break.
    #[error("chain is broken at record {seq} of `{stream}`: {kind}")]
    Broken {
        /// Number of the record, over all streams.
        seq: u64,
        /// The stream that it belongs to.
        stream: String,
        /// What is wrong with it.
        kind: BreakKind,
    },
    /// The chain is whole but does not hold a record that it held once.
    #[error("chain does not hold record {}: it was cut or rewritten", .0.seq)]
    Rewritten(ChainHead),
    /// It could not be walked.
    #[error(transparent)]
    Unreadable(#[from] JournalError),
}

/// What a record's hash covers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link<'a> {
    pub(crate) prev: &'a [u8],
    pub(crate) stream: &'a str,
    pub(crate) position: i64,
    pub(crate) at: i64,
    pub(crate) version: i64,
    pub(crate) body: &'a str,
}

impl Link<'_> {
    /// Every field with its length before it, so that no two records have the same bytes.
    pub(crate) fn hash(&self, key: &Key) -> [u8; 32] {
        let mut hasher = key.chain();
        for field in [
            self.prev,
            self.stream.as_bytes(),
            &self.position.to_le_bytes(),
            &self.at.to_le_bytes(),
            &self.version.to_le_bytes(),
            self.body.as_bytes(),
        ] {
            hasher.update(&u64::try_from(field.len()).unwrap_or(u64::MAX).to_le_bytes());
            hasher.update(field);
        }
        hasher.finalize().into()
    }
}

/// What a walk along the chain found.
pub(crate) enum Walk {
    Whole { report: ChainReport, met: bool },
    Broken { seq: i64, stream: String, kind: BreakKind },
}

/// Walks the chain to its end or first break, and looks for `wanted` on the way.
pub(crate) fn walk(
    conn: &Connection,
    key: &Key,
    wanted: Option<&ChainHead>,
) -> Result<Walk, StoreError> {
    let mut query = conn.prepare(
        "SELECT seq, stream, position, at, version, body, prev, hash FROM records ORDER BY seq",
    )?;
    let mut rows = query.query([])?;
    let (mut last, mut count, mut met) = ((0, GENESIS), 0, wanted.is_none());
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(0)?;
        let (stream, body): (String, String) = (row.get(1)?, row.get(5)?);
        let (prev, stored): (Vec<u8>, Vec<u8>) = (row.get(6)?, row.get(7)?);
        let link = Link {
            prev: &prev,
            stream: &stream,
            position: row.get(2)?,
            at: row.get(3)?,
            version: row.get(4)?,
            body: &body,
        };
        let hash = link.hash(key);
        if hash.as_slice() != stored.as_slice() {
            return Ok(Walk::Broken { seq, stream, kind: BreakKind::Content });
        }
        if prev != last.1 || seq != last.0 + 1 {
            return Ok(Walk::Broken { seq, stream, kind: BreakKind::Predecessor });
        }
        last = (seq, hash);
        count += 1;
        met |= wanted.is_some_and(|wanted| *wanted == head(seq, &hash));
    }
    let head = (count > 0).then(|| head(last.0, &last.1));
    Ok(Walk::Whole { report: ChainReport { records: count, head }, met })
}

/// A head as it is exported.
pub(crate) fn head(seq: i64, hash: &[u8]) -> ChainHead {
    use fmt::Write;
    let mut text = String::with_capacity(64);
    for byte in hash {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    ChainHead { seq: seq.cast_unsigned(), hash: text }
}
