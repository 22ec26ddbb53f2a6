//! Everything that a language model does for AIR: it judges, drafts guardrails and writes rules.
//!
//! [`Model`] is one model behind one provider. A model decides nothing by itself: its answers are
//! untrusted data of a fixed form, and whoever asked checks them.

mod model;

pub use model::{Call, Listener, Model, ModelError, Purpose};
