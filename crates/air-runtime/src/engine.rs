//! The rules of a session: authored ones, and the guardrails in force.

use std::{collections::HashSet, sync::Arc};

use air_core::{
    condition::{Budget, Condition},
    engine::Engine,
    fact::{Facts, Roots},
    guardrail::{Guardrail, Mode},
    id::{GuardrailId, RuleName},
    outcome::Outcome,
    policy::FailPolicy,
    port::{GuardrailStore, JournalError, RuleReader},
    requirement::FactPath,
    rule::{Decision, Hit, Rule, RuleKind, Severity, Trigger},
    ruleset::{Entry, RuleSet},
};

use crate::{Ports, session::RuntimeError};

/// A guardrail whose last version cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardrailFault {
    /// The guardrail.
    pub id: GuardrailId,
    /// The version that cannot be used.
    pub version: u32,
    /// What is wrong with it.
    pub why: String,
    /// The version that is in force in its place. `None`: no version can be used, and the guardrail
    /// counts as undetermined for every call that its trigger names.
    pub in_force: Option<u32>,
}

impl std::fmt::Display for GuardrailFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { id, version, why, in_force } = self;
        write!(f, "guardrail `{id}` version {version} cannot be used: {why}; ")?;
        match in_force {
            Some(good) => write!(f, "version {good} stays in force"),
            None => f.write_str("it counts as undetermined for the calls that it is about"),
        }
    }
}

/// The guardrails of a store, ready to be evaluated.
#[derive(Debug, Default)]
pub struct LoadedGuardrails {
    /// Those that are enforced or in shadow.
    pub entries: Vec<Entry>,
    /// Those whose last version cannot be used.
    pub faults: Vec<GuardrailFault>,
}

/// Loads the guardrails of a store. One that is broken neither stops a session nor is lost: its last
/// good version stays in force.
///
/// # Errors
///
/// If the store cannot be read.
pub async fn load_guardrails(
    store: &dyn GuardrailStore,
    reader: &dyn RuleReader,
) -> Result<LoadedGuardrails, JournalError> {
    let mut loaded = LoadedGuardrails::default();
    let mut current = store.current().await?;
    let damaged = store.damaged().await?;
    for damage in damaged {
        if let Some(at) = current.iter().position(|held| held.id == damage.id) {
            if current.get(at).is_some_and(|held| held.version > damage.version) {
                continue;
            }
            current.remove(at);
        }
        loaded.take_older(store, reader, &damage.id, damage.version, damage.why, None).await?;
    }
    for guardrail in current {
        match read(reader, &guardrail) {
            _ if guardrail.mode == Mode::Retired => {}
            Ok(rule) => {
                let examples = guardrail.examples.iter().map(|it| it.as_str().into()).collect();
                loaded.entries.push(entry(Rule { examples, ..rule }, guardrail.mode));
                // A wider form is tried and does nothing; one that cannot be read is not missed.
                let wider = guardrail.wider.filter(|_| guardrail.mode == Mode::Enforce);
                let wider = wider.and_then(|text| reader.rule(&text).ok());
                loaded.entries.extend(wider.map(|rule| entry(rule, Mode::Shadow)));
            }
            Err(why) => {
                let (id, version) = (guardrail.id.clone(), guardrail.version);
                loaded.take_older(store, reader, &id, version, why, Some(&guardrail)).await?;
            }
        }
    }
    Ok(loaded)
}

impl LoadedGuardrails {
    /// Takes the last good version before `version`, and where there is none, what stands for it.
    async fn take_older(
        &mut self,
        store: &dyn GuardrailStore,
        reader: &dyn RuleReader,
        id: &GuardrailId,
        version: u32,
        why: String,
        broken: Option<&Guardrail>,
    ) -> Result<(), JournalError> {
        let history = store.history(id).await?;
        let good = history.iter().rev().find_map(|older| {
            let usable = older.version < version && older.mode != Mode::Retired;
            let rule = usable.then(|| read(reader, older).ok()).flatten()?;
            Some((older, rule))
        });
        let in_force = good.as_ref().map(|(older, _)| older.version);
        self.entries.push(if let Some((older, rule)) = good {
            entry(rule, older.mode)
        } else {
            let mode = broken.map_or(Mode::Enforce, |broken| broken.mode);
            let text = broken.map_or("", |broken| broken.text.as_str());
            entry(unreadable(id, text, &why), mode)
        });
        self.faults.push(GuardrailFault { id: id.clone(), version, why, in_force });
        Ok(())
    }
}

