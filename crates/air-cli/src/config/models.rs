//! What settings say about language models.

use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
    time::Duration,
};

use air::{Models, Remediation, ReviewMode};
use clap::ValueEnum;
use serde::Deserialize;

use super::file::{Amount, set};

/// How long the next call waits for a deferred verdict, where nothing is said.
const WINDOW: Duration = Duration::from_secs(2);

/// Language models, and what they may do. `None` is a default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelSettings {
    /// `[model] name`: the agent's, such as `openai:gpt-5`.
    pub model: Option<String>,
    /// `[model] base_url`: where it is asked.
    pub base_url: Option<String>,
    /// `[model] max_cost`: in US dollars, a run.
    pub max_cost: Option<f64>,
    /// `[model] max_tokens`: of requests and answers, a run.
    pub max_tokens: Option<u64>,
    /// `[model] max_calls`: requests a run, retries included.
    pub max_calls: Option<u64>,
    /// `[model] timeout_s`: for one request, retries included.
    pub timeout_s: Option<NonZeroU32>,
    /// `[model] concurrency`: requests at a time.
    pub concurrency: Option<NonZeroU32>,
    /// `[model] prices`: a table in place of what ships, line by line. Absolute.
    pub prices: Option<PathBuf>,
    /// `[judge] model`.
    pub judge_model: Option<String>,
    /// `[judge] second`: asked where the first is not sure.
    pub second_judge: Option<String>,
    /// `[judge] mode`.
    pub judge_mode: Option<JudgeMode>,
    /// `[judge] window_ms`.
    pub window_ms: Option<NonZeroU32>,
    /// `[judge] threshold`: from 0 to 1.
    pub threshold: Option<f64>,
    /// `[judge] votes`: requests for one verdict.
    pub votes: Option<NonZeroU32>,
    /// `[judge] log_probabilities`.
    pub log_probabilities: bool,
    /// `[response] by`.
    pub respond_by: Option<RespondBy>,
    /// `[response] max_calls`: of the agent, a try.
    pub response_calls: Option<NonZeroU32>,
    /// `[response] timeout_s`: for one try.
    pub response_s: Option<NonZeroU32>,
    /// `[response] confidence`: from 0 to 1; a report of less is for a person.
    pub least_confidence: Option<f64>,
    /// `[synthesis] by`.
    pub synthesis_by: Option<SynthesisBy>,
}

/// When a judge's verdict on a step is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum JudgeMode {
    /// The agent waits for it.
    Inline,
    /// The agent plans its next step meanwhile, which waits for it for a bounded time.
    Deferred,
}

/// Who responds to an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum RespondBy {
    /// AIR alone.
    Air,
    /// The agent, where no rule says how AIR responds; AIR where the agent has failed.
    Agent,
    /// The agent alone.
    Alone,
}

/// Who derives guardrails from incidents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum SynthesisBy {
    /// AIR alone; no model is asked.
    Compiler,
    /// The agent's model drafts beside it.
    Model,
}

impl RespondBy {
    pub(super) fn remediation(self) -> Remediation {
        match self {
            Self::Air => Remediation::Air,
            Self::Agent => Remediation::Agent,
            Self::Alone => Remediation::Alone,
        }
    }
}

/// Whose model that is, by what stands before its name: an address and a key are those of one provider.
pub(crate) fn provider(name: &str) -> String {
    let prefix = name.split(':').next().unwrap_or_default().trim();
    prefix.split('-').next().unwrap_or_default().to_ascii_lowercase()
}

