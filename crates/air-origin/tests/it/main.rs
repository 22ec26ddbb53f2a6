//! The crate as its users see it.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::format_push_string,
    clippy::format_collect,
    reason = "contents for tests are made in the plainest way"
)]

mod benign;
mod changed;
mod found;
mod hostile;
mod laws;
mod made;