fn entry(rule: Rule, mode: Mode) -> Entry {
    Entry { rule: Arc::new(rule), mode }
}

fn read(reader: &dyn RuleReader, held: &Guardrail) -> Result<Rule, String> {
    guardrail(reader, &held.text)
}

/// The guardrail in a text.
pub(crate) fn guardrail(reader: &dyn RuleReader, text: &str) -> Result<Rule, String> {
    let rule = reader.rule(text)?;
    match rule.kind {
        RuleKind::Guardrail { .. } => Ok(rule),
        RuleKind::Incident { .. } => Err("it is an AIR rule, no guardrail".to_owned()),
    }
}

/// Stands for a guardrail of which nothing is known but that it is there.
pub(crate) fn unreadable(id: &GuardrailId, text: &str, why: &str) -> Rule {
    let trigger = text.lines().find_map(|line| line.trim().strip_prefix("trigger "));
    let patterns: Vec<&str> = trigger
        .map(|trigger| trigger.split(',').map(str::trim).filter(|word| !word.is_empty()).collect())
        .unwrap_or_default();
    let patterns = if patterns.is_empty() { vec!["*"] } else { patterns };
    Rule {
        name: id.as_str().into(),
        trigger: Trigger::new(patterns),
        severity: Severity::default(),
        shadow: false,
        tags: Vec::new(),
        decision: Decision::Decide(Arc::new(Unreadable(why.into()))),
        // Its text cannot be told from what stood in an incident.
        check: "a guardrail that cannot be read any more".into(),
        instead: None,
        kind: RuleKind::Guardrail { hit: Hit::Block, from: None },
        source: text.into(),
        examples: Vec::new(),
    }
}

/// The condition of a guardrail that cannot be read: it can never be told.
#[derive(Debug)]
struct Unreadable(Arc<str>);

impl Condition for Unreadable {
    fn source(&self) -> &'static str {
        ""
    }

    fn reads(&self) -> Roots {
        Roots::NONE
    }

    fn paths(&self) -> &[FactPath] {
        &[]
    }

    /// What it is about is not known: a judge could not tell, either.
    fn is_final(&self) -> bool {
        true
    }

    fn evaluate_within(&self, _facts: &Facts, budget: &mut Budget) -> Outcome {
        budget.spend(1);
        Outcome::undetermined(format!("the guardrail cannot be read: {}", self.0))
    }
}

/// The authored rules and the guardrails in force, and what is wrong with the guardrails. Unless they
/// are to be enforced, guardrails are in shadow.
///
/// # Errors
///
/// If the store cannot be read, or two rules share a name.
pub(crate) async fn engine(
    ports: &Ports,
    rules: Vec<Rule>,
    policy: FailPolicy,
    enforce: bool,
) -> Result<(Engine, Vec<GuardrailFault>), RuntimeError> {
    let store = (&*ports.guardrails, &*ports.rules);
    let (engine, faults) = load_engine(store, rules, policy, enforce).await?;
    Ok((if ports.judge.is_some() { engine.judged() } else { engine }, faults))
}

/// The same of a store, for all sessions that share it. It asks no judge.
///
/// # Errors
///
/// If the store cannot be read, or two rules share a name.
pub async fn load_engine(
    (store, reader): (&dyn GuardrailStore, &dyn RuleReader),
    rules: Vec<Rule>,
    policy: FailPolicy,
    enforce: bool,
) -> Result<(Engine, Vec<GuardrailFault>), RuntimeError> {
    let mut entries: Vec<Entry> =
        rules.into_iter().map(|rule| entry(rule, Mode::Enforce)).collect();
    let loaded = load_guardrails(store, reader).await?;
    let mut names: HashSet<RuleName> =
        entries.iter().map(|entry| entry.rule.name.clone()).collect();
    for (at, mut learned) in loaded.entries.into_iter().enumerate() {
        // A name that is taken must not keep a guardrail out of force, nor the session from starting.
        if !names.insert(learned.rule.name.clone()) {
            let mut rule = Rule::clone(&learned.rule);
            rule.name = format!("{}.{}", rule.name, at + 1).as_str().into();
            names.insert(rule.name.clone());
            learned.rule = Arc::new(rule);
        }
        if !enforce {
            learned.mode = Mode::Shadow;
        }
        entries.push(learned);
    }
    Ok((Engine::new(RuleSet::new(entries)?, policy), loaded.faults))
}
