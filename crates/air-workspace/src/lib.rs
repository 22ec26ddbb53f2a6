//! Where an agent's tools run: contained, checkpointed, observed, and put back as they were.
//!
//! Start at [`LocalWorkspace::open`]; [`Tools`] runs the agent's calls in it. Inside the sandbox one
//! [`supervisor`] starts every process of a session. Whatever comes out of the sandbox, the
//! supervisor's replies included, is untrusted; nothing outside the watched roots is ever written on
//! behalf of it. A tier that is not there is an error, never a weaker one.

mod beneath;
mod bwrap;
mod config;
mod effects;
mod launch;
mod layout;
mod manifest;
mod origin;
mod protocol;
mod python;
mod quarantine;
mod restore;
mod sandbox;
mod scan;
mod store;
pub mod supervisor;
mod tier;
mod tools;
mod workspace;

pub use config::{Limits, OpenError, SandboxConfig};
pub use tier::{TierReport, detect};
pub use tools::Tools;
pub use workspace::LocalWorkspace;
