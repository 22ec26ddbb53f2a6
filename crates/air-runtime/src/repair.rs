//! Mends the program of a step, and proves it: the mended one is run, and no rule that found the
//! incident may hold on that run. What the run did is taken back.
//!
//! A repair is an extra to containment: one that is not proved is told, and no person is waited for.

use std::sync::OnceLock;

use air_core::{
    id::PayloadId,
    incident::{Action, Exhibit, Incident, IncidentEvent, Input},
    outcome::Outcome,
    port::{Event, JournalError, Stream, Tier},
    redact::redact,
    step::{CompletedStep, Observation, ProposedStep, ToolCall},
};

use crate::{
    Ports,
    decide::payload,
    facts::Scene,
    respond::{Case, Context, record, supply},
    session::RuntimeError,
};

/// The repair of a step's program, where there is a certain way.
pub(crate) async fn plan(
    ports: &Ports,
    step: &CompletedStep,
    code: &air_core::code::CodeFacts,
) -> Result<Option<Action>, RuntimeError> {
    // Elsewhere what the mended program does could not be taken back.
    if ports.workspace.tier() != Tier::T3 {
        return Ok(None);
    }
    let call = &step.proposed.call;
    let repaired = ports.repairer.as_ref().and_then(|repairer| repairer.repair(call, code));
    let Some(repaired) = repaired else { return Ok(None) };
    let arguments = payload(ports, &repaired.arguments).await?;
    let said = redact(&repaired.said.join("; "));
    Ok(Some(Action::Repair { tool: call.tool.clone(), arguments, said }))
}

/// What begins the name of a mended program that is kept.
const KEPT: &str = "repaired.";

/// The program that was mended and proved, if one was.
pub fn proved<'a>(events: impl IntoIterator<Item = &'a IncidentEvent>) -> Option<&'a Exhibit> {
    let exhibits = events.into_iter().flat_map(|event| match event {
        IncidentEvent::Preserved { exhibits } => exhibits.as_slice(),
        _ => &[],
    });
    exhibits.filter(|exhibit| exhibit.name.starts_with(KEPT)).last()
}

/// Whether a mended program was proved.
pub(crate) async fn is_proved(ports: &Ports, incident: &Incident) -> Result<bool, JournalError> {
    let records = ports.journal.read(&Stream::Incident(incident.id().clone())).await?;
    let events = records.iter().filter_map(|record| match &record.event {
        Event::Incident(event) => Some(event),
        Event::Session(_) => None,
    });
    Ok(proved(events).is_some())
}

/// Proves a repair and keeps the program. Either way nothing is left to be done.
pub(crate) async fn perform(
    ports: &Ports,
    context: &Context<'_>,
    case: &Case,
    incident: &mut Incident,
    program: (&str, &PayloadId, &str),
) -> Result<Input, RuntimeError> {
    let said = match prove(ports, context, case, incident, program).await {
        Ok((said, exhibits)) => {
            record(ports, incident, Input::Preserved(exhibits)).await?;
            said
        }
        Err(why) => format!("no repair: {why}"),
    };
    Ok(Input::Finished(Ok(said)))
}

/// Runs the mended program; says that it proved sound, with the program, or why not.
async fn prove(
    ports: &Ports,
    context: &Context<'_>,
    case: &Case,
    incident: &Incident,
    (tool, arguments, said): (&str, &PayloadId, &str),
) -> Result<(String, Vec<Exhibit>), String> {
    let json = ports.journal.payload(arguments).await.map_err(|error| error.to_string())?;
    let json = json.ok_or("the mended program was erased")?;
    let arguments = serde_json::from_slice(&json).map_err(|error| error.to_string())?;
    let id = format!("{}.repair", incident.id());
    let call = ToolCall { id: id.as_str().into(), tool: tool.to_owned(), arguments };
    let before = ports.workspace.checkpoint().await.map_err(|error| redact(&error.to_string()))?;
    let (called, seen) = match ports.tools.call(&call).await {
        Ok(observation) => (observation.error.clone().map_or(Ok(()), Err), Some(observation)),
        Err(error) => (Err(error.to_string()), None),
    };
    let step = ProposedStep { call, ..case.step.proposed.clone() };
    let scene = Scene {
        ports,
        session: &incident.detection().session,
        task: context.task,
        agent: context.agent,
        history: context.history,
        step: &step,
        after: Some((&seen, &before)),
        code: OnceLock::new(),
    };
    let judged = judge(&scene, case).await;
    // Whatever it did, it did in the agent's place without being asked.
    let back = ports.workspace.rollback(&before).await;
    called.map_err(|error| redact(&format!("the mended program failed: {error}")))?;
    let is_silent = |seen: &Option<Observation>| {
        seen.as_ref().is_none_or(|observation| observation.content.trim().is_empty())
    };
    if is_silent(&seen) && !is_silent(&case.step.observation) {
        return Err("the mended program prints nothing, and the first one did".to_owned());
    }
    judged?;
    back.map_err(|error| redact(&format!("what the mended program did is left: {error}")))?;
    let kept = keep(ports, &scene, case).await?;
    Ok((format!("{said}; ran the mended program, and no rule holds on it"), kept))
}

/// No rule that found the incident holds on the run.
async fn judge(scene: &Scene<'_>, case: &Case) -> Result<(), String> {
    let mut facts = scene.facts();
    for rule in &case.rules {
        let Some(condition) = rule.decision.sufficient() else {
            return Err(format!("@{} cannot be decided without a model", rule.name));
        };
        supply(scene, &mut facts, condition.reads()).await;
        match condition.evaluate(&facts) {
            Outcome::Unsatisfied => {}
            Outcome::Satisfied => {
                return Err(format!("@{} holds on the mended program too", rule.name));
            }
            Outcome::Undetermined(why) => {
                return Err(format!("@{} cannot be told of the mended program: {why}", rule.name));
            }
        }
    }
    Ok(())
}

/// The arguments that were mended, as evidence.
async fn keep(ports: &Ports, scene: &Scene<'_>, case: &Case) -> Result<Vec<Exhibit>, String> {
    let ending = match scene.code().language.as_deref() {
        Some("python") => "py",
        Some("shell") => "sh",
        _ => "txt",
    };
    let before = &case.step.proposed.call.arguments;
    let mut kept = Vec::new();
    for (name, value) in &scene.step.call.arguments {
        let Some(text) = value.as_str().filter(|_| before.get(name) != Some(value)) else {
            continue;
        };
        let content = ports.journal.put_payload(text.as_bytes()).await;
        let content = content.map_err(|error| format!("the program was not kept: {error}"))?;
        let size = u64::try_from(text.len()).unwrap_or(u64::MAX);
        kept.push(Exhibit { name: format!("{KEPT}{ending}"), size, content });
    }
    Ok(kept)
}
