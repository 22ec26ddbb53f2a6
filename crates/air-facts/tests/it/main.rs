//! What the crate promises, through its public interface.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod corpus;
mod hostile;
mod labels;
mod reader;
