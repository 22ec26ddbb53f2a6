//! After a call: what it did, what the rules say of it, and what follows.
//!
//! Where a judge is needed and the session does not wait for it, the step stays open, and its verdict
//! is taken up before the next call may run. No call runs in between, so that what is found is put back
//! as if it had been found at once.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use air_core::{
    code::CodeFacts,
    effects::Effects,
    evaluation::{Advance, AfterStep, Decided, Evaluation, Finding, Review},
    fact::Facts,
    id::{CheckpointId, RuleName},
    incident::Incident,
    outcome::Verdict,
    port::{Background, Durability},
    question::QuestionKind,
    rule::Severity,
    session::{OpenStep, SessionEvent},
    step::{CompletedStep, Observation, ProposedStep},
    withhold,
};
use futures::{
    channel::oneshot,
    future::{AbortHandle, Abortable, select},
};

use crate::{
    decide::{decide, inquiry, payload, records, told, verdicts},
    gate::AgentAt,
    hosted::attribute::Foreign,
    models::ReviewMode,
    session::{ReviewReply, RuntimeError, Session, Ticket},
};

/// A step that is done, and all that was observed of it.
struct Done {
    step: CompletedStep,
    checkpoint: CheckpointId,
    code: OnceLock<Arc<CodeFacts>>,
    effects: Effects,
    facts: Facts,
    foretold: Vec<RuleName>,
}

/// A step whose verdict is awaited.
pub(crate) struct Pending {
    done: Done,
    evaluation: Evaluation<AfterStep>,
    /// The questions that are open, by number.
    at: Vec<usize>,
    answer: Answer,
}

/// A judge at work. It is left where its verdict is waited for no more.
struct Judging {
    answer: oneshot::Receiver<Answered>,
    work: AbortHandle,
}

impl Drop for Judging {
    fn drop(&mut self) {
        self.work.abort();
    }
}

/// What a judge answers, as it comes.
enum Answer {
    Awaited(Judging),
    Here(Answered),
}

type Answered = Result<Vec<Verdict>, String>;

impl Answer {
    /// Waits until it is here. What has come is kept where nobody waits any more.
    async fn come(&mut self) {
        if let Self::Awaited(judging) = self {
            let answered =
                (&mut judging.answer).await.unwrap_or_else(|_| Err("the judge is gone".to_owned()));
            *self = Self::Here(answered);
        }
    }

    /// What has come by now. A judge that is late works on beside no later call.
    fn by_now(self) -> Option<Answered> {
        match self {
            Self::Here(answered) => Some(answered),
            Self::Awaited(_) => None,
        }
    }

    /// Waits, for so long at most.
    async fn within(&mut self, window: Option<Duration>, background: Option<&dyn Background>) {
        match (window, background) {
            (Some(window), Some(background)) => {
                let limit = background.sleep(window);
                drop(select(Box::pin(self.come()), limit).await);
            }
            _ => self.come().await,
        }
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("open", &self.at.len()).finish_non_exhaustive()
    }
}

/// How long to wait for a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// As long as an agent's next call may wait.
    Window,
    /// Until the judge gives up by itself.
    Verdict,
}

impl Session {
    /// The call came back, failed, or was cut off: what was it?
    ///
    /// # Errors
    ///
    /// If the journal cannot be written; the session must not go on then.
    pub async fn after_step(
        &mut self,
        ticket: Ticket,
        observation: Option<Observation>,
    ) -> Result<ReviewReply, RuntimeError> {
        let index = ticket.step.index;
        let reply = self.review(ticket, observation, false).await;
        self.spent(index).await?;
        reply
    }

    /// What a call has done so far that goes on: an incident, or nothing yet. It is examined again when
    /// it has ended.
    pub(crate) async fn glance(&mut self, ticket: Ticket) -> Result<ReviewReply, RuntimeError> {
        let index = ticket.step.index;
        let reply = self.review(ticket, None, true).await;
        self.spent(index).await?;
        reply
    }

