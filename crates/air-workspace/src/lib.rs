//! Where an agent's tools run: contained, checkpointed, observed, and put back as they were.
//!
//! Start at [`LocalWorkspace::open`]; [`Tools`] runs the agent's calls in it. Inside the sandbox one
//! [`supervisor`] starts every process of a session. Whatever comes out of the sandbox, the
//! supervisor's replies included, is untrusted; nothing outside the watched roots is ever written on
//! behalf of it. A tier that is not there is an error, never a weaker one.

mod archive;
mod base64;
mod bwrap;
mod cgroup;
mod config;
mod contain;
mod effects;
mod escape;
mod evidence;
mod fixes;
mod image;
mod launch;
mod layers;
mod layout;
mod network;
mod origin;
mod outside;
mod port;
mod programs;
mod protocol;
mod publish;
mod python;
mod quarantine;
mod remove;
mod rollback;
mod sandbox;
mod services;
mod shared;
mod source;
mod spans;
mod stage;
mod state;
pub mod supervisor;
mod tier;
mod tools;
mod undo;
mod unwatched;
mod variables;
mod view;
mod workspace;

pub use air_checkpoint::{
    Watches,
    store::{Collected, Usage, Verified},
};
pub use archive::{Archive, ArchiveError};
pub use config::{Limits, OpenError, Overlay, SandboxConfig, Service, Shape};
pub use outside::{Destination, Outside, Transport};
pub use tier::{TierReport, detect};
pub use tools::Tools;
pub use undo::{Span, UndoRequest, Undone, UndoneAs, Unsettled};
pub use unwatched::Unwatched;
pub use workspace::LocalWorkspace;
