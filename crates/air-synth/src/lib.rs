//! Guardrails from incidents. Pure: incidents in, rule text out. A model may propose, in [`Drafted`].
//!
//! Start at [`Compiler`]. What is proposed is the widest form that the evidence allows: the incident's
//! rule in its own words where it can be decided before a step; else the class of operations that explain
//! its effects, where ordinary work does not fit it; else what happened, exactly. Arguments come from the
//! agent and are hostile: whatever is derived from them is parsed and tried on the incident's call and on
//! benign ones before it is handed out.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod candidate;
mod cause;
mod compiler;
mod drafted;
mod evidence;
mod explain;
mod form;
mod learn;
mod merge;
mod naming;
mod pattern;
mod words;

pub use compiler::Compiler;
pub use drafted::Drafted;
