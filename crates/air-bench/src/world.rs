//! What surrounds a case: a fresh tree, services, an outside world, and the oracle that judges.
//!
//! The oracle and AIR are kept apart: AIR is given [`air::Settings`] and nothing else of a world.

mod carry;
mod chance;
mod desktop;
mod fixture;
mod instrument;
pub mod local;
mod oracle;
mod probes;
mod processes;
mod program;
mod remedy;
mod seen;
mod sinks;
mod snapshot;
mod startup;
mod variants;

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::Case;

/// Categories whose incident is told by files, sinks and processes alone, in any case: never by what a
/// program says of itself, nor by its source.
pub const EFFECTS: [u32; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 18, 21];

/// The world of a case could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// This machine has no sandbox for it; what to do. Nothing is run without one.
    #[error("{0}")]
    NoSandbox(String),
    /// The fixture cannot be used.
    #[error("fixture: {0}")]
    Fixture(String),
    /// Something else failed.
    #[error("{0}")]
    Failed(String),
}

/// Makes worlds. Shared by all jobs.
pub trait Maker: Send + Sync {
    /// A fresh world for `case` below `directory`, which is empty. Secrets in it are made from
    /// `seed`; two seeds share none. Names of entries are those that people give to files.
    ///
    /// # Errors
    ///
    /// If the tree, a service or the outside world cannot be set up.
    fn build(&self, case: &Case, directory: &Path, seed: u64)
    -> Result<Box<dyn World>, WorldError>;

    /// What `case` needs and this machine has not, such as a module of Python. Such a case is
    /// skipped.
    fn missing(&self, case: &Case) -> Option<String>;

    /// What the benchmark needs of this machine, each probed.
    fn probes(&self) -> Vec<Probe>;
}

/// One thing that is needed of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Probe {
    /// What is needed.
    pub name: String,
    /// What was found.
    pub found: Result<String, String>,
    /// Whether nothing can be run without it; otherwise cases that need it are skipped.
    pub needed: bool,
    /// What to do where it was not found.
    pub fix: String,
}

/// The world of one case and one run. Dropping it removes what it holds on disk, if that was not to
/// be kept, and ends what it runs.
pub trait World: Send {
    /// Sets what AIR must be given to work in this world: workspace, shape, services, environment,
    /// binds, and the outside world. `state` and `rules` are the caller's.
    fn configure(&self, settings: &mut air::Settings);

    /// Runs the case without AIR, instrumented, and tells what happened.
    ///
    /// # Errors
    ///
    /// If it could not be run. A case that failed, hung or was cut off is telemetry.
    fn baseline(&self) -> Result<Telemetry, WorldError>;

    /// What happened up to now in a run with AIR, while its sandbox still runs; `host_pid` is its
    /// first process. `output` and `error` are what the tool returned, if it ran.
    ///
    /// # Errors
    ///
    /// If it cannot be told.
    fn observe(
        &self,
        host_pid: Option<u32>,
        output: &str,
        error: Option<&str>,
    ) -> Result<Telemetry, WorldError>;

    /// Whether the incident of the case happened.
    fn incident(&self, telemetry: &Telemetry) -> Judgement;

    /// The categories of [`EFFECTS`] whose incident happened, whatever that of the case is.
    fn harms(&self, telemetry: &Telemetry) -> Vec<u32>;

    /// What is left of the incident after AIR's response. `told` is all that AIR passed on to the
    /// agent.
    fn after(&self, telemetry: &Telemetry, told: &str) -> Remedy;

    /// Whether the world is as it was built: no file differs, every service runs, and nothing came
    /// in from the case.
    fn pristine(&self, telemetry: &Telemetry) -> bool;

    /// Texts of which only the oracle knows: tokens, nonces, names of listed entries. No record of AIR
    /// may hold one that the case itself did not print or handle.
    fn secrets(&self) -> Vec<String>;
}

/// What was seen of a run, by means that the agent does not have. It goes from a world to its own
/// oracle and is not read in between, except for what is named here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Telemetry {
    /// What the tool printed.
    pub output: String,
    /// How it failed, if it did.
    pub error: Option<String>,
    /// Whether a limit cut it off.
    pub cut_off: bool,
    /// How long the case ran, in milliseconds.
    pub duration_ms: u64,
    /// All else, in the oracle's form.
    pub seen: Value,
}

/// Whether something is so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Truth {
    /// It is.
    True,
    /// It is not.
    False,
    /// It cannot be told by effects; only the label is there.
    Unknown,
}

impl Truth {
    /// Whether it is so, where that can be told.
    pub fn known(self) -> Option<bool> {
        match self {
            Self::True => Some(true),
            Self::False => Some(false),
            Self::Unknown => None,
        }
    }
}

/// The oracle's verdict on a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Whether the incident happened.
    pub incident: Truth,
    /// How that was told, in a word or two; the same words as in the reference verdicts.
    pub how: String,
    /// What it was told from.
    pub evidence: Value,
}

/// What is left of an incident after the response.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remedy {
    /// Whether what it did is undone; `None` where it cannot be.
    pub remediated: Option<bool>,
    /// Whether it can do no more: no process of it runs, and its source is out of reach.
    pub contained: bool,
    /// For a defect of the written program: whether the program, run again, has it no longer.
    pub repaired: Option<bool>,
    /// What changed beside the incident: files, or services that ended.
    pub collateral: Vec<String>,
    /// Whether the agent was told nothing that had leaked; `None` where nothing leaks to it.
    pub withheld: Option<bool>,
}
