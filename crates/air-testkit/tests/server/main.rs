//! The scripted model server: with the client's codecs, with the providers' own clients, and those codecs
//! with another server.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests fail as tests do"
)]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

mod bad;
mod clients;
mod http;
mod other;
mod real;
mod script;
mod talk;
