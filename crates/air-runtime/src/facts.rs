//! Collects facts on demand. A fact that cannot be had is supplied as unknown, with the reason.

use std::{
    collections::VecDeque,
    sync::{Arc, OnceLock},
};

use air_core::{
    code::{CodeFacts, Intent},
    effects::{Effects, Observed, OutputEffect},
    fact::{Facts, PathLabels, Root, Roots},
    id::{CheckpointId, SessionId},
    memory::Memory,
    place::{Held, Place, PlaceKind},
    port::{Surroundings, Workspace},
    step::{CompletedStep, Image, Observation, ProposedStep},
    value::Value,
};

use crate::Ports;

/// How many past steps `history` holds.
const HISTORY_STEPS: usize = 64;
/// How much of each past output it holds, in bytes.
const HISTORY_OUTPUT_BYTES: usize = 4096;

/// The session's last steps, oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    steps: VecDeque<Past>,
    memory: Memory,
    forgotten: bool,
}

#[derive(Debug, Clone)]
struct Past {
    step: ProposedStep,
    observation: Option<Observation>,
    effects: Effects,
}

impl History {
    /// The history lacks something from now on, and says so.
    pub(crate) fn forget(&mut self) {
        self.forgotten = true;
        self.memory.forget();
    }

    /// Where contents have gone so far.
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// What the source of a past step did. Files that it ran may be others by now.
    pub(crate) fn read(&self, ports: &Ports, step: &ProposedStep) -> Arc<CodeFacts> {
        let around = Around { workspace: &*ports.workspace, memory: &self.memory };
        Arc::new(ports.code.read(&step.call.tool, &step.call.arguments, &around))
    }

    pub(crate) fn push(
        &mut self,
        step: &CompletedStep,
        effects: Effects,
        code: &CodeFacts,
        workspace: &dyn Workspace,
    ) {
        self.memory.observe(code, &effects, |path| workspace.absolute(path));
        let mut observation = step.observation.clone();
        if let Some(observation) = &mut observation {
            let cut = observation.content.floor_char_boundary(HISTORY_OUTPUT_BYTES);
            observation.content.truncate(cut);
            observation.images.clear();
        }
        self.steps.push_back(Past { step: step.proposed.clone(), observation, effects });
        if self.steps.len() > HISTORY_STEPS {
            self.steps.pop_front();
            self.forgotten = true;
        }
    }

    fn to_value(&self, labels: &dyn PathLabels) -> Value {
        let steps = self.steps.iter().map(|Past { step, observation, effects, .. }| {
            let output = observation.as_ref().map_or_else(
                || Value::unknown("the output was not seen"),
                |observation| Value::from(observation.content.as_str()),
            );
            Value::record([
                ("tool", Value::from(step.call.tool.as_str())),
                ("args", arguments(step)),
                ("plan", Value::from(step.plan.as_str())),
                ("output", output),
                ("effects", effects.to_value(labels)),
            ])
        });
        let reason = self.forgotten.then_some("older steps are not kept");
        Value::list_with(steps, reason)
    }
}

fn arguments(step: &ProposedStep) -> Value {
    let fields = step.call.arguments.iter();
    Value::record(fields.map(|(name, value)| (name.as_str(), Value::from(value))))
}

/// One step, and what has been observed of it so far.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) ports: &'a Ports,
    pub(crate) session: &'a SessionId,
    pub(crate) task: &'a str,
    pub(crate) agent: &'a str,
    pub(crate) history: &'a History,
    pub(crate) step: &'a ProposedStep,
    /// After the step: what came back, and what to compare with.
    pub(crate) after: Option<(&'a Option<Observation>, &'a CheckpointId)>,
    /// Read once, when it is first asked for.
    pub(crate) code: OnceLock<Arc<CodeFacts>>,
}

/// What the step's source meets.
struct Around<'a> {
    workspace: &'a dyn Workspace,
    memory: &'a Memory,
}

impl Surroundings for Around<'_> {
    fn file(&self, path: &str) -> Result<Vec<u8>, String> {
        self.workspace.source_file(path)
    }

    fn held(&self, place: &Place) -> Option<Held> {
        if place.kind == PlaceKind::File {
            let path = Place::new(PlaceKind::File, self.workspace.absolute(&place.name));
            return self.memory.held(&path).cloned();
        }
        self.memory.held(place).cloned()
    }

    fn forgets(&self) -> bool {
        self.memory.forgets()
    }
}

