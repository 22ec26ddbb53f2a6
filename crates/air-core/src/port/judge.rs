//! Whoever decides what no condition can, and what that needs.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{BoxFuture, Cause};
use crate::{outcome::Verdict, question::Inquiry};

/// Decides what no condition can: the model or person reading `check`.
pub trait Judge: Send + Sync {
    /// Answers all questions at once, in their order. A judge that cannot tell answers *undetermined*;
    /// an error, or an answer that is missing, counts the same.
    fn judge(&self, inquiry: Inquiry) -> BoxFuture<'static, Result<Vec<Verdict>, JudgeError>>;
}

/// A judge could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JudgeError {
    /// It did not answer within its deadline.
    #[error("judge did not answer in time")]
    Timeout,
    /// It failed.
    #[error("judge failed: {0}")]
    Failed(#[source] Cause),
}

/// Work beside the agent's own.
pub trait Background: Send + Sync {
    /// Begins it, and goes on. It ends when it ends; nobody waits for it here.
    fn run(&self, work: BoxFuture<'static, ()>);

    /// Ends after so long.
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()>;
}

/// What models took, for one purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    /// What for, such as `check` or `synthesis`.
    pub purpose: String,
    /// Requests.
    pub calls: u64,
    /// Tokens of the requests, those from a cache included.
    pub input_tokens: u64,
    /// Of them, from a cache.
    pub cached_tokens: u64,
    /// Tokens of the answers.
    pub output_tokens: u64,
    /// In millionths of a US dollar; `None` where a price is not known.
    pub micro_usd: Option<u64>,
    /// Guardrails that were not read, because others looked more like the step.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unread: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Counts what models take.
pub trait Spendings: Send + Sync {
    /// What was taken since the last call, by purpose.
    fn take(&self) -> Vec<Spending>;
}
