//! The stages of an incident, as they are told.

use air::Host;
use air_core::{
    incident::{Ending, Incident, IncidentEvent, Phase, State},
    port::GuardrailStore as _,
};
use futures::executor::block_on;

use super::{End, Teller};
use crate::error::CliError;

impl Teller<'_, '_> {
    /// Tells an incident, has it worked on to its rest, and tells that.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn whole_incident(
        &mut self,
        host: &mut Host,
        incident: &Incident,
    ) -> Result<End, CliError> {
        self.incident(incident, 0)?;
        if let Some(done) = block_on(host.idle())? {
            self.incident(&done, incident.revision())?;
        }
        let step = usize::try_from(incident.detection().index).unwrap_or(usize::MAX);
        Ok(End::Incident { step, incident: incident.id().to_string() })
    }

    /// Tells what happened to an incident after its first `told` events.
    fn incident(&mut self, incident: &Incident, told: u64) -> Result<(), CliError> {
        let record = block_on(air::records::incident(self.air.journal(), incident.id()))?;
        let skip = usize::try_from(told).unwrap_or(usize::MAX);
        for (_, event) in
            record.events.iter().skip(skip).take(
                usize::try_from(incident.revision()).unwrap_or(usize::MAX).saturating_sub(skip),
            )
        {
            self.event(incident, event)?;
        }
        Ok(())
    }

    fn event(&mut self, incident: &Incident, event: &IncidentEvent) -> Result<(), CliError> {
        match event {
            IncidentEvent::Detected(detection) => {
                let rules: Vec<String> = detection
                    .findings
                    .iter()
                    .map(|found| format!("@{} ({})", found.rule, found.severity.keyword()))
                    .collect();
                self.stage(
                    "detected",
                    &format!("{}: incident {}", rules.join(", "), incident.id()),
                )?;
                for line in &detection.evidence {
                    self.stage("", line)?;
                }
            }
            IncidentEvent::ActionFinished { result, .. } => match result {
                Ok(done) => self.stage("action", done)?,
                Err(why) => self.stage("failed", why)?,
            },
            IncidentEvent::TryFailed { phase, why } => {
                self.stage("again", &format!("{}: {why}", phase.name()))?;
            }
            IncidentEvent::PhaseEnded { phase, ending, verdict, adopted } => {
                let proof = verdict.as_ref().map(|verdict| verdict.rationale.as_str());
                self.phase(*phase, ending, proof)?;
                if let Some(adopted) = adopted {
                    let store = block_on(self.air.journal().current())?;
                    let text = store.iter().find(|guardrail| guardrail.id == adopted.id);
                    let text = text.map_or("", |guardrail| guardrail.text.as_str());
                    let line = text.lines().next().unwrap_or_default();
                    let id = &adopted.id;
                    self.stage("guardrail", &format!("{id} is enforced from now on: {line}"))?;
                }
            }
            IncidentEvent::Escalated { failed } => {
                let failed: Vec<&str> = failed.iter().map(|phase| phase.name()).collect();
                let (id, failed) = (incident.id(), failed.join(", "));
                let way = format!(
                    "look at it, then `airctl resume {id} --dismiss AS` or `--give-up WHY`"
                );
                self.stage("escalated", &format!("a person is needed: {failed}; {way}"))?;
            }
            IncidentEvent::AgentActed { tool, refused, undone, undetermined, .. } => {
                match refused {
                    None => self.stage("response", &format!("the agent called `{tool}`"))?,
                    Some(why) => self.stage("refused", &format!("`{tool}`: {why}"))?,
                }
                if let Some(why) = undone {
                    self.stage("taken back", why)?;
                }
                let number = usize::try_from(incident.detection().index).unwrap_or(usize::MAX);
                self.notes(number, undetermined)?;
            }
            IncidentEvent::AgentReported { summary, confidence, .. } => {
                self.stage("reported", &format!("{summary} (confidence {confidence:.2})"))?;
            }
            IncidentEvent::OrderGiven { .. }
            | IncidentEvent::AgentAnswered
            | IncidentEvent::ActionStarted { .. }
            | IncidentEvent::AgentActing { .. }
            | IncidentEvent::Preserved { .. }
            | IncidentEvent::Resumed { .. }
            | IncidentEvent::Closed { .. }
            | IncidentEvent::GivenUp { .. } => {}
        }
        Ok(())
    }

    fn phase(
        &mut self,
        phase: Phase,
        ending: &Ending,
        proof: Option<&str>,
    ) -> Result<(), CliError> {
        let done = match phase {
            Phase::Containment => "contained",
            Phase::Recovery => "recovered",
            Phase::Eradication => return self.eradication(ending),
        };
        match ending {
            Ending::Done => {
                self.stage(done, "")?;
                self.stage("verified", proof.unwrap_or_default())
            }
            Ending::NotApplicable if phase == Phase::Containment => {
                self.stage(done, "nothing is left to contain")
            }
            Ending::NotApplicable => self.stage(done, "not applicable: only past events prove it"),
            Ending::Off => self.stage(done, "switched off"),
            Ending::Failed { why } => self.stage("failed", &format!("{}: {why}", phase.name())),
        }
    }

    fn eradication(&mut self, ending: &Ending) -> Result<(), CliError> {
        match ending {
            Ending::Failed { why } => self.stage("failed", &format!("eradication: {why}")),
            Ending::Off => self.stage("guardrail", "none: learning is off"),
            Ending::Done | Ending::NotApplicable => Ok(()),
        }
    }
}

/// A state for a person.
pub fn state_name(state: &State) -> String {
    match state {
        State::Closed(classification) => {
            format!("closed ({})", classification_name(*classification))
        }
        State::Escalated(failed) => {
            let failed: Vec<&str> = failed.iter().map(|phase| phase.name()).collect();
            format!("escalated ({})", failed.join(", "))
        }
        other => other.name().to_owned(),
    }
}

/// A classification for a person.
pub fn classification_name(classification: air_core::incident::Classification) -> &'static str {
    use air_core::incident::Classification as C;
    match classification {
        C::TruePositive => "true positive",
        C::BenignPositive => "benign positive",
        C::FalsePositive => "false positive",
        C::Undetermined => "undetermined",
    }
}
