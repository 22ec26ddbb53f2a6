//! Learns a guardrail from an incident, on all that the journal holds of incidents and of benign work.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use air_core::{
    effects::Effects,
    fact::{Facts, Root, Roots},
    guardrail::{Guardrail, Mode, Provenance},
    id::{IncidentId, RuleName},
    incident::{Adopted, Classification, Incident, Input},
    port::{
        Event, Harm, Journal, PastStep, Proposal, ShadowRecord, Stream, Synthesis, SynthesisRequest,
    },
    rule::Rule,
    session::SessionEvent,
    step::{CompletedStep, ProposedStep},
};

use crate::{
    Ports,
    facts::{History, Scene},
    replay::{Found, RecordedStep, recorded_steps},
    respond::{Case, Context},
    session::RuntimeError,
};

/// Steps that are looked at, newest first.
const MOST_STEPS: usize = 1024;
/// Sessions that are asked for what rules in shadow held on.
const MOST_SESSIONS: usize = 256;
/// Examples that a guardrail keeps, the last ones.
const MOST_EXAMPLES: usize = 8;
/// How much of each it keeps.
const MOST_EXAMPLE_BYTES: usize = 2048;
/// Earlier incidents of the same rule.
const MOST_HARMS: usize = 16;

/// What is known beside an incident's own step.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// Steps that no rule objected to.
    pub benign: Vec<PastStep>,
    /// Steps that led to earlier incidents of the same rule, oldest first; the last ones count.
    pub harms: Vec<Harm>,
    /// What became of the steps on which rules in shadow have held.
    pub shadows: Vec<ShadowRecord>,
}

/// An incident to learn from.
#[derive(Debug, Clone, Copy)]
pub struct Lesson<'a> {
    /// The task of its session.
    pub task: &'a str,
    /// The agent's name.
    pub agent: &'a str,
    /// The incident.
    pub incident: &'a Incident,
    /// The rule that leads it.
    pub rule: &'a Rule,
    /// The step that caused it.
    pub step: &'a CompletedStep,
    /// What the step changed.
    pub effects: &'a Effects,
}

/// Learns a guardrail as a session does when it eradicates, into `ports.guardrails`, on evidence that
/// is given. Nothing is executed or journaled.
///
/// # Errors
///
/// Why no guardrail could be learned.
pub async fn learn(
    ports: &Ports,
    lesson: &Lesson<'_>,
    evidence: &Evidence,
) -> Result<Adopted, String> {
    let existing = ports.guardrails.current().await.map_err(|error| error.to_string())?;
    let history = History::default();
    match synthesize(ports, lesson, &history, evidence, &existing).await {
        Input::Adopted(adopted) => Ok(adopted),
        Input::SynthesisFailed(why) => Err(why),
        _ => Err("no guardrails are learned here".to_owned()),
    }
}

/// A step as evidence, at the beginning of a session.
pub fn past_step(ports: &Ports, step: &ProposedStep) -> PastStep {
    let code = History::default().read(ports, step);
    PastStep { plan: step.plan.clone(), call: step.call.clone(), code }
}

/// Learns from `incident`.
pub(crate) async fn eradicate(
    case: &Case,
    ports: &Ports,
    context: &Context<'_>,
    incident: &Incident,
) -> Input {
    if ports.synthesizer.is_none() {
        return Input::SynthesisOff;
    }
    let existing = match ports.guardrails.current().await {
        Ok(existing) => existing,
        Err(error) => return Input::SynthesisFailed(error.to_string()),
    };
    // A crash between storing a guardrail and journaling it leaves it stored.
    let ours =
        existing.iter().find(|guardrail| guardrail.provenance.incident() == Some(incident.id()));
    if let Some(guardrail) = ours {
        let (id, version) = (guardrail.id.clone(), guardrail.version);
        return Input::Adopted(Adopted { id, version });
    }
    let Some(rule) = case.rules.first() else {
        return Input::SynthesisFailed("no rule leads the incident".into());
    };
    let evidence = match evidence(ports, &rule.name, incident.id()).await {
        Ok(evidence) => evidence,
        Err(error) => return Input::SynthesisFailed(error.to_string()),
    };
    let (task, agent, step, effects) = (context.task, context.agent, &case.step, &case.effects);
    let lesson = Lesson { task, agent, incident, rule, step, effects };
    synthesize(ports, &lesson, context.history, &evidence, &existing).await
}

