//! How models take part in a session.

use std::time::Duration;

/// What a session leaves to models, and within which limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Models {
    /// Who responds to an incident.
    pub remediation: Remediation,
    /// Whether the agent is told what `remediate` says. Otherwise it must find out by itself.
    pub told: bool,
    /// Calls that the agent may make in one try of a response.
    pub max_calls: u32,
    /// How long one try may take.
    pub response_time: Duration,
    /// A report of less confidence, from 0 to 1, is for a person.
    pub least_confidence: f64,
    /// Whether the agent waits for a judge's verdict after a step.
    pub review: ReviewMode,
}

impl Default for Models {
    fn default() -> Self {
        Self {
            remediation: Remediation::default(),
            told: true,
            max_calls: 16,
            response_time: Duration::from_mins(2),
            least_confidence: 0.5,
            review: ReviewMode::default(),
        }
    }
}

/// Who responds to an incident. AIR always freezes, keeps evidence and ends what runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Remediation {
    /// AIR alone, by what rules say in `respond`.
    Air,
    /// The agent, where no rule that holds has a `respond`. AIR puts the workspace back where the agent
    /// has failed twice.
    #[default]
    Agent,
    /// The agent alone, as in the paper: AIR puts nothing back.
    Alone,
}

/// When a judge's verdict on a step is waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReviewMode {
    /// At once.
    #[default]
    Inline,
    /// Before the next call, for so long at most; the agent plans meanwhile.
    Deferred {
        /// How long the next call waits for it. Then it counts as undetermined.
        window: Duration,
    },
}
