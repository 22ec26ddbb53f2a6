//! One host session: `before_step`, `after_step`, `idle`.

use std::sync::{Arc, OnceLock};

use air_core::{
    code::CodeFacts,
    engine::Engine,
    evaluation::{Finding, FindingRecord},
    id::{CallId, CheckpointId, RuleName, SessionId},
    incident::{Incident, TransitionError},
    policy::FailPolicy,
    port::{Durability, Event, JournalError, Publication, Record, Stream, WorkspaceError},
    rule::Rule,
    ruleset::DuplicateRuleError,
    session::{self, Beside, SessionEvent, Status},
    step::{Arguments, Observation, ProposedStep, ToolCall},
};

use crate::{
    Ports,
    asking::Asking,
    engine::{GuardrailFault, engine},
    eradicate,
    facts::{History, Scene},
    gate::{AgentAt, Passed},
    hosted::Concurrent,
    models::Models,
    respond::Until,
    review::{Pending, Wait},
};

/// A session could not go on. What was journaled stays; resume it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The journal failed: nothing may run that it cannot record.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The workspace failed before the call: nothing may run that cannot be undone.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// Two rules share a name.
    #[error(transparent)]
    Duplicate(#[from] DuplicateRuleError),
    /// The journal holds what no AIR writes.
    #[error("journal of {subject} cannot be followed: {why}")]
    Broken {
        /// The session or incident.
        subject: String,
        /// What is wrong with it.
        why: String,
    },
    /// The event does not fit the session.
    #[error(transparent)]
    Session(#[from] session::SessionError),
    /// The event does not fit the incident.
    #[error(transparent)]
    Incident(#[from] TransitionError),
}

/// How a session begins.
#[derive(Debug, Clone)]
pub struct Opening {
    /// The session's id, minted by the host or by [`air_core::port::Ids`].
    pub session: SessionId,
    /// The task that the agent was given.
    pub task: String,
    /// The agent's name.
    pub agent: String,
    /// The authored rules.
    pub rules: Vec<Rule>,
    /// Digest of their text.
    pub rules_digest: String,
    /// What undetermined answers do.
    pub policy: FailPolicy,
    /// Whether learned guardrails act; otherwise each is in shadow.
    pub enforce: bool,
    /// Whether incidents are responded to; otherwise they are found and learned from, no more.
    pub respond: bool,
    /// How models take part.
    pub models: Models,
    /// The judge, and how far it can be trusted, as it is journaled.
    pub judge: Option<String>,
    /// The host beside which it goes on, where AIR does not run the tools.
    pub beside: Option<Beside>,
    /// The rules in force, where they are loaded already. Default: they are loaded.
    pub engine: Option<Engine>,
    /// Calls of the other sessions of this process beside hosts.
    pub concurrent: Arc<Concurrent>,
}

/// Leave to run one call. Give it back to [`Session::after_step`].
#[derive(Debug, Clone, PartialEq)]
pub struct Ticket {
    /// The step.
    pub step: ProposedStep,
    /// The state before it.
    pub checkpoint: CheckpointId,
    /// What its source does, where that was read already.
    pub(crate) code: OnceLock<Arc<CodeFacts>>,
    /// Guardrails in shadow that hold on it.
    pub(crate) foretold: Vec<RuleName>,
    /// Whether it ran although nobody had asked: when it began is not known.
    pub(crate) is_unasked: bool,
}

impl Ticket {
    /// Leave for a step that was let pass before.
    pub(crate) fn of(step: ProposedStep, checkpoint: CheckpointId) -> Self {
        Self { step, checkpoint, code: OnceLock::new(), foretold: Vec::new(), is_unasked: false }
    }
}

/// Whether a call may run.
#[derive(Debug)]
pub enum GateReply {
    /// It may. The notes are for the agent and the person.
    Run {
        /// Leave to run it.
        ticket: Box<Ticket>,
        /// Guardrails that warn, or could not be decided and were let pass.
        notes: Vec<FindingRecord>,
    },
    /// The step before, whose verdict was still awaited, is an incident: the task is over, and this call
    /// does not run.
    Incident(Box<Incident>),
    /// It may not.
    Refused {
        /// Guardrails that hold or could not be decided; empty where the session is over or held.
        findings: Vec<Finding>,
        /// For the agent: why, and a way forward where there is one.
        message: String,
    },
}

/// What the step was found to be.
#[derive(Debug)]
pub enum ReviewReply {
    /// No incident. AIR rules that could not be decided are named.
    Continue(Vec<FindingRecord>),
    /// A judge is still at it: the agent may plan its next step, and the verdict comes before that runs.
    Pending,
    /// A critical rule could not be decided: no further call before a person has looked.
    Held(Vec<FindingRecord>),
    /// An incident; containment and recovery are decided, and the task is over. With what the agent
    /// may see of what the call returned.
    Incident(Box<Incident>, Observation),
}

/// One session of a guarded agent.
#[derive(Debug)]
pub struct Session {
    pub(crate) ports: Ports,
    pub(crate) engine: Engine,
    pub(crate) id: SessionId,
    pub(crate) task: String,
    pub(crate) agent: String,
    pub(crate) machine: session::Session,
    pub(crate) history: History,
    pub(crate) publication: Option<Publication>,
    pub(crate) respond: bool,
    pub(crate) models: Models,
    /// Wider forms that have held on steps that nothing objected to.
    pub(crate) mistaken: Vec<RuleName>,
    pub(crate) faults: Vec<GuardrailFault>,
    /// The last step, while its verdict is awaited.
    pub(crate) pending: Option<Box<Pending>>,
    /// What could not be decided of steps whose verdict came later.
    pub(crate) late: Vec<(u32, FindingRecord)>,
    /// Whether a judge took part when it was opened.
    pub(crate) was_judged: bool,
    /// What cannot be decided now waits for a person.
    pub(crate) doubted: bool,
    pub(crate) agent_at: AgentAt,
    /// Who is asked where a person has to be.
    pub(crate) asking: Asking,
    pub(crate) concurrent: Arc<Concurrent>,
    /// The state before the last call that was let pass.
    pub(crate) last: Option<CheckpointId>,
}

impl Session {
    /// Begins a session, and journals that it did.
    ///
    /// # Errors
    ///
    /// If the rules cannot be loaded whole or the journal cannot be written.
    pub async fn open(ports: Ports, opening: Opening) -> Result<Self, RuntimeError> {
        let (engine, faults) = match opening.engine {
            Some(engine) => (engine, Vec::new()),
            None => engine(&ports, opening.rules, opening.policy, opening.enforce).await?,
        };
        let unnamed = ports.judge.as_ref().map(|_| "a judge".to_owned());
        let judge = opening.judge.or(unnamed);
        let task = ports.journal.put_payload(opening.task.as_bytes()).await?;
        let mut session = Self {
            engine,
            id: opening.session,
            task: opening.task,
            agent: opening.agent.clone(),
            machine: session::Session::default(),
            history: History::default(),
            publication: None,
            respond: opening.respond,
            models: opening.models,
            mistaken: Vec::new(),
            pending: None,
            late: Vec::new(),
            was_judged: judge.is_some(),
            doubted: false,
            agent_at: AgentAt::of(opening.beside.as_ref()),
            asking: Asking::default(),
            concurrent: opening.concurrent,
            last: None,
            faults,
            ports,
        };
        let tier = session.ports.workspace.tier();
        let rules = opening.rules_digest;
        let (agent, beside) = (opening.agent, opening.beside);
        let event = SessionEvent::Opened { task, agent, tier, rules, judge, beside };
        session.record(event, Durability::Process).await?;
        Ok(session)
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// How well its workspace contains.
    pub fn tier(&self) -> air_core::port::Tier {
        self.ports.workspace.tier()
    }

    /// Guardrails whose last version cannot be used. To be told.
    pub fn faults(&self) -> &[GuardrailFault] {
        &self.faults
    }

    /// Rules that could not be decided on steps whose verdict came after the step, with its number. Each is
    /// told once.
    pub fn late(&mut self) -> Vec<(u32, FindingRecord)> {
        std::mem::take(&mut self.late)
    }

    /// Whether a critical rule could not be decided: no call is accepted, and nothing is handed over,
    /// before a person has looked.
    pub fn held(&self) -> bool {
        *self.machine.status() == Status::Monitoring && self.machine.held()
    }

    /// Position of the next step, from 1.
    pub fn next_index(&self) -> u32 {
        self.machine.last_index() + 1
    }

    /// Where it stands.
    pub fn status(&self) -> &Status {
        self.machine.status()
    }

    /// The agent is about to run a tool: may it?
    ///
    /// # Errors
    ///
    /// If the step could not be journaled or its state not remembered: then it must not run.
    pub async fn before_step(
        &mut self,
        call: CallId,
        plan: String,
        tool: String,
        arguments: Arguments,
    ) -> Result<GateReply, RuntimeError> {
        if let Some(incident) = self.settle(Wait::Window).await? {
            return Ok(GateReply::Incident(incident));
        }
        if let Some(message) = self.closed() {
            return Ok(GateReply::Refused { findings: Vec::new(), message });
        }
        let call = ToolCall { id: call, tool, arguments, native: None };
        Ok(match self.gate(call, plan).await? {
            Passed::Run { ticket, notes, .. } => GateReply::Run { ticket, notes },
            Passed::Refused { findings, message } => GateReply::Refused { findings, message },
            Passed::Waiting(waiting) => {
                GateReply::Refused { findings: Vec::new(), message: waiting.question }
            }
        })
    }

    /// The agent has nothing to do: work that is not on its path is done now, such as eradication. A
    /// verdict that is awaited is taken up. Returns the incident if one is open; what could not be
    /// decided is in [`Session::late`], and may hold the session.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub async fn idle(&mut self) -> Result<Option<Incident>, RuntimeError> {
        self.settle(Wait::Verdict).await?;
        let mut last = None;
        while let Status::Responding { incident } = self.machine.status().clone() {
            let incident = self.drive(&incident, Until::Rest).await?;
            self.spent(incident.detection().index).await?;
            let rests = self.current().as_ref() == Some(incident.id());
            last = Some(incident);
            if rests {
                break;
            }
        }
        Ok(last)
    }

    /// A person has looked at a held session, and its task is over.
    ///
    /// # Errors
    ///
    /// If it is not held, or the journal cannot be written.
    pub async fn release(&mut self) -> Result<(), RuntimeError> {
        self.record(SessionEvent::Released, Durability::Power).await?;
        self.end().await
    }

    /// The agent has finished its task. Call [`Session::idle`] before: it tells what the verdict on the
    /// last step is. A session that is held stays open.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub async fn end(&mut self) -> Result<(), RuntimeError> {
        if self.settle(Wait::Verdict).await?.is_some() {
            self.idle().await?;
        }
        if self.machine.admits(&SessionEvent::TaskEnded).is_ok() {
            self.publish().await?;
            eradicate::narrow(&self.ports, &self.mistaken).await?;
            self.record(SessionEvent::TaskEnded, Durability::Process).await?;
        }
        Ok(())
    }

    /// Hands the session's changes over, before the event that ends it: after a crash in between it
    /// is done again.
    pub(crate) async fn publish(&mut self) -> Result<(), RuntimeError> {
        if let Some(mut publication) = self.ports.workspace.publish().await? {
            for line in publication.merged.iter_mut().chain(&mut publication.held_back) {
                *line = air_core::redact::redact(line);
            }
            self.publication = Some(publication.clone());
            self.record(SessionEvent::Published { publication }, Durability::Power).await?;
        }
        Ok(())
    }

    /// What became of the session's changes, once it has ended.
    pub fn publication(&self) -> Option<&Publication> {
        self.publication.as_ref()
    }

    /// Journals what models took since the last time, for the step of that position.
    pub(crate) async fn spent(&mut self, index: u32) -> Result<(), RuntimeError> {
        let Some(spendings) = &self.ports.spendings else { return Ok(()) };
        let spent = spendings.take();
        if spent.is_empty() {
            return Ok(());
        }
        self.record(SessionEvent::Spent { index, spent }, Durability::Process).await
    }

    /// Why no call is accepted, if none is.
    pub(crate) fn closed(&self) -> Option<String> {
        match self.machine.status() {
            Status::Monitoring if self.held() => {
                Some("the session is held until a person has looked at it".into())
            }
            Status::Monitoring
                if self.agent_at == AgentAt::Here && !self.machine.open_steps().is_empty() =>
            {
                Some("a step has not been examined; resume the session".into())
            }
            Status::Monitoring => None,
            Status::Responding { incident } | Status::Unresolved { incident } => {
                Some(format!("the task was ended by incident {incident}"))
            }
            Status::Terminated => Some("the task is over".into()),
        }
    }

    pub(crate) fn scene<'a>(
        &'a self,
        step: &'a ProposedStep,
        after: Option<(&'a Option<Observation>, &'a CheckpointId)>,
        code: OnceLock<Arc<CodeFacts>>,
    ) -> Scene<'a> {
        Scene {
            ports: &self.ports,
            session: &self.id,
            task: &self.task,
            agent: &self.agent,
            history: &self.history,
            step,
            after,
            code,
        }
    }

    pub(crate) async fn record(
        &mut self,
        event: SessionEvent,
        durability: Durability,
    ) -> Result<(), RuntimeError> {
        self.machine.admits(&event)?;
        let record = Record { at: self.ports.clock.now(), event: Event::Session(event.clone()) };
        let stream = Stream::Session(self.id.clone());
        let expected = self.machine.revision();
        self.ports.journal.append(&stream, expected, &[record], durability).await?;
        self.machine.apply(&event);
        let is_over = match event {
            SessionEvent::ResponseEnded { .. } | SessionEvent::ResponseEscalated { .. } => {
                !matches!(self.machine.status(), Status::Responding { .. })
            }
            SessionEvent::TaskEnded => true,
            _ => false,
        };
        if is_over {
            self.concurrent.leave(&self.id);
        }
        Ok(())
    }
}
