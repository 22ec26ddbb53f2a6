//! Goes on where a process ended: open steps are examined, incidents are driven to their rest.

use air_core::{
    guardrail::{Guardrail, Mode, Provenance},
    id::{IncidentId, SessionId},
    incident::{Classification, Incident, Input, Phase},
    port::{Event, Publication, Stream},
    session::{self, SessionEvent, Status},
    step::{CompletedStep, ProposedStep},
};

use crate::{
    Ports,
    asking::Asking,
    engine::engine,
    facts::History,
    gate::AgentAt,
    respond::{self, Context, Until},
    review::Wait,
    session::{Opening, ReviewReply, RuntimeError, Session, Ticket},
};

/// What became of a session that was resumed.
#[derive(Debug)]
pub struct Attention {
    /// The session.
    pub session: SessionId,
    /// Steps that were running when the process ended, and were examined now.
    pub examined: Vec<u32>,
    /// Its incident, as it stands now.
    pub incident: Option<Incident>,
    /// Rules that could not be decided on the examined steps.
    pub undetermined: Vec<air_core::evaluation::FindingRecord>,
    /// Whether a person must look before anything of it is handed over.
    pub held: bool,
    /// What became of its changes, where it was ended and they were handed over.
    pub publication: Option<Publication>,
}

/// What a person decides about an escalated incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Try the phase again.
    Retry(Phase),
    /// Close it, saying what it was.
    Dismiss(Classification),
    /// Leave it failed.
    GiveUp(String),
}

/// The reviewed steps, as far as their payloads were not erased.
pub(crate) async fn history(
    ports: &Ports,
    events: &[SessionEvent],
) -> Result<History, RuntimeError> {
    let mut history = History::default();
    for event in events {
        let SessionEvent::StepReviewed { done, .. } = event else { continue };
        let payload = ports.journal.payload(done).await?;
        let step = payload.and_then(|json| serde_json::from_slice(&json).ok());
        match step {
            Some((step, effects)) => {
                let step: CompletedStep = step;
                let code = history.read(ports, &step.proposed);
                history.push(&step, effects, &code, &*ports.workspace);
            }
            None => history.forget(),
        }
    }
    Ok(history)
}

impl Session {
    /// Reads a session from the journal. `opening` gives rules and policy; task and agent are taken
    /// from the journal.
    ///
    /// # Errors
    ///
    /// If the journal cannot be read or followed, or the rules cannot be loaded whole.
    pub async fn reopen(ports: Ports, opening: Opening) -> Result<Self, RuntimeError> {
        let id = opening.session;
        let records = ports.journal.read(&Stream::Session(id.clone())).await?;
        let events: Vec<SessionEvent> = records
            .into_iter()
            .filter_map(|record| match record.event {
                Event::Session(event) => Some(event),
                Event::Incident(_) => None,
            })
            .collect();
        let broken = |why: &str| RuntimeError::Broken {
            subject: format!("session {id}"),
            why: why.to_owned(),
        };
        let Some(SessionEvent::Opened { task, agent, rules, judge, beside, .. }) = events.first()
        else {
            return Err(broken("it was never opened"));
        };
        let machine = session::Session::replay(&events);
        // Other rules may not see the harm that these would have seen.
        // Beside a host they are those that are in force for all.
        let others = beside.is_none() && *rules != opening.rules_digest;
        if !machine.open_steps().is_empty() && others {
            return Err(broken("its open step ran under other rules: name those, as they were"));
        }
        let history = history(&ports, &events).await?;
        let task = ports.journal.payload(task).await?.unwrap_or_default();
        let (engine, faults) = match opening.engine {
            Some(engine) => (engine, Vec::new()),
            None => engine(&ports, opening.rules, opening.policy, opening.enforce).await?,
        };
        Ok(Self {
            engine,
            faults,
            machine,
            task: String::from_utf8_lossy(&task).into_owned(),
            agent: agent.clone(),
            history,
            publication: None,
            respond: opening.respond,
            models: opening.models,
            mistaken: Vec::new(),
            pending: None,
            late: Vec::new(),
            doubted: false,
            agent_at: AgentAt::of(beside.as_ref()),
            asking: Asking::default(),
            concurrent: opening.concurrent,
            last: None,
            was_judged: judge.is_some(),
            id,
            ports,
        })
    }