impl ModelSettings {
    /// As a session takes them; `mode` in place of what they say.
    pub fn models(&self, mode: Option<JudgeMode>) -> Models {
        let mut models = Models::default();
        if let Some(by) = self.respond_by {
            models.remediation = by.remediation();
        }
        if let Some(calls) = self.response_calls {
            models.max_calls = calls.get();
        }
        if let Some(seconds) = self.response_s {
            models.response_time = Duration::from_secs(seconds.get().into());
        }
        if let Some(least) = self.least_confidence {
            models.least_confidence = least;
        }
        if mode.or(self.judge_mode) == Some(JudgeMode::Deferred) {
            let window = self.window_ms.map(|ms| Duration::from_millis(ms.get().into()));
            models.review = ReviewMode::Deferred { window: window.unwrap_or(WINDOW) };
        }
        models
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Model {
    pub(super) name: Option<String>,
    pub(super) base_url: Option<String>,
    pub(super) max_cost: Option<Dollars>,
    pub(super) max_tokens: Option<u64>,
    pub(super) max_calls: Option<u64>,
    pub(super) timeout_s: Option<Amount>,
    pub(super) concurrency: Option<Amount>,
    pub(super) prices: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Judge {
    pub(super) model: Option<String>,
    pub(super) second: Option<String>,
    pub(super) mode: Option<JudgeMode>,
    pub(super) window_ms: Option<Amount>,
    pub(super) threshold: Option<Share>,
    pub(super) votes: Option<Amount>,
    pub(super) log_probabilities: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Response {
    pub(super) by: Option<RespondBy>,
    pub(super) max_calls: Option<Amount>,
    pub(super) timeout_s: Option<Amount>,
    pub(super) confidence: Option<Share>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Synthesis {
    pub(super) by: Option<SynthesisBy>,
}

/// A number from 0 to 1.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct Share(pub(super) f64);

impl TryFrom<f64> for Share {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        let fits = (0.0..=1.0).contains(&number);
        fits.then_some(Self(number)).ok_or_else(|| "it must be from 0 to 1".to_owned())
    }
}

/// An amount of money: whole dollars, or with cents behind a point.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
pub(super) enum Dollars {
    Whole(u32),
    Exact(f64),
}

impl Dollars {
    fn get(self) -> f64 {
        match self {
            Self::Whole(dollars) => dollars.into(),
            Self::Exact(dollars) => dollars,
        }
    }
}

impl Model {
    pub(super) fn apply(self, config: &mut ModelSettings, base: &Path) {
        // The address of another provider is none of this one.
        let provider = |name: &Option<String>| name.as_deref().map(provider);
        if self.name.is_some() && provider(&self.name) != provider(&config.model) {
            config.base_url = None;
        }
        set_some(&mut config.model, self.name);
        set_some(&mut config.base_url, self.base_url);
        set_some(&mut config.max_cost, self.max_cost.map(Dollars::get));
        set_some(&mut config.max_tokens, self.max_tokens);
        set_some(&mut config.max_calls, self.max_calls);
        set_some(&mut config.timeout_s, self.timeout_s.map(|it| it.0));
        set_some(&mut config.concurrency, self.concurrency.map(|it| it.0));
        set_some(&mut config.prices, self.prices.map(|path| base.join(path)));
    }
}

impl Judge {
    pub(super) fn apply(self, config: &mut ModelSettings) {
        set_some(&mut config.judge_model, self.model);
        set_some(&mut config.second_judge, self.second);
        set_some(&mut config.judge_mode, self.mode);
        set_some(&mut config.window_ms, self.window_ms.map(|it| it.0));
        set_some(&mut config.threshold, self.threshold.map(|it| it.0));
        set_some(&mut config.votes, self.votes.map(|it| it.0));
        set(&mut config.log_probabilities, self.log_probabilities);
    }
}

impl Response {
    pub(super) fn apply(self, config: &mut ModelSettings) {
        set_some(&mut config.respond_by, self.by);
        set_some(&mut config.response_calls, self.max_calls.map(|it| it.0));
        set_some(&mut config.response_s, self.timeout_s.map(|it| it.0));
        set_some(&mut config.least_confidence, self.confidence.map(|it| it.0));
    }
}

impl Synthesis {
    pub(super) fn apply(self, config: &mut ModelSettings) {
        set_some(&mut config.synthesis_by, self.by);
    }
}

fn set_some<T>(setting: &mut Option<T>, said: Option<T>) {
    if said.is_some() {
        *setting = said;
    }
}
