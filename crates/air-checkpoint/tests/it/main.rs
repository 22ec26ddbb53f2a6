//! Trees over time: watching, looking, keeping, changing.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "helpers of tests, which say what they skip"
)]

mod apply;
mod apply_crash;
mod apply_kinds;
mod apply_races;
mod apply_random;
mod apply_space;
mod apply_sqlite;
mod apply_world;
mod bounds;
mod clock;
mod shared;
mod store;
mod timeline;
mod watch;
