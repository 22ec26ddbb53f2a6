//! Mends the program of a step, and proves it: the mended one is run, and no rule that found the
//! incident may hold on that run. What the run did is taken back, after a crash in between too.
//!
//! A repair is an extra to containment: one that is not proved is told, and no person is waited for.

use std::sync::OnceLock;

use air_core::{
    id::{ActionId, CheckpointId, PayloadId},
    incident::{Action, Exhibit, Incident, IncidentEvent, Input},
    outcome::Outcome,
    port::{Event, JournalError, Stream, Tier},
    redact::redact,
    step::{Arguments, CompletedStep, Observation, ProposedStep, ToolCall},
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

/// The name of the checkpoint that what the mended program did is taken back to.
const BEFORE: &str = "repair.checkpoint";
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

/// Proves a repair and keeps the program. Where that fails nothing is left to be done, unless what
/// the run did could not be taken back.
pub(crate) async fn perform(
    ports: &Ports,
    context: &Context<'_>,
    case: &Case,
    incident: &mut Incident,
    (tool, arguments, said): (&str, &PayloadId, &str),
) -> Result<Input, RuntimeError> {
    let unproved = |why: &str| Ok(Input::Finished(Ok(format!("no repair: {}", redact(why)))));
    let arguments = match mended(ports, arguments).await {
        Ok(arguments) => arguments,
        Err(why) => return unproved(&why),
    };
    let before = match ports.workspace.checkpoint().await {
        Ok(before) => before,
        Err(error) => return unproved(&error.to_string()),
    };
    // Whoever goes on after a crash has to know what to go back to.
    let text = before.as_str().as_bytes();
    let content = ports.journal.put_payload(text).await?;
    let mark = Exhibit { name: BEFORE.to_owned(), size: length(text), content };
    record(ports, incident, Input::Preserved(vec![mark])).await?;
    let id = format!("{}.repair", incident.id());
    let call = ToolCall { id: id.as_str().into(), tool: tool.to_owned(), arguments, native: None };
    let step = ProposedStep { call, ..case.step.proposed.clone() };
    let proved = prove(ports, context, case, incident, (&step, &before)).await;
    // Whatever it did, it did in the agent's place without being asked.
    if let Err(error) = ports.workspace.rollback(&before).await {
        let why = redact(&format!("what the mended program did is left: {error}"));
        return Ok(Input::Finished(Err(why)));
    }
    let kept = match proved {
        Ok(ending) => keep(ports, &step, case, ending).await,
        Err(why) => Err(why),
    };
    match kept {
        Ok(exhibits) => {
            record(ports, incident, Input::Preserved(exhibits)).await?;
            let said = format!("{said}; ran the mended program, and no rule holds on it");
            Ok(Input::Finished(Ok(said)))
        }
        Err(why) => unproved(&why),
    }
}

/// Takes back what a mended program did that ran when a process ended. It is not run again.
pub(crate) async fn reconcile(
    ports: &Ports,
    incident: &Incident,
    id: &ActionId,
) -> Result<Input, RuntimeError> {
    let Some(before) = ran_after(ports, incident, id).await? else {
        let said = "no repair: AIR ended before the mended program ran";
        return Ok(Input::Finished(Ok(said.to_owned())));
    };
    let before = ports.journal.payload(&before).await?.map(String::from_utf8);
    let Some(Ok(before)) = before else { return Ok(Input::Lost) };
    Ok(match ports.workspace.rollback(&CheckpointId::from(before.as_str())).await {
        Ok(_) => {
            let said = "AIR ended while the mended program ran; what it did was taken back";
            Input::Finished(Ok(said.to_owned()))
        }
        Err(_) => Input::Lost,
    })
}

/// The state before the run of an action, if it may have begun to run.
async fn ran_after(
    ports: &Ports,
    incident: &Incident,
    id: &ActionId,
) -> Result<Option<PayloadId>, JournalError> {
    let records = ports.journal.read(&Stream::Incident(incident.id().clone())).await?;
    let mut before = None;
    for record in records {
        match record.event {
            Event::Incident(IncidentEvent::ActionStarted { action }) if action == *id => {
                before = None;
            }
            Event::Incident(IncidentEvent::Preserved { exhibits }) => {
                let mark = exhibits.into_iter().find(|exhibit| exhibit.name == BEFORE);
                before = mark.map(|mark| mark.content).or(before);
            }
            _ => {}
        }
    }
    Ok(before)
}

/// The mended arguments.
async fn mended(ports: &Ports, arguments: &PayloadId) -> Result<Arguments, String> {
    let json = ports.journal.payload(arguments).await.map_err(|error| error.to_string())?;
    let json = json.ok_or("the mended program was erased")?;
    serde_json::from_slice(&json).map_err(|error| error.to_string())
}

/// Runs the mended program, and says what it is written in; or why it does not prove sound.
async fn prove(
    ports: &Ports,
    context: &Context<'_>,
    case: &Case,
    incident: &Incident,
    (step, before): (&ProposedStep, &CheckpointId),
) -> Result<&'static str, String> {
    let (called, seen) = match ports.tools.call(&step.call).await {
        Ok(observation) => (observation.error.clone().map_or(Ok(()), Err), Some(observation)),
        Err(error) => (Err(error.to_string()), None),
    };
    called.map_err(|error| format!("the mended program failed: {error}"))?;
    let scene = Scene {
        ports,
        session: &incident.detection().session,
        task: context.task,
        agent: context.agent,
        history: context.history,
        step,
        after: Some((&seen, before)),
        code: OnceLock::new(),
    };
    let is_silent = |seen: &Option<Observation>| {
        seen.as_ref().is_none_or(|observation| observation.content.trim().is_empty())
    };
    if is_silent(&seen) && !is_silent(&case.step.observation) {
        return Err("the mended program prints nothing, and the first one did".to_owned());
    }
    judge(&scene, case).await?;
    Ok(match scene.code().language.as_deref() {
        Some("python") => "py",
        Some("shell") => "sh",
        _ => "txt",
    })
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
async fn keep(
    ports: &Ports,
    step: &ProposedStep,
    case: &Case,
    ending: &str,
) -> Result<Vec<Exhibit>, String> {
    let before = &case.step.proposed.call.arguments;
    let mut kept = Vec::new();
    for (name, value) in &step.call.arguments {
        let Some(text) = value.as_str().filter(|_| before.get(name) != Some(value)) else {
            continue;
        };
        let content = ports.journal.put_payload(text.as_bytes()).await;
        let content = content.map_err(|error| format!("the program was not kept: {error}"))?;
        let size = length(text.as_bytes());
        kept.push(Exhibit { name: format!("{KEPT}{ending}"), size, content });
    }
    Ok(kept)
}

fn length(content: &[u8]) -> u64 {
    u64::try_from(content.len()).unwrap_or(u64::MAX)
}
