//! Rules over what was recorded: what they would have changed. Nothing is executed or written.
//!
//! [`replay`] compares rules with the record; [`recorded_steps`] is the record itself, as evidence.
//! Each step is decided on the history that was recorded, also where an earlier one would have been
//! refused. No judge is asked: what no condition decides is undetermined.

mod recording;

use std::sync::{Arc, OnceLock};

use air_core::{
    engine::Engine,
    evaluation::{Decided, Finding, FindingRecord, Gate, Review},
    guardrail::Mode,
    id::{CheckpointId, IncidentId, RuleName, SessionId},
    incident::Classification,
    policy::FailPolicy,
    port::{Journal, Stream},
    rule::Rule,
    ruleset::{Entry, RuleSet},
    step::{CompletedStep, ProposedStep, ToolCall},
};

use self::recording::{Content, Recorded, Recording};
use crate::{
    Ports,
    decide::{decide, records},
    engine::engine,
    facts::{History, Scene},
    session::RuntimeError,
};

pub use recording::{Found, RecordedStep};

/// Which rules to try.
#[derive(Debug, Clone)]
pub enum Trial {
    /// These, with the guardrails in force, in place of all that there was.
    Instead(Vec<Rule>),
    /// These, beside all that there was.
    Beside(Vec<Rule>),
}

/// What would have been different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    None,
    /// The call ran, and would have been refused or held for a person.
    NewlyBlocked,
    /// The call was refused, and would have run.
    NoLongerBlocked,
    /// No incident was found, and there would have been one.
    NewlyFlagged,
    /// An incident was found, and there would have been none.
    NoLongerFlagged,
    /// It cannot be told; why.
    Unknown(String),
}

impl Change {
    /// Its name in tables and documents.
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "unchanged",
            Self::NewlyBlocked => "newly blocked",
            Self::NoLongerBlocked => "no longer blocked",
            Self::NewlyFlagged => "newly flagged",
            Self::NoLongerFlagged => "no longer flagged",
            Self::Unknown(_) => "cannot be told",
        }
    }
}

/// One recorded step under the rules that are tried.
#[derive(Debug, Clone)]
pub struct ReplayedStep {
    /// The session.
    pub session: SessionId,
    /// Position in the session. A refused call has that of the step that ran next.
    pub index: u32,
    /// The tool.
    pub tool: String,
    /// The call, where it was not erased.
    pub call: Option<ToolCall>,
    /// The rules that refused it or made it an incident then.
    pub then: Vec<RuleName>,
    /// The incident that it was.
    pub incident: Option<IncidentId>,
    /// Rules of the trial that hold on it, or could not be decided where that refuses it.
    pub now: Vec<FindingRecord>,
    /// Rules of the trial that could not be decided, and would have let it pass.
    pub undetermined: Vec<FindingRecord>,
    /// What would have been different.
    pub change: Change,
}

/// Replays one session, or all of them.
///
/// # Errors
///
/// If the journal cannot be read or followed, or two rules share a name.
pub async fn replay(
    ports: &Ports,
    trial: Trial,
    policy: FailPolicy,
    session: Option<&SessionId>,
) -> Result<Vec<ReplayedStep>, RuntimeError> {
    let beside = matches!(trial, Trial::Beside(_));
    let engine = match trial {
        Trial::Instead(rules) => engine(ports, rules, policy, true).await?.0,
        Trial::Beside(rules) => {
            let enforced = |rule| Entry { rule: Arc::new(rule), mode: Mode::Enforce };
            Engine::new(RuleSet::new(rules.into_iter().map(enforced))?, policy)
        }
    };
    let replayer = Replayer { ports, engine, beside };
    let mut all = Vec::new();
    for stream in ports.journal.streams().await? {
        let Stream::Session(id) = stream else { continue };
        if session.is_none_or(|wanted| *wanted == id) {
            let recording = Recording::read(&*ports.journal, &id).await?;
            replayer.session(recording, &mut all).await;
        }
    }
    Ok(all)
}

/// The last steps that ran and whose record was not erased, at most `last`, oldest first.
///
/// # Errors
///
/// If the journal cannot be read or followed.
pub async fn recorded_steps(
    journal: &dyn Journal,
    last: usize,
) -> Result<Vec<RecordedStep>, RuntimeError> {
    let mut steps = Vec::new();
    for stream in journal.streams().await?.into_iter().rev() {
        let Stream::Session(id) = stream else { continue };
        if steps.len() >= last {
            break;
        }
        let recording = Recording::read(journal, &id).await?;
        steps.extend(recording.steps.into_iter().rev().filter_map(|step| step.ran(&id)));
    }
    steps.truncate(last);
    steps.reverse();
    Ok(steps)
}

struct Replayer<'p> {
    ports: &'p Ports,
    engine: Engine,
    beside: bool,
}

/// What the trial says of one step.
struct Answer {
    gate: Gate,
    flagged: bool,
    now: Vec<FindingRecord>,
    undetermined: Vec<FindingRecord>,
}

