//! Deriving guardrails from incidents.

use std::sync::Arc;

use super::BoxFuture;
use crate::{
    code::CodeFacts,
    effects::Effects,
    fact::Facts,
    guardrail::{Guardrail, Tried},
    id::{GuardrailId, IncidentId, RuleName},
    incident::Incident,
    step::{CompletedStep, ToolCall},
};

/// Derives guardrails from incidents.
pub trait Synthesizer: Send + Sync {
    /// A guardrail for this incident, parsed and valid, or the one that refuses its call already.
    ///
    /// # Errors
    ///
    /// Why none can be derived that holds on the call that caused the incident.
    fn synthesize<'a>(
        &'a self,
        request: SynthesisRequest<'a>,
    ) -> BoxFuture<'a, Result<Synthesis, SynthesisError>>;
}

/// What eradication starts from.
#[derive(Debug, Clone, Copy)]
pub struct SynthesisRequest<'a> {
    /// The incident.
    pub incident: &'a Incident,
    /// The rule that found it.
    pub rule: &'a crate::rule::Rule,
    /// The step that caused it.
    pub step: &'a CompletedStep,
    /// What the step's source does.
    pub code: &'a Arc<CodeFacts>,
    /// What the step changed, as detected.
    pub effects: &'a Effects,
    /// What could be known before the step.
    pub facts: &'a Facts,
    /// Steps that led to earlier incidents of the same rule, oldest first.
    pub harms: &'a [Harm],
    /// Earlier steps of this session that no rule objected to: a guardrail must not hold on them.
    pub benign: &'a [PastStep],
    /// Guardrails in force. One that holds already needs no sibling.
    pub existing: &'a [Guardrail],
    /// Wider forms, by the name of their rule, that have held on steps so far.
    pub shadows: &'a [ShadowRecord],
}

/// A step that led to an incident.
#[derive(Debug, Clone, PartialEq)]
pub struct Harm {
    /// The incident.
    pub incident: IncidentId,
    /// The step.
    pub step: PastStep,
    /// What it changed.
    pub effects: Effects,
}

/// What became of the steps on which a rule in shadow has held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShadowRecord {
    /// The rule's name.
    pub rule: RuleName,
    /// Steps that led to an incident.
    pub incidents: u32,
    /// Steps that nothing objected to.
    pub benign: u32,
}

/// An earlier call.
#[derive(Debug, Clone, PartialEq)]
pub struct PastStep {
    /// What the agent said before it.
    pub plan: String,
    /// The call.
    pub call: ToolCall,
    /// What it does.
    pub code: Arc<CodeFacts>,
}

/// What a synthesizer answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Synthesis {
    /// This guardrail refuses the call already.
    Covered {
        /// The guardrail.
        id: GuardrailId,
        /// Its version.
        version: u32,
    },
    /// This one shall.
    Proposed(Proposal),
}

/// What a synthesizer proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Stable across versions.
    pub id: GuardrailId,
    /// The version that it replaces, if there is one.
    pub replaces: Option<u32>,
    /// The rule as text.
    pub text: String,
    /// A wider form, to be tried in shadow.
    pub wider: Option<String>,
    /// On how much it was tried.
    pub tried: Tried,
    /// What derived it, with its version.
    pub by: String,
}

/// No guardrail could be derived.
#[derive(Debug, thiserror::Error)]
#[error("no guardrail: {0}")]
pub struct SynthesisError(pub String);

/// Writes guardrails in its own words. It proposes; whether its text is taken is decided elsewhere.
pub trait Drafter: Send + Sync {
    /// Who it is, with its version, as provenance.
    fn name(&self) -> String;

    /// The text of one guardrail.
    fn draft<'a>(&'a self, brief: Brief<'a>) -> BoxFuture<'a, Result<String, DraftError>>;
}

/// What a guardrail is to be drafted from.
#[derive(Debug, Clone, Copy)]
pub struct Brief<'a> {
    /// The incident and what is known beside it.
    pub request: SynthesisRequest<'a>,
    /// The name that the guardrail must have, without `@`.
    pub name: &'a str,
    /// A draft that was refused, and why.
    pub refused: Option<(&'a str, &'a str)>,
}

/// No draft was written.
#[derive(Debug, thiserror::Error)]
#[error("no draft: {0}")]
pub struct DraftError(pub String);
