//! The transition function: `handle` decides, `apply` folds.

use super::{Action, Ending, Incident, IncidentEvent, Input, MAX_TRIES, Phase, State};
use crate::{
    id::ActionId,
    incident::Classification,
    outcome::{Outcome, Verdict},
};

/// An input that the incident's state does not admit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransitionError {
    /// The journal does not start with a detection.
    #[error("incident does not start with a detection")]
    NotOpened,
    /// The input makes no sense now.
    #[error("incident is {state}: cannot take {input}")]
    Unexpected {
        /// Where the incident stands.
        state: &'static str,
        /// What was reported.
        input: &'static str,
    },
}

impl Incident {
    /// The events that `input` causes. Changes nothing.
    ///
    /// # Errors
    ///
    /// If the state does not admit `input`; a driver that follows [`Incident::next`] never sees it.
    pub fn handle(&self, input: Input) -> Result<Vec<IncidentEvent>, TransitionError> {
        let name = input.name();
        self.admit(input)
            .ok_or(TransitionError::Unexpected { state: self.state.name(), input: name })
    }

    fn admit(&self, input: Input) -> Option<Vec<IncidentEvent>> {
        match &self.state {
            State::Detected | State::Contained => self.admit_response(input),
            State::AwaitingAgent { .. } => {
                let action = self.running.clone()?;
                match input {
                    Input::AgentAnswered(result) => Some(vec![
                        IncidentEvent::AgentAnswered,
                        IncidentEvent::ActionFinished { action, result },
                    ]),
                    Input::PortFailed(why) => Some(vec![failed(self.phase()?, why, None)]),
                    input => Self::admit_acting(input, &action),
                }
            }
            State::Uncontained
            | State::Recovered
            | State::RecoveredNotApplicable
            | State::Unrecovered => {
                let (ending, adopted) = match input {
                    Input::Adopted(adopted) => (Ending::Done, Some(adopted)),
                    Input::SynthesisOff => (Ending::Off, None),
                    Input::SynthesisFailed(why) | Input::PortFailed(why) => {
                        (Ending::Failed { why }, None)
                    }
                    _ => return None,
                };
                let phase = Phase::Eradication;
                Some(vec![IncidentEvent::PhaseEnded { phase, ending, verdict: None, adopted }])
            }
            State::Eradicated | State::EradicatedOff | State::Uneradicated => match input {
                Input::Settle => Some(vec![self.settle()]),
                _ => None,
            },
            State::Escalated(failed) => match input {
                Input::Resume(phase) if failed.contains(&phase) => {
                    Some(vec![IncidentEvent::Resumed { phase }])
                }
                Input::Dismiss(classification) => {
                    Some(vec![IncidentEvent::Closed { classification }])
                }
                Input::GiveUp(why) => Some(vec![IncidentEvent::GivenUp { why }]),
                _ => None,
            },
            State::Closed(_) | State::Failed => None,
        }
    }

    fn admit_response(&self, input: Input) -> Option<Vec<IncidentEvent>> {
        let phase = self.phase()?;
        let all_done = self.current_action().is_none();
        match (input, &self.running) {
            (Input::OrderGiven { deadline }, Some(_)) if self.is_ordered() => {
                Some(vec![IncidentEvent::OrderGiven { deadline }])
            }
            (Input::Starting(action), None) if !all_done => {
                Some(vec![IncidentEvent::ActionStarted { action }])
            }
            // A redo after a crash is the same action: it was started already.
            (Input::Finished(result), Some(action)) => {
                let action = action.clone();
                Some(vec![IncidentEvent::ActionFinished { action, result }])
            }
            (Input::Preserved(exhibits), Some(_)) => {
                Some(vec![IncidentEvent::Preserved { exhibits }])
            }
            (Input::Lost, Some(action)) => {
                let why = format!("whether action {action} took effect is unknown");
                Some(vec![failed(phase, why, None)])
            }
            (Input::PortFailed(why), _) => Some(vec![failed(phase, why, None)]),
            (Input::NotApplicable, None) if all_done => Some(match &self.spoiled {
                None => vec![ended(phase, Ending::NotApplicable, None)],
                Some(why) => vec![self.retry(phase, why.clone(), None)],
            }),
            (Input::Verified(verdict), None) if all_done => {
                Some(vec![self.verified(phase, verdict)])
            }
            (input, Some(action)) => Self::admit_acting(input, action),
            _ => None,
        }
    }