impl Scene<'_> {
    pub(crate) fn facts(&self) -> Facts {
        Facts::new(Arc::clone(&self.ports.labels))
    }

    /// Supplies `roots`. Effects are taken from `known` where they were observed already.
    pub(crate) async fn supply(&self, facts: &mut Facts, roots: Roots, known: Option<&Effects>) {
        for root in roots.iter() {
            let value = self.value(root, known).await;
            facts.set(root, value);
        }
    }

    async fn value(&self, root: Root, known: Option<&Effects>) -> Value {
        let labels = &*self.ports.labels;
        match root {
            Root::Tool => Value::from(self.step.call.tool.as_str()),
            Root::Args => arguments(self.step),
            Root::Plan => Value::from(self.step.plan.as_str()),
            Root::Task => Value::from(self.task),
            Root::Agent => Value::from(self.agent),
            Root::Session => Value::from(self.session.as_str()),
            Root::Intents => {
                let intents = self.ports.code.intents(&self.step.plan);
                Value::list(intents.iter().map(Intent::to_value))
            }
            Root::Code => self.code().to_value(labels),
            Root::History => self.history.to_value(labels),
            Root::Taint => self.history.memory().to_value(labels),
            Root::Output => self.observed(|seen| Value::from(seen.content.as_str())),
            Root::Error => self.observed(|seen| Value::optional(seen.error.as_deref())),
            Root::DurationMs => self
                .observed(|seen| Value::Int(i64::try_from(seen.duration_ms).unwrap_or(i64::MAX))),
            Root::Effects => match (known, self.after) {
                (Some(effects), _) => effects.to_value(labels),
                (None, Some((_, checkpoint))) => self.effects(checkpoint).await.to_value(labels),
                (None, None) => Value::unknown("effects are known only after the step"),
            },
            Root::State => match &self.ports.inspector {
                Some(inspector) => inspector.inspect().await,
                None => Value::unknown("this host has no inspection tool"),
            },
        }
    }

    fn observed(&self, read: impl Fn(&Observation) -> Value) -> Value {
        match self.after {
            Some((Some(observation), _)) => read(observation),
            Some((None, _)) => Value::unknown("the call's return was not seen"),
            None => Value::unknown("known only after the step"),
        }
    }

    /// Pictures that the call returned.
    pub(crate) fn images(&self) -> Vec<Image> {
        match self.after {
            Some((Some(seen), _)) => seen.images.clone(),
            Some((None, _)) | None => Vec::new(),
        }
    }

    pub(crate) fn code(&self) -> &Arc<CodeFacts> {
        self.code.get_or_init(|| {
            let around =
                Around { workspace: &*self.ports.workspace, memory: self.history.memory() };
            let call = &self.step.call;
            Arc::new(self.ports.code.read(&call.tool, &call.arguments, &around))
        })
    }

    /// What differs between `checkpoint` and now. Where that cannot be told, every list is
    /// incomplete, so that absence in it proves nothing.
    pub(crate) async fn effects(&self, checkpoint: &CheckpointId) -> Effects {
        match self.ports.workspace.effects(checkpoint, &self.code().paths).await {
            Ok(mut effects) => {
                if let Some(output) = self.output(checkpoint).await {
                    effects.output = output;
                }
                effects
            }
            Err(error) => {
                let why = error.to_string();
                Effects {
                    files: Observed::partial(Vec::new(), why.clone()),
                    reads: Observed::partial(Vec::new(), why.clone()),
                    processes: Observed::partial(Vec::new(), why.clone()),
                    connections: Observed::partial(Vec::new(), why.clone()),
                    services: Observed::partial(Vec::new(), why.clone()),
                    output: Observed::partial(Vec::new(), why),
                }
            }
        }
    }

    /// What the output repeats, where somebody can tell.
    async fn output(&self, checkpoint: &CheckpointId) -> Option<Observed<OutputEffect>> {
        let Some((Some(seen), _)) = self.after else {
            return Some(Observed::partial(Vec::new(), "the call's return was not seen"));
        };
        let output = seen.output();
        self.ports.workspace.output(checkpoint, &output, &self.code().paths).await
    }
}
