//! The agent responds to its own incident: what it is told, what it may do, and what is kept of it.
//!
//! Nothing that it says counts as proof. Every call is guarded as before the incident, is recorded, and
//! is an incident itself where an AIR rule holds on it; then it is taken back, and the response ends.

use std::{sync::OnceLock, time::Duration};

use air_core::{
    effects::Change,
    evaluation::{Gate, Review},
    id::ActionId,
    incident::{Action, Incident, IncidentEvent, Input, MAX_TRIES},
    port::{
        BoxFuture, Event, Hands, HandsError, Order, Report, ResponderError, Stream, ToolError,
        ToolInfo,
    },
    redact::redact,
    rule::RuleKind,
    step::{Arguments, CompletedStep, Observation, ProposedStep, ToolCall},
};
use futures::future::{Either, select};

use crate::{
    Ports,
    decide::{decide, payload, refusal},
    facts::Scene,
    respond::{Case, Context, record},
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
    let last = incident.tries() + 1 >= MAX_TRIES;
    let responder = match &ports.responder {
        Some(responder) if !(last && *fallback) => responder,
        _ if *fallback => return Ok(Input::Finished(put_back(ports, case, incident).await)),
        _ => return Ok(Input::Finished(Err("no agent is there to respond".to_owned()))),
    };
    let order = order(ports, context, case, incident, *told).await?;
    let mut hands = Guarded { ports, context, incident, id, calls: 0, order: &order };
    let answered = {
        let respond = responder.respond(&order, &mut hands);
        match &ports.background {
            None => respond.await,
            Some(background) => {
                let limit = background.sleep(order.deadline + GRACE);
                match select(respond, limit).await {
                    Either::Left((answered, _)) => answered,
                    Either::Right(_) => Err(ResponderError::Limit(format!("{:?}", order.deadline))),
                }
            }
        }
    };
    let calls = hands.calls;
    let Report { summary, confidence } = match answered {
        Ok(report) => report,
        Err(error) => return Ok(Input::Finished(Err(redact(&error.to_string())))),
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
            let back = put_back(ports, case, incident).await.unwrap_or_else(|why| why);
            why = format!("{why}; {back}");
        }
        Input::PortFailed(why)
    } else {
        let calls = if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") };
        let said = format!("the agent responded with {calls}; confidence {confidence:.2}");
        Input::Finished(Ok(said))
    })
}

async fn order(
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
async fn put_back(ports: &Ports, case: &Case, incident: &Incident) -> Result<String, String> {
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
    let back = ports.workspace.rollback(&incident.detection().checkpoint).await;
    said.push(back.map_err(|error| told(&error))?);
    Ok(redact(&said.join("; ")))
}

/// The agent's tools while it responds.
struct Guarded<'a> {
    ports: &'a Ports,
    context: &'a Context<'a>,
    incident: &'a mut Incident,
    id: &'a ActionId,
    calls: u32,
    order: &'a Order,
}

impl Hands for Guarded<'_> {
    fn tools(&self) -> Vec<ToolInfo> {
        self.ports.tools.all()
    }

    fn call<'a>(
        &'a mut self,
        plan: &'a str,
        tool: &'a str,
        arguments: Arguments,
    ) -> BoxFuture<'a, Result<Observation, HandsError>> {
        Box::pin(async move {
            if self.calls >= self.order.max_calls {
                return Err(HandsError::Limit(format!("{} calls were made", self.calls)));
            }
            self.calls += 1;
            let step = ProposedStep {
                session: self.incident.detection().session.clone(),
                index: self.incident.detection().index,
                plan: plan.to_owned(),
                call: ToolCall {
                    id: format!("{}.{}", self.id, self.calls).as_str().into(),
                    tool: tool.to_owned(),
                    arguments,
                },
            };
            self.step(step).await
        })
    }
}