async fn synthesize(
    ports: &Ports,
    lesson: &Lesson<'_>,
    history: &History,
    evidence: &Evidence,
    existing: &[Guardrail],
) -> Input {
    let Some(synthesizer) = &ports.synthesizer else {
        return Input::SynthesisOff;
    };
    let Lesson { incident, rule, step, effects, .. } = *lesson;
    let code = history.read(ports, &step.proposed);
    let facts = facts_before(ports, lesson, history).await;
    let extra = evidence.harms.len().saturating_sub(MOST_HARMS);
    let request = SynthesisRequest {
        incident,
        rule,
        step,
        code: &code,
        effects,
        facts: &facts,
        harms: evidence.harms.get(extra..).unwrap_or_default(),
        benign: &evidence.benign,
        existing,
        shadows: &evidence.shadows,
    };
    match synthesizer.synthesize(request).await {
        Ok(Synthesis::Covered { id, version }) => Input::Adopted(Adopted { id, version }),
        Ok(Synthesis::Proposed(proposal)) => {
            let earlier = existing.iter().find(|held| held.id == proposal.id);
            let examples = examples(earlier, &step.proposed);
            adopt(ports, incident.id(), &rule.name, proposal, examples).await
        }
        Err(error) => Input::SynthesisFailed(error.to_string()),
    }
}

/// What tells later what the guardrail is about: the last plans and calls that it answers.
fn examples(earlier: Option<&Guardrail>, step: &ProposedStep) -> Vec<String> {
    let arguments = step.call.arguments.values().filter_map(serde_json::Value::as_str);
    let call = arguments.collect::<Vec<_>>().join("\n");
    let mut example = air_core::redact::redact(&format!("{}\n{call}", step.plan));
    example.truncate(example.floor_char_boundary(MOST_EXAMPLE_BYTES));
    let mut all = earlier.map(|held| held.examples.clone()).unwrap_or_default();
    if !all.contains(&example) {
        all.push(example);
    }
    let extra = all.len().saturating_sub(MOST_EXAMPLES);
    all.split_off(extra)
}

async fn adopt(
    ports: &Ports,
    incident: &IncidentId,
    rule: &RuleName,
    proposal: Proposal,
    examples: Vec<String>,
) -> Input {
    // What cannot be read back would stop every later session from starting.
    for text in std::iter::once(&proposal.text).chain(&proposal.wider) {
        if let Err(why) = ports.rules.rule(text) {
            return Input::SynthesisFailed(format!("the guardrail does not parse: {why}"));
        }
    }
    let provenance = match proposal.replaces {
        None => Provenance::Synthesized { incident: incident.clone(), by: proposal.by },
        Some(replaces) => Provenance::Refined { replaces, incident: Some(incident.clone()) },
    };
    let guardrail = Guardrail {
        id: proposal.id,
        version: proposal.replaces.unwrap_or(0) + 1,
        text: proposal.text,
        mode: Mode::Enforce,
        rule: Some(rule.clone()),
        wider: proposal.wider,
        tried: Some(proposal.tried),
        examples,
        provenance,
        created_at: ports.clock.now(),
    };
    match ports.guardrails.put(&guardrail).await {
        Ok(()) => Input::Adopted(Adopted { id: guardrail.id, version: guardrail.version }),
        Err(error) => Input::SynthesisFailed(error.to_string()),
    }
}

