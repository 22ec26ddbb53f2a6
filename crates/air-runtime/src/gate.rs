//! Before a call: what the guardrails say, who is asked, and what is on disk before it may run.

use std::sync::OnceLock;

use air_core::{
    evaluation::{Finding, FindingRecord, Gate},
    port::Durability,
    session::{Beside, SessionEvent},
    step::{ProposedStep, ToolCall},
};

use crate::{
    asking::{Asked, Waiting},
    decide::{decide, payload, records, refusal},
    session::{RuntimeError, Session, Ticket},
};

/// Where the agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentAt {
    /// Here: AIR runs its tools, one at a time.
    Here,
    /// In a host that runs them, several at a time perhaps.
    Host,
    /// It was in a host, and has left: it cannot respond.
    Gone,
}

impl AgentAt {
    pub(crate) fn of(beside: Option<&Beside>) -> Self {
        if beside.is_some() { Self::Host } else { Self::Here }
    }
}

/// Whether a call may run.
pub(crate) enum Passed {
    Run { ticket: Box<Ticket>, notes: Vec<FindingRecord>, ask: Option<String> },
    Refused { findings: Vec<Finding>, message: String },
    Waiting(Waiting),
}

impl Session {
    /// Decides about a call, and journals what was decided.
    pub(crate) async fn gate(
        &mut self,
        call: ToolCall,
        plan: String,
    ) -> Result<Passed, RuntimeError> {
        let index = self.next_index();
        let passed = self.pass(call, plan).await;
        self.spent(index).await?;
        passed
    }

    /// What the guardrails say of a call that was let pass before. Nothing of it is journaled again.
    pub(crate) async fn look_again(&self, step: &ProposedStep) -> (Gate, String) {
        let evaluation = self.engine.before_step(&step.call);
        if evaluation.is_empty() {
            return (Gate::Allow, String::new());
        }
        let scene = self.scene(step, None, OnceLock::new());
        let decided = decide(&scene, evaluation, &mut scene.facts(), None).await;
        (decided.decision, refusal(&decided.hits, &decided.undetermined))
    }

    async fn pass(&mut self, call: ToolCall, plan: String) -> Result<Passed, RuntimeError> {
        let step = ProposedStep { session: self.id.clone(), index: self.next_index(), plan, call };
        let evaluation = self.engine.before_step(&step.call);
        let mut notes = Vec::new();
        let (mut code, mut foretold) = (OnceLock::new(), Vec::new());
        let (mut approval, mut ask) = (None, None);
        if !evaluation.is_empty() {
            let scene = self.scene(&step, None, OnceLock::new());
            let mut facts = scene.facts();
            let decided = decide(&scene, evaluation, &mut facts, None).await;
            code = scene.code;
            foretold = decided.shadow.iter().map(|finding| finding.rule.name.clone()).collect();
            let gate = match self.asked(&step, &decided).await? {
                Asked::Gate(gate) => gate,
                Asked::Approved(id) => {
                    approval = Some(id);
                    Gate::Allow
                }
                Asked::ByHost(question) => {
                    ask = Some(question);
                    Gate::Ask
                }
                Asked::Waiting(waiting) => return Ok(Passed::Waiting(waiting)),
            };
            notes = records(decided.hits.iter().chain(&decided.undetermined));
            if gate != Gate::Allow || !notes.is_empty() || !decided.shadow.is_empty() {
                // One that runs is kept when it starts.
                let refused = gate == Gate::Block;
                let event = SessionEvent::Gated {
                    index: step.index,
                    tool: step.call.tool.clone(),
                    step: if refused { Some(payload(&self.ports, &step).await?) } else { None },
                    gate,
                    hits: records(&decided.hits),
                    undetermined: records(&decided.undetermined),
                    shadow: records(&decided.shadow),
                };
                self.record(event, Durability::Process).await?;
            }
            if gate == Gate::Block {
                let message = refusal(&decided.hits, &decided.undetermined);
                let findings = decided.hits.into_iter().chain(decided.undetermined).collect();
                return Ok(Passed::Refused { findings, message });
            }
        }
        let checkpoint = match self.last.take() {
            // What changes while a call runs that changes nothing, others do: it is nothing to go back from.
            Some(last) if self.is_passive(&step.call.tool) => last,
            _ => self.ports.workspace.checkpoint().await?,
        };
        self.last = Some(checkpoint.clone());
        let payload = payload(&self.ports, &step).await?;
        // A tool that nobody knows may do anything.
        let side_effects =
            self.ports.tools.tool(&step.call.tool).is_none_or(|tool| tool.side_effects);
        let durability = if side_effects { Durability::Power } else { Durability::Process };
        let event = SessionEvent::StepStarted {
            index: step.index,
            call: step.call.id.clone(),
            tool: step.call.tool.clone(),
            step: payload,
            checkpoint: checkpoint.clone(),
            approval,
        };
        self.record(event, durability).await?;
        let ticket = Ticket { step, checkpoint, code, foretold, is_unasked: false };
        let ticket = Box::new(ticket);
        Ok(Passed::Run { ticket, notes, ask })
    }
}
