//! Decides one point of a step: supplies facts and answers until the core has what it needs.

use std::sync::Arc;

use air_core::{
    effects::Effects,
    evaluation::{Advance, Decided, Evaluation, Finding, FindingRecord, Point},
    fact::{Facts, Root, Roots},
    id::PayloadId,
    outcome::{Outcome, Verdict},
    port::{JournalError, ReadOnly},
    question::{Inquiry, QuestionKind},
    rule::Rule,
};

use crate::{Ports, facts::Scene, session::RuntimeError};

/// Supplies facts and answers until the evaluation is decided.
pub(crate) async fn decide<P: Point>(
    scene: &Scene<'_>,
    mut evaluation: Evaluation<P>,
    facts: &mut Facts,
    effects: Option<&Effects>,
) -> Decided<P::Decision> {
    loop {
        match evaluation.advance(facts) {
            Advance::Need(roots) => scene.supply(facts, roots, effects).await,
            Advance::Ask(questions) => {
                let (at, rules): (Vec<_>, Vec<_>) = questions.into_iter().unzip();
                let inquiry = inquiry(scene, P::QUESTION, rules, facts, effects).await;
                let verdicts = judge(scene.ports, inquiry).await;
                at.into_iter()
                    .zip(verdicts)
                    .for_each(|(at, verdict)| evaluation.answer(at, verdict));
            }
            Advance::Decided(decided) => return decided,
        }
    }
}

/// All that a judge is shown of a step: facts that no condition asked for are collected now.
pub(crate) async fn inquiry(
    scene: &Scene<'_>,
    kind: QuestionKind,
    rules: Vec<Arc<Rule>>,
    facts: &mut Facts,
    effects: Option<&Effects>,
) -> Inquiry {
    let all: Roots = Root::ALL.into_iter().collect();
    scene.supply(facts, all.without(facts.supplied()), effects).await;
    Inquiry {
        kind,
        rules,
        facts: facts.clone(),
        images: scene.images(),
        look: Some(ReadOnly::new(Arc::clone(&scene.ports.tools))),
    }
}

/// Asks the judge: a verdict a rule, in order. One that is absent or fails could not tell.
pub(crate) async fn judge(ports: &Ports, inquiry: Inquiry) -> Vec<Verdict> {
    let wanted = inquiry.rules.len();
    let answered = match &ports.judge {
        Some(judge) => judge.judge(inquiry).await.map_err(|error| told(&error)),
        None => Err("no judge is configured".into()),
    };
    verdicts(answered, wanted)
}

/// An error with its causes, in one line.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
        cause = inner.source();
    }
    air_core::redact::redact(&line)
}

fn redacted(verdict: Verdict) -> Verdict {
    use air_core::redact::redact;
    Verdict {
        outcome: match verdict.outcome {
            Outcome::Undetermined(why) => Outcome::undetermined(redact(&why)),
            told => told,
        },
        rationale: redact(&verdict.rationale),
        quotes: verdict.quotes.iter().map(|quote| redact(quote)).collect(),
        ..verdict
    }
}

/// As many verdicts as were asked for; what is missing could not be told.
pub(crate) fn verdicts(answered: Result<Vec<Verdict>, String>, wanted: usize) -> Vec<Verdict> {
    let undetermined =
        |why: &str| Verdict::by_condition(Outcome::undetermined(why), "the judge did not answer");
    match answered {
        Ok(verdicts) if verdicts.len() <= wanted => {
            // What a judge says may repeat what it was shown.
            let mut verdicts: Vec<Verdict> = verdicts.into_iter().map(redacted).collect();
            let missing = "the judge did not answer this question";
            verdicts.resize_with(wanted, || undetermined(missing));
            verdicts
        }
        Ok(_) => vec![undetermined("the judge gave more answers than there are questions"); wanted],
        Err(why) => vec![undetermined(&why); wanted],
    }
}

pub(crate) fn records<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<FindingRecord> {
    findings.into_iter().map(Finding::record).collect()
}

/// Keeps `content` beside the journal, as JSON.
pub(crate) async fn payload(
    ports: &Ports,
    content: &impl serde::Serialize,
) -> Result<PayloadId, RuntimeError> {
    let json = serde_json::to_vec(content)
        .map_err(|error| JournalError::Unusable(format!("cannot be written as JSON: {error}")))?;
    Ok(ports.journal.put_payload(&json).await?)
}

/// What an agent is told when its call is refused.
pub(crate) fn refusal(hits: &[Finding], undetermined: &[Finding]) -> String {
    let hit = hits.iter().map(|finding| {
        let rule = &finding.rule;
        let check = rule.check.split_whitespace().collect::<Vec<_>>().join(" ");
        let instead = match &rule.instead {
            Some(instead) => {
                format!(" Instead: {}", instead.split_whitespace().collect::<Vec<_>>().join(" "))
            }
            None => String::new(),
        };
        format!("guardrail @{}: {check}{instead}", rule.name)
    });
    let unknown = undetermined.iter().map(|finding| {
        let why = match &finding.verdict.outcome {
            Outcome::Undetermined(why) => why.as_ref(),
            Outcome::Satisfied | Outcome::Unsatisfied => "",
        };
        format!("guardrail @{} could not be decided: {why}", finding.rule.name)
    });
    hit.chain(unknown).collect::<Vec<_>>().join("; ")
}