    /// Examines what a process that ended left open, and drives the incident to its rest.
    ///
    /// # Errors
    ///
    /// If the journal cannot be read, followed or written.
    pub async fn resume(&mut self) -> Result<Attention, RuntimeError> {
        let mut attention = Attention {
            session: self.id.clone(),
            examined: Vec::new(),
            incident: None,
            undetermined: Vec::new(),
            held: false,
            publication: None,
        };
        self.doubted = self.was_judged;
        for index in self.machine.open_steps().keys().copied().collect::<Vec<_>>() {
            if *self.machine.status() != Status::Monitoring {
                break;
            }
            attention.examined.push(index);
            // The process may have ended between the detection and its link to the session.
            if let Some(incident) = self.detected(index).await? {
                attention.incident = Some(self.link(&incident, index).await?);
                break;
            }
            match self.examine(index).await? {
                ReviewReply::Incident(incident, _) => attention.incident = Some(*incident),
                ReviewReply::Continue(notes) | ReviewReply::Held(notes) => {
                    attention.undetermined.extend(notes);
                }
                ReviewReply::Pending => {
                    let incident = self.settle(Wait::Verdict).await?;
                    attention.incident = incident.map(|incident| *incident);
                    let late = self.late().into_iter().map(|(_, note)| note);
                    attention.undetermined.extend(late);
                }
            }
        }
        self.doubted = false;
        if let Status::Responding { incident } | Status::Unresolved { incident } =
            self.machine.status().clone()
        {
            attention.incident = Some(self.drive(&incident, Until::Rest).await?);
            if let Some(last) = self.idle().await? {
                attention.incident = Some(last);
            }
        }
        attention.held = self.held();
        Ok(attention)
    }

    /// Carries out what a person decided about the session's escalated incident.
    ///
    /// # Errors
    ///
    /// If the incident does not admit it, or the journal fails.
    pub async fn decide(
        &mut self,
        id: &IncidentId,
        decision: Decision,
    ) -> Result<Incident, RuntimeError> {
        let mut incident = respond::load(&*self.ports.journal, id).await?;
        let retry = matches!(decision, Decision::Retry(_));
        // First, so that a crash in between leaves the decision to be made again.
        if decision == Decision::Dismiss(Classification::FalsePositive) {
            self.unlearn(&incident).await?;
        }
        let input = match decision {
            Decision::Retry(phase) => Input::Resume(phase),
            Decision::Dismiss(classification) => Input::Dismiss(classification),
            Decision::GiveUp(why) => Input::GiveUp(why),
        };
        respond::record(&self.ports, &mut incident, input).await?;
        if retry {
            let event = SessionEvent::ResponseResumed { incident: id.clone() };
            if self.machine.admits(&event).is_ok() {
                self.record(event, air_core::port::Durability::Power).await?;
            }
        }
        self.drive(id, Until::Rest).await
    }

    /// What was learned from an incident that was none must not block anything. A guardrail that has
    /// been changed since is somebody's decision, and stays.
    async fn unlearn(&self, incident: &Incident) -> Result<(), RuntimeError> {
        let Some(adopted) = incident.adopted() else { return Ok(()) };
        let current = self.ports.guardrails.current().await?;
        let Some(learned) = current.into_iter().find(|held| held.id == adopted.id) else {
            return Ok(());
        };
        if learned.mode == Mode::Retired || learned.provenance.incident() != Some(incident.id()) {
            return Ok(());
        }
        // What it had been widened from was learned from others, and stays.
        let before = match learned.provenance {
            Provenance::Refined { replaces, .. } => {
                let history = self.ports.guardrails.history(&learned.id).await?;
                history.into_iter().find(|older| older.version == replaces)
            }
            _ => None,
        };
        let dismissed = Guardrail {
            version: learned.version + 1,
            provenance: Provenance::Dismissed { incident: incident.id().clone() },
            created_at: self.ports.clock.now(),
            ..before.unwrap_or(Guardrail { mode: Mode::Retired, ..learned })
        };
        Ok(self.ports.guardrails.put(&dismissed).await?)
    }

    async fn examine(&mut self, index: u32) -> Result<ReviewReply, RuntimeError> {
        let broken = |why: String| RuntimeError::Broken { subject: format!("step {index}"), why };
        let Some(open) = self.machine.open_steps().get(&index).cloned() else {
            return Err(broken("it is not open".into()));
        };
        let payload = self.ports.journal.payload(&open.step).await?;
        let payload = payload.ok_or_else(|| broken("it was erased".into()))?;
        let step: ProposedStep =
            serde_json::from_slice(&payload).map_err(|error| broken(error.to_string()))?;
        self.after_step(Ticket::of(step, open.checkpoint), None).await
    }

    /// The incident that was already detected for a step, if any.
    pub(crate) async fn detected(&self, index: u32) -> Result<Option<IncidentId>, RuntimeError> {
        for stream in self.ports.journal.streams().await? {
            let Stream::Incident(id) = stream else { continue };
            let incident = respond::load(&*self.ports.journal, &id).await?;
            let detection = incident.detection();
            if detection.session == self.id && detection.index == index {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    pub(crate) fn context(&self) -> Context<'_> {
        Context {
            task: &self.task,
            agent: &self.agent,
            history: &self.history,
            engine: &self.engine,
            models: &self.models,
            agent_at: self.agent_at,
        }
    }
}
