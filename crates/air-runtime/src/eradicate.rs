//! Learns a guardrail from an incident, on all that the journal holds of incidents and of benign work.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use air_core::{
    effects::Effects,
    fact::{Facts, Root, Roots},
    guardrail::{Guardrail, Mode, Provenance},
    id::{IncidentId, RuleName, SessionId},
    incident::{Adopted, Classification, Incident, Input, State},
    port::{Event, Harm, PastStep, Proposal, ShadowRecord, Stream, Synthesis, SynthesisRequest},
    session::SessionEvent,
    step::CompletedStep,
};

use crate::{
    Ports,
    facts::{History, Scene},
    respond::{Case, Context, load, read},
    resume,
    session::RuntimeError,
};

/// Sessions that are looked at, newest first.
const MOST_SESSIONS: usize = 64;
/// Benign steps that a guardrail is tried on.
const MOST_BENIGN: usize = 1024;
/// Earlier incidents of the same rule.
const MOST_HARMS: usize = 16;

/// What the journal tells of other sessions.
#[derive(Default)]
struct Evidence {
    benign: Vec<PastStep>,
    harms: Vec<Harm>,
    shadows: Vec<ShadowRecord>,
}

/// Learns from `incident`.
pub(crate) async fn eradicate(
    case: &Case,
    ports: &Ports,
    context: &Context<'_>,
    incident: &Incident,
) -> Input {
    let Some(synthesizer) = &ports.synthesizer else {
        return Input::SynthesisOff;
    };
    let existing = match ports.guardrails.current().await {
        Ok(existing) => existing,
        Err(error) => return Input::SynthesisFailed(error.to_string()),
    };
    // A crash between storing a guardrail and journaling it leaves it stored.
    let ours = existing.iter().find(|guardrail| match &guardrail.provenance {
        Provenance::Synthesized { incident: of, .. } => of == incident.id(),
        Provenance::Refined { incident: of, .. } => of.as_ref() == Some(incident.id()),
        _ => false,
    });
    if let Some(guardrail) = ours {
        let (id, version) = (guardrail.id.clone(), guardrail.version);
        return Input::Adopted(Adopted { id, version });
    }
    let Some(rule) = case.rules.first() else {
        return Input::SynthesisFailed("no rule leads the incident".into());
    };
    let session = &incident.detection().session;
    let mut evidence = match evidence(ports, &rule.name, incident, session).await {
        Ok(evidence) => evidence,
        Err(error) => return Input::SynthesisFailed(error.to_string()),
    };
    evidence.benign.extend(context.history.calls());
    let code = context.history.read(ports, &case.step.proposed);
    let facts = facts_before(case, ports, context, incident).await;
    let request = SynthesisRequest {
        incident,
        rule,
        step: &case.step,
        code: &code,
        effects: &case.effects,
        facts: &facts,
        harms: &evidence.harms,
        benign: &evidence.benign,
        existing: &existing,
        shadows: &evidence.shadows,
    };
    match synthesizer.synthesize(request).await {
        Ok(Synthesis::Covered { id, version }) => Input::Adopted(Adopted { id, version }),
        Ok(Synthesis::Proposed(proposal)) => adopt(ports, incident.id(), proposal).await,
        Err(error) => Input::SynthesisFailed(error.to_string()),
    }
}

