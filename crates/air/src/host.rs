//! A host whose tools are AIR's own: asks before each call, runs it, and has it examined.

use std::{
    fs::File,
    sync::Arc,
    time::{Duration, Instant},
};

use air_core::{
    evaluation::FindingRecord,
    incident::Incident,
    port::{ToolBox as _, ToolError, WorkspaceError},
    step::{Arguments, Observation},
};
use air_runtime::{GateReply, ReviewReply, RuntimeError, Session};
use air_workspace::Tools;

use crate::timing::{Meter, Timings};

/// A session with its tools.
#[derive(Debug)]
pub struct Host {
    session: Session,
    tools: Arc<Tools>,
    tier: air_core::port::Tier,
    without_layer: Option<String>,
    meter: Meter,
    timings: Timings,
    /// Keeps other processes away from the session while it is open.
    _lock: File,
}

/// What became of one step.
#[derive(Debug)]
pub enum StepOutcome {
    /// It ran, and nothing was found.
    Ran {
        /// What the tool returned.
        observation: Observation,
        /// Rules that warn or could not be decided.
        notes: Vec<FindingRecord>,
    },
    /// It ran, and the session is held until a person has looked.
    Held {
        /// What the tool returned.
        observation: Observation,
        /// Rules that could not be decided.
        notes: Vec<FindingRecord>,
    },
    /// It did not run.
    Refused {
        /// The guardrails; empty where the session is over or held.
        findings: Vec<FindingRecord>,
        /// For the agent.
        message: String,
    },
    /// It did not run: the step before, whose verdict was awaited meanwhile, is an incident. The task is
    /// over.
    Overtaken {
        /// Containment and recovery are decided.
        incident: Box<Incident>,
    },
    /// It ran and is an incident; the task is over.
    Incident {
        /// What the agent may see of what the tool returned: nothing that leaked.
        observation: Observation,
        /// Containment and recovery are decided.
        incident: Box<Incident>,
    },
}

impl Host {
    pub(crate) fn new(
        session: Session,
        tools: Arc<Tools>,
        meter: Meter,
        without_layer: Option<String>,
        lock: File,
    ) -> Self {
        let tier = session.tier();
        let timings = Timings::default();
        Self { session, tools, tier, without_layer, meter, timings, _lock: lock }
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// How well the workspace contains.
    pub fn tier(&self) -> air_core::port::Tier {
        self.tier
    }

    /// Why tools change the workspace at once, where a layer above it was wanted.
    pub fn without_layer(&self) -> Option<&str> {
        self.without_layer.as_deref()
    }

    /// The tools.
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// Where the time of the last step went.
    pub fn timings(&self) -> Timings {
        self.timings
    }

    /// The sandbox's first process, as this machine calls it, while it runs. Only in T3.
    pub fn sandbox_pid(&self) -> Option<u32> {
        self.tools.workspace().sandbox_pid()
    }

    /// Starts the sandbox ahead of the first step, such as while the agent thinks about it.
    ///
    /// # Errors
    ///
    /// If it does not start; no step will run.
    pub fn warm_up(&self) -> Result<(), WorkspaceError> {
        self.tools.workspace().start()
    }

    /// One step of the agent: plan, tool, arguments.
    ///
    /// # Errors
    ///
    /// If the journal or the workspace failed: the session must not go on.
    pub async fn step(
        &mut self,
        plan: &str,
        tool: &str,
        arguments: Arguments,
    ) -> Result<StepOutcome, RuntimeError> {
        self.meter.reset();
        self.timings = Timings::default();
        let begun = Instant::now();
        let call = format!("{}.{}", self.session.id(), self.session.next_index());
        let reply = self
            .session
            .before_step(call.as_str().into(), plan.into(), tool.into(), arguments)
            .await?;
        let (ticket, mut notes) = match reply {
            GateReply::Run { ticket, notes } => (ticket, notes),
            GateReply::Incident(incident) => {
                self.timings.check = begun.elapsed();
                return Ok(StepOutcome::Overtaken { incident });
            }
            GateReply::Refused { findings, message } => {
                let findings = findings.iter().map(air_core::evaluation::Finding::record).collect();
                self.timings.check = begun.elapsed();
                return Ok(StepOutcome::Refused { findings, message });
            }
        };
        let called = Instant::now();
        let (observation, seen) = match self.tools.call(&ticket.step.call).await {
            Ok(observation) => (observation, true),
            // What is lost may have run: its return was not seen, and its effects are examined.
            Err(error) => {
                let seen = !matches!(error, ToolError::Lost(_));
                let error = Some(error.to_string());
                (Observation { error, ..Observation::default() }, seen)
            }
        };
        let returned = Instant::now();
        let reported = seen.then(|| observation.clone());
        let reply = self.session.after_step(*ticket, reported).await?;
        let ended = Instant::now();
        let (look, responding_since) = self.meter.read();
        let decided = responding_since.unwrap_or(ended);
        let watched = (called - begun) + decided.saturating_duration_since(returned);
        self.timings = Timings {
            check: watched.saturating_sub(look),
            look,
            tool: returned - called,
            response: ended.saturating_duration_since(decided),
            eradication: Duration::ZERO,
        };
        Ok(match reply {
            ReviewReply::Continue(more) => {
                notes.extend(more);
                StepOutcome::Ran { observation, notes }
            }
            ReviewReply::Pending => StepOutcome::Ran { observation, notes },
            ReviewReply::Held(notes) => StepOutcome::Held { observation, notes },
            ReviewReply::Incident(incident, observation) => {
                StepOutcome::Incident { observation, incident }
            }
        })
    }

    /// Rules that could not be decided on steps whose verdict came after them: before the next call, or at
    /// the end. With the number of the step; each is told once.
    pub fn late(&mut self) -> Vec<(u32, FindingRecord)> {
        self.session.late()
    }

    /// Waits until the verdict on the last step is there to be taken up; for ever where none is awaited.
    /// It can be dropped at any time.
    pub async fn verdict(&mut self) {
        self.session.verdict().await;
    }

    /// Takes the verdict on the last step up, where it is awaited. The incident, if it is one:
    /// containment and recovery are decided. The session may be held by it.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub async fn take_up(&mut self) -> Result<Option<Box<Incident>>, RuntimeError> {
        self.session.take_up().await
    }

    /// Does what is not on the agent's path, such as eradication, and takes the verdict on the last step
    /// up where it is awaited. The incident, if one is open.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub async fn idle(&mut self) -> Result<Option<Incident>, RuntimeError> {
        let begun = Instant::now();
        let incident = self.session.idle().await;
        self.timings.eradication = begun.elapsed();
        incident
    }

    /// The agent has finished its task. Call [`Host::idle`] before: it tells what the last step was.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub async fn end(&mut self) -> Result<(), RuntimeError> {
        self.session.end().await
    }
}
