//! Commands about what agents did in their own hosts, with AIR beside them.

mod begin;
mod decide;
mod doctor;
pub(crate) mod machine;
mod person;
mod undo;
