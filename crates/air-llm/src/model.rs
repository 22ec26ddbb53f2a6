//! One language model, whoever provides it.

use std::{fmt, sync::Arc, time::Duration};

use air_core::port::BoxFuture;
use air_wire::{Answer, Delta, Request};

/// Hears an answer while it comes. It must not block.
pub type Listener = Arc<dyn Fn(&Delta) + Send + Sync>;

/// One request, and what surrounds it.
#[derive(Clone)]
pub struct Call {
    /// What is said. `model` is filled in by the [`Model`].
    pub request: Request,
    /// What it is for: costs are counted by it.
    pub purpose: Purpose,
    /// When it has failed, retries included; `None`: the model's own limit.
    pub deadline: Option<Duration>,
    /// Hears the answer while it comes. Makes it a stream.
    pub listener: Option<Listener>,
    /// Random texts in the request that are others every time, such as delimiters: a recording knows the
    /// request without them.
    pub nonces: Vec<String>,
}

impl Call {
    /// A call without a listener, within the model's own limit.
    pub fn new(purpose: Purpose, request: Request) -> Self {
        Self { request, purpose, deadline: None, listener: None, nonces: Vec::new() }
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("purpose", &self.purpose).finish_non_exhaustive()
    }
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Purpose {
    /// The agent's own work.
    Agent,
    /// Guardrails, before a step.
    Guardrails,
    /// Checks, after a step.
    Check,
    /// What a judge looked up on top of a check.
    Inspection,
    /// A second opinion.
    Escalation,
    /// The agent's response to an incident.
    Response,
    /// Whether the harm has stopped and the state is restored.
    Verification,
    /// A guardrail learned from an incident.
    Synthesis,
    /// Rules written before there was an incident.
    Rules,
    /// Known questions, to find out how far a judge can be trusted.
    Probe,
}

impl Purpose {
    /// Its name in tables and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Guardrails => "guardrails",
            Self::Check => "check",
            Self::Inspection => "inspection",
            Self::Escalation => "escalation",
            Self::Response => "response",
            Self::Verification => "verification",
            Self::Synthesis => "synthesis",
            Self::Rules => "rules",
            Self::Probe => "probe",
        }
    }
}

/// A language model.
pub trait Model: Send + Sync + fmt::Debug {
    /// Provider and model, as in `--model`: `openai:gpt-5`.
    fn name(&self) -> &str;

    /// Its answer to one call. Retries, limits and deadlines are the model's affair.
    fn answer(&self, call: Call) -> BoxFuture<'static, Result<Answer, ModelError>>;
}

/// A model gave no answer. No message holds a key or the text of a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Nobody answered within the deadline.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The provider could not be reached, or the connection broke.
    #[error("cannot reach the model: {0}")]
    Connection(String),
    /// The provider refuses the key.
    #[error("the provider refuses the key (HTTP {status}): {message}")]
    Unauthorized {
        /// HTTP status.
        status: u16,
        /// What it says, bounded and without secrets.
        message: String,
    },
    /// There is no such model, or it cannot do what was asked.
    #[error("the provider refuses the request (HTTP {status}): {message}")]
    Rejected {
        /// HTTP status.
        status: u16,
        /// What it says, bounded and without secrets.
        message: String,
    },
    /// The provider is overloaded or limits the rate, also after retries.
    #[error("the provider is overloaded (HTTP {status}), after {tries} tries: {message}")]
    Overloaded {
        /// HTTP status.
        status: u16,
        /// How often it was tried.
        tries: u32,
        /// What it says, bounded and without secrets.
        message: String,
    },
    /// The provider failed, also after retries.
    #[error("the provider failed (HTTP {status}), after {tries} tries: {message}")]
    Server {
        /// HTTP status.
        status: u16,
        /// How often it was tried.
        tries: u32,
        /// What it says, bounded and without secrets.
        message: String,
    },
    /// What came back is no answer.
    #[error("the answer cannot be read: {0}")]
    Malformed(String),
    /// The answer is longer than may be read.
    #[error("the answer is longer than {0} bytes")]
    TooLong(u64),
    /// Too many failures in a row: it is not asked for a while.
    #[error("the model failed {failures} times in a row; it is not asked for another {wait:?}")]
    Open {
        /// Failures in a row.
        failures: u32,
        /// Until it is asked again.
        wait: Duration,
    },
    /// What may be spent is spent.
    #[error("the spend limit is reached: {0}")]
    Spent(String),
    /// A cassette does not have the answer.
    #[error("the recording has no answer to this request: {0}")]
    NotRecorded(String),
}