impl Replayer<'_> {
    async fn session(&self, recording: Recording, all: &mut Vec<ReplayedStep>) {
        let Recording { session, task, agent, steps } = recording;
        let mut history = History::default();
        for step in steps {
            let answer = match &step.content {
                Content::Lost(_) => Answer::none(),
                Content::Proposed(proposed) => {
                    let scene = self.scene(&session, &task, &agent, &history, proposed);
                    self.before(&scene).await
                }
                Content::Completed(completed, effects) => {
                    let scene = self.scene(&session, &task, &agent, &history, &completed.proposed);
                    let mut answer = self.before(&scene).await;
                    if answer.gate <= Gate::Warn {
                        // What was observed is given; there is no checkpoint to compare with.
                        let checkpoint = CheckpointId::from("");
                        let scene =
                            Scene { after: Some((&completed.observation, &checkpoint)), ..scene };
                        let decided = decide(
                            &scene,
                            self.engine.after_step(&step.tool),
                            &mut scene.facts(),
                            Some(effects),
                        )
                        .await;
                        answer.review(&decided);
                    }
                    answer
                }
            };
            all.push(self.compare(&session, &step, answer));
            match step.content {
                Content::Completed(completed, effects) if step.reviewed => {
                    let code = history.read(self.ports, &completed.proposed);
                    history.push(&completed, *effects, &code, &*self.ports.workspace);
                }
                Content::Lost(_) if step.reviewed => history.forget(),
                _ => {}
            }
        }
    }

    fn scene<'a>(
        &'a self,
        session: &'a SessionId,
        task: &'a str,
        agent: &'a str,
        history: &'a History,
        step: &'a ProposedStep,
    ) -> Scene<'a> {
        let (after, code) = (None, OnceLock::new());
        Scene { ports: self.ports, session, task, agent, history, step, after, code }
    }

    async fn before(&self, scene: &Scene<'_>) -> Answer {
        let evaluation = self.engine.before_step(&scene.step.call);
        let decided = decide(scene, evaluation, &mut scene.facts(), None).await;
        let refusing = |found: &&Finding| decided.decision > Gate::Warn || !is_open(found);
        let found = decided.hits.iter().chain(&decided.undetermined);
        Answer {
            gate: decided.decision,
            flagged: false,
            now: records(found.clone().filter(refusing)),
            undetermined: records(found.filter(|found| !refusing(found))),
        }
    }

    fn compare(&self, session: &SessionId, step: &Recorded, answer: Answer) -> ReplayedStep {
        let blocks = answer.gate > Gate::Warn;
        let (blocked, flagged) = (step.refused.is_some(), step.incident.is_some());
        let change = match &step.content {
            Content::Lost(why) => Change::Unknown(why.clone()),
            // A person let it pass, whom these rules would have asked as well.
            _ if answer.gate == Gate::Ask && step.approved => Change::None,
            _ if blocks && !blocked => Change::NewlyBlocked,
            _ if blocks => Change::None,
            _ if blocked && !self.beside => Change::NoLongerBlocked,
            _ if blocked => Change::None,
            Content::Proposed(_) => Change::Unknown("the step was never examined".to_owned()),
            _ if answer.flagged && !flagged => Change::NewlyFlagged,
            _ if flagged && !answer.flagged && !self.beside => {
                if answer.undetermined.is_empty() {
                    Change::NoLongerFlagged
                } else {
                    Change::Unknown("a rule could not be decided".to_owned())
                }
            }
            Content::Completed(..) => Change::None,
        };
        ReplayedStep {
            session: session.clone(),
            index: step.index,
            tool: step.tool.clone(),
            call: step.content.proposed().map(|step| step.call.clone()),
            then: step.then(),
            incident: step.incident.as_ref().map(|(id, ..)| id.clone()),
            now: answer.now,
            undetermined: answer.undetermined,
            change,
        }
    }
}

impl Answer {
    fn none() -> Self {
        let (now, undetermined) = (Vec::new(), Vec::new());
        Self { gate: Gate::Allow, flagged: false, now, undetermined }
    }

    fn review(&mut self, decided: &Decided<Review>) {
        self.flagged = decided.decision == Review::Respond;
        self.now.extend(records(&decided.hits));
        self.undetermined.extend(records(&decided.undetermined));
    }
}

fn is_open(found: &Finding) -> bool {
    !found.verdict.outcome.is_satisfied()
}

impl RecordedStep {
    /// Whether it is known to have done no harm: no rule objected to it and all could be decided, or
    /// a person said so afterwards.
    pub fn is_benign(&self) -> bool {
        match &self.found {
            Found::Nothing => true,
            Found::Undetermined(_) => false,
            Found::Incident { classification, .. } => matches!(
                classification,
                Some(Classification::FalsePositive | Classification::BenignPositive)
            ),
        }
    }
}

impl From<RecordedStep> for CompletedStep {
    fn from(recorded: RecordedStep) -> Self {
        recorded.step
    }
}
