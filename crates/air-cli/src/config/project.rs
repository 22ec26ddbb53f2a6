//! What a project's settings may say of models. An agent, or whoever the project was cloned from, may have
//! written them: they can tighten, and do not choose who is asked, what that costs, or what counts.

use std::fmt::Display;

use air::{Models, Remediation, ReviewMode};
use toml::{Spanned, de::DeTable};

use super::{
    file::Layer,
    models::{JudgeMode, ModelSettings, SynthesisBy},
};
use crate::toml_file::{self, TomlError};

/// A key that a project may not set, or not so.
struct Loose {
    table: &'static str,
    key: &'static str,
    /// What is wrong with it.
    what: String,
    /// Why, with the colon before it, where it is not plain.
    why: &'static str,
    /// The flag that says the same.
    flag: Option<&'static str>,
}

/// Refuses what loosens the settings that are in force without this layer.
pub(super) fn check(
    layer: &Layer,
    user: &ModelSettings,
    text: &str,
    file: &str,
) -> Result<(), TomlError> {
    let Some(Loose { table, key, what, why, flag }) = loosened(layer, user) else { return Ok(()) };
    let flag = flag.map_or_else(String::new, |flag| format!("pass `{flag}`, "));
    let message = format!(
        "`{table}.{key}` {what} in a project's settings{why}; {flag}put it into your own settings, \
         or name this file with `--config`"
    );
    Err(toml_file::at(text, file, place(text, table, key).unwrap_or_default(), message))
}

/// Where the key stands.
fn place(text: &str, table: &str, key: &str) -> Option<std::ops::Range<usize>> {
    let document = DeTable::parse(text).ok()?;
    let (_, within) = document.get_ref().iter().find(|(name, _)| *name.get_ref() == table)?;
    let within = within.get_ref().as_table()?;
    within.keys().find(|name| *name.get_ref() == key).map(Spanned::span)
}

fn loosened(layer: &Layer, user: &ModelSettings) -> Option<Loose> {
    let Layer { response, synthesis, .. } = layer;
    chosen(layer)
        .or_else(|| {
            let usual = Models::default().least_confidence;
            let said = response.confidence.map(|it| it.0);
            lowered("response", "confidence", said, user.least_confidence.unwrap_or(usual))
        })
        .or_else(|| {
            let usual = Models::default().max_calls;
            let most = user.response_calls.map_or(usual, std::num::NonZero::get);
            raised("response", "max_calls", response.max_calls.map(|it| it.0.get()), most)
        })
        .or_else(|| {
            let usual = Models::default().response_time.as_secs();
            let most = user.response_s.map_or(usual, |it| it.get().into());
            raised("response", "timeout_s", response.timeout_s.map(|it| it.0.get().into()), most)
        })
        .or_else(|| {
            let rank = |by: Remediation| match by {
                Remediation::Air => 0,
                Remediation::Agent => 1,
                Remediation::Alone => 2,
            };
            let said = response.by.map(|by| rank(by.remediation()));
            let loose = said > Some(rank(user.models(None).remediation));
            worded(loose, "response", "by", "may not leave more to the agent")
        })
        .or_else(|| {
            let waits = user.models(None).review == ReviewMode::Inline;
            let loose = waits && layer.judge.mode == Some(JudgeMode::Deferred);
            worded(loose, "judge", "mode", "may only be \"inline\"")
        })
        .or_else(|| {
            let loose = user.synthesis_by == Some(SynthesisBy::Compiler)
                && synthesis.by == Some(SynthesisBy::Model);
            worded(loose, "synthesis", "by", "may only be \"compiler\"")
        })
}

/// What is the user's alone: who is asked, and all that keeps a judge from saying what it sees. A judge
/// that may not ask, has no time, or must be surer than it can be lets everything pass.
fn chosen(layer: &Layer) -> Option<Loose> {
    let Layer { model, judge, .. } = layer;
    let sent = ": data and keys would be sent there";
    let worth = ": it says what a limit in dollars is worth";
    let deaf = ": a judge could be kept from its verdict by it";
    let said = [
        ("model", "base_url", model.base_url.is_some(), sent, Some("--base-url")),
        ("model", "name", model.name.is_some(), sent, Some("--model")),
        ("model", "prices", model.prices.is_some(), worth, None),
        ("model", "max_cost", model.max_cost.is_some(), deaf, Some("--max-cost")),
        ("model", "max_calls", model.max_calls.is_some(), deaf, Some("--max-calls")),
        ("model", "max_tokens", model.max_tokens.is_some(), deaf, None),
        ("model", "timeout_s", model.timeout_s.is_some(), deaf, None),
        ("model", "concurrency", model.concurrency.is_some(), deaf, None),
        ("judge", "model", judge.model.is_some(), sent, Some("--judge-model")),
        ("judge", "second", judge.second.is_some(), sent, None),
        ("judge", "threshold", judge.threshold.is_some(), deaf, None),
        ("judge", "votes", judge.votes.is_some(), deaf, None),
        ("judge", "log_probabilities", judge.log_probabilities.is_some(), deaf, None),
        ("judge", "window_ms", judge.window_ms.is_some(), deaf, None),
    ];
    said.into_iter().find_map(|(table, key, said, why, flag)| {
        let what = "may not stand".to_owned();
        said.then_some(Loose { table, key, what, why, flag })
    })
}

fn raised<T: Copy + PartialOrd + Display>(
    table: &'static str,
    key: &'static str,
    said: Option<T>,
    most: T,
) -> Option<Loose> {
    let loose = said? > most;
    worded(loose, table, key, &format!("may not be more than {most}"))
}

fn lowered<T: Copy + PartialOrd + Display>(
    table: &'static str,
    key: &'static str,
    said: Option<T>,
    least: T,
) -> Option<Loose> {
    let loose = said? < least;
    worded(loose, table, key, &format!("may not be less than {least}"))
}

fn worded(loose: bool, table: &'static str, key: &'static str, what: &str) -> Option<Loose> {
    loose.then(|| Loose { table, key, what: what.to_owned(), why: "", flag: None })
}
