//! AIR beside the real coding agents: their own programs, a scripted model on loopback, real hooks, a real
//! daemon. A client that is not installed is passed over with a message; see `tests/e2e/README.md`.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests fail as tests do"
)]

mod approvals;
mod away;
mod clients;
mod crash;
mod issued;
mod rules;
mod scenario;
mod stage;
mod undo;
mod ways;
