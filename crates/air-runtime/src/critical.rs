//! The critical guardrails by themselves: kept as text, and asked about a call where nobody else can be. No
//! session is known then, no earlier step, no judge and no person, and nothing is journaled.

use std::sync::{Arc, OnceLock};

use air_core::{
    engine::Engine,
    evaluation::Gate,
    guardrail::Mode,
    id::RuleName,
    policy::{FailPolicy, OnUndetermined},
    port::RuleReader,
    rule::{Hit, RuleKind, Severity},
    ruleset::{Entry, RuleSet},
    step::ProposedStep,
};
use serde::{Deserialize, Serialize};

use crate::{
    Ports, Told,
    decide::{decide, records, refusal},
    engine::{guardrail, unreadable},
    facts::{History, Scene},
};

/// A guardrail as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Its name in the set that it is from; unique there.
    pub name: RuleName,
    /// Its text, from `rule` to `end`.
    pub text: Arc<str>,
}

/// What cannot be told is refused: nobody can be asked.
const STRICT: FailPolicy = FailPolicy {
    critical_guardrail: Hit::Block,
    guardrail: Hit::Block,
    learned_guardrail: Hit::Block,
    critical_check: OnUndetermined::Hold,
    check: OnUndetermined::Hold,
};

/// The critical guardrails of `engine` that are enforced, by name. One that cannot be read is among them where
/// its text does not say otherwise.
pub fn critical(engine: &Engine) -> Vec<Kept> {
    let kept = engine.rules().entries().filter(|entry| {
        let Entry { rule, mode } = entry;
        let says = rule.source.lines().any(|line| {
            line.trim().strip_prefix("severity").is_some_and(|it| it.trim() == "critical")
        });
        let is_critical =
            rule.severity == Severity::Critical || says || rule.source.trim().is_empty();
        let is_guardrail = matches!(rule.kind, RuleKind::Guardrail { .. });
        is_guardrail && is_critical && *mode == Mode::Enforce
    });
    let mut kept: Vec<Kept> = kept
        .map(|Entry { rule, .. }| Kept { name: rule.name.clone(), text: Arc::clone(&rule.source) })
        .collect();
    kept.sort_by(|a, b| a.name.cmp(&b.name));
    kept
}

/// An engine of what was kept. What cannot be read any more is undetermined for the calls that it is about.
///
/// # Errors
///
/// If two have one name.
pub fn critical_engine(
    kept: Vec<Kept>,
    reader: &dyn RuleReader,
) -> Result<Engine, air_core::ruleset::DuplicateRuleError> {
    let entries = kept.into_iter().map(|Kept { name, text }| {
        let mut rule = guardrail(reader, &text)
            .unwrap_or_else(|why| unreadable(&name.as_str().into(), &text, &why));
        rule.name = name;
        Entry { rule: Arc::new(rule), mode: Mode::Enforce }
    });
    Ok(Engine::new(RuleSet::new(entries)?, STRICT))
}

/// What the guardrails of `engine` say of a call: [`Told::Go`] or [`Told::Refused`].
pub async fn ask_critical(
    ports: &Ports,
    engine: &Engine,
    agent: &str,
    step: &ProposedStep,
) -> Told {
    let mut history = History::default();
    // There may have been steps.
    history.forget();
    let (session, after, code) = (&step.session, None, OnceLock::new());
    let scene = Scene { ports, session, task: "", agent, history: &history, step, after, code };
    let evaluation = engine.unjudged().before_step(&step.call);
    let decided = decide(&scene, evaluation, &mut scene.facts(), None).await;
    match decided.decision {
        Gate::Allow | Gate::Warn => Told::Go { notes: records(&decided.hits) },
        // Nobody can be asked.
        Gate::Ask | Gate::Block => {
            let message = refusal(&decided.hits, &decided.undetermined);
            let findings = decided.hits.iter().chain(&decided.undetermined);
            Told::Refused { rules: findings.map(|it| it.rule.name.clone()).collect(), message }
        }
    }
}