async fn adopt(ports: &Ports, incident: &IncidentId, proposal: Proposal) -> Input {
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
        wider: proposal.wider,
        tried: Some(proposal.tried),
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
async fn facts_before(
    case: &Case,
    ports: &Ports,
    context: &Context<'_>,
    incident: &Incident,
) -> Facts {
    let scene = Scene {
        ports,
        session: &incident.detection().session,
        task: context.task,
        agent: context.agent,
        history: context.history,
        step: &case.step.proposed,
        after: None,
        code: OnceLock::new(),
    };
    let mut facts = scene.facts();
    let before: Roots = Root::ALL.into_iter().filter(|root| root.seen_before()).collect();
    scene.supply(&mut facts, before, None).await;
    facts
}

async fn evidence(
    ports: &Ports,
    rule: &RuleName,
    incident: &Incident,
    session: &SessionId,
) -> Result<Evidence, RuntimeError> {
    let mut found = Evidence::default();
    let mut shadows: HashMap<RuleName, (u32, u32)> = HashMap::new();
    let (mut sessions, mut incidents) = (Vec::new(), Vec::new());
    for stream in ports.journal.streams().await? {
        match stream {
            Stream::Session(id) => sessions.push(id),
            Stream::Incident(id) if id != *incident.id() => incidents.push(id),
            Stream::Incident(_) => {}
        }
    }
    for id in sessions.into_iter().rev().take(MOST_SESSIONS) {
        let events: Vec<SessionEvent> = ports
            .journal
            .read(&Stream::Session(id.clone()))
            .await?
            .into_iter()
            .filter_map(|record| match record.event {
                Event::Session(event) => Some(event),
                Event::Incident(_) => None,
            })
            .collect();
        count_shadows(&events, &mut shadows);
        // The session's own steps are at hand.
        if id != *session && found.benign.len() < MOST_BENIGN {
            found.benign.extend(resume::history(ports, &events).await?.calls());
        }
    }
    found.benign.truncate(MOST_BENIGN);
    for id in incidents.into_iter().rev() {
        if found.harms.len() == MOST_HARMS {
            break;
        }
        match harm(ports, &id, rule).await? {
            Some(Said::Harm(harm)) => found.harms.push(harm),
            Some(Said::Benign(step)) => found.benign.push(step),
            None => {}
        }
    }
    found.harms.reverse();
    found.shadows = shadows
        .into_iter()
        .map(|(rule, (incidents, benign))| ShadowRecord { rule, incidents, benign })
        .collect();
    Ok(found)
}

/// What became of the steps on which rules in shadow held.
fn count_shadows(events: &[SessionEvent], shadows: &mut HashMap<RuleName, (u32, u32)>) {
    let mut held: HashMap<u32, Vec<RuleName>> = HashMap::new();
    for event in events {
        match event {
            SessionEvent::Gated { index, shadow, .. } => {
                held.entry(*index).or_default().extend(shadow.iter().map(|it| it.rule.clone()));
            }
            SessionEvent::ResponseStarted { index, .. } => {
                for rule in held.remove(index).unwrap_or_default() {
                    shadows.entry(rule).or_default().0 += 1;
                }
            }
            SessionEvent::StepReviewed { index, .. } => {
                for rule in held.remove(index).unwrap_or_default() {
                    shadows.entry(rule).or_default().1 += 1;
                }
            }
            _ => {}
        }
    }
}

/// What a person has said of an earlier incident, or has left standing.
enum Said {
    Harm(Harm),
    Benign(PastStep),
}

/// The step of an earlier incident of `rule`, or of any that a person has said to be none.
async fn harm(
    ports: &Ports,
    id: &IncidentId,
    rule: &RuleName,
) -> Result<Option<Said>, RuntimeError> {
    let incident = load(ports, id).await?;
    let detection = incident.detection();
    let leads = detection.findings.first().is_some_and(|finding| finding.rule == *rule);
    let dismissed = matches!(
        incident.state(),
        State::Closed(Classification::FalsePositive | Classification::BenignPositive)
    );
    if !leads && !dismissed {
        return Ok(None);
    }
    // What was erased is evidence of nothing.
    let step = read(ports, &detection.step).await?;
    let effects = read(ports, &detection.effects).await?;
    let step: Option<CompletedStep> = step.and_then(|json| serde_json::from_slice(&json).ok());
    let effects: Option<Effects> = effects.and_then(|json| serde_json::from_slice(&json).ok());
    let (Some(step), Some(effects)) = (step, effects) else { return Ok(None) };
    let code = History::default().read(ports, &step.proposed);
    let step =
        PastStep { plan: step.proposed.plan, call: step.proposed.call, code: Arc::clone(&code) };
    Ok(Some(if dismissed {
        Said::Benign(step)
    } else {
        Said::Harm(Harm { incident: id.clone(), step, effects })
    }))
}
