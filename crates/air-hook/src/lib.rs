//! The client of AIR's daemon: small, without a runtime. [`main`] is the hook that hosts spawn; the command
//! line uses [`client`].

mod ask;
pub mod client;
mod critical;
mod hook;
mod options;
mod start;

pub use hook::main;
