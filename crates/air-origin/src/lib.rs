//! Whether a content repeats one that it must not: as it is, in part, encoded, reversed, or packed.
//!
//! [`Sources`] holds what must not turn up elsewhere: secrets, personal data, what is to stay inside.
//! [`Sources::trace`] looks for it in what a step has left behind, sent or printed.
//!
//! Three parts work together:
//!
//! - Fingerprints find shared runs of bytes in one pass, whatever stands before and after, whichever
//!   way round, and whatever happened to white space, case or rot13.
//! - An estimate of how much a shared run *tells* separates a copy from chance. There are no lists of
//!   common texts; see `telling.rs`.
//! - Whatever in a content looks encoded or packed is decoded and looked at likewise, breadth first,
//!   within [`Limits`].
//!
//! Contents are hostile. Whatever was not looked at makes the answer incomplete, in
//! [`Traced::incomplete`]; it is never silence.
//!
//! Not found: encryption other than XOR with one byte; an XOR over another encoding, but for packed
//! files; single columns of a table (`cut -f1`); a paraphrase; whatever is shorter
//! than 19 bytes, but for a whole content of 10 or more that is there as it is. Two
//! contents may also share a text that is common to both and to many others, such as the accounts of
//! the system in `/etc/passwd`, which are the same in a container and on its host: it is reported, as
//! nothing in the form of a line says how many have it.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod decode;
mod fingerprint;
mod index;
mod plain;
mod scan;
mod sources;
mod telling;
mod trace;

pub use decode::Transform;
pub use sources::Sources;
pub use trace::{Limits, Match, Traced};
