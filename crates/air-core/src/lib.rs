//! AIR's decisions. Pure: no clock, randomness, file, network, thread or async runtime.
//!
//! A driver feeds it facts and carries out what it asks for. Start at [`engine::Engine`] for one step
//! and at [`incident::Incident`] for a response. Rule text is trusted; everything a session's facts
//! hold comes from an agent or the outside world and is not.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod code;
pub mod condition;
pub mod effects;
pub mod engine;
pub mod evaluation;
pub mod fact;
pub mod guardrail;
pub mod id;
pub mod incident;
pub mod memory;
pub mod names;
pub mod outcome;
pub mod place;
pub mod policy;
pub mod port;
pub mod question;
pub mod redact;
pub mod requirement;
pub mod rule;
pub mod ruleset;
pub mod session;
pub mod step;
pub mod value;
pub mod withhold;