    /// What an agent does while it carries an order out.
    fn admit_acting(input: Input, action: &ActionId) -> Option<Vec<IncidentEvent>> {
        let action = action.clone();
        let event = match input {
            Input::Acting { tool, step, checkpoint } => {
                IncidentEvent::AgentActing { action, tool, step, checkpoint }
            }
            Input::Acted { tool, step, refused, undone, undetermined } => {
                IncidentEvent::AgentActed { action, tool, step, refused, undone, undetermined }
            }
            Input::Reported { summary, confidence } => {
                IncidentEvent::AgentReported { action, summary, confidence }
            }
            _ => return None,
        };
        Some(vec![event])
    }

    /// Whether the running action is an order to the agent.
    fn is_ordered(&self) -> bool {
        let current = self.current_action().map(|planned| &planned.action);
        matches!(current, Some(Action::Order { .. }))
    }

    fn verified(&self, phase: Phase, verdict: Verdict) -> IncidentEvent {
        match (&verdict.outcome, &self.spoiled) {
            (Outcome::Undetermined(why), _) => {
                let why = format!("could not be verified: {why}");
                // Where an agent responds, AIR's own try may still come.
                let ordered = self.detection.response.iter().any(|planned| {
                    planned.phase == phase && matches!(planned.action, Action::Order { .. })
                });
                if ordered {
                    self.retry(phase, why, Some(verdict))
                } else {
                    failed(phase, why, Some(verdict))
                }
            }
            (Outcome::Satisfied, None) => ended(phase, Ending::Done, Some(verdict)),
            (Outcome::Satisfied, Some(why)) => self.retry(phase, why.clone(), Some(verdict)),
            (Outcome::Unsatisfied, spoiled) => {
                let still = match phase {
                    Phase::Containment => "the harm goes on",
                    Phase::Recovery | Phase::Eradication => "the state is not restored",
                };
                let why = match spoiled {
                    Some(why) => format!("{why}; {still}"),
                    None => still.to_owned(),
                };
                self.retry(phase, why, Some(verdict))
            }
        }
    }

    fn retry(&self, phase: Phase, why: String, verdict: Option<Verdict>) -> IncidentEvent {
        if self.tries + 1 < MAX_TRIES {
            IncidentEvent::TryFailed { phase, why }
        } else {
            failed(phase, format!("{why}, after {MAX_TRIES} tries"), verdict)
        }
    }

    fn settle(&self) -> IncidentEvent {
        let failed = self.endings.failed();
        if failed.is_empty() {
            IncidentEvent::Closed { classification: Classification::TruePositive }
        } else {
            IncidentEvent::Escalated { failed }
        }
    }

