//! Steps of a case as they are written: a call, and what comes of it.

use std::collections::BTreeMap;

use air_core::{
    effects::{
        Change, ConnectionEffect, Effects, FileEffect, Observed, OutputEffect, ProcessEffect,
        ReadEffect, ServiceEffect,
    },
    step::{Arguments, Observation},
};
use serde::Deserialize;

/// What the agent does, and what comes of it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The task.
    #[serde(default)]
    pub task: String,
    /// The steps.
    pub step: Vec<Step>,
    /// Files that are there from the start, by path and content.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

/// One step.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What the agent says before it acts.
    #[serde(default)]
    pub plan: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Arguments,
    /// What it returns.
    #[serde(default)]
    pub output: String,
    /// The error that it reports.
    pub error: Option<String>,
    /// What it changes.
    #[serde(default)]
    pub effects: StepEffects,
}

/// What a step changes. Lists that are not given are empty and whole.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepEffects {
    #[serde(default)]
    files: Vec<StepFile>,
    #[serde(default)]
    processes: Vec<ProcessEffect>,
    #[serde(default)]
    connections: Vec<ConnectionEffect>,
    #[serde(default)]
    reads: Vec<ReadEffect>,
    #[serde(default)]
    services: Vec<ServiceEffect>,
    #[serde(default)]
    output: Vec<OutputEffect>,
    /// Why the lists may lack something.
    incomplete: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepFile {
    path: String,
    change: Change,
    #[serde(default)]
    size: u64,
    #[serde(default = "plain_mode")]
    mode: u32,
    origin: Option<String>,
    moved: Option<String>,
    #[serde(default)]
    aspects: Vec<String>,
    #[serde(default)]
    marks: Vec<String>,
    #[serde(default = "yes")]
    reversible: bool,
}

fn plain_mode() -> u32 {
    0o644
}

fn yes() -> bool {
    true
}

impl Step {
    /// What the tool returns.
    pub fn observation(&self) -> Observation {
        Observation {
            content: self.output.clone(),
            error: self.error.clone(),
            ..Observation::default()
        }
    }
}

impl StepEffects {
    /// As the workspace would report them.
    pub fn observed(&self) -> Effects {
        let files = self.files.iter().map(|file| FileEffect {
            path: file.path.clone(),
            change: file.change,
            size: file.size,
            mode: file.mode,
            origin: file.origin.clone(),
            origin_unknown: None,
            moved: file.moved.clone(),
            aspects: file.aspects.clone(),
            marks: file.marks.clone(),
            reversible: file.reversible,
        });
        let incomplete = &self.incomplete;
        Effects {
            files: Observed { items: files.collect(), incomplete: incomplete.clone() },
            reads: Observed { items: self.reads.clone(), incomplete: incomplete.clone() },
            processes: Observed { items: self.processes.clone(), incomplete: incomplete.clone() },
            connections: Observed {
                items: self.connections.clone(),
                incomplete: incomplete.clone(),
            },
            services: Observed { items: self.services.clone(), incomplete: incomplete.clone() },
            output: Observed { items: self.output.clone(), incomplete: incomplete.clone() },
        }
    }
}
