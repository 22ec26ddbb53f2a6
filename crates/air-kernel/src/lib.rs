//! The Linux system calls that AIR's sandbox needs and no well-kept crate wraps safely.
//!
//! The one crate of the workspace that may hold `unsafe`. It only calls: no policy, no state.

#[cfg(target_os = "linux")]
pub mod lease;
#[cfg(target_os = "linux")]
pub mod mount;
#[cfg(target_os = "linux")]
pub mod notify;
