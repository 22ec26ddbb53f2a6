//! The judge, against models that say what a test wants.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

mod believing;
mod injections;
mod judging;
mod looking;
mod probing;
mod real;
mod retrieving;
mod scene;
mod scripted;
mod whole;
mod writing;
