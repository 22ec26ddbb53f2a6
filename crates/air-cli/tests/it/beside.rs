//! Commands about what agents did in their own hosts, with AIR beside them.

mod begin;
mod decide;
mod doctor;
mod http;
pub(crate) mod machine;
mod person;
mod room;
mod together;
mod undo;
