//! How a model is asked, and how far it is believed.

use std::time::Duration;

/// How a model judges.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeSettings {
    /// How sure an answer must be to count, from 0 to 1. Below it, a second judge is asked where there
    /// is one; else it is for a person: *undetermined*. Default 0.7.
    pub threshold: f64,
    /// Where confidence comes from. Default: what the model says.
    pub confidence: Confidence,
    /// How often a judge may look further before it must answer. 0: never. Default 3.
    pub look_rounds: u32,
    /// How many calls it may make to look further, all rounds together. Default 6.
    pub look_calls: u32,
    /// How much of what one call returns is shown, in bytes. Default 16 KiB.
    pub look_bytes: usize,
    /// Guardrails that a model reads at one step, those of severity `critical` aside; where there are
    /// more, the retriever picks them, and one for each part of the call beside them. Default 20.
    pub guardrails: usize,
    /// Rules in one request; more are asked in several at the same time. Default 128.
    pub rules_per_request: usize,
    /// Data in one request, in bytes, pictures aside. Default 128 KiB.
    pub data_bytes: usize,
    /// Past steps that are shown, the last ones. Default 8.
    pub history_steps: usize,
    /// Pictures in one request. Default 4.
    pub images: usize,
    /// All pictures of one request, in bytes. Default 8 MiB.
    pub image_bytes: usize,
    /// How long one request may take, retries included. Default: the model's own limit.
    pub deadline: Option<Duration>,
    /// Passed on to the model. Default: none, because some models take no other than their own.
    pub temperature: Option<f64>,
    /// Verdicts that are remembered by what was asked. 0: none. Default 4096.
    pub cached_verdicts: usize,
}

impl Default for JudgeSettings {
    fn default() -> Self {
        Self {
            threshold: 0.7,
            confidence: Confidence::Stated,
            look_rounds: 3,
            look_calls: 6,
            look_bytes: 16 << 10,
            guardrails: 20,
            rules_per_request: 128,
            data_bytes: 128 << 10,
            history_steps: 8,
            images: 4,
            image_bytes: 8 << 20,
            deadline: None,
            temperature: None,
            cached_verdicts: 4096,
        }
    }
}

/// Where the confidence of an answer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidence {
    /// The model says it.
    Stated,
    /// The probability of the token of the answer, among those of all allowed answers; what the model
    /// says where that cannot be found.
    LogProbabilities,
    /// So many requests at the same time: the share of the majority.
    Votes(u32),
}
