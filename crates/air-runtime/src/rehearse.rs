//! What rules say of one step outside of any session, and what an incident teaches. Nothing is executed
//! or journaled, and no earlier step is known.

use std::sync::OnceLock;

use air_core::{
    effects::Effects,
    engine::Engine,
    evaluation::{Decided, Gate, Review},
    id::CheckpointId,
    step::{CompletedStep, ProposedStep},
};

use crate::{
    Ports,
    decide::decide,
    facts::{History, Scene},
};

pub use crate::eradicate::{Evidence, Lesson, learn, past_step};

/// Whose step it is.
#[derive(Debug, Clone, Copy)]
pub struct Actor<'a> {
    /// The task of the session.
    pub task: &'a str,
    /// The agent's name.
    pub agent: &'a str,
}

/// What the guardrails of `engine` say of a step that has not run.
pub async fn before(
    ports: &Ports,
    engine: &Engine,
    actor: Actor<'_>,
    step: &ProposedStep,
) -> Decided<Gate> {
    let history = History::default();
    let scene = scene(ports, actor, &history, step);
    decide(&scene, engine.before_step(&step.call), &mut scene.facts(), None).await
}

/// What the AIR rules of `engine` say of a step that has run with these effects.
pub async fn after(
    ports: &Ports,
    engine: &Engine,
    actor: Actor<'_>,
    step: &CompletedStep,
    effects: &Effects,
) -> Decided<Review> {
    let history = History::default();
    // What was observed is given; there is nothing to compare with.
    let checkpoint = CheckpointId::from("");
    let after = Some((&step.observation, &checkpoint));
    let scene = Scene { after, ..scene(ports, actor, &history, &step.proposed) };
    let evaluation = engine.after_step(&step.proposed.call);
    decide(&scene, evaluation, &mut scene.facts(), Some(effects)).await
}

fn scene<'a>(
    ports: &'a Ports,
    actor: Actor<'a>,
    history: &'a History,
    step: &'a ProposedStep,
) -> Scene<'a> {
    let Actor { task, agent } = actor;
    let (session, after, code) = (&step.session, None, OnceLock::new());
    Scene { ports, session, task, agent, history, step, after, code }
}