    async fn review(
        &mut self,
        ticket: Ticket,
        observation: Option<Observation>,
        goes_on: bool,
    ) -> Result<ReviewReply, RuntimeError> {
        let Ticket { step, checkpoint, code, foretold, is_unasked } = ticket;
        let step = CompletedStep { proposed: step, observation };
        let scene = self.scene(&step.proposed, Some((&step.observation, &checkpoint)), code);
        let mut effects = scene.effects(&checkpoint).await;
        if !goes_on && !self.is_passive(&step.proposed.call.tool) {
            // Where this fails, nothing of it is taken back by itself.
            let _ = self.ports.workspace.left(&checkpoint).await;
        }
        let mut foreign = Foreign::default();
        if self.agent_at != AgentAt::Here {
            let whose = (&step.proposed, &checkpoint, is_unasked);
            foreign = self.attribute(whose, scene.code(), &mut effects).await?;
        }
        let mut evaluation = self.engine.after_step(&step.proposed.call);
        let mut facts = scene.facts();
        let deferred = matches!(self.models.review, ReviewMode::Deferred { .. });
        // Beside a host calls run at once: one verdict would be awaited beside another.
        let here = self.agent_at == AgentAt::Here;
        let background = self.ports.background.clone().filter(|_| deferred && !goes_on && here);
        let decided = match (background, self.ports.judge.clone()) {
            (Some(background), Some(judge)) => loop {
                match evaluation.advance(&facts) {
                    Advance::Need(roots) => {
                        scene.supply(&mut facts, roots, Some(&effects)).await;
                    }
                    Advance::Decided(decided) => break decided,
                    Advance::Ask(questions) => {
                        let (at, rules): (Vec<_>, Vec<_>) = questions.into_iter().unzip();
                        let kind = QuestionKind::Happened;
                        let known = Some(&effects);
                        let inquiry = inquiry(&scene, kind, rules, &mut facts, known).await;
                        let (send, answer) = oneshot::channel();
                        let (work, registration) = AbortHandle::new_pair();
                        let judged = Abortable::new(judge.judge(inquiry), registration);
                        background.run(Box::pin(async move {
                            if let Ok(answered) = judged.await {
                                // Nobody waits for it any more where this fails.
                                let _ = send.send(answered.map_err(|error| told(&error)));
                            }
                        }));
                        let code = scene.code;
                        let done = Done { step, checkpoint, code, effects, facts, foretold };
                        let answer = Answer::Awaited(Judging { answer, work });
                        let pending = Pending { done, evaluation, at, answer };
                        self.pending = Some(Box::new(pending));
                        return Ok(ReviewReply::Pending);
                    }
                }
            },
            _ => decide(&scene, evaluation, &mut facts, Some(&effects)).await,
        };
        let decided = match decided.decision {
            Review::Continue if !foreign.is_none() => {
                let (all, mut facts) = (foreign.with(&effects), scene.facts());
                let evaluation = self.engine.after_step(&step.proposed.call);
                let found = decide(&scene, evaluation, &mut facts, Some(&all)).await;
                if found.decision == Review::Respond { foreign.doubt(found) } else { decided }
            }
            _ => decided,
        };
        let decided = match self.machine.open_steps().get(&step.proposed.index) {
            Some(open) if open.is_approved => accepted(decided),
            _ => decided,
        };
        if goes_on && decided.decision != Review::Respond {
            return Ok(ReviewReply::Continue(Vec::new()));
        }
        if goes_on {
            let _ = self.ports.workspace.left(&checkpoint).await;
        }
        let code = scene.code;
        self.conclude(Done { step, checkpoint, code, effects, facts, foretold }, decided).await
    }

    /// Whether a host's tool changes nothing by itself.
    pub(crate) fn is_passive(&self, tool: &str) -> bool {
        self.agent_at != AgentAt::Here
            && self.ports.tools.tool(tool).is_some_and(|tool| !tool.side_effects)
    }

    /// The step that was started, unless it was erased.
    pub(crate) async fn started(
        &self,
        open: &OpenStep,
    ) -> Result<Option<ProposedStep>, RuntimeError> {
        let payload = self.ports.journal.payload(&open.step).await?;
        Ok(payload.and_then(|json| serde_json::from_slice(&json).ok()))
    }

    /// Waits until the verdict on the last step is there to be taken up, by [`Self::take_up`]; for ever
    /// where none is awaited. It can be dropped at any time: wait for it beside whatever else takes time.
    pub async fn verdict(&mut self) {
        match &mut self.pending {
            Some(pending) => pending.answer.come().await,
            None => std::future::pending().await,
        }
    }

