//! The agent responds to its own incident: what it is told, what it may do, and what is kept of it.
//!
//! Nothing that it says counts as proof. A call that is cut off, by a limit or a crash, is taken back.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use air_core::{
    effects::Change,
    id::{ActionId, CheckpointId, Timestamp},
    incident::{Action, Incident, IncidentEvent, Input, MAX_TRIES, Phase},
    outcome::Outcome,
    port::{BoxFuture, Event, Order, Report, ResponderError, Stream},
    redact::redact,
    rule::RuleKind,
};
use futures::future::{Either, select};

use crate::{
    Hand, Ports,
    gate::AgentAt,
    hands::{Guarded, take_back},
    respond::{Case, Context, record, restore},
    session::RuntimeError,
};

/// How much longer than its deadline a responder is waited for, to let it end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// Has the agent carry out what the rules say, as far as it does.
pub(crate) async fn perform(
    ports: &Ports,
    context: &Context<'_>,
    case: &Case,
    incident: &mut Incident,
    (id, action): (&ActionId, &Action),
) -> Result<Input, RuntimeError> {
    let Action::Order { told, fallback } = action else {
        return Ok(Input::Finished(Err("this is no order".to_owned())));
    };
    let responder = match hand(ports, context, incident, *fallback) {
        Some(Hand::Here(responder)) => responder,
        Some(Hand::Elsewhere) => {
            return Ok(Input::OrderGiven { deadline: deadline(ports, context) });
        }
        None if *fallback => {
            return Ok(Input::Finished(put_back(ports, context, case, incident).await));
        }
        None => return Ok(Input::Finished(without(ports, context, case, incident).await)),
    };
    let order = order(ports, context, case, incident, *told).await?;
    let at_work = AtomicBool::new(false);
    let mut hands = Guarded::new(ports, context, incident, id, &order, &at_work);
    let responding = responder.respond(&order, &mut hands);
    let answered = within(ports, responding, &order, &at_work).await;
    let calls = hands.calls();
    let left = stopped(ports, incident).await?;
    let Report { summary, confidence } = match answered {
        Ok(report) => report,
        Err(error) => return Ok(Input::Finished(Err(redact(&format!("{error}{left}"))))),
    };
    let confidence = if confidence.is_finite() { confidence.clamp(0.0, 1.0) } else { 0.0 };
    let summary = redact(&summary);
    record(ports, incident, Input::Reported { summary, confidence }).await?;
    let least = context.models.least_confidence;
    Ok(if confidence < least {
        let mut why =
            format!("the agent reports a confidence of {confidence:.2}, below {least:.2}");
        if *fallback {
            // A person looks at it; until then nothing of it is left in place.
            let back = put_back(ports, context, case, incident).await.unwrap_or_else(|why| why);
            why = format!("{why}; {back}");
        }
        Input::PortFailed(why)
    } else {
        let calls = if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") };
        let said = format!("the agent responded with {calls}; confidence {confidence:.2}{left}");
        Input::Finished(Ok(said))
    })
}

/// The agent that is to respond in this try; `None`: it is AIR's.
fn hand<'a>(
    ports: &'a Ports,
    context: &Context<'_>,
    incident: &Incident,
    fallback: bool,
) -> Option<&'a Hand> {
    let last = incident.tries() + 1 >= MAX_TRIES;
    ports.responder.as_ref().filter(|_| !(context.agent_at == AgentAt::Gone || last && fallback))
}

/// Nobody is there to respond. A person who asks for another try may have put it right by hand.
async fn without(
    ports: &Ports,
    context: &Context<'_>,
    case: &Case,
    incident: &Incident,
) -> Result<String, String> {
    match case.verify(ports, context, incident, Phase::Recovery).await {
        Input::Verified(verdict) if verdict.outcome == Outcome::Satisfied => {
            Ok("no agent is there to respond, and nothing is left to put right".to_owned())
        }
        _ => Err("no agent is there to respond".to_owned()),
    }
}

/// Until when an agent elsewhere is waited for.
fn deadline(ports: &Ports, context: &Context<'_>) -> Timestamp {
    Timestamp(ports.clock.now().0.saturating_add(time(context)))
}

/// Whether an agent elsewhere is waited for no more. Where far more time seems to be left than it ever had,
/// the clock has gone back.
pub(crate) fn is_over(ports: &Ports, context: &Context<'_>, deadline: Timestamp) -> bool {
    let now = ports.clock.now();
    let most = now.0.saturating_add(time(context).saturating_mul(2));
    deadline <= now || deadline.0 > most
}

/// How long an agent has, in milliseconds.
fn time(context: &Context<'_>) -> u64 {
    u64::try_from(context.models.response_time.as_millis()).unwrap_or(u64::MAX)
}

