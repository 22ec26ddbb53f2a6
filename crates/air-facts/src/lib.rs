//! What the source code in a call does, and which labels a path has. Pure: text in, facts out.
//!
//! Source comes from an agent and is hostile. Whatever the parsers do not see through is a reason in
//! [`air_core::code::CodeFacts::incomplete`], never silence: absence from a list that is said to be
//! whole must prove something.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod collect;
mod content;
mod decode;
mod escape;
mod host;
pub mod intent;
pub mod labels;
mod make;
mod owner;
mod patch;
pub mod python;
mod reader;
pub mod repair;
pub mod shell;
mod syntax;
mod weaken;
mod words;

pub use content::Marks;
pub use labels::{LabelError, LabelTable};
pub use reader::{Carries, CodeParser};
pub use repair::Mender;
