//! Does what an incident asks for, journals first, and verifies each phase on fresh facts.

use std::sync::{Arc, OnceLock};

use air_core::{
    effects::{Change, Effects},
    engine::Engine,
    fact::{Facts, Root, Roots},
    id::IncidentId,
    incident::{Action, Directive, Exhibit, Incident, IncidentEvent, Input, Phase, PlannedAction},
    outcome::{Outcome, Verdict},
    port::{Durability, Event, Journal, Record, Stream, WorkspaceError},
    question::QuestionKind,
    requirement::FactPath,
    rule::{Rule, RuleKind},
    step::{CompletedStep, ToolCall},
};

use crate::{
    Ports,
    decide::{inquiry, judge},
    eradicate,
    facts::{History, Scene},
    gate::AgentAt,
    models::Models,
    order, repair,
    session::RuntimeError,
};

/// How far to drive an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// Containment and recovery are decided, one way or the other: the agent may be told.
    RecoveryDecided,
    /// Nothing is left that AIR can do by itself.
    Rest,
}

/// What the session knows beyond the incident's own journal.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) task: &'a str,
    pub(crate) agent: &'a str,
    pub(crate) history: &'a History,
    pub(crate) engine: &'a Engine,
    pub(crate) models: &'a Models,
    /// Where the agent is.
    pub(crate) agent_at: AgentAt,
}

/// An incident with all that its journal refers to.
pub(crate) struct Case {
    pub(crate) rules: Vec<Arc<Rule>>,
    pub(crate) step: CompletedStep,
    pub(crate) effects: Effects,
}

/// Reads an incident from the journal.
pub(crate) async fn load(journal: &dyn Journal, id: &IncidentId) -> Result<Incident, RuntimeError> {
    let records = journal.read(&Stream::Incident(id.clone())).await?;
    let events: Vec<IncidentEvent> = records
        .into_iter()
        .filter_map(|record| match record.event {
            Event::Incident(event) => Some(event),
            Event::Session(_) => None,
        })
        .collect();
    Ok(Incident::replay(id.clone(), &events)?)
}

/// Works on an incident as far as `until`, or until a person or the agent is needed.
pub(crate) async fn drive(
    ports: &Ports,
    context: &Context<'_>,
    id: &IncidentId,
    until: Until,
) -> Result<Incident, RuntimeError> {
    let mut incident = load(&*ports.journal, id).await?;
    let case = Case::load(ports, &incident).await?;
    while let Some(directive) = incident.next() {
        if until == Until::RecoveryDecided && directive == Directive::Eradicate {
            break;
        }
        match directive {
            Directive::Act { id, action } => {
                record(ports, &mut incident, Input::Starting(id.clone())).await?;
                let input = perform(ports, context, &case, &mut incident, (&id, &action)).await?;
                record(ports, &mut incident, input).await?;
            }
            Directive::Reconcile { id, action } => {
                let input = match &action {
                    Action::Repair { .. } => repair::reconcile(ports, &incident, &id).await?,
                    Action::Order { fallback, .. } => {
                        order::reconcile(ports, context, &case, &incident, *fallback).await?
                    }
                    _ if action.is_idempotent() => {
                        perform(ports, context, &case, &mut incident, (&id, &action)).await?
                    }
                    _ => Input::Lost,
                };
                record(ports, &mut incident, input).await?;
            }
            Directive::Verify(phase) => {
                let input = case.verify(ports, context, &incident, phase).await;
                record(ports, &mut incident, input).await?;
            }
            Directive::Eradicate => {
                let input = eradicate::eradicate(&case, ports, context, &incident).await;
                record(ports, &mut incident, input).await?;
            }
            Directive::Settle => record(ports, &mut incident, Input::Settle).await?,
            Directive::AwaitAgent(deadline) => {
                let why = if context.agent_at == AgentAt::Gone {
                    "the agent is gone"
                } else if order::is_over(ports, context, deadline) {
                    "the agent's time is over"
                } else {
                    break;
                };
                let input = Input::AgentAnswered(Ok(why.to_owned()));
                record(ports, &mut incident, input).await?;
            }
            Directive::AwaitOperator => break,
        }
    }
    Ok(incident)
}

