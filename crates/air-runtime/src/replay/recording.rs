//! One session as the journal tells it, step by step. Payloads may be erased.

use air_core::{
    effects::Effects,
    evaluation::{FindingRecord, Gate},
    id::{IncidentId, PayloadId, RuleName, SessionId},
    incident::{Classification, State},
    port::{Event, Journal, Stream},
    session::SessionEvent,
    step::{CompletedStep, ProposedStep},
};
use serde::de::DeserializeOwned;

use crate::{respond::load, session::RuntimeError};

/// A step that ran, with what was found.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedStep {
    /// The session.
    pub session: SessionId,
    /// Position in the session, from 1.
    pub index: u32,
    /// The step.
    pub step: CompletedStep,
    /// What it changed, as observed when it returned.
    pub effects: Effects,
    /// What the rules made of it.
    pub found: Found,
}

/// What the rules made of a recorded step.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// No rule objected.
    Nothing,
    /// These rules could not be decided.
    Undetermined(Vec<RuleName>),
    /// An incident.
    Incident {
        /// Which.
        id: IncidentId,
        /// The rules that held.
        rules: Vec<RuleName>,
        /// How it turned out, once it is closed.
        classification: Option<Classification>,
    },
}

pub(super) enum Content {
    /// It is not kept; why.
    Lost(String),
    /// The call was refused, or is not examined yet.
    Proposed(Box<ProposedStep>),
    Completed(Box<CompletedStep>, Box<Effects>),
}

impl Content {
    pub(super) fn proposed(&self) -> Option<&ProposedStep> {
        match self {
            Self::Lost(_) => None,
            Self::Proposed(step) => Some(step),
            Self::Completed(step, _) => Some(&step.proposed),
        }
    }
}

pub(super) struct Recorded {
    pub(super) index: u32,
    pub(super) tool: String,
    pub(super) content: Content,
    /// The guardrails that refused it.
    pub(super) refused: Option<Vec<FindingRecord>>,
    /// Guardrails held or could not be decided, and a person let it pass.
    pub(super) approved: bool,
    /// AIR rules have been decided on it, and the session went on.
    pub(super) reviewed: bool,
    undetermined: Vec<FindingRecord>,
    pub(super) incident: Option<(IncidentId, Vec<FindingRecord>, Option<Classification>)>,
}

impl Recorded {
    pub(super) fn then(&self) -> Vec<RuleName> {
        let refused = self.refused.iter().flatten();
        let incident = self.incident.iter().flat_map(|(_, findings, _)| findings);
        refused.chain(incident).map(|found| found.rule.clone()).collect()
    }

    /// As evidence, if it ran and is still there.
    pub(super) fn ran(self, session: &SessionId) -> Option<RecordedStep> {
        let names = |found: &[FindingRecord]| found.iter().map(|one| one.rule.clone()).collect();
        let Content::Completed(step, effects) = self.content else { return None };
        let found = match self.incident {
            Some((id, findings, classification)) => {
                Found::Incident { id, rules: names(&findings), classification }
            }
            None if self.undetermined.is_empty() => Found::Nothing,
            None => Found::Undetermined(names(&self.undetermined)),
        };
        let (session, index) = (session.clone(), self.index);
        Some(RecordedStep { session, index, step: *step, effects: *effects, found })
    }
}

pub(super) struct Recording {
    pub(super) session: SessionId,
    pub(super) task: String,
    pub(super) agent: String,
    pub(super) steps: Vec<Recorded>,
}

impl Recording {
    pub(super) async fn read(journal: &dyn Journal, id: &SessionId) -> Result<Self, RuntimeError> {
        let mut recording = Self {
            session: id.clone(),
            task: String::new(),
            agent: String::new(),
            steps: Vec::new(),
        };
        let mut approved = None;
        for record in journal.read(&Stream::Session(id.clone())).await? {
            let Event::Session(event) = record.event else { continue };
            match event {
                SessionEvent::Opened { task, agent, .. } => {
                    let task = journal.payload(&task).await?.unwrap_or_default();
                    recording.task = String::from_utf8_lossy(&task).into_owned();
                    recording.agent = agent;
                }
                SessionEvent::Gated { index, tool, step, gate, hits, undetermined, .. } => {
                    let found: Vec<_> = hits.into_iter().chain(undetermined).collect();
                    if gate == Gate::Block {
                        let content = proposed(journal, step.as_ref()).await?;
                        let mut step = Recorded::new(index, tool, content);
                        step.refused = Some(found);
                        recording.steps.push(step);
                    } else if gate == Gate::Allow && !found.is_empty() {
                        approved = Some(index);
                    }
                }
                SessionEvent::StepStarted { index, tool, step, .. } => {
                    let content = proposed(journal, Some(&step)).await?;
                    let mut step = Recorded::new(index, tool, content);
                    step.approved = approved.take() == Some(index);
                    recording.steps.push(step);
                }
                SessionEvent::StepReviewed { index, done, undetermined, .. } => {
                    let Some(step) = recording.started(index) else { continue };
                    step.content = match read::<(CompletedStep, Effects)>(journal, &done).await? {
                        Some((step, effects)) => Content::Completed(step.into(), effects.into()),
                        None => erased(),
                    };
                    (step.undetermined, step.reviewed) = (undetermined, true);
                }
                SessionEvent::ResponseStarted { incident, index } => {
                    let Some(step) = recording.started(index) else { continue };
                    detected(journal, incident, step).await?;
                }
                _ => {}
            }
        }
        Ok(recording)
    }

    /// The step of that position that ran.
    fn started(&mut self, index: u32) -> Option<&mut Recorded> {
        self.steps.iter_mut().rev().find(|step| step.index == index && step.refused.is_none())
    }
}

impl Recorded {
    fn new(index: u32, tool: String, content: Content) -> Self {
        Self {
            index,
            tool,
            content,
            refused: None,
            approved: false,
            reviewed: false,
            undetermined: Vec::new(),
            incident: None,
        }
    }
}

async fn detected(
    journal: &dyn Journal,
    id: IncidentId,
    step: &mut Recorded,
) -> Result<(), RuntimeError> {
    let incident = load(journal, &id).await?;
    let detection = incident.detection();
    let completed = read::<CompletedStep>(journal, &detection.step).await?;
    let effects = read::<Effects>(journal, &detection.effects).await?;
    step.content = match (completed, effects) {
        (Some(completed), Some(effects)) => Content::Completed(completed.into(), effects.into()),
        _ => erased(),
    };
    let classification = match incident.state() {
        State::Closed(classification) => Some(*classification),
        _ => None,
    };
    step.incident = Some((id, detection.findings.clone(), classification));
    Ok(())
}

async fn proposed(
    journal: &dyn Journal,
    payload: Option<&PayloadId>,
) -> Result<Content, RuntimeError> {
    let Some(payload) = payload else {
        return Ok(Content::Lost("the refused call was not recorded".to_owned()));
    };
    let step = read::<ProposedStep>(journal, payload).await?;
    Ok(step.map_or_else(erased, |step| Content::Proposed(step.into())))
}

fn erased() -> Content {
    Content::Lost("its record was erased".to_owned())
}

/// A payload, unless it was erased or another version wrote it.
async fn read<T: DeserializeOwned>(
    journal: &dyn Journal,
    id: &PayloadId,
) -> Result<Option<T>, RuntimeError> {
    let payload = journal.payload(id).await?;
    Ok(payload.and_then(|json| serde_json::from_slice(&json).ok()))
}
