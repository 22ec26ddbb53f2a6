//! The agent's tools while it responds to its incident.
//!
//! Every call is guarded as before the incident and recorded before it runs. Nothing that it leaves
//! running goes on after it. It is an incident itself where an AIR rule holds on it; then it is taken
//! back, and the response ends. A judge is asked, too, of a call that has done more than read.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use air_core::{
    effects::Effects,
    evaluation::{Decided, Finding, FindingRecord, Gate, Review},
    id::{ActionId, CheckpointId, Timestamp},
    incident::{Incident, Input},
    port::{BoxFuture, Hands, HandsError, Order, ToolError, ToolInfo},
    redact::redact,
    step::{Arguments, CompletedStep, Observation, ProposedStep, ToolCall},
};

use crate::{
    Ports,
    decide::{decide, payload, records, refusal},
    facts::Scene,
    gate::AgentAt,
    hosted::attribute,
    respond::{Context, record},
    session::RuntimeError,
};

/// The agent's tools, for one order.
pub(crate) struct Guarded<'a> {
    ports: &'a Ports,
    context: &'a Context<'a>,
    incident: &'a mut Incident,
    id: &'a ActionId,
    order: &'a Order,
    /// Set while a call is under way: it must not be left before it is recorded.
    at_work: &'a AtomicBool,
    begun: Timestamp,
    calls: u32,
}

impl<'a> Guarded<'a> {
    pub(crate) fn new(
        ports: &'a Ports,
        context: &'a Context<'a>,
        incident: &'a mut Incident,
        id: &'a ActionId,
        order: &'a Order,
        at_work: &'a AtomicBool,
    ) -> Self {
        let begun = ports.clock.now();
        Self { ports, context, incident, id, order, at_work, begun, calls: 0 }
    }

    /// Calls so far, refused ones included.
    pub(crate) fn calls(&self) -> u32 {
        self.calls
    }

    fn left(&self) -> Option<Duration> {
        let spent = self.ports.clock.now().0.saturating_sub(self.begun.0);
        let left = self.order.deadline.checked_sub(Duration::from_millis(spent))?;
        (!left.is_zero()).then_some(left)
    }
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
            let Some(left) = self.left() else {
                return Err(HandsError::Limit(format!("{:?} are over", self.order.deadline)));
            };
            self.calls += 1;
            let step = ProposedStep {
                session: self.incident.detection().session.clone(),
                index: self.incident.detection().index,
                plan: plan.to_owned(),
                call: ToolCall {
                    id: format!("{}.{}", self.id, self.calls).as_str().into(),
                    tool: tool.to_owned(),
                    arguments,
                    native: None,
                },
            };
            self.at_work.store(true, Ordering::SeqCst);
            let seen = self.step(step, left).await;
            self.at_work.store(false, Ordering::SeqCst);
            seen
        })
    }
}

