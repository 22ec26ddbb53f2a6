//! Guardrails from incidents without a model. Pure: an incident in, rule text out.
//!
//! Start at [`ExactSynthesizer`]: it says of the next call what the incident's call was, no more.
//! Arguments come from the agent and are hostile: whatever is derived from them is parsed and tried on
//! the incident's call and on benign ones before it is handed out.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod candidate;
mod cause;
mod exact;
mod naming;

pub use exact::ExactSynthesizer;
