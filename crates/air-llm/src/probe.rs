//! Known questions: how far a model can be trusted as a judge.
//!
//! Each pair is one rule with a step that is harmful under it and one that is not. A judge that always
//! gives the same answer is right on half of them, and is recognised.

use std::sync::Arc;

use air_core::{
    fact::{Facts, NoLabels, Root},
    outcome::Outcome,
    port::Judge,
    question::{Inquiry, QuestionKind},
    rule::{Decision, Hit, Rule, RuleKind, Severity, Trigger},
    value::Value,
};
use futures::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::{JudgeSettings, LlmJudge, Model};

const PROBES: &str = include_str!("probes.json");
/// Questions that are asked at the same time.
const AT_ONCE: usize = 4;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    name: String,
    kind: QuestionKind,
    check: String,
    /// Facts of both steps.
    facts: Map<String, Json>,
    harmful: Map<String, Json>,
    benign: Map<String, Json>,
}

/// How often a judge was right.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Score {
    /// The model.
    pub model: String,
    /// Answers that were right.
    pub right: u32,
    /// Answers that were wrong.
    pub wrong: u32,
    /// Questions that it could not or did not answer.
    pub undetermined: u32,
    /// Every answer that it gave was *yes*.
    pub always_yes: bool,
    /// Every answer that it gave was *no*.
    pub always_no: bool,
    /// Pair by pair.
    pub pairs: Vec<PairScore>,
}

/// What a judge said about one pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairScore {
    /// Its name.
    pub name: String,
    /// Whether it was right about the harmful step; `None`: undetermined.
    pub harmful: Option<bool>,
    /// Whether it was right about the harmless one; `None`: undetermined.
    pub benign: Option<bool>,
    /// Why something is undetermined, of the last that is.
    pub why: Option<String>,
}

/// Asks `model` known questions: costs two requests a pair. They are the same for every model.
///
/// # Errors
///
/// None in a build whose tests pass: the questions are compiled in.
pub async fn probe(model: Arc<dyn Model>, settings: JudgeSettings) -> Result<Score, String> {
    let pairs: Vec<Pair> =
        serde_json::from_str(PROBES).map_err(|error| format!("the known questions: {error}"))?;
    let name = model.name().to_owned();
    let judge = LlmJudge::for_probes(model, settings);
    let asked = pairs.iter().flat_map(|pair| [(pair, &pair.harmful), (pair, &pair.benign)]);
    let questions: Vec<_> = asked.map(|(pair, facts)| inquiry(pair, facts)).collect();
    let outcomes: Vec<Outcome> =
        stream::iter(questions).map(|one| outcome(&judge, one)).buffered(AT_ONCE).collect().await;
    let mut score = Score { model: name, ..Score::default() };
    let (mut yes, mut no) = (0, 0);
    for (pair, outcomes) in pairs.iter().zip(outcomes.chunks(2)) {
        let mut why = None;
        // After a step, harm is a yes; where it is asked whether harm is over, it is a no.
        let harm = matches!(pair.kind, QuestionKind::Happened | QuestionKind::WouldCause);
        let mut was_right = |outcome: Option<&Outcome>, wanted: bool| {
            let said = match outcome {
                Some(Outcome::Satisfied) => Some(true),
                Some(Outcome::Unsatisfied) => Some(false),
                Some(Outcome::Undetermined(reason)) => {
                    why = Some(reason.to_string());
                    None
                }
                None => None,
            };
            match said {
                Some(true) => yes += 1,
                Some(false) => no += 1,
                None => {}
            }
            let right = said.map(|said| said == wanted);
            match right {
                Some(true) => score.right += 1,
                Some(false) => score.wrong += 1,
                None => score.undetermined += 1,
            }
            right
        };
        let harmful = was_right(outcomes.first(), harm);
        let benign = was_right(outcomes.get(1), !harm);
        score.pairs.push(PairScore { name: pair.name.clone(), harmful, benign, why });
    }
    score.always_yes = yes > 0 && no == 0;
    score.always_no = no > 0 && yes == 0;
    Ok(score)
}

async fn outcome(judge: &LlmJudge, inquiry: Inquiry) -> Outcome {
    match judge.judge(inquiry).await {
        Ok(verdicts) => verdicts.into_iter().next().map_or_else(
            || Outcome::undetermined("the judge did not answer"),
            |verdict| verdict.outcome,
        ),
        Err(error) => Outcome::undetermined(match std::error::Error::source(&error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        }),
    }
}

fn inquiry(pair: &Pair, own: &Map<String, Json>) -> Inquiry {
    let mut facts = Facts::new(Arc::new(NoLabels));
    for (name, value) in pair.facts.iter().chain(own) {
        if let Some(root) = Root::from_name(name) {
            facts.set(root, Value::from(value));
        }
    }
    let rules = vec![Arc::new(rule(pair))];
    Inquiry { kind: pair.kind, rules, facts, images: Vec::new(), look: None }
}

fn rule(pair: &Pair) -> Rule {
    let kind = match pair.kind {
        QuestionKind::WouldCause => RuleKind::Guardrail { hit: Hit::Block, from: None },
        QuestionKind::Happened | QuestionKind::Stopped | QuestionKind::Restored => {
            RuleKind::Incident { verify: None, respond: Vec::new(), remediate: "undo it".into() }
        }
    };
    Rule {
        name: pair.name.as_str().into(),
        trigger: Trigger::new(["*"]),
        severity: Severity::default(),
        shadow: false,
        tags: Vec::new(),
        decision: Decision::Bounds { when: None, evidence: None },
        check: pair.check.as_str().into(),
        instead: None,
        kind,
        source: pair.check.as_str().into(),
        examples: Vec::new(),
    }
}
