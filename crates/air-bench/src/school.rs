//! Guardrails learned from recorded incidents, and tried at the gate: as the product does both, and
//! without running anything.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use air_core::{
    engine::Engine,
    evaluation::Gate,
    guardrail::Guardrail,
    id::{GuardrailId, RuleName},
    incident::Incident,
    policy::FailPolicy,
    port::{BoxFuture, GuardrailStore, Harm, JournalError, PastStep},
    rule::Rule,
    ruleset::RuleSet,
    step::{Arguments, ProposedStep, ToolCall},
};
use air_runtime::{
    Ports, load_guardrails,
    rehearse::{self, Actor, Evidence},
};
use air_testkit::{run::Stage, scripted::ScriptedWorkspace};
use futures::executor::block_on;

use crate::{
    data::Case,
    play::{AGENT, TASK, call},
    row::Recorded,
};

/// Whose steps they are.
pub(crate) const ACTOR: Actor<'_> = Actor { task: TASK, agent: AGENT };
/// Harms of a rule that are kept; no more are looked at.
const MOST_HARMS: usize = 16;

/// Ports without a workspace, to decide and to learn with.
///
/// # Errors
///
/// If the built-in tables are broken.
pub fn ports() -> Result<Ports, String> {
    let stage = Stage::with_rules(Vec::new(), ScriptedWorkspace::default());
    Ok(stage.map_err(|error| error.to_string())?.ports)
}

/// An incident that was recorded, ready to be learned from.
#[derive(Debug, Clone)]
pub struct Lesson {
    /// The case.
    pub case: Case,
    recorded: Arc<Recorded>,
    incident: Incident,
    rule: Arc<Rule>,
    past: PastStep,
}

impl Lesson {
    /// The incident of a case, if one was recorded that one of `rules` leads.
    pub fn new(
        case: &Case,
        recorded: Recorded,
        rules: &[Arc<Rule>],
        ports: &Ports,
    ) -> Option<Self> {
        let (id, events) = recorded.incident.as_ref()?;
        let incident = Incident::replay(id.clone(), events).ok()?;
        let leads = &incident.detection().findings.first()?.rule;
        let rule = Arc::clone(rules.iter().find(|rule| rule.name == *leads)?);
        let past = rehearse::past_step(ports, &recorded.step.proposed);
        Some(Self { case: case.clone(), recorded: Arc::new(recorded), incident, rule, past })
    }

    /// The step as it was proposed.
    pub fn step(&self) -> &ProposedStep {
        &self.recorded.step.proposed
    }
}

/// Guardrails in memory.
#[derive(Debug, Default)]
struct Shelf(Mutex<Vec<Guardrail>>);

impl Shelf {
    fn all(&self) -> Vec<Guardrail> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, Result<T, JournalError>> {
    Box::pin(std::future::ready(Ok(value)))
}

impl GuardrailStore for Shelf {
    fn current(&self) -> BoxFuture<'_, Result<Vec<Guardrail>, JournalError>> {
        let mut last: Vec<Guardrail> = Vec::new();
        for guardrail in self.all() {
            match last.iter_mut().find(|held| held.id == guardrail.id) {
                Some(held) => *held = guardrail,
                None => last.push(guardrail),
            }
        }
        ready(last)
    }

    fn history<'a>(
        &'a self,
        id: &'a GuardrailId,
    ) -> BoxFuture<'a, Result<Vec<Guardrail>, JournalError>> {
        ready(self.all().into_iter().filter(|held| held.id == *id).collect())
    }

    fn put<'a>(&'a self, guardrail: &'a Guardrail) -> BoxFuture<'a, Result<(), JournalError>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(guardrail.clone());
        ready(())
    }
}

/// A store of guardrails that learns.
#[derive(Debug)]
pub struct Class {
    ports: Ports,
    shelf: Arc<Shelf>,
    harms: BTreeMap<RuleName, Vec<Harm>>,
}

impl Class {
    /// One that has learned nothing.
    pub fn new(ports: &Ports) -> Self {
        Self::with(ports, Vec::new(), BTreeMap::new())
    }