/// Journals what `input` causes, then lets the incident follow.
pub(crate) async fn record(
    ports: &Ports,
    incident: &mut Incident,
    input: Input,
) -> Result<(), RuntimeError> {
    let events = incident.handle(input)?;
    let at = ports.clock.now();
    let records: Vec<Record> =
        events.iter().map(|event| Record { at, event: Event::Incident(event.clone()) }).collect();
    let stream = Stream::Incident(incident.id().clone());
    ports.journal.append(&stream, incident.revision(), &records, Durability::Power).await?;
    for event in &events {
        incident.apply(event);
    }
    Ok(())
}

/// Does one action. Evidence is journaled before the action counts as finished.
async fn perform(
    ports: &Ports,
    context: &Context<'_>,
    case: &Case,
    incident: &mut Incident,
    (id, action): (&air_core::id::ActionId, &Action),
) -> Result<Input, RuntimeError> {
    if let Action::Repair { tool, arguments, said } = action {
        let program = (tool.as_str(), arguments, said.as_str());
        return repair::perform(ports, context, case, incident, program).await;
    }
    if matches!(action, Action::Order { .. }) {
        return order::perform(ports, context, case, incident, (id, action)).await;
    }
    if *action != Action::Preserve {
        return Ok(Input::Finished(act(ports, context, case, incident, (id, action)).await));
    }
    let kept = ports.workspace.preserve(&incident.detection().checkpoint).await;
    let evidence = match kept {
        Ok(evidence) => evidence,
        // Harm is stopped all the same.
        Err(error) => {
            let why = air_core::redact::redact(&error.to_string());
            return Ok(Input::Finished(Ok(format!("no evidence was kept: {why}"))));
        }
    };
    let (mut exhibits, mut said) = (Vec::new(), vec![evidence.summary]);
    for (name, content) in evidence.exhibits {
        let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
        match ports.journal.put_payload(&content).await {
            Ok(content) => exhibits.push(Exhibit { name, size, content }),
            // A full disk must not let harm go on.
            Err(error) => said.push(format!("{name} was not kept: {error}")),
        }
    }
    if !exhibits.is_empty() {
        record(ports, incident, Input::Preserved(exhibits)).await?;
    }
    Ok(Input::Finished(Ok(air_core::redact::redact(&said.join("; ")))))
}

async fn act(
    ports: &Ports,
    context: &Context<'_>,
    case: &Case,
    incident: &Incident,
    (id, action): (&air_core::id::ActionId, &Action),
) -> Result<String, String> {
    let workspace = &*ports.workspace;
    let done = match action {
        Action::Preserve | Action::Repair { .. } | Action::Order { .. } => {
            return Err("this is done elsewhere".to_owned());
        }
        Action::Kill => workspace.kill().await,
        Action::Isolate => workspace.isolate().await,
        Action::Quarantine { paths } => workspace.quarantine(incident.id(), paths).await,
        Action::Rollback => restore(ports, context, case, incident).await,
        Action::Restart => workspace.restart().await,
        Action::Call { tool, arguments, .. } => {
            let json = ports.journal.payload(arguments).await.map_err(|error| error.to_string())?;
            let json = json.ok_or("its arguments were erased")?;
            let arguments = serde_json::from_slice(&json).map_err(|error| error.to_string())?;
            let call =
                ToolCall { id: id.as_str().into(), tool: tool.clone(), arguments, native: None };
            return match ports.tools.call(&call).await {
                Ok(seen) => match seen.error {
                    None => Ok(format!("called `{}`", call.tool)),
                    Some(error) => Err(air_core::redact::redact(&error)),
                },
                Err(error) => Err(air_core::redact::redact(&error.to_string())),
            };
        }
        Action::Impossible { why } => return Err(why.clone()),
    };
    done.map(|summary| air_core::redact::redact(&summary))
        .map_err(|error| air_core::redact::redact(&error.to_string()))
}

