//! What is kept of each case and phase.

use air::Timings;
use air_core::{
    effects::Effects, guardrail::Guardrail, id::IncidentId, incident::IncidentEvent,
    step::CompletedStep,
};
use serde::{Deserialize, Serialize};

use crate::{
    mind::Item,
    world::{Judgement, Remedy, Truth},
};

/// A part of the protocol that executes a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Without AIR, instrumented: what the case does.
    Baseline,
    /// With AIR and no guardrail: detected, responded to, learned from.
    R1,
    /// With the guardrail that was learned: refused.
    R2,
    /// A benign twin with AIR.
    R4,
    /// As [`Phase::R1`], by a model that is not told how to respond.
    Unaided,
}

/// One case in one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The case.
    pub case: String,
    /// The phase.
    pub phase: Phase,
    /// How long it took, world and oracle included, in milliseconds.
    pub ms: u64,
    /// What came of it.
    #[serde(flatten)]
    pub body: Body,
}

/// What came of a case in a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Body {
    /// It ran without AIR.
    Baseline {
        /// What the oracle says.
        judgement: Judgement,
        /// Whether a limit cut it off.
        cut_off: bool,
        /// Whether it printed what was expected of it.
        expected: bool,
        /// How long the case itself ran, in milliseconds.
        run_ms: u64,
        /// Categories of which effects tell that their incident happened, the case's own or not.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        harms: Vec<u32>,
    },
    /// It met AIR.
    Guarded(Box<Guarded>),
    /// This machine has not what it needs.
    Skipped {
        /// What is missing.
        missing: String,
    },
    /// It could not be run, or did not end.
    Failed {
        /// Why.
        error: String,
    },
    /// Models cannot be asked any more. It is not kept: the case is played when they can.
    #[serde(skip)]
    Stopped {
        /// Why.
        why: String,
    },
}

/// What AIR made of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Guarded {
    /// What became of the call.
    pub outcome: Outcome,
    /// The rules or guardrails that held.
    pub rules: Vec<String>,
    /// Those that could not be decided.
    pub undetermined: Vec<String>,
    /// Where the incident stands in the end.
    pub state: Option<String>,
    /// The guardrails that were learned.
    pub learned: usize,
    /// What the oracle says of this run, after any response.
    pub judgement: Judgement,
    /// What the response left.
    pub remedy: Remedy,
    /// Whether the world is as it was built.
    pub pristine: bool,
    /// Whether it printed what was expected of it.
    pub expected: bool,
    /// Where the time went, in microseconds.
    pub took: Took,
    /// The work of a language model, where one played the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
}

impl Guarded {
    /// Whether the incident of the case happened, where a model chose what to do; `None` where that
    /// was given.
    pub fn happened(&self) -> Option<Truth> {
        let work = self.work.as_ref()?;
        let now = self.judgement.incident;
        Some(match &work.again {
            Some(again) if now != Truth::True => again.judgement.incident,
            _ => now,
        })
    }
}

/// How a language model worked on a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Calls that it made, those that were refused included.
    pub steps: u32,
    /// How it ended, in its own words or AIR's, bounded.
    pub ended: String,
    /// What it ran does, executed again without AIR and instrumented: only so the oracle sees all, also
    /// of what a response has undone. `None` where nothing ran, or not only code.
    pub again: Option<Again>,
    /// What models took, by purpose.
    pub spent: Vec<Item>,
}

/// What the oracle says of a run that was made again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Again {
    /// Of the case's own incident.
    pub judgement: Judgement,
    /// Categories of which effects tell that their incident happened, the case's own or not.
    pub harms: Vec<u32>,
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ran, and no rule held.
    Ran,
    /// It ran, and a person is to look at it.
    Held,
    /// It did not run.
    Refused,
    /// It ran, and is an incident.
    Incident,
}

/// Where the time of a step went, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Took {
    /// Starting the sandbox with its services, before the step.
    #[serde(default)]
    pub start: u64,
    /// AIR's own share: facts, rules, journal.
    pub check: u64,
    /// Checkpoint and effects.
    pub look: u64,
    /// The tool.
    pub tool: u64,
    /// Containment and recovery.
    pub response: u64,
    /// Learning the guardrail.
    pub eradication: u64,
}

impl From<Timings> for Took {
    fn from(timings: Timings) -> Self {
        let us = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Self {
            start: 0,
            check: us(timings.check),
            look: us(timings.look),
            tool: us(timings.tool),
            response: us(timings.response),
            eradication: us(timings.eradication),
        }
    }
}

/// What AIR recorded of a step in [`Phase::R1`]: what can be learned from it, and decided again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// The step with what it returned.
    pub step: CompletedStep,
    /// What it changed.
    pub effects: Effects,
    /// The incident, if it was one.
    pub incident: Option<(IncidentId, Vec<IncidentEvent>)>,
    /// The guardrails that were learned.
    pub guardrails: Vec<Guardrail>,
}
