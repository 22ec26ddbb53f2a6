//! Everything that a language model does for AIR: it judges, drafts guardrails and writes rules.
//!
//! [`Model`] is one model behind one provider. A model decides nothing by itself: its answers are
//! untrusted data of a fixed form, and whoever asked checks them.

pub mod judge;
mod model;
mod probe;
pub mod prompts;
pub mod retrieve;

pub use judge::{JudgeSettings, LlmJudge};
pub use model::{Call, Listener, Model, ModelError, Purpose};
pub use probe::{PairScore, Score, probe};
