//! What a person says about a session beside a host.

use air_core::{
    id::{ApprovalId, IncidentId},
    incident::Incident,
    port::Durability,
    session::{DecidedBy, SessionEvent},
};

use super::Hosted;
use crate::{gate::AgentAt, resume::Decision, session::RuntimeError};

impl Hosted {
    /// A person has decided about a call that waits.
    ///
    /// # Errors
    ///
    /// If there is no such question, it was decided before, or its time is over.
    pub async fn answer(&mut self, id: &ApprovalId, allowed: bool) -> Result<(), RuntimeError> {
        self.session.expire().await?;
        self.session.answer(id, allowed, DecidedBy::Operator).await
    }

    /// A person has looked at a session that is held: it goes on.
    ///
    /// # Errors
    ///
    /// If it is not held.
    pub async fn release(&mut self) -> Result<(), RuntimeError> {
        self.session.record(SessionEvent::Released, Durability::Power).await
    }

    /// A person has decided about an escalated incident.
    ///
    /// # Errors
    ///
    /// If the incident does not admit it, or the journal fails.
    pub async fn decide(
        &mut self,
        id: &IncidentId,
        decision: Decision,
    ) -> Result<Incident, RuntimeError> {
        self.session.decide(id, decision).await
    }

    /// The host has ended, as far as is known: nobody responds there.
    pub fn left(&mut self) {
        self.session.agent_at = AgentAt::Gone;
    }

    /// Whether what it did can be told from what is being done.
    pub fn can_be_undone(&self) -> bool {
        let (change, redo_of, summary) = (String::new(), None, String::new());
        self.session.machine.admits(&SessionEvent::Undone { change, redo_of, summary }).is_ok()
    }

    /// A person has taken back what it did, or taken that back.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub async fn undone(
        &mut self,
        change: String,
        redo_of: Option<String>,
        summary: String,
    ) -> Result<(), RuntimeError> {
        let event = SessionEvent::Undone { change, redo_of, summary };
        self.session.record(event, Durability::Power).await
    }
}
