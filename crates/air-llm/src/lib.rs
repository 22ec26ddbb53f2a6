//! Everything that a language model does for AIR: it judges, drafts guardrails and writes rules.
//!
//! [`Model`] is one model behind one provider. A model decides nothing by itself: its answers are
//! untrusted data of a fixed form, and whoever asked checks them.

mod cassette;
mod client;
mod deltas;
mod draft;
mod fence;
pub mod judge;
mod key;
mod ledger;
mod model;
mod price;
mod probe;
pub mod prompts;
pub mod retrieve;
mod rules;
mod spec;
mod writing;

pub use cassette::{Cassette, CassetteError, Recorder, Replay, Tape};
pub use client::{Client, ClientError, Clock, Limits, Options, Retry, SystemClock, Threads};
pub use draft::ModelDrafter;
pub use fence::Fence;
pub use judge::{JudgeSettings, LlmJudge};
pub use key::{Key, KeyError, Keyring, find_key};
pub use ledger::{Ledger, SpendLimit, Spent, Tally, dollars, likely_tokens, told_unread};
pub use model::{Call, Listener, Model, ModelError, Purpose};
pub use price::{Price, Prices};
pub use probe::{PairScore, Score, probe};
pub use rules::{RuleBrief, RuleWriter};
pub use spec::{Environment, ModelSpec, PLAINTEXT, Provider, SpecError};
pub use writing::WriteError;
