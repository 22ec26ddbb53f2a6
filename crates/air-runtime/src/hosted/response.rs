//! The agent responds to its incident by calls in its host.

use std::sync::{OnceLock, atomic::AtomicBool};

use air_core::{
    code::CodeFacts,
    id::{CallId, CheckpointId, IncidentId, RuleName},
    incident::{Action, Detection, Directive, Incident, IncidentEvent, Input, MAX_TRIES, Phase},
    outcome::Outcome,
    port::{Event, HandsError, Stream},
    redact::redact,
    session::SessionEvent,
    step::{CompletedStep, Observation, ProposedStep, ToolCall},
};

use super::{Hosted, Ordered, Told, outcome, scope};
use crate::{
    decide::payload,
    hands::Guarded,
    order::order,
    plan,
    respond::{self, Case, Until, record},
    session::{RuntimeError, Session, Ticket},
};

/// Lines of evidence in an order.
const LINES: usize = 8;

impl Hosted {
    /// How the incident stands: what the agent is to do, or that its task is over.
    pub(super) async fn stands(
        &mut self,
        id: &IncidentId,
        refused: Option<String>,
    ) -> Result<Told, RuntimeError> {
        let incident = respond::load(&*self.session.ports.journal, id).await?;
        if !matches!(incident.next(), Some(Directive::AwaitAgent(_))) {
            return Ok(over(&incident));
        }
        let session = &self.session;
        let case = Case::load(&session.ports, &incident).await?;
        let context = session.context();
        let order = order(&session.ports, &context, &case, &incident, is_told(&incident)).await?;
        let detection = incident.detection();
        let scene = session.scene(
            &case.step.proposed,
            Some((&case.step.observation, &detection.checkpoint)),
            OnceLock::new(),
        );
        let now = scene.effects(&detection.checkpoint).await;
        let still = plan::evidence(&now);
        let tries_left = u32::from(MAX_TRIES.saturating_sub(incident.tries()));
        let mut lines = vec![format!(
            "AIR has stopped your task: it led to an incident ({id}). {}",
            checks(&case)
        )];
        if let Some(why) = &refused {
            lines.insert(0, format!("AIR refused this call: {why}."));
        }
        if !still.is_empty() {
            let shown = still.iter().take(LINES).cloned().collect::<Vec<_>>();
            lines.push(format!("Still there: {}.", shown.join("; ")));
        }
        if let Some(last) = order.failures.last() {
            lines.push(format!("What was done so far is not enough: {last}."));
        }
        let told = order.remediate.join(" ");
        lines.push(if told.is_empty() {
            "Put right what it has done, and do nothing else; then end your turn.".to_owned()
        } else {
            format!("Do this, and nothing else: {told} Then end your turn.")
        });
        lines.push(format!(
            "AIR verifies it by itself. Other calls are refused. Tries left: {tries_left}."
        ));
        let calls = self.issue(&incident, &case, &now).await?;
        Ok(Told::Ordered(Ordered {
            incident: id.clone(),
            rules: rules(&incident),
            tries_left,
            message: lines.join("\n"),
            calls,
            refused,
        }))
    }

    /// The session takes no call any more.
    pub(super) async fn over(&self) -> Result<Told, RuntimeError> {
        let last = self.last_incident().await?;
        Ok(match last {
            Some(incident) => over(&incident),
            None => Told::Over {
                incident: None,
                rules: Vec::new(),
                message: "AIR: this session has ended".to_owned(),
            },
        })
    }

    pub(super) async fn last_incident(&self) -> Result<Option<Incident>, RuntimeError> {
        let journal = &*self.session.ports.journal;
        let records = journal.read(&Stream::Session(self.session.id().clone())).await?;
        let last = records.into_iter().rev().find_map(|record| match record.event {
            Event::Session(SessionEvent::ResponseStarted { incident, .. }) => Some(incident),
            _ => None,
        });
        match last {
            Some(id) => Ok(Some(respond::load(journal, &id).await?)),
            None => Ok(None),
        }
    }

