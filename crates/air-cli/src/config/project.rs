//! What a project's settings may say of models. An agent, or whoever the project was cloned from, may have
//! written them: they can tighten, and do not choose who is asked, what that costs, or what counts.

use std::{cmp::Ordering, fmt::Display};

use air::{Models, Remediation, ReviewMode};
use air_llm::{JudgeSettings, Limits};
use toml::{Spanned, de::DeTable};

use super::{
    file::Layer,
    models::{Dollars, JudgeMode, ModelSettings, SynthesisBy, WINDOW},
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
    let Layer { model, judge, response, synthesis, .. } = layer;
    let sent = ": data and keys would be sent there";
    let worth = ": it says what a limit in dollars is worth";
    let chosen = [
        ("model", "base_url", model.base_url.is_some(), sent, Some("--base-url")),
        ("model", "name", model.name.is_some(), sent, Some("--model")),
        ("model", "prices", model.prices.is_some(), worth, None),
        ("judge", "model", judge.model.is_some(), sent, Some("--judge-model")),
        ("judge", "second", judge.second.is_some(), sent, None),
    ];
    let chosen = chosen.into_iter().find_map(|(table, key, said, why, flag)| {
        let what = "may not stand".to_owned();
        said.then_some(Loose { table, key, what, why, flag })
    });
    chosen
        .or_else(|| spent(layer, user))
        .or_else(|| {
            let usual = JudgeSettings::default().threshold;
            let said = judge.threshold.map(|it| it.0);
            lowered("judge", "threshold", said, user.threshold.unwrap_or(usual))
        })
        .or_else(|| {
            let usual = Models::default().least_confidence;
            let said = response.confidence.map(|it| it.0);
            lowered("response", "confidence", said, user.least_confidence.unwrap_or(usual))
        })
        .or_else(|| {
            let said = judge.window_ms.map(|it| u128::from(it.0.get()));
            let in_force = user.window_ms.map(|it| u128::from(it.get()));
            lowered("judge", "window_ms", said, in_force.unwrap_or(WINDOW.as_millis()))
        })
        .or_else(|| {
            let waits = user.models(None).review == ReviewMode::Inline;
            let loose = waits && judge.mode == Some(JudgeMode::Deferred);
            worded(loose, "judge", "mode", "may only be \"inline\"")
        })
        .or_else(|| {
            let loose = user.log_probabilities && judge.log_probabilities == Some(false);
            worded(loose, "judge", "log_probabilities", "may only be true")
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
            let loose = user.synthesis_by == Some(SynthesisBy::Compiler)
                && synthesis.by == Some(SynthesisBy::Model);
            worded(loose, "synthesis", "by", "may only be \"compiler\"")
        })
}

/// Limits of what is taken.
fn spent(layer: &Layer, user: &ModelSettings) -> Option<Loose> {
    let Layer { model, judge, response, .. } = layer;
    let (client, session) = (Limits::default(), Models::default());
    let at_once = u64::try_from(client.concurrency).unwrap_or(u64::MAX);
    let amounts = [
        ("model", "max_tokens", model.max_tokens, user.max_tokens),
        ("model", "max_calls", model.max_calls, user.max_calls),
        (
            "model",
            "timeout_s",
            model.timeout_s.map(|it| it.0.get().into()),
            Some(user.timeout_s.map_or(client.deadline.as_secs(), |it| it.get().into())),
        ),
        (
            "model",
            "concurrency",
            model.concurrency.map(|it| it.0.get().into()),
            Some(user.concurrency.map_or(at_once, |it| it.get().into())),
        ),
        (
            "judge",
            "votes",
            judge.votes.map(|it| it.0.get().into()),
            Some(user.votes.map_or(1, |it| it.get().into())),
        ),
        (
            "response",
            "max_calls",
            response.max_calls.map(|it| it.0.get().into()),
            Some(user.response_calls.map_or(session.max_calls, std::num::NonZero::get).into()),
        ),
        (
            "response",
            "timeout_s",
            response.timeout_s.map(|it| it.0.get().into()),
            Some(user.response_s.map_or(session.response_time.as_secs(), |it| it.get().into())),
        ),
    ];
    let cost = raised("model", "max_cost", model.max_cost.map(Dollars::get), user.max_cost);
    cost.or_else(|| {
        amounts.into_iter().find_map(|(table, key, said, most)| raised(table, key, said, most))
    })
}

/// `most`: what is in force; nothing is no limit.
fn raised<T: Copy + PartialOrd + Display>(
    table: &'static str,
    key: &'static str,
    said: Option<T>,
    most: Option<T>,
) -> Option<Loose> {
    let (said, most) = (said?, most?);
    let fits = matches!(said.partial_cmp(&most), Some(Ordering::Less | Ordering::Equal));
    worded(!fits, table, key, &format!("may not be more than {most}"))
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
