//! AIR's durable record in one SQLite file: events, payloads beside them, guardrails.
//!
//! Start at [`SqliteJournal`]. One thread per open journal writes and commits requests in groups;
//! readers have a connection of their own and never wait for it. Between processes SQLite's lock
//! decides.
//!
//! - Records are append-only, held by triggers, and chained: each hash is keyed and covers the one
//!   before it. The key lies in `key` beside the database. Whoever can read the key can forge the
//!   chain, so it is evidence against accidents; export [`SqliteJournal::head`] and compare with
//!   [`SqliteJournal::verify_against`] to detect a chain that was cut or rewritten.
//! - Payloads are not part of the chain and can be erased; their ids are keyed digests.
//! - A damaged or foreign file is reported and left as it is, never deleted or written over.
//! - Every body has a format version; one from a newer version of AIR is refused, never guessed at.
//!
//! # Crash tests
//!
//! Debug builds only, read when a journal is opened for writing:
//!
//! - `AIR_FAILPOINT=journal.append:<N>:before|after` kills the process (`SIGKILL`) right before or
//!   after the commit of its `N`-th append request, counted from 1 over all journals of the process.
//!   `journal.append:<N>:panic` panics in the writer's thread instead. While it is set, every
//!   request is a group of its own, so that exactly the requests before the `N`-th are recorded.
//! - `AIR_FAILPOINT_TRACE=<file>` appends one line per append request, `N stream kinds`, with the
//!   kinds of its events separated by commas (`-` if it has none), so that a test can enumerate the
//!   points.

mod chain;
mod error;
mod failpoint;
mod journal;
mod key;
mod open;
mod store;
mod stream;
mod writer;

pub use crate::{
    chain::{BreakKind, ChainError, ChainHead, ChainReport},
    error::OpenError,
    journal::SqliteJournal,
    open::SCHEMA_VERSION,
    store::{GUARDRAIL_FORMAT, RECORD_VERSION},
    stream::{parse_stream, stream_name},
};