    /// Takes the verdict on the last step up, and waits for it where it is not there. The incident, if it
    /// is one: containment and recovery are decided. What could not be decided is in
    /// [`Session::late`], and may hold the session.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub async fn take_up(&mut self) -> Result<Option<Box<Incident>>, RuntimeError> {
        self.settle(Wait::Verdict).await
    }

    /// Takes the verdict up that is still awaited, if there is one. The incident, if it is one.
    pub(crate) async fn settle(
        &mut self,
        wait: Wait,
    ) -> Result<Option<Box<Incident>>, RuntimeError> {
        let window = match (wait, self.models.review) {
            (Wait::Window, ReviewMode::Deferred { window }) => Some(window),
            _ => None,
        };
        let Some(pending) = &mut self.pending else { return Ok(None) };
        pending.answer.within(window, self.ports.background.as_deref()).await;
        let Some(pending) = self.pending.take() else { return Ok(None) };
        let Pending { mut done, mut evaluation, at, answer } = *pending;
        let late = || {
            let window = window.unwrap_or_default();
            Err(format!("the judge did not answer within the window of {window:?}"))
        };
        let answered = answer.by_now().unwrap_or_else(late);
        let verdicts = verdicts(answered, at.len());
        at.into_iter().zip(verdicts).for_each(|(at, verdict)| evaluation.answer(at, verdict));
        let after = Some((&done.step.observation, &done.checkpoint));
        let scene = self.scene(&done.step.proposed, after, done.code);
        let decided = decide(&scene, evaluation, &mut done.facts, Some(&done.effects)).await;
        done.code = scene.code;
        let index = done.step.proposed.index;
        let reply = self.conclude(done, decided).await;
        self.spent(index).await?;
        Ok(match reply? {
            ReviewReply::Incident(incident, _) => Some(incident),
            ReviewReply::Continue(notes) | ReviewReply::Held(notes) => {
                self.late.extend(notes.into_iter().map(|note| (index, note)));
                None
            }
            ReviewReply::Pending => None,
        })
    }

    async fn conclude(
        &mut self,
        done: Done,
        decided: Decided<Review>,
    ) -> Result<ReviewReply, RuntimeError> {
        let Done { step, checkpoint, code, effects, mut facts, foretold } = done;
        let scene = self.scene(&step.proposed, Some((&step.observation, &checkpoint)), code);
        let code = Arc::clone(scene.code());
        if decided.decision == Review::Respond {
            let paths = effects.files.items.iter().map(|file| file.path.clone()).collect();
            self.concurrent.claim(&self.id, &step.proposed.call.id, paths);
            let known = scene.code;
            let seen = step.observation.clone().unwrap_or_default();
            let rules: Vec<_> =
                decided.hits.iter().map(|finding| finding.rule.name.clone()).collect();
            let returned =
                withhold::observation(&seen, &rules, &effects, &code, &*self.ports.labels);
            let incident = self
                .open_incident(&step, &checkpoint, known, &effects, &mut facts, &decided)
                .await?;
            return Ok(ReviewReply::Incident(Box::new(incident), returned));
        }
        let undetermined = records(&decided.undetermined);
        let review = match decided.decision {
            // A process that ended is no way round a judge.
            Review::Continue if self.doubted && !undetermined.is_empty() => Review::Ask,
            review => review,
        };
        let event = SessionEvent::StepReviewed {
            index: step.proposed.index,
            review,
            done: payload(&self.ports, &(&step, &effects)).await?,
            undetermined: undetermined.clone(),
            shadow: records(&decided.shadow),
        };
        self.record(event, Durability::Process).await?;
        let did = effects.files.items.iter().map(|file| file.path.clone()).collect();
        self.concurrent.end(&self.id, &step.proposed.call.id, did);
        self.history.push(&step, effects, &code, &*self.ports.workspace);
        self.mistaken.extend(foretold);
        Ok(match review {
            Review::Ask => ReviewReply::Held(undetermined),
            Review::Continue | Review::Respond => ReviewReply::Continue(undetermined),
        })
    }
}

/// What a person has let pass, knowing what it was said to be, is no incident, unless it is critical: it is on
/// record.
fn accepted(mut decided: Decided<Review>) -> Decided<Review> {
    let is_grave = |finding: &Finding| finding.rule.severity == Severity::Critical;
    if decided.decision == Review::Respond && !decided.hits.iter().any(is_grave) {
        decided.shadow.append(&mut decided.hits);
        decided.decision = Review::Continue;
    }
    decided
}
