//! The text of a settings file. Every key is optional; a key that nobody knows is an error.

use std::{
    collections::BTreeMap,
    fmt,
    num::NonZeroU32,
    path::{Path, PathBuf},
    sync::Arc,
};

use air_core::{policy::OnUndetermined, rule::Hit};
use serde::{Deserialize, Deserializer, de};

use super::{Config, models};
use crate::toml_file::{self, TomlError};

/// One layer of settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Layer {
    rules: Option<Vec<PathBuf>>,
    state: Option<PathBuf>,
    labels: Option<PathBuf>,
    tools: Option<Vec<Arc<str>>>,
    learn: Option<bool>,
    layered: Option<bool>,
    system: Option<bool>,
    environment: Option<BTreeMap<String, String>>,
    service: Option<Vec<Service>>,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    policy: Policy,
    #[serde(default)]
    pub(super) model: models::Model,
    #[serde(default)]
    pub(super) judge: models::Judge,
    #[serde(default)]
    pub(super) response: models::Response,
    #[serde(default)]
    pub(super) synthesis: models::Synthesis,
}

/// A program that runs beside the agent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Service {
    name: String,
    argv: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    timeout_s: Option<Amount>,
    output_kib: Option<Amount>,
    memory_mib: Option<Amount>,
    processes: Option<Amount>,
    file_mib: Option<Amount>,
    store_mib: Option<Amount>,
}

/// A limit: at least one, for a call that may use nothing cannot run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Amount(pub(super) NonZeroU32);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_i64(AmountVisitor)
    }
}

struct AmountVisitor;

impl de::Visitor<'_> for AmountVisitor {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from 1 to {}", u32::MAX)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Amount, E> {
        let amount = u32::try_from(number).ok().and_then(NonZeroU32::new).map(Amount);
        amount.ok_or_else(|| E::invalid_value(de::Unexpected::Signed(number), &self))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Policy {
    critical_guardrail: Option<Hit>,
    guardrail: Option<Hit>,
    learned_guardrail: Option<Hit>,
    critical_check: Option<OnUndetermined>,
    check: Option<OnUndetermined>,
}

/// Reads a settings file; `file` names it in errors.
pub(super) fn parse(text: &str, file: &str) -> Result<Layer, TomlError> {
    toml_file::from_str(text, file)
}

impl Layer {
    /// Replaces what `config` says by what this layer says. Its paths are relative to `base`.
    pub(super) fn apply(self, config: &mut Config, base: &Path) {
        let absolute = |path: PathBuf| base.join(path);
        if let Some(rules) = self.rules {
            config.rules = rules.into_iter().map(absolute).collect();
        }
        config.state = self.state.map(absolute).or(config.state.take());
        config.labels = self.labels.map(absolute).or(config.labels.take());
        set(&mut config.tools, self.tools);
        set(&mut config.learn, self.learn);
        set(&mut config.layered, self.layered);
        set(&mut config.system, self.system);
        set(&mut config.environment, self.environment.map(|all| all.into_iter().collect()));
        let service = |Service { name, argv }| air::Service { name, argv };
        let services = self.service.map(|all| all.into_iter().map(service).collect());
        set(&mut config.services, services);

        let limit = |limit: &mut Option<NonZeroU32>, said: Option<Amount>| {
            *limit = said.map(|Amount(amount)| amount).or(*limit);
        };
        limit(&mut config.limits.timeout_s, self.limits.timeout_s);
        limit(&mut config.limits.output_kib, self.limits.output_kib);
        limit(&mut config.limits.memory_mib, self.limits.memory_mib);
        limit(&mut config.limits.processes, self.limits.processes);
        limit(&mut config.limits.file_mib, self.limits.file_mib);
        limit(&mut config.limits.store_mib, self.limits.store_mib);

        self.model.apply(&mut config.models, base);
        self.judge.apply(&mut config.models);
        self.response.apply(&mut config.models);
        self.synthesis.apply(&mut config.models);

        set(&mut config.policy.critical_guardrail, self.policy.critical_guardrail);
        set(&mut config.policy.guardrail, self.policy.guardrail);
        set(&mut config.policy.learned_guardrail, self.policy.learned_guardrail);
        set(&mut config.policy.critical_check, self.policy.critical_check);
        set(&mut config.policy.check, self.policy.check);
    }
}

pub(super) fn set<T>(setting: &mut T, said: Option<T>) {
    if let Some(said) = said {
        *setting = said;
    }
}