/// A process ended while an order was carried out: what that try began is no more.
pub(crate) async fn reconcile(
    ports: &Ports,
    context: &Context<'_>,
    case: &Case,
    incident: &Incident,
    fallback: bool,
) -> Result<Input, RuntimeError> {
    match hand(ports, context, incident, fallback) {
        None if fallback => {
            return Ok(Input::Finished(put_back(ports, context, case, incident).await));
        }
        Some(Hand::Elsewhere) => {
            return Ok(Input::OrderGiven { deadline: deadline(ports, context) });
        }
        None => return Ok(Input::Finished(without(ports, context, case, incident).await)),
        Some(Hand::Here(_)) => {}
    }
    let left = stopped(ports, incident).await?;
    Ok(Input::Finished(Err(format!("AIR ended while the agent responded{left}"))))
}

/// Waits for the agent as long as the order allows. A call under way ends by its own limit, and is
/// recorded, before the agent is left.
async fn within(
    ports: &Ports,
    mut responding: BoxFuture<'_, Result<Report, ResponderError>>,
    order: &Order,
    at_work: &AtomicBool,
) -> Result<Report, ResponderError> {
    let Some(background) = &ports.background else { return responding.await };
    let mut limit = order.deadline + GRACE;
    loop {
        match select(responding, background.sleep(limit)).await {
            Either::Left((answered, _)) => return answered,
            Either::Right(((), going)) if at_work.load(Ordering::SeqCst) => {
                (responding, limit) = (going, GRACE);
            }
            Either::Right(_) => return Err(ResponderError::Limit(format!("{:?}", order.deadline))),
        }
    }
}

/// Nothing that the agent began in response goes on, and a call that was cut off is taken back. What
/// there is to say of it.
async fn stopped(ports: &Ports, incident: &Incident) -> Result<String, RuntimeError> {
    let Some(cut) = cut_off(ports, incident).await? else { return Ok(String::new()) };
    Ok(format!("; its last call was cut off, and {}", take_back(ports, &cut).await))
}

/// The state before a call of the response that began and was never recorded as done.
async fn cut_off(ports: &Ports, incident: &Incident) -> Result<Option<CheckpointId>, RuntimeError> {
    let records = ports.journal.read(&Stream::Incident(incident.id().clone())).await?;
    let mut open = None;
    for record in records {
        match record.event {
            Event::Incident(IncidentEvent::AgentActing { checkpoint, .. }) => {
                open = Some(checkpoint);
            }
            // What earlier orders left was seen to when they ended.
            Event::Incident(
                IncidentEvent::AgentActed { .. } | IncidentEvent::ActionStarted { .. },
            ) => open = None,
            Event::Incident(_) | Event::Session(_) => {}
        }
    }
    Ok(open)
}

pub(crate) async fn order(
    ports: &Ports,
    context: &Context<'_>,
    case: &Case,
    incident: &Incident,
    told: bool,
) -> Result<Order, RuntimeError> {
    let remediate = case.rules.iter().filter_map(|rule| match &rule.kind {
        RuleKind::Incident { remediate, .. } if told => Some(remediate.to_string()),
        RuleKind::Incident { .. } | RuleKind::Guardrail { .. } => None,
    });
    let records = ports.journal.read(&Stream::Incident(incident.id().clone())).await?;
    let failures = records.into_iter().filter_map(|record| match record.event {
        Event::Incident(IncidentEvent::TryFailed { why, .. }) => Some(why),
        _ => None,
    });
    Ok(Order {
        incident: incident.id().clone(),
        task: context.task.to_owned(),
        rules: case.rules.clone(),
        remediate: remediate.collect(),
        step: case.step.clone(),
        evidence: incident.detection().evidence.clone(),
        failures: failures.collect(),
        max_calls: context.models.max_calls,
        deadline: context.models.response_time,
    })
}

/// AIR's own last try.
async fn put_back(
    ports: &Ports,
    context: &Context<'_>,
    case: &Case,
    incident: &Incident,
) -> Result<String, String> {
    let files = case.effects.files.items.iter();
    let created: Vec<String> =
        files.filter(|file| file.change == Change::Created).map(|file| file.path.clone()).collect();
    let mut said = vec!["AIR put the workspace back by itself".to_owned()];
    let told = |error: &dyn std::fmt::Display| redact(&error.to_string());
    said.push(ports.workspace.kill().await.map_err(|error| told(&error))?);
    if !created.is_empty() {
        let taken = ports.workspace.quarantine(incident.id(), &created).await;
        said.push(taken.map_err(|error| told(&error))?);
    }
    let back = restore(ports, context, case, incident).await;
    said.push(back.map_err(|error| told(&error))?);
    Ok(redact(&said.join("; ")))
}