/// Puts the workspace back as it was before the step; beside a host only what the step changed, for the
/// user works there as well.
pub(crate) async fn restore(
    ports: &Ports,
    context: &Context<'_>,
    case: &Case,
    incident: &Incident,
) -> Result<String, WorkspaceError> {
    let to = &incident.detection().checkpoint;
    if context.agent_at == AgentAt::Here {
        return ports.workspace.rollback(to).await;
    }
    let files = case.effects.files.items.iter();
    let paths: Vec<String> = files.map(|file| file.path.clone()).collect();
    ports.workspace.rollback_of(to, &paths).await
}

/// Whether the rule's recovery can be proved: it says how, or speaks of what a response can change.
pub(crate) fn is_restorable(rule: &Rule) -> bool {
    // What was sent or read stays so whatever is restored.
    let fresh = |place: &FactPath| match place.root {
        Root::State => true,
        Root::Effects => !matches!(place.field(), Some("connections" | "reads" | "output")),
        _ => false,
    };
    match &rule.kind {
        RuleKind::Incident { verify: Some(_), .. } => true,
        RuleKind::Incident { .. } => match rule.decision.sufficient() {
            Some(condition) => condition.paths().iter().any(fresh),
            // Only a judge found it, and a judge can say whether it is restored.
            None => true,
        },
        RuleKind::Guardrail { .. } => false,
    }
}

impl Case {
    pub(crate) async fn load(ports: &Ports, incident: &Incident) -> Result<Self, RuntimeError> {
        let detection = incident.detection();
        let broken = |why: String| RuntimeError::Broken {
            subject: format!("incident {}", incident.id()),
            why,
        };
        let mut rules = Vec::new();
        for id in &detection.rules {
            let text = read(ports, id).await?.ok_or_else(|| broken("a rule was erased".into()))?;
            let text = String::from_utf8_lossy(&text);
            rules.push(Arc::new(ports.rules.rule(&text).map_err(broken)?));
        }
        let step = read(ports, &detection.step).await?;
        let step = step.ok_or_else(|| broken("the step was erased".into()))?;
        let effects = read(ports, &detection.effects).await?;
        let effects = effects.ok_or_else(|| broken("the effects were erased".into()))?;
        Ok(Self {
            rules,
            step: serde_json::from_slice(&step).map_err(|error| broken(error.to_string()))?,
            effects: serde_json::from_slice(&effects).map_err(|error| broken(error.to_string()))?,
        })
    }

    pub(crate) async fn verify(
        &self,
        ports: &Ports,
        context: &Context<'_>,
        incident: &Incident,
        phase: Phase,
    ) -> Input {
        let detection = incident.detection();
        let scene = Scene {
            ports,
            session: &detection.session,
            task: context.task,
            agent: context.agent,
            history: context.history,
            step: &self.step.proposed,
            after: Some((&self.step.observation, &detection.checkpoint)),
            code: OnceLock::new(),
        };
        match phase {
            Phase::Containment => self.stopped(&scene, incident, context.agent_at).await,
            Phase::Recovery | Phase::Eradication if detection.restorable => {
                match repair::is_proved(ports, incident).await {
                    // Nothing is left that could be restored.
                    Ok(false) if !self.rules.iter().any(|rule| is_restorable(rule)) => {
                        Input::NotApplicable
                    }
                    Ok(proved) => Input::Verified(self.restored(&scene, proved).await),
                    Err(error) => {
                        let outcome = Outcome::undetermined(error.to_string().as_str());
                        Input::Verified(Verdict::by_condition(outcome, String::new()))
                    }
                }
            }
            Phase::Recovery | Phase::Eradication => Input::NotApplicable,
        }
    }

