//! Opens an incident for a step of a session, and drives it.

use std::sync::{Arc, OnceLock};

use air_core::{
    code::CodeFacts,
    effects::Effects,
    evaluation::{Decided, Review},
    fact::{Facts, Root, Roots},
    id::{CheckpointId, IncidentId},
    incident::{Action, Detection, Incident, IncidentEvent, State},
    port::{Durability, Event, Record, Stream},
    session::{SessionEvent, Status},
    step::CompletedStep,
};

use crate::{
    decide::{payload, records},
    plan,
    respond::{self, Until},
    session::{RuntimeError, Session},
};

impl Session {
    pub(crate) async fn open_incident(
        &mut self,
        step: &CompletedStep,
        checkpoint: &CheckpointId,
        code: OnceLock<Arc<CodeFacts>>,
        effects: &Effects,
        facts: &mut Facts,
        decided: &Decided<Review>,
    ) -> Result<Incident, RuntimeError> {
        let scene = self.scene(&step.proposed, Some((&step.observation, checkpoint)), code);
        // Call templates may read anything.
        let missing: Roots = Root::ALL.into_iter().collect();
        scene.supply(facts, missing.without(facts.supplied()), Some(effects)).await;
        let response = if self.respond {
            {
                let with = (&self.ports, &self.models);
                plan::response(&decided.hits, effects, (step, scene.code()), facts, with).await?
            }
        } else {
            Vec::new()
        };
        let repairs =
            response.iter().any(|planned| matches!(planned.action, Action::Repair { .. }));
        let mut rules = Vec::new();
        for finding in &decided.hits {
            rules.push(self.ports.journal.put_payload(finding.rule.source.as_bytes()).await?);
        }
        let detection = Detection {
            session: self.id.clone(),
            index: step.proposed.index,
            tool: step.proposed.call.tool.clone(),
            findings: records(&decided.hits),
            rules,
            step: payload(&self.ports, step).await?,
            effects: payload(&self.ports, effects).await?,
            evidence: plan::evidence(effects),
            checkpoint: checkpoint.clone(),
            tier: self.ports.workspace.tier(),
            response,
            restorable: repairs
                || decided.hits.iter().any(|finding| respond::is_restorable(&finding.rule)),
        };
        let id = self.ports.ids.incident();
        let record = Record {
            at: self.ports.clock.now(),
            event: Event::Incident(IncidentEvent::Detected(detection)),
        };
        let stream = Stream::Incident(id.clone());
        self.ports.journal.append(&stream, 0, &[record], Durability::Power).await?;
        self.link(&id, step.proposed.index).await
    }

    /// Ends the task for an incident that is journaled, and responds to it.
    pub(crate) async fn link(
        &mut self,
        id: &IncidentId,
        index: u32,
    ) -> Result<Incident, RuntimeError> {
        let event = SessionEvent::ResponseStarted { incident: id.clone(), index };
        self.record(event, Durability::Power).await?;
        // Of calls that ran at once, each has its turn.
        if self.current().as_ref() != Some(id) {
            return respond::load(&*self.ports.journal, id).await;
        }
        self.drive(id, Until::RecoveryDecided).await
    }

    /// The incident that is worked on.
    pub(crate) fn current(&self) -> Option<IncidentId> {
        match self.machine.status() {
            Status::Responding { incident } | Status::Unresolved { incident } => {
                Some(incident.clone())
            }
            Status::Monitoring | Status::Terminated => None,
        }
    }

    /// Works on the incident, and lets the session follow.
    pub(crate) async fn drive(
        &mut self,
        id: &IncidentId,
        until: Until,
    ) -> Result<Incident, RuntimeError> {
        let incident = respond::drive(&self.ports, &self.context(), id, until).await?;
        // What a failed recovery left is not handed over before a person has decided.
        if matches!(incident.state(), State::Closed(_)) {
            self.publish().await?;
        }
        let event = match incident.state() {
            state if state.is_terminal() => SessionEvent::ResponseEnded { incident: id.clone() },
            State::Escalated(_) => SessionEvent::ResponseEscalated { incident: id.clone() },
            _ => return Ok(incident),
        };
        if self.machine.admits(&event).is_ok() {
            self.record(event, Durability::Power).await?;
        }
        Ok(incident)
    }
}
