//! A session beside a host that runs its tools by itself: AIR is asked before a call and told after it,
//! several calls may run at once, and an agent that is to respond to its incident does so by calls like
//! any others.
//!
//! All that is durable is in the journal: a call that was let pass before a crash is examined after it.

pub(crate) mod attribute;
mod calls;
mod concurrent;
mod person;
mod response;
mod scope;
mod told;

pub use calls::{Issued, Reach};
pub use concurrent::Concurrent;
pub use told::{Ordered, Told};

use std::collections::BTreeMap;

use air_core::{
    engine::Engine,
    evaluation::{Finding, Gate},
    id::{CallId, RuleName, SessionId},
    incident::{Ending, Incident, State},
    port::Durability,
    session::{self, OpenStep, SessionEvent, Status},
    step::{Observation, ProposedStep, ToolCall},
};

use crate::{
    Ports,
    asking::Asking,
    gate::{AgentAt, Passed},
    respond,
    review::Wait,
    session::{Opening, ReviewReply, RuntimeError, Session, Ticket},
};

/// One session beside a host.
#[derive(Debug)]
pub struct Hosted {
    session: Session,
    /// Calls that may run, or do.
    tickets: BTreeMap<CallId, Ticket>,
    issuing: calls::Issuing,
}

impl Hosted {
    /// Begins one; `opening.beside` says beside what.
    ///
    /// # Errors
    ///
    /// As [`Session::open`].
    pub async fn open(ports: Ports, opening: Opening) -> Result<Self, RuntimeError> {
        Ok(Self::around(Session::open(ports, opening).await?))
    }

    /// Goes on with one from the journal. Nothing of it is examined yet: calls that were let pass may
    /// still run in the host.
    ///
    /// # Errors
    ///
    /// As [`Session::reopen`].
    pub async fn reopen(ports: Ports, opening: Opening) -> Result<Self, RuntimeError> {
        let hosted = Self::around(Session::reopen(ports, opening).await?);
        hosted.session.register().await?;
        Ok(hosted)
    }

    fn around(session: Session) -> Self {
        Self { session, tickets: BTreeMap::new(), issuing: calls::Issuing::default() }
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        self.session.id()
    }

    /// Where it stands.
    pub fn status(&self) -> &Status {
        self.session.status()
    }

    /// Its machine: open steps and approvals.
    pub fn machine(&self) -> &session::Session {
        &self.session.machine
    }

    /// The rules that are in force from now on.
    pub fn swap(&mut self, engine: Engine) {
        self.session.engine = engine;
    }

    /// The agent was given a task, or a further word.
    ///
    /// # Errors
    ///
    /// If the journal cannot be read or written.
    pub async fn input(&mut self, text: &str) -> Result<Told, RuntimeError> {
        match self.session.status().clone() {
            Status::Monitoring if self.session.held() => Ok(self.held()),
            Status::Monitoring => {
                text.clone_into(&mut self.session.task);
                Ok(go())
            }
            Status::Responding { incident } => self.stands(&incident, None).await,
            Status::Unresolved { .. } | Status::Terminated => self.over().await,
        }
    }

    /// A tool is about to run.
    ///
    /// # Errors
    ///
    /// If it could not be journaled, or the state before it not remembered: it must not run then.
    pub async fn before(
        &mut self,
        call: ToolCall,
        plan: String,
        asking: Asking,
    ) -> Result<Told, RuntimeError> {
        let mut open = self.session.machine.open_steps().values();
        let open = open.find(|open| open.call == call.id).cloned();
        if let (Some(open), Status::Monitoring) = (open, self.session.status()) {
            return self.again(&open, &call, asking).await;
        }
        if let Some(incident) = self.session.settle(Wait::Window).await? {
            let why = "the call before it led to an incident".to_owned();
            return self.stands(&incident.id().clone(), Some(why)).await;
        }
        match self.session.status().clone() {
            Status::Responding { incident } => return self.respond(&incident, call, plan).await,
            Status::Unresolved { .. } | Status::Terminated => return self.over().await,
            Status::Monitoring if self.session.held() => return Ok(self.held()),
            Status::Monitoring => {}
        }
        self.session.ask(asking);
        let id = call.id.clone();
        Ok(match self.session.gate(call, plan).await? {
            Passed::Run { ticket, notes, ask } => {
                self.session.begins(&ticket.step);
                self.tickets.insert(id, *ticket);
                match ask {
                    Some(question) => Told::Ask { question },
                    None => Told::Go { notes },
                }
            }
            Passed::Refused { findings, message } => {
                Told::Refused { rules: names(&findings), message }
            }
            Passed::Waiting(waiting) => Told::Waiting(waiting),
        })
    }

