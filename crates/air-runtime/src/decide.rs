//! Decides one point of a step: supplies facts and answers until the core has what it needs.

use air_core::{
    effects::Effects,
    evaluation::{Advance, Decided, Evaluation, Finding, FindingRecord, Point},
    fact::Facts,
    id::PayloadId,
    outcome::{Outcome, Verdict},
    port::JournalError,
    question::{Question, QuestionKind},
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
                for (at, rule) in questions {
                    let verdict = judge(scene.ports, P::QUESTION, &rule, facts).await;
                    evaluation.answer(at, verdict);
                }
            }
            Advance::Decided(decided) => return decided,
        }
    }
}

/// Asks the judge. One that is absent or fails could not tell.
pub(crate) async fn judge(
    ports: &Ports,
    kind: QuestionKind,
    rule: &Rule,
    facts: &Facts,
) -> Verdict {
    let undetermined =
        |why: String| Verdict::by_condition(Outcome::undetermined(why), "the judge did not answer");
    match &ports.judge {
        Some(judge) => match judge.judge(Question { kind, rule, facts }).await {
            Ok(verdict) => verdict,
            Err(error) => undetermined(error.to_string()),
        },
        None => undetermined("no judge is configured".into()),
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
