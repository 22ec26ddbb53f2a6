//! Guardrails for other policy engines.
//!
//! A guardrail is translated only where the other language says exactly the same of every input in
//! which the facts that it names are present and whole. What cannot be said so is left out, and why
//! is told: never approximated.

mod cedar;
mod rego;
mod scope;

use air_core::{
    guardrail::{Guardrail, Mode},
    port::RuleReader as _,
    rule::{Decision, Hit, Rule, RuleKind},
};
use serde::Serialize;

use crate::{
    LangRules,
    expr::{Tree, tree},
};

pub use cedar::cedar;
pub use rego::rego;

/// Guardrails in another language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// The whole file.
    pub text: String,
    /// The guardrails that it lacks, by id, and why.
    pub left_out: Vec<(String, String)>,
}

/// One guardrail with the structure of its rule.
#[derive(Debug, Serialize)]
pub struct Structured<'g> {
    /// As it is stored.
    guardrail: &'g Guardrail,
    /// Its rule, taken apart; absent where its text cannot be read.
    rule: Option<Structure>,
}

#[derive(Debug, Serialize)]
struct Structure {
    name: String,
    trigger: Vec<String>,
    severity: &'static str,
    tags: Vec<String>,
    check: String,
    hit: &'static str,
    instead: Option<String>,
    decide: Option<Tree>,
    when: Option<Tree>,
    evidence: Option<Tree>,
}

/// A guardrail with its rule taken apart, for a document.
pub fn structured(guardrail: &Guardrail) -> Structured<'_> {
    let rule = LangRules.rule(&guardrail.text).ok();
    Structured { guardrail, rule: rule.and_then(|rule| structure(&rule)) }
}

fn structure(rule: &Rule) -> Option<Structure> {
    let RuleKind::Guardrail { hit, .. } = &rule.kind else { return None };
    let part = |condition: Option<&std::sync::Arc<dyn air_core::condition::Condition>>| {
        condition.and_then(|condition| tree(condition.source()).ok())
    };
    let (decide, when, evidence) = match &rule.decision {
        Decision::Decide(condition) => (part(Some(condition)), None, None),
        Decision::Bounds { when, evidence } => (None, part(when.as_ref()), part(evidence.as_ref())),
    };
    Some(Structure {
        name: rule.name.to_string(),
        trigger: rule.trigger.patterns().iter().map(ToString::to_string).collect(),
        severity: rule.severity.keyword(),
        tags: rule.tags.iter().map(ToString::to_string).collect(),
        check: rule.check.to_string(),
        hit: hit_name(*hit),
        instead: rule.instead.as_ref().map(ToString::to_string),
        decide,
        when,
        evidence,
    })
}

fn hit_name(hit: Hit) -> &'static str {
    match hit {
        Hit::Block => "block",
        Hit::Ask => "ask",
        Hit::Warn => "warn",
    }
}

/// A guardrail that has one condition, and what it does.
struct Candidate {
    rule: Rule,
    hit: Hit,
    condition: Tree,
}

/// The guardrail, if it acts by one condition alone.
fn candidate(guardrail: &Guardrail) -> Result<Candidate, String> {
    match guardrail.mode {
        Mode::Enforce => {}
        Mode::Shadow | Mode::Retired => {
            return Err(format!("it is {} and does not act", guardrail.mode.name()));
        }
    }
    let rule = LangRules.rule(&guardrail.text)?;
    let RuleKind::Guardrail { hit, .. } = rule.kind else {
        return Err("it is an AIR rule".to_owned());
    };
    let condition = match &rule.decision {
        Decision::Decide(condition) => tree(condition.source()),
        Decision::Bounds { .. } => {
            return Err("it has no `decide`: what its condition leaves open is for a judge".into());
        }
    };
    let condition = condition.map_err(|_| "its condition cannot be parsed".to_owned())?;
    Ok(Candidate { rule, hit, condition })
}

/// A text of the guardrail as comment lines that begin with `mark`.
fn comment(mark: &str, text: &str) -> String {
    text.lines().map(|line| format!("{mark} {line}\n")).collect::<Vec<_>>().concat()
}