    /// A host asks again about a call that was let pass. Told twice, it is let pass once; where the host is to
    /// ask a person, it still is. Another call under the same id is not the same.
    async fn again(
        &mut self,
        open: &OpenStep,
        call: &ToolCall,
        asking: Asking,
    ) -> Result<Told, RuntimeError> {
        let is_it = |step: &ProposedStep| {
            step.call.tool == call.tool && step.call.arguments == call.arguments
        };
        let Some(step) = self.session.started(open).await?.filter(is_it) else {
            let message = format!("another call of the id `{}` runs; make it by its own", call.id);
            return Ok(Told::Refused { rules: Vec::new(), message });
        };
        if asking == Asking::Host
            && let (Gate::Ask, why) = self.session.look_again(&step).await
        {
            return Ok(Told::Ask { question: format!("let `{}` run? {why}", call.tool) });
        }
        self.stand().await
    }

    /// A call came back, failed or was cut off. One that nobody asked about before is examined with what
    /// has changed since the last that somebody did.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub async fn after(
        &mut self,
        call: ToolCall,
        plan: String,
        seen: Observation,
    ) -> Result<Told, RuntimeError> {
        if let Some(ticket) = self.ticket(&call.id).await? {
            let reply = self.session.after_step(ticket, Some(seen)).await?;
            return self.reviewed(reply).await;
        }
        match self.session.status().clone() {
            Status::Responding { incident } => self.responded(&incident, &call.id, seen).await,
            Status::Unresolved { .. } | Status::Terminated => self.over().await,
            Status::Monitoring if self.session.held() => Ok(self.held()),
            // Told once more: it is known what it did.
            Status::Monitoring if self.session.has_had(&call.id).await? => self.stand().await,
            Status::Monitoring => {
                let ticket = self.session.adopt(call, plan).await?;
                let reply = self.session.after_step(ticket, Some(seen)).await?;
                self.reviewed(reply).await
            }
        }
    }

    /// A call goes on in the background: what it has done so far is examined, and the rest when it ends.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub async fn goes_on(
        &mut self,
        call: &CallId,
        background: String,
    ) -> Result<Told, RuntimeError> {
        let open = self.session.machine.open_steps().iter().find(|(_, open)| open.call == *call);
        let index = open.map(|(index, _)| *index);
        if let (Status::Responding { incident }, None) = (self.session.status().clone(), index) {
            let error = Some("it goes on in the background".to_owned());
            return self
                .responded(&incident, call, Observation { error, ..Observation::default() })
                .await;
        }
        if let Some(index) = index {
            let event = SessionEvent::StepGoesOn { index, background };
            self.session.record(event, Durability::Process).await?;
        }
        self.glance(call).await
    }

    async fn glance(&mut self, call: &CallId) -> Result<Told, RuntimeError> {
        let Some(ticket) = self.ticket(call).await? else { return self.stand().await };
        self.tickets.insert(call.clone(), ticket.clone());
        let reply = self.session.glance(ticket).await?;
        if matches!(reply, ReviewReply::Incident(..)) {
            self.tickets.remove(call);
        }
        self.reviewed(reply).await
    }

    /// What the calls that run have done so far is examined, and the rest when they end.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub async fn look(&mut self) -> Result<Told, RuntimeError> {
        let open = self.session.machine.open_steps().values();
        for call in open.map(|open| open.call.clone()).collect::<Vec<_>>() {
            self.glance(&call).await?;
        }
        self.stand().await
    }

    /// What went on in the background has ended.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub async fn ended(
        &mut self,
        background: &str,
        seen: Observation,
    ) -> Result<Told, RuntimeError> {
        let mut open = self.session.machine.open_steps().values();
        let open = open.find(|open| open.background.as_deref() == Some(background));
        let Some(call) = open.map(|open| open.call.clone()) else { return self.stand().await };
        let Some(ticket) = self.ticket(&call).await? else { return self.stand().await };
        let reply = self.session.after_step(ticket, Some(seen)).await?;
        self.reviewed(reply).await
    }

    /// The host or a person kept a call from running that AIR had let pass.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub async fn refused(
        &mut self,
        call: ToolCall,
        seen: Observation,
    ) -> Result<Told, RuntimeError> {
        let id = call.id.clone();
        if let Some(ticket) = self.ticket(&id).await? {
            let reply = self.session.after_step(ticket, Some(seen)).await?;
            return self.reviewed(reply).await;
        }
        match self.session.status().clone() {
            Status::Responding { incident } => self.responded(&incident, &id, seen).await,
            _ => self.stand().await,
        }
    }

    /// The agent wants to end its turn. Every call that was let pass is examined, also those whose end
    /// the host never told; `running` goes on in the background.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub async fn idle(&mut self, running: &[String]) -> Result<Told, RuntimeError> {
        if let Some(incident) = self.session.settle(Wait::Verdict).await? {
            return self.stands(&incident.id().clone(), None).await;
        }
        // Also those that outlive the task.
        if let Some(told) = self.examine(running).await? {
            return Ok(told);
        }
        match self.session.status().clone() {
            Status::Monitoring if self.session.held() => Ok(self.held()),
            Status::Monitoring => Ok(go()),
            Status::Responding { incident } => self.wants_to_end(&incident).await,
            Status::Unresolved { .. } | Status::Terminated => self.over().await,
        }
    }

    /// A sub-agent wants to end. Where there is something to put right, it has to first.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub async fn steps_back(&mut self) -> Result<Told, RuntimeError> {
        match self.session.status().clone() {
            Status::Responding { incident } => self.wants_to_end(&incident).await,
            _ => self.stand().await,
        }
    }

    /// Examines the calls whose end was not told. What there is to tell, unless nothing was found.
    async fn examine(&mut self, running: &[String]) -> Result<Option<Told>, RuntimeError> {
        let was_monitoring = *self.session.status() == Status::Monitoring;
        let open = self.session.machine.open_steps().values();
        let goes_on =
            |step: &OpenStep| step.background.as_ref().is_some_and(|id| running.contains(id));
        let calls: Vec<(CallId, bool)> =
            open.map(|step| (step.call.clone(), goes_on(step))).collect();
        for (call, goes_on) in calls {
            let told = if goes_on {
                self.glance(&call).await?
            } else {
                let Some(ticket) = self.ticket(&call).await? else { continue };
                let reply = self.session.after_step(ticket, None).await?;
                self.reviewed(reply).await?
            };
            if was_monitoring && !matches!(told, Told::Go { .. }) {
                return Ok(Some(told));
            }
        }
        Ok(None)
    }

    /// The host has ended the session: what is open is examined, and where the agent was to respond, AIR
    /// does what can be done without it.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub async fn end(&mut self) -> Result<Option<Incident>, RuntimeError> {
        if *self.session.status() == Status::Monitoring {
            self.session.settle(Wait::Verdict).await?;
        }
        self.examine(&[]).await?;
        self.session.agent_at = AgentAt::Gone;
        let incident = self.rest().await?;
        self.session.end().await?;
        Ok(incident)
    }

    /// Work that is not on the agent's path: what an incident needs after its recovery is decided, an
    /// order whose time is over, questions that nobody answered. The incident, if there is one.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub async fn rest(&mut self) -> Result<Option<Incident>, RuntimeError> {
        self.session.expire().await?;
        self.session.idle().await
    }

    async fn reviewed(&mut self, reply: ReviewReply) -> Result<Told, RuntimeError> {
        let goes_on = *self.session.status() == Status::Monitoring && !self.session.held();
        match reply {
            ReviewReply::Continue(notes) if goes_on => Ok(Told::Go { notes }),
            // Of several incidents, the one that is worked on is told.
            _ => self.stand().await,
        }
    }

    /// Leave for a call that was let pass, also by a process that has ended. That may have been between
    /// the detection of an incident and its link to the session: then it is linked.
    async fn ticket(&mut self, call: &CallId) -> Result<Option<Ticket>, RuntimeError> {
        if let Some(ticket) = self.tickets.remove(call) {
            return Ok(Some(ticket));
        }
        let mut open = self.session.machine.open_steps().iter();
        let Some((index, open)) = open.find(|(_, open)| open.call == *call) else {
            return Ok(None);
        };
        let (index, open) = (*index, open.clone());
        if let Some(incident) = self.session.detected(index).await? {
            self.session.link(&incident, index).await?;
            return Ok(None);
        }
        let step = self.session.started(&open).await?;
        Ok(step.map(|step| Ticket::of(step, open.checkpoint)))
    }

    /// The call that was let pass and is the same but for its id, the oldest first: for hosts that give
    /// their calls no ids.
    ///
    /// # Errors
    ///
    /// If the journal cannot be read.
    pub async fn same(&self, call: &ToolCall) -> Result<Option<CallId>, RuntimeError> {
        let is_same = |step: &ProposedStep| {
            step.call.tool == call.tool && step.call.arguments == call.arguments
        };
        if let Status::Responding { incident } = self.session.status() {
            let incident = respond::load(&*self.session.ports.journal, incident).await?;
            let open = response::acting(&self.session, &incident).await?;
            if let Some((step, _)) = open.into_iter().find(|(step, _)| is_same(step)) {
                return Ok(Some(step.call.id));
            }
        }
        for open in self.session.machine.open_steps().values() {
            if let Some(step) = self.session.started(open).await?
                && is_same(&step)
            {
                return Ok(Some(step.call.id));
            }
        }
        Ok(None)
    }

    /// Whether its task is over, and not for an incident: what the host asks next belongs to another.
    ///
    /// # Errors
    ///
    /// If the journal cannot be read.
    pub async fn has_ended_well(&self) -> Result<bool, RuntimeError> {
        let is_over = *self.session.status() == Status::Terminated;
        Ok(is_over && self.last_incident().await?.is_none())
    }

    /// How things stand, for whoever asks beside a call.
    ///
    /// # Errors
    ///
    /// If the journal cannot be read.
    pub async fn stand(&mut self) -> Result<Told, RuntimeError> {
        match self.session.status().clone() {
            Status::Monitoring if self.session.held() => Ok(self.held()),
            Status::Monitoring => Ok(go()),
            Status::Responding { incident } => self.stands(&incident, None).await,
            Status::Unresolved { .. } | Status::Terminated => self.over().await,
        }
    }

    fn held(&self) -> Told {
        let id = self.session.id();
        Told::Held {
            message: format!(
                "AIR holds this session: whether a call did harm could not be decided. A person has to \
                 look: `airctl resume --release {id}`"
            ),
        }
    }
}

fn go() -> Told {
    Told::Go { notes: Vec::new() }
}

fn names(findings: &[Finding]) -> Vec<RuleName> {
    findings.iter().map(|finding| finding.rule.name.clone()).collect()
}

/// How an incident ended, in words for the agent and the person.
fn outcome(incident: &Incident) -> &'static str {
    let recovered = matches!(incident.endings().recovery, Some(Ending::Done));
    match incident.state() {
        State::Escalated(_) if recovered => {
            "it was put right, which AIR has verified; how it is kept from happening again waits for a \
             person"
        }
        State::Escalated(_) | State::Failed | State::Uncontained | State::Unrecovered => {
            "it could not be put right, and waits for a person"
        }
        _ if recovered => "it was put right, which AIR has verified",
        _ => "what happened cannot be taken back, and is on record",
    }
}