impl Guarded<'_> {
    async fn step(&mut self, step: ProposedStep) -> Result<Observation, HandsError> {
        if self.ports.tools.tool(&step.call.tool).is_none() {
            let why = format!("unknown tool `{}`", step.call.tool);
            return self.refused(step, why).await;
        }
        if let Some(why) = self.gate(&step).await {
            return self.refused(step, why).await;
        }
        let failed = |error: RuntimeError| HandsError::Failed(Box::new(error));
        let checkpoint =
            self.ports.workspace.checkpoint().await.map_err(|error| failed(error.into()))?;
        let seen = match self.ports.tools.call(&step.call).await {
            Ok(seen) => seen,
            Err(error @ ToolError::Lost(_)) => return Err(HandsError::Failed(Box::new(error))),
            Err(error) => Observation { error: Some(error.to_string()), ..Observation::default() },
        };
        let done = CompletedStep { proposed: step, observation: Some(seen.clone()) };
        self.record(&done, None).await.map_err(failed)?;
        match self.harm(&done, &checkpoint).await {
            None => Ok(seen),
            Some(rules) => {
                let back = self.ports.workspace.rollback(&checkpoint).await;
                let back = match back {
                    Ok(_) => "it was taken back".to_owned(),
                    Err(error) => format!("it could not be taken back: {error}"),
                };
                Err(HandsError::Harm(redact(&format!("{rules} holds on it; {back}"))))
            }
        }
    }

    fn scene<'s>(
        &'s self,
        step: &'s ProposedStep,
        after: Option<(&'s Option<Observation>, &'s air_core::id::CheckpointId)>,
    ) -> Scene<'s> {
        Scene {
            ports: self.ports,
            session: &step.session,
            task: self.context.task,
            agent: self.context.agent,
            history: self.context.history,
            step,
            after,
            code: OnceLock::new(),
        }
    }

    /// Why a guardrail keeps the call from running. Nobody is asked during a response.
    async fn gate(&self, step: &ProposedStep) -> Option<String> {
        let evaluation = self.context.engine.before_step(&step.call.tool);
        if evaluation.is_empty() {
            return None;
        }
        let scene = self.scene(step, None);
        let mut facts = scene.facts();
        let decided = decide(&scene, evaluation, &mut facts, None).await;
        let refused = matches!(decided.decision, Gate::Block | Gate::Ask);
        refused.then(|| refusal(&decided.hits, &decided.undetermined))
    }

    /// The AIR rules whose conditions hold on the call by itself.
    async fn harm(
        &self,
        done: &CompletedStep,
        since: &air_core::id::CheckpointId,
    ) -> Option<String> {
        let evaluation = self.context.engine.unjudged().after_step(&done.proposed.call.tool);
        let scene = self.scene(&done.proposed, Some((&done.observation, since)));
        let effects = scene.effects(since).await;
        let mut facts = scene.facts();
        let decided = decide(&scene, evaluation, &mut facts, Some(&effects)).await;
        (decided.decision == Review::Respond).then(|| {
            let rules = decided.hits.iter().map(|finding| format!("@{}", finding.rule.name));
            rules.collect::<Vec<_>>().join(", ")
        })
    }

    async fn refused(
        &mut self,
        step: ProposedStep,
        why: String,
    ) -> Result<Observation, HandsError> {
        let seen = Observation { error: Some(format!("refused: {why}")), ..Observation::default() };
        let done = CompletedStep { proposed: step, observation: None };
        let recorded = self.record(&done, Some(redact(&why))).await;
        recorded.map_err(|error| HandsError::Failed(Box::new(error)))?;
        Ok(seen)
    }

    async fn record(
        &mut self,
        done: &CompletedStep,
        refused: Option<String>,
    ) -> Result<(), RuntimeError> {
        let step = payload(self.ports, done).await?;
        let tool = done.proposed.call.tool.clone();
        record(self.ports, self.incident, Input::Acted { tool, step, refused }).await
    }
}