/// Gives up wider forms that have held on benign steps: they would have refused ordinary work.
pub(crate) async fn narrow(ports: &Ports, mistaken: &[RuleName]) -> Result<(), RuntimeError> {
    if mistaken.is_empty() {
        return Ok(());
    }
    for guardrail in ports.guardrails.current().await? {
        let Some(wider) = &guardrail.wider else { continue };
        let is_mistaken = ports.rules.rule(wider).is_ok_and(|rule| mistaken.contains(&rule.name));
        if is_mistaken {
            let narrowed = Guardrail {
                version: guardrail.version + 1,
                wider: None,
                provenance: Provenance::Refined { replaces: guardrail.version, incident: None },
                created_at: ports.clock.now(),
                ..guardrail
            };
            ports.guardrails.put(&narrowed).await?;
        }
    }
    Ok(())
}

/// What could be known before the step that led to the incident.
async fn facts_before(ports: &Ports, lesson: &Lesson<'_>, history: &History) -> Facts {
    let scene = Scene {
        ports,
        session: &lesson.incident.detection().session,
        task: lesson.task,
        agent: lesson.agent,
        history,
        step: &lesson.step.proposed,
        after: None,
        code: OnceLock::new(),
    };
    let mut facts = scene.facts();
    let before: Roots = Root::ALL.into_iter().filter(|root| root.seen_before()).collect();
    scene.supply(&mut facts, before, None).await;
    facts
}

/// What the journal tells, beside the incident's own step.
async fn evidence(
    ports: &Ports,
    rule: &RuleName,
    incident: &IncidentId,
) -> Result<Evidence, RuntimeError> {
    let mut found = Evidence::default();
    let (mut session, mut history) = (None, History::default());
    for recorded in recorded_steps(&*ports.journal, MOST_STEPS).await? {
        let RecordedStep { session: of, step, effects, found: verdict, .. } = recorded;
        if session.as_ref() != Some(&of) {
            (session, history) = (Some(of), History::default());
        }
        let code = history.read(ports, &step.proposed);
        let past = PastStep {
            plan: step.proposed.plan.clone(),
            call: step.proposed.call.clone(),
            code: Arc::clone(&code),
        };
        match verdict {
            // Of an incident, a person may have said that it was none.
            Found::Nothing
            | Found::Incident {
                classification: Some(Classification::FalsePositive | Classification::BenignPositive),
                ..
            } => found.benign.push(past),
            Found::Incident { id, rules, .. } if id != *incident && rules.first() == Some(rule) => {
                found.harms.push(Harm { incident: id, step: past, effects: effects.clone() });
            }
            Found::Incident { .. } | Found::Undetermined(_) => {}
        }
        history.push(&step, effects, &code, &*ports.workspace);
    }
    found.shadows = shadows(&*ports.journal).await?;
    Ok(found)
}

/// What became of the steps on which rules in shadow have held.
async fn shadows(journal: &dyn Journal) -> Result<Vec<ShadowRecord>, RuntimeError> {
    let mut records: HashMap<RuleName, (u32, u32)> = HashMap::new();
    let mut sessions = 0;
    for stream in journal.streams().await?.into_iter().rev() {
        let Stream::Session(_) = stream else { continue };
        if sessions == MOST_SESSIONS {
            break;
        }
        sessions += 1;
        let mut held: HashMap<u32, Vec<RuleName>> = HashMap::new();
        for record in journal.read(&stream).await? {
            let Event::Session(event) = record.event else { continue };
            let (index, is_incident) = match event {
                SessionEvent::Gated { index, shadow, .. } => {
                    held.entry(index).or_default().extend(shadow.into_iter().map(|it| it.rule));
                    continue;
                }
                SessionEvent::ResponseStarted { index, .. } => (index, true),
                SessionEvent::StepReviewed { index, .. } => (index, false),
                _ => continue,
            };
            for rule in held.remove(&index).unwrap_or_default() {
                let (incidents, benign) = records.entry(rule).or_default();
                *(if is_incident { incidents } else { benign }) += 1;
            }
        }
    }
    let record = |(rule, (incidents, benign))| ShadowRecord { rule, incidents, benign };
    Ok(records.into_iter().map(record).collect())
}