impl Guarded<'_> {
    async fn step(
        &mut self,
        step: ProposedStep,
        left: Duration,
    ) -> Result<Observation, HandsError> {
        if self.ports.tools.tool(&step.call.tool).is_none() {
            let why = format!("unknown tool `{}`", step.call.tool);
            return self.refused(step, why).await;
        }
        if let Some(why) = self.gate(&step).await {
            return self.refused(step, why).await;
        }
        let checkpoint = self.begin(&step).await.map_err(failed)?;
        let seen = match self.ports.tools.call_within(&step.call, left).await {
            Ok(seen) => seen,
            Err(error @ ToolError::Lost(_)) => return Err(HandsError::Failed(Box::new(error))),
            Err(error) => Observation { error: Some(error.to_string()), ..Observation::default() },
        };
        // A judge that takes its time takes none from the agent's work.
        let is_late = self.left().is_none();
        let done = CompletedStep { proposed: step, observation: Some(seen.clone()) };
        match self.done(done, &checkpoint, is_late).await? {
            None => Ok(seen),
            Some(end) => Err(end),
        }
    }

    /// A call of the response came back: what of it has to end the response, where anything has.
    pub(crate) async fn done(
        &mut self,
        done: CompletedStep,
        checkpoint: &CheckpointId,
        is_late: bool,
    ) -> Result<Option<HandsError>, HandsError> {
        let mut undetermined = Vec::new();
        let mut changed = Vec::new();
        let harm = match self.effects(&done, checkpoint).await {
            Ok(mut effects) => {
                // Where this fails, nothing of it is taken back by itself.
                let _ = self.ports.workspace.left(checkpoint).await;
                if self.context.agent_at != AgentAt::Here {
                    let code = self.context.history.read(self.ports, &done.proposed);
                    attribute::keep_own(&mut effects, &code, &*self.ports.workspace);
                }
                changed = effects.files.items.iter().map(|file| file.path.clone()).collect();
                let decided = self.decide(&done, checkpoint, &effects).await;
                if !effects.are_none() {
                    undetermined = records(&decided.undetermined);
                }
                self.harm(&decided, &effects)
            }
            Err(why) => Some(why),
        };
        let end = match harm {
            Some(why) => {
                let back = self.take_back(checkpoint, &changed).await;
                Some(HandsError::Harm(redact(&format!("{why}; it {back}"))))
            }
            // It was cut off, or nearly.
            None if is_late => {
                let back = self.take_back(checkpoint, &changed).await;
                let over = format!("{:?} are over, and the last call {back}", self.order.deadline);
                Some(HandsError::Limit(over))
            }
            None => None,
        };
        let undone = end.as_ref().map(ToString::to_string);
        self.record(&done, Acted { refused: None, undone, undetermined }).await.map_err(failed)?;
        Ok(end)
    }

    /// Undoes a call; beside a host only what it changed, for the user works there as well.
    async fn take_back(&self, checkpoint: &CheckpointId, changed: &[String]) -> String {
        if self.context.agent_at == AgentAt::Here {
            return take_back(self.ports, checkpoint).await;
        }
        match self.ports.workspace.rollback_of(checkpoint, changed).await {
            Ok(_) => "was taken back".to_owned(),
            Err(error) => redact(&format!("could not be taken back: {error}")),
        }
    }

    /// The state to go back to, once the call is journaled.
    pub(crate) async fn begin(
        &mut self,
        step: &ProposedStep,
    ) -> Result<CheckpointId, RuntimeError> {
        let checkpoint = self.ports.workspace.checkpoint().await?;
        let begun = CompletedStep { proposed: step.clone(), observation: None };
        let acting = Input::Acting {
            tool: step.call.tool.clone(),
            step: payload(self.ports, &begun).await?,
            checkpoint: checkpoint.clone(),
        };
        record(self.ports, self.incident, acting).await?;
        Ok(checkpoint)
    }

    /// What the call did, once nothing of it runs any more. Or why that cannot be told.
    async fn effects(&self, done: &CompletedStep, since: &CheckpointId) -> Result<Effects, String> {
        // Threads of an interpreter are not seen: it ends, too.
        let ended = self.ports.workspace.kill().await;
        ended.map_err(|error| format!("what it left running could not be ended: {error}"))?;
        let scene = self.scene(&done.proposed, Some((&done.observation, since)));
        Ok(scene.effects(since).await)
    }

    fn scene<'s>(
        &'s self,
        step: &'s ProposedStep,
        after: Option<(&'s Option<Observation>, &'s CheckpointId)>,
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
    pub(crate) async fn gate(&self, step: &ProposedStep) -> Option<String> {
        let evaluation = self.context.engine.before_step(&step.call);
        if evaluation.is_empty() {
            return None;
        }
        let scene = self.scene(step, None);
        let mut facts = scene.facts();
        let decided = decide(&scene, evaluation, &mut facts, None).await;
        let refused = matches!(decided.decision, Gate::Block | Gate::Ask);
        refused.then(|| refusal(&decided.hits, &decided.undetermined))
    }

    /// What the AIR rules say of the call by itself.
    async fn decide(
        &self,
        done: &CompletedStep,
        since: &CheckpointId,
        effects: &Effects,
    ) -> Decided<Review> {
        let engine = self.context.engine;
        // A look around needs no judge.
        let engine = if effects.are_none() { &engine.unjudged() } else { engine };
        let evaluation = engine.after_step(&done.proposed.call);
        let scene = self.scene(&done.proposed, Some((&done.observation, since)));
        let mut facts = scene.facts();
        decide(&scene, evaluation, &mut facts, Some(effects)).await
    }

    /// Why the call counts as harm, where it does: a rule holds, or one that policy waits for a person
    /// with could not be told. The incident's own rules are asked again when the response is verified.
    fn harm(&self, decided: &Decided<Review>, effects: &Effects) -> Option<String> {
        let named = |findings: &[&Finding]| {
            let names = findings.iter().map(|finding| format!("@{}", finding.rule.name));
            names.collect::<Vec<_>>().join(", ")
        };
        match decided.decision {
            Review::Respond => {
                let hits: Vec<_> = decided.hits.iter().collect();
                Some(format!("{} holds on it", named(&hits)))
            }
            Review::Ask if !effects.are_none() => {
                let own = |finding: &Finding| {
                    self.order.rules.iter().any(|rule| rule.name == finding.rule.name)
                };
                let holds = |finding: &Finding| self.context.engine.holds(&finding.rule);
                let open = decided.undetermined.iter().filter(|it| holds(it) && !own(it));
                let open: Vec<_> = open.collect();
                (!open.is_empty()).then(|| format!("{} could not be decided on it", named(&open)))
            }
            Review::Ask | Review::Continue => None,
        }
    }

    pub(crate) async fn refused(
        &mut self,
        step: ProposedStep,
        why: String,
    ) -> Result<Observation, HandsError> {
        let seen = Observation { error: Some(format!("refused: {why}")), ..Observation::default() };
        let done = CompletedStep { proposed: step, observation: None };
        let acted = Acted { refused: Some(redact(&why)), ..Acted::default() };
        self.record(&done, acted).await.map_err(failed)?;
        Ok(seen)
    }

    async fn record(&mut self, done: &CompletedStep, acted: Acted) -> Result<(), RuntimeError> {
        let step = payload(self.ports, done).await?;
        let tool = done.proposed.call.tool.clone();
        let Acted { refused, undone, undetermined } = acted;
        let input = Input::Acted { tool, step, refused, undone, undetermined };
        record(self.ports, self.incident, input).await
    }
}

/// What became of a call.
#[derive(Default)]
struct Acted {
    refused: Option<String>,
    undone: Option<String>,
    undetermined: Vec<FindingRecord>,
}

/// Undoes a call, with all that it left running. What there is to say of it.
pub(crate) async fn take_back(ports: &Ports, checkpoint: &CheckpointId) -> String {
    let back = match ports.workspace.kill().await {
        Ok(_) => ports.workspace.rollback(checkpoint).await,
        failed => failed,
    };
    match back {
        Ok(_) => "was taken back".to_owned(),
        Err(error) => redact(&format!("could not be taken back: {error}")),
    }
}

fn failed(error: RuntimeError) -> HandsError {
    HandsError::Failed(Box::new(error))
}
