//! Recordings: what was asked and answered, to be played again without a provider.
//!
//! A file of JSON lines. The first says format and version; each other one holds the digest of a
//! request in canonical form, and the answer or the error. Equal requests are answered in the order
//! of the recording. A key is no part of a request, so there is none in it; what looks like a secret
//! in the request is not written. Answers are written as they came.

mod canonical;
mod form;
mod play;
mod record;

pub use self::{
    play::{Cassette, CassetteError, Replay},
    record::{Recorder, Tape},
};

/// What the first line calls the format.
const FORMAT: &str = "air-cassette";

/// Its version.
const VERSION: u32 = 1;