    /// Folds one event into the state. Total: an event that was journaled is a fact.
    pub fn apply(&mut self, event: &IncidentEvent) {
        self.revision += 1;
        match event {
            IncidentEvent::Detected(_)
            | IncidentEvent::AgentActing { .. }
            | IncidentEvent::AgentActed { .. }
            | IncidentEvent::AgentReported { .. }
            | IncidentEvent::Preserved { .. } => {}
            IncidentEvent::OrderGiven { deadline } => {
                self.state = State::AwaitingAgent { deadline: *deadline };
            }
            IncidentEvent::AgentAnswered => self.state = self.place(),
            IncidentEvent::ActionStarted { action } => {
                self.started += 1;
                self.running = Some(action.clone());
            }
            IncidentEvent::ActionFinished { result, .. } => {
                self.running = None;
                self.finished += 1;
                if let Err(why) = result {
                    self.spoiled.get_or_insert_with(|| why.clone());
                }
            }
            IncidentEvent::TryFailed { .. } => {
                let tries = self.tries + 1;
                self.begin();
                self.tries = tries;
            }
            IncidentEvent::PhaseEnded { phase, ending, adopted, .. } => {
                *self.endings.slot(*phase) = Some(ending.clone());
                if adopted.is_some() {
                    self.adopted.clone_from(adopted);
                }
                if *phase == Phase::Containment && matches!(ending, Ending::Failed { .. }) {
                    let why = "skipped: the harm was not stopped".into();
                    self.endings.recovery = Some(Ending::Failed { why });
                }
                self.begin();
                self.state = self.place();
            }
            IncidentEvent::Escalated { failed } => self.state = State::Escalated(failed.clone()),
            IncidentEvent::Resumed { phase } => {
                *self.endings.slot(*phase) = None;
                if *phase == Phase::Containment {
                    self.endings.recovery = None;
                }
                self.begin();
                self.state = self.place();
            }
            IncidentEvent::Closed { classification } => {
                self.state = State::Closed(*classification);
            }
            IncidentEvent::GivenUp { .. } => self.state = State::Failed,
        }
    }

    /// A phase, or a try of it, begins afresh.
    fn begin(&mut self) {
        self.tries = 0;
        self.finished = 0;
        self.running = None;
        self.spoiled = None;
    }

    /// The state that the endings so far add up to.
    fn place(&self) -> State {
        let endings = &self.endings;
        match (&endings.containment, &endings.recovery, &endings.eradication) {
            (None, ..) => State::Detected,
            // A person may have sent recovery back to work though containment failed.
            (Some(_), None, _) => State::Contained,
            (_, Some(_), Some(Ending::Done | Ending::NotApplicable)) => State::Eradicated,
            (_, Some(_), Some(Ending::Off)) => State::EradicatedOff,
            (_, Some(_), Some(Ending::Failed { .. })) => State::Uneradicated,
            (Some(Ending::Failed { .. }), Some(_), None) => State::Uncontained,
            (_, Some(Ending::Failed { .. }), None) => State::Unrecovered,
            (_, Some(Ending::NotApplicable), None) => State::RecoveredNotApplicable,
            (_, Some(Ending::Done | Ending::Off), None) => State::Recovered,
        }
    }
}

fn ended(phase: Phase, ending: Ending, verdict: Option<Verdict>) -> IncidentEvent {
    IncidentEvent::PhaseEnded { phase, ending, verdict, adopted: None }
}

fn failed(phase: Phase, why: String, verdict: Option<Verdict>) -> IncidentEvent {
    ended(phase, Ending::Failed { why }, verdict)
}

impl Input {
    /// Its name in tables and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::OrderGiven { .. } => "order given",
            Self::AgentAnswered(_) => "agent answered",
            Self::Starting(_) => "starting",
            Self::Finished(Ok(_)) => "finished",
            Self::Finished(Err(_)) => "finished with an error",
            Self::Preserved(_) => "preserved",
            Self::Acting { .. } => "acting",
            Self::Acted { .. } => "acted",
            Self::Reported { .. } => "reported",
            Self::Lost => "lost",
            Self::PortFailed(_) => "port failed",
            Self::Verified(verdict) => match verdict.outcome {
                Outcome::Satisfied => "verified: yes",
                Outcome::Unsatisfied => "verified: no",
                Outcome::Undetermined(_) => "verified: undetermined",
            },
            Self::NotApplicable => "not applicable",
            Self::Adopted(_) => "guardrail adopted",
            Self::SynthesisOff => "synthesis off",
            Self::SynthesisFailed(_) => "synthesis failed",
            Self::Settle => "settle",
            Self::Resume(Phase::Containment) => "resume containment",
            Self::Resume(Phase::Recovery) => "resume recovery",
            Self::Resume(Phase::Eradication) => "resume eradication",
            Self::Dismiss(_) => "dismiss",
            Self::GiveUp(_) => "give up",
        }
    }
}
