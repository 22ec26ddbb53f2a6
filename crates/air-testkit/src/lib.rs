//! Rules against scripted steps: no sandbox, no clock, no chance.
//!
//! [`suite::parse`] reads Markdown cases, [`run::run`] plays one through the real engine, session and
//! incident machine over the scripted ports of [`scripted`], and gives the transcript that a case
//! expects. `airctl test` and AIR's own corpus use the same runner.

pub mod coverage;
#[cfg(feature = "server")]
pub mod llama;
pub mod mutation;
pub mod rename;
pub mod run;
pub mod scripted;
#[cfg(feature = "server")]
pub mod server;
pub mod suite;
mod transcript;
mod verdict;