    fn with(ports: &Ports, all: Vec<Guardrail>, harms: BTreeMap<RuleName, Vec<Harm>>) -> Self {
        let shelf = Arc::new(Shelf(Mutex::new(all)));
        let ports = Ports { guardrails: Arc::<Shelf>::clone(&shelf), ..ports.clone() };
        Self { ports, shelf, harms }
    }

    /// One that has learned the same, and goes its own way.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self::with(&self.ports, self.shelf.all(), self.harms.clone())
    }

    /// Learns from an incident.
    ///
    /// # Errors
    ///
    /// Why no guardrail was learned.
    pub fn learn(&mut self, lesson: &Lesson) -> Result<(), String> {
        let harms = self.harms.entry(lesson.rule.name.clone()).or_default();
        let taught = rehearse::Lesson {
            task: TASK,
            agent: AGENT,
            incident: &lesson.incident,
            rule: &lesson.rule,
            step: &lesson.recorded.step,
            effects: &lesson.recorded.effects,
        };
        let evidence = Evidence { harms: harms.clone(), ..Evidence::default() };
        let learned = block_on(rehearse::learn(&self.ports, &taught, &evidence));
        let incident = lesson.incident.id().clone();
        let (step, effects) = (lesson.past.clone(), lesson.recorded.effects.clone());
        harms.push(Harm { incident, step, effects });
        let extra = harms.len().saturating_sub(MOST_HARMS);
        harms.drain(..extra);
        learned.map(drop)
    }

    /// How many guardrails there are.
    pub fn len(&self) -> usize {
        self.guardrails().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The guardrails in force.
    pub fn guardrails(&self) -> Vec<Guardrail> {
        block_on(self.shelf.current()).unwrap_or_default()
    }

    /// The gate as it is now.
    ///
    /// # Errors
    ///
    /// If the guardrails cannot be loaded.
    pub fn gate(&self) -> Result<GateKeeper, String> {
        let loaded = block_on(load_guardrails(&*self.shelf, &air_lang::LangRules));
        let loaded = loaded.map_err(|error| error.to_string())?;
        let rules = RuleSet::new(loaded.entries).map_err(|error| error.to_string())?;
        let engine = Engine::new(rules, FailPolicy::default());
        Ok(GateKeeper { ports: self.ports.clone(), engine })
    }
}

/// Guardrails in force.
#[derive(Debug)]
pub struct GateKeeper {
    ports: Ports,
    engine: Engine,
}

impl GateKeeper {
    /// The guardrails that refuse a step; none where it may run.
    pub fn refusals(&self, step: &ProposedStep) -> Vec<String> {
        let decided = block_on(rehearse::before(&self.ports, &self.engine, ACTOR, step));
        if decided.decision <= Gate::Warn {
            return Vec::new();
        }
        let found = decided.hits.iter().chain(&decided.undetermined);
        found.map(|finding| finding.rule.name.to_string()).collect()
    }
}

/// The step of a case: what it says, and the code, if that is written already.
pub fn proposed(case: &Case, plan: &str, with_code: bool) -> ProposedStep {
    let (tool, mut arguments): (_, Arguments) = call(case);
    if !with_code {
        arguments.clear();
    }
    ProposedStep {
        session: "rehearsal".into(),
        index: 1,
        plan: plan.to_owned(),
        call: ToolCall { id: "rehearsal.1".into(), tool: tool.to_owned(), arguments, native: None },
    }
}

/// For each lesson, the guardrails by which it is refused that all others taught.
///
/// # Errors
///
/// If guardrails cannot be loaded.
pub fn leave_one_out(ports: &Ports, lessons: &[&Lesson]) -> Result<Vec<Vec<String>>, String> {
    let mut before = Class::new(ports);
    let mut all = Vec::new();
    for (at, left_out) in lessons.iter().enumerate() {
        let mut class = before.fork();
        for lesson in lessons.iter().skip(at + 1) {
            // One that teaches nothing is one less that helps.
            let _ = class.learn(lesson);
        }
        all.push(class.gate()?.refusals(left_out.step()));
        let _ = before.learn(left_out);
    }
    Ok(all)
}