    /// A call during the response: may it run?
    pub(super) async fn respond(
        &mut self,
        id: &IncidentId,
        call: ToolCall,
        plan: String,
    ) -> Result<Told, RuntimeError> {
        let mut incident = respond::load(&*self.session.ports.journal, id).await?;
        let Some((action, told)) = awaited(&incident) else { return Ok(over(&incident)) };
        let session = &self.session;
        let open = acting(session, &incident).await?;
        let same = open.iter().find(|(step, _)| step.call.id == call.id);
        if let Some((step, _)) = same {
            let is_it = step.call.tool == call.tool && step.call.arguments == call.arguments;
            let why = "another call of the response has its id".to_owned();
            return if is_it { Ok(super::go()) } else { self.stands(id, Some(why)).await };
        }
        let case = Case::load(&session.ports, &incident).await?;
        let context = session.context();
        let order = order(&session.ports, &context, &case, &incident, told).await?;
        let made = calls(session, &incident).await?;
        let detection = incident.detection();
        let step =
            ProposedStep { session: session.id().clone(), index: detection.index, plan, call };
        let at_work = AtomicBool::new(false);
        let code = read(session, &step);
        let absolute = |path: &str| session.ports.workspace.absolute(path);
        let outside = scope::outside(&code, &case.effects, &absolute);
        let mut hands =
            Guarded::new(&session.ports, &context, &mut incident, &action, &order, &at_work);
        let why = match outside {
            _ if goes_on(&step.call) => Some("it would go on in the background".to_owned()),
            _ if made >= order.max_calls => Some(format!("{made} calls were made")),
            Some(why) => Some(format!("it is no part of the response: {why}")),
            None => hands.gate(&step).await,
        };
        if let Some(why) = why {
            hands.refused(step, why.clone()).await.map_err(runtime)?;
            if made < order.max_calls {
                return self.stands(id, Some(redact(&why))).await;
            }
            let said = format!("the agent has made {made} calls");
            return self.take(id, Ok(said), Some(why)).await;
        }
        hands.begin(&step).await?;
        Ok(super::go())
    }

    /// A call of the response came back.
    pub(super) async fn responded(
        &mut self,
        id: &IncidentId,
        call: &CallId,
        seen: Observation,
    ) -> Result<Told, RuntimeError> {
        let mut incident = respond::load(&*self.session.ports.journal, id).await?;
        let Some((action, told)) = awaited(&incident) else { return Ok(over(&incident)) };
        let session = &self.session;
        let open = acting(session, &incident).await?;
        let Some((step, checkpoint)) = open.into_iter().find(|(step, _)| step.call.id == *call)
        else {
            return self.stands(id, None).await;
        };
        let case = Case::load(&session.ports, &incident).await?;
        let context = session.context();
        let order = order(&session.ports, &context, &case, &incident, told).await?;
        let at_work = AtomicBool::new(false);
        let mut hands =
            Guarded::new(&session.ports, &context, &mut incident, &action, &order, &at_work);
        let done = CompletedStep { proposed: step, observation: Some(seen) };
        if let Some(end) = hands.done(done, &checkpoint, false).await.map_err(runtime)? {
            return self.take(id, Err(redact(&end.to_string())), None).await;
        }
        // It may be done already: then nothing is waited for.
        let verdict = case.verify(&session.ports, &context, &incident, Phase::Recovery).await;
        match verdict {
            Input::Verified(verdict) if verdict.outcome == Outcome::Satisfied => {
                self.take(id, Ok("the agent has responded".to_owned()), None).await
            }
            _ => self.stands(id, None).await,
        }
    }

    /// The agent wants to end its turn: has it responded? Calls whose end was not told are examined first.
    pub(super) async fn wants_to_end(&mut self, id: &IncidentId) -> Result<Told, RuntimeError> {
        let incident = respond::load(&*self.session.ports.journal, id).await?;
        for (step, _) in acting(&self.session, &incident).await? {
            let told = self.responded(id, &step.call.id, Observation::default()).await?;
            if matches!(told, Told::Over { .. }) {
                return Ok(told);
            }
        }
        self.take(id, Ok("the agent wants to end its turn".to_owned()), None).await
    }

    async fn take(
        &mut self,
        id: &IncidentId,
        result: Result<String, String>,
        refused: Option<String>,
    ) -> Result<Told, RuntimeError> {
        let mut incident = respond::load(&*self.session.ports.journal, id).await?;
        if awaited(&incident).is_some() {
            record(&self.session.ports, &mut incident, Input::AgentAnswered(result)).await?;
        }
        self.session.drive(id, Until::RecoveryDecided).await?;
        match self.session.current() {
            Some(next) if next != *id => {
                self.session.drive(&next, Until::RecoveryDecided).await?;
                self.stands(&next, refused).await
            }
            _ => self.stands(id, refused).await,
        }
    }
}

impl Session {
    /// Takes up a call that ran although nobody asked before it: it is compared with what the last left
    /// that somebody asked about.
    pub(crate) async fn adopt(
        &mut self,
        call: ToolCall,
        plan: String,
    ) -> Result<Ticket, RuntimeError> {
        let checkpoint = match self.last_checkpoint().await? {
            Some(last) => {
                let left = self.ports.workspace.after(&last).await.ok().flatten();
                left.unwrap_or(last)
            }
            None => self.ports.workspace.checkpoint().await?,
        };
        let step = ProposedStep { session: self.id.clone(), index: self.next_index(), plan, call };
        let event = SessionEvent::StepStarted {
            index: step.index,
            call: step.call.id.clone(),
            tool: step.call.tool.clone(),
            step: payload(&self.ports, &step).await?,
            checkpoint: checkpoint.clone(),
            approval: None,
        };
        self.record(event, air_core::port::Durability::Power).await?;
        Ok(Ticket { is_unasked: true, ..Ticket::of(step, checkpoint) })
    }

