//! The transcript of a case: a line for each step, and for the events of each stream.

use std::fmt::Write as _;

use air_core::{
    evaluation::FindingRecord,
    incident::{Ending, Incident, IncidentEvent, State},
    port::{Event, Ids as _, Journal as _, Stream},
};
use air_runtime::{GateReply, ReviewReply, Session};
use futures::executor::block_on;

use crate::{
    run::{CaseError, Stage},
    suite::Script,
};

impl Stage {
    /// Plays the steps, lets AIR respond, and plays them once more with what was learned.
    pub(crate) fn transcript(&self, script: &Script) -> Result<String, CaseError> {
        let mut transcript = String::new();
        self.play(script, "step", &mut transcript)?;
        self.journal(&mut transcript)?;
        self.play(script, "again", &mut transcript)?;
        Ok(transcript)
    }

    fn play(&self, script: &Script, word: &str, out: &mut String) -> Result<(), CaseError> {
        let opening = self.opening(self.counting.session(), &script.task);
        let mut session = block_on(Session::open(self.ports.clone(), opening))?;
        for (number, step) in (1_u32..).zip(&script.step) {
            let reply = self.propose(&mut session, number, step)?;
            let line = match reply {
                GateReply::Incident(incident) => {
                    block_on(session.idle())?;
                    format!("late respond{}", names(&incident.detection().findings))
                }
                GateReply::Refused { findings, .. } if findings.is_empty() => "not run".to_owned(),
                GateReply::Refused { findings, .. } => {
                    let records: Vec<FindingRecord> =
                        findings.iter().map(air_core::evaluation::Finding::record).collect();
                    format!("block{}", names(&records))
                }
                GateReply::Run { ticket, notes } => {
                    self.has_run(&step.tool);
                    self.workspace.change(step.effects.observed());
                    let seen = Some(step.observation());
                    let gate = if notes.is_empty() { "allow" } else { "warn" };
                    let gate = format!("{gate}{}", names(&notes));
                    match block_on(session.after_step(*ticket, seen))? {
                        ReviewReply::Continue(notes) if notes.is_empty() => {
                            format!("{gate}, continue")
                        }
                        ReviewReply::Continue(notes) => {
                            format!("{gate}, undetermined{}", names(&notes))
                        }
                        ReviewReply::Held(notes) => format!("{gate}, hold{}", names(&notes)),
                        ReviewReply::Pending => format!("{gate}, pending"),
                        ReviewReply::Incident(incident, _) => {
                            block_on(session.idle())?;
                            let found = &incident.detection().findings;
                            format!("{gate}, respond{}", names(found))
                        }
                    }
                }
            };
            let _ = writeln!(out, "{word} {number}: {line}");
        }
        block_on(session.end())?;
        Ok(())
    }

    fn journal(&self, out: &mut String) -> Result<(), CaseError> {
        for stream in block_on(self.store.streams()).map_err(air_runtime::RuntimeError::from)? {
            let records =
                block_on(self.store.read(&stream)).map_err(air_runtime::RuntimeError::from)?;
            let subject = match &stream {
                Stream::Session(_) => "session",
                Stream::Incident(_) => "incident",
            };
            let mut events = Vec::new();
            let mut incident = Vec::new();
            for record in records {
                match record.event {
                    Event::Session(event) => events.push(event.name().to_owned()),
                    Event::Incident(event) => {
                        events.extend(told(&event));
                        incident.push(event);
                    }
                }
            }
            let _ = writeln!(out, "{subject}: {}", events.join(", "));
            if let Stream::Incident(id) = stream {
                let incident =
                    Incident::replay(id, &incident).map_err(air_runtime::RuntimeError::from)?;
                self.guardrail(&incident, out)?;
            }
        }
        Ok(())
    }

    fn guardrail(&self, incident: &Incident, out: &mut String) -> Result<(), CaseError> {
        use air_core::port::GuardrailStore as _;
        let Some(adopted) = incident.adopted() else { return Ok(()) };
        let history =
            block_on(self.store.history(&adopted.id)).map_err(air_runtime::RuntimeError::from)?;
        let text = history.last().map_or("", |guardrail| guardrail.text.as_str());
        let decide = text.lines().find(|line| line.starts_with("decide"));
        let _ = writeln!(out, "guardrail: {}", decide.unwrap_or("none"));
        Ok(())
    }
}

/// The part of an incident's event that a case expects.
fn told(event: &IncidentEvent) -> Option<String> {
    Some(match event {
        IncidentEvent::ActionStarted { .. }
        | IncidentEvent::AgentActing { .. }
        | IncidentEvent::Preserved { .. } => return None,
        IncidentEvent::ActionFinished { result: Ok(done), .. } => done.clone(),
        IncidentEvent::ActionFinished { result: Err(why), .. } => format!("failed: {why}"),
        IncidentEvent::Detected(_) => "detected".to_owned(),
        IncidentEvent::AgentActed { tool, refused: None, .. } => format!("agent called {tool}"),
        IncidentEvent::AgentActed { tool, refused: Some(_), .. } => format!("agent refused {tool}"),
        IncidentEvent::AgentReported { .. } => "agent reported".to_owned(),
        IncidentEvent::OrderGiven { .. } => "order given".to_owned(),
        IncidentEvent::AgentAnswered => "agent answered".to_owned(),
        IncidentEvent::TryFailed { phase, .. } => format!("{} again", phase.name()),
        IncidentEvent::PhaseEnded { phase, ending, .. } => {
            let ending = match ending {
                Ending::Done => "done",
                Ending::NotApplicable => "n.a.",
                Ending::Off => "off",
                Ending::Failed { .. } => "failed",
            };
            format!("{} {ending}", phase.name())
        }
        IncidentEvent::Escalated { .. } => "escalated".to_owned(),
        IncidentEvent::Resumed { .. } => "resumed".to_owned(),
        IncidentEvent::Closed { classification } => {
            State::Closed(*classification).name().to_owned()
        }
        IncidentEvent::GivenUp { .. } => "given up".to_owned(),
    })
}

fn names(findings: &[FindingRecord]) -> String {
    findings.iter().fold(String::new(), |mut names, found| {
        let _ = write!(names, " @{}", found.rule);
        names
    })
}