    /// The harm has stopped: nothing that the step left runs any more, and what was taken out of
    /// reach. Beside a host its processes are the host's: what cannot be seen of them is said, and keeps
    /// nothing from being restored, unless the harm was one.
    async fn stopped(&self, scene: &Scene<'_>, incident: &Incident, agent_at: AgentAt) -> Input {
        let detection = incident.detection();
        let contains = |planned: &PlannedAction| planned.phase == Phase::Containment;
        if !detection.response.iter().any(contains) {
            return Input::NotApplicable;
        }
        let fresh = scene.effects(&detection.checkpoint).await;
        let taken: Vec<&String> = detection
            .response
            .iter()
            .filter_map(|planned| match &planned.action {
                Action::Quarantine { paths } => Some(paths),
                _ => None,
            })
            .flatten()
            .collect();
        let still = fresh
            .files
            .items
            .iter()
            .find(|file| file.change == Change::Created && taken.contains(&&file.path));
        let running = fresh.processes.items.first();
        let unseen = (!taken.is_empty()).then_some(fresh.files.incomplete.as_ref()).flatten();
        let of_host = agent_at != AgentAt::Here && self.effects.processes.items.is_empty();
        let unseen = fresh.processes.incomplete.as_ref().filter(|_| !of_host).or(unseen);
        let (outcome, why) = match (running, still, unseen) {
            (Some(process), ..) => (
                Outcome::Unsatisfied,
                air_core::redact::redact(&format!("still running: {}", process.argv.join(" "))),
            ),
            (None, Some(file), _) => {
                (Outcome::Unsatisfied, format!("still within reach: {}", file.path))
            }
            (None, None, Some(why)) => (Outcome::undetermined(why.as_str()), String::new()),
            (None, None, None) if of_host => (
                Outcome::Satisfied,
                "nothing that the step is known to have left is within reach; the host's processes \
                 are not watched"
                    .to_owned(),
            ),
            (None, None, None) => (
                Outcome::Satisfied,
                "nothing that the step left is running or within reach".to_owned(),
            ),
        };
        Input::Verified(Verdict::by_condition(outcome, why))
    }

    /// Every rule that held can be told not to hold any more, on fresh facts.
    async fn restored(&self, scene: &Scene<'_>, proved: bool) -> Verdict {
        let mut outcome = Outcome::Satisfied;
        let mut proof = Vec::new();
        if proved {
            proof.push("no rule holds on the mended program, which was run".to_owned());
        }
        let mut facts = scene.facts();
        let mut open = Vec::new();
        for rule in self.rules.iter().filter(|rule| is_restorable(rule)) {
            let RuleKind::Incident { verify, .. } = &rule.kind else { continue };
            let (condition, negated) = match (verify, rule.decision.sufficient()) {
                (Some(verify), _) => (verify, false),
                (None, Some(condition)) => (condition, true),
                (None, None) => {
                    open.push(Arc::clone(rule));
                    continue;
                }
            };
            supply(scene, &mut facts, condition.reads()).await;
            let answer = condition.evaluate(&facts);
            let holds = if negated { answer.clone().not() } else { answer.clone() };
            outcome = outcome.and(holds);
            proof.push(match (&answer, negated) {
                (Outcome::Satisfied, true) => format!("@{} still holds", rule.name),
                (Outcome::Unsatisfied, true) => {
                    format!("@{} holds no longer, asked again on fresh facts", rule.name)
                }
                _ => format!("`verify` of @{}: {}", rule.name, condition.source()),
            });
        }
        if open.is_empty() {
            return Verdict::by_condition(outcome, proof.join("; "));
        }
        let inquiry = inquiry(scene, QuestionKind::Restored, open, &mut facts, None).await;
        let (mut confidence, mut by, mut quotes) = (1.0_f64, String::new(), Vec::new());
        for verdict in judge(scene.ports, inquiry).await {
            outcome = outcome.and(verdict.outcome);
            confidence = confidence.min(verdict.confidence);
            proof.push(verdict.rationale);
            quotes.extend(verdict.quotes);
            by = verdict.judge;
        }
        Verdict { outcome, confidence, rationale: proof.join("; "), judge: by, quotes }
    }
}

pub(crate) async fn supply(scene: &Scene<'_>, facts: &mut Facts, roots: Roots) {
    scene.supply(facts, roots.without(facts.supplied()), None).await;
}

async fn read(
    ports: &Ports,
    id: &air_core::id::PayloadId,
) -> Result<Option<Vec<u8>>, RuntimeError> {
    Ok(ports.journal.payload(id).await?)
}
