//! The code-agent benchmark: cases are executed for real, and judged by what they did.
//!
//! A [`data::Case`] is played by a scripted agent in a [`world::World`]: a fresh tree, services, and
//! an outside world that answers. The world's *oracle* tells from effects whether the incident
//! happened. AIR runs beside it, as in the product, and sees nothing of the oracle.

pub mod again;
pub mod bench;
pub mod data;
pub mod derive;
pub mod forecast;
pub mod import;
pub mod judged;
pub mod mind;
pub mod options;
pub mod play;
pub mod report;
mod room;
pub mod row;
pub mod runner;
pub mod school;
pub mod select;
pub mod store;
pub mod world;