    /// Whether a call of that id was let pass before.
    pub(crate) async fn has_had(&self, call: &CallId) -> Result<bool, RuntimeError> {
        let stream = Stream::Session(self.id.clone());
        let records = self.ports.journal.read(&stream).await?;
        Ok(records.iter().any(|record| {
            matches!(&record.event,
                Event::Session(SessionEvent::StepStarted { call: known, .. }) if known == call)
        }))
    }

    async fn last_checkpoint(&self) -> Result<Option<CheckpointId>, RuntimeError> {
        let stream = Stream::Session(self.id.clone());
        let records = self.ports.journal.read(&stream).await?;
        Ok(records.into_iter().rev().find_map(|record| match record.event {
            Event::Session(SessionEvent::StepStarted { checkpoint, .. }) => Some(checkpoint),
            _ => None,
        }))
    }
}

/// Whether the host is told not to wait for it.
fn goes_on(call: &ToolCall) -> bool {
    ["run_in_background", "background", "is_background", "async"]
        .into_iter()
        .any(|name| call.arguments.get(name).and_then(serde_json::Value::as_bool) == Some(true))
}

/// The order that the incident waits for, and whether the agent is told what rules say.
fn awaited(incident: &Incident) -> Option<(air_core::id::ActionId, bool)> {
    let waits = matches!(incident.next(), Some(Directive::AwaitAgent(_)));
    let action = incident.running().filter(|_| waits)?;
    Some((action.clone(), is_told(incident)))
}

fn is_told(incident: &Incident) -> bool {
    let Detection { response, .. } = incident.detection();
    response.iter().any(|planned| matches!(planned.action, Action::Order { told: true, .. }))
}

fn rules(incident: &Incident) -> Vec<RuleName> {
    incident.detection().findings.iter().map(|finding| finding.rule.clone()).collect()
}

fn checks(case: &Case) -> String {
    let each = case.rules.iter().map(|rule| {
        format!("@{}: {}", rule.name, rule.check.split_whitespace().collect::<Vec<_>>().join(" "))
    });
    each.collect::<Vec<_>>().join(" ")
}

fn over(incident: &Incident) -> Told {
    let rules = rules(incident);
    let named = rules.iter().map(|rule| format!("@{rule}")).collect::<Vec<_>>().join(", ");
    Told::Over {
        incident: Some(incident.id().clone()),
        message: format!(
            "AIR has ended this task: {named} (incident {}); {}. No call runs in this session any \
             more; a new task needs a new session. `airctl explain {}` tells what happened.",
            incident.id(),
            outcome(incident),
            incident.id(),
        ),
        rules,
    }
}

pub(super) fn read(session: &Session, step: &ProposedStep) -> std::sync::Arc<CodeFacts> {
    session.history.read(&session.ports, step)
}

/// Calls of the response that were let pass and did not come back yet.
pub(super) async fn acting(
    session: &Session,
    incident: &Incident,
) -> Result<Vec<(ProposedStep, CheckpointId)>, RuntimeError> {
    let journal = &*session.ports.journal;
    let mut open: Vec<(ProposedStep, CheckpointId)> = Vec::new();
    for record in journal.read(&Stream::Incident(incident.id().clone())).await? {
        let (step, checkpoint) = match record.event {
            Event::Incident(IncidentEvent::AgentActing { step, checkpoint, .. }) => {
                (step, Some(checkpoint))
            }
            Event::Incident(IncidentEvent::AgentActed { step, .. }) => (step, None),
            _ => continue,
        };
        let Some(json) = journal.payload(&step).await? else { continue };
        let Ok(done) = serde_json::from_slice::<CompletedStep>(&json) else { continue };
        match checkpoint {
            Some(checkpoint) => open.push((done.proposed, checkpoint)),
            None => open.retain(|(step, _)| step.call.id != done.proposed.call.id),
        }
    }
    Ok(open)
}

/// Calls that the agent has made, or tried to make, since it was told last.
async fn calls(session: &Session, incident: &Incident) -> Result<u32, RuntimeError> {
    let stream = Stream::Incident(incident.id().clone());
    let records = session.ports.journal.read(&stream).await?;
    let since = records.iter().rev().take_while(|record| {
        !matches!(record.event, Event::Incident(IncidentEvent::OrderGiven { .. }))
    });
    let acted = since
        .filter(|record| matches!(record.event, Event::Incident(IncidentEvent::AgentActed { .. })));
    Ok(u32::try_from(acted.count()).unwrap_or(u32::MAX))
}

/// What keeps a response from being recorded.
fn runtime(error: HandsError) -> RuntimeError {
    match error {
        HandsError::Failed(cause) => match cause.downcast::<RuntimeError>() {
            Ok(known) => *known,
            Err(other) => {
                RuntimeError::Broken { subject: "response".into(), why: other.to_string() }
            }
        },
        other => RuntimeError::Broken { subject: "response".into(), why: other.to_string() },
    }
}
