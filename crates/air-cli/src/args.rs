//! What can be asked on the command line. Each subcommand's arguments are in its own file.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::{commands, config::Overrides};

/// Incident response for LLM agents
///
/// Exit codes: 0 fine, 1 findings, 2 could not run.
#[derive(Debug, Clone, Parser)]
#[command(name = "airctl", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    /// Arguments of every subcommand.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Arguments of every subcommand.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Form of what is written to standard output
    #[arg(long, global = true, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: Form,
    /// When to use colours; `NO_COLOR` is respected
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
    /// Settings file, in place of the nearest `air.toml` upwards
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Directory for journals, evidence and guardrails [env: `AIR_STATE`]
    #[arg(long, global = true, value_name = "DIR")]
    pub state: Option<PathBuf>,
}

impl Global {
    /// What it says about settings.
    pub fn overrides(&self) -> Overrides {
        Overrides { config: self.config.clone(), state: self.state.clone() }
    }
}

/// A form of output that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Form {
    /// Text for a person.
    #[default]
    Human,
    /// One document, or one object a line where output streams.
    Json,
    /// SARIF 2.1.0, for tools that show findings; `check` only.
    Sarif,
}

/// A form of output that every command has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text for a person.
    Human,
    /// One document, or one object a line where output streams.
    Json,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Color {
    /// On a terminal.
    #[default]
    Auto,
    /// Also into a file or pipe.
    Always,
    /// Not at all.
    Never,
}

/// What to do.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// See an incident from detection to a blocked repetition, in a temporary workspace
    Demo(commands::demo::Args),
    /// Run an agent under guard: a script, or a language model with a task
    Run(commands::run::Args),
    /// Report what is wrong with rule files
    Check(commands::check::Args),
    /// Translate rules of the dialect in which AIR's authors published theirs
    Convert(commands::convert::Args),
    /// Lay rule files out
    Fmt(commands::fmt::Args),
    /// Run rule tests
    Test(commands::test::Args),
    /// Have rules drafted by a language model
    Rules(commands::rules::Args),
    /// List incidents
    Incidents(commands::incidents::Args),
    /// Tell the story of one incident
    Explain(commands::explain::Args),
    /// Show what was learned from incidents, and decide about it
    Guardrails(commands::guardrails::Args),
    /// Run AIR beside coding agents, or say how it does
    Daemon(commands::daemon::Args),
    /// Decide about calls that wait for a person
    Approvals(commands::approvals::Args),
    /// Show what rules would have changed in recorded sessions
    Replay(commands::replay::Args),
    /// Take an incident up that waits for a person, or close it
    Resume(commands::resume::Args),
    /// Take back what a session did to the files
    Undo(commands::undo::Args),
    /// Show, check or erase what is kept of sessions so that it can be undone
    Store(commands::store::Args),
    /// Measure what AIR does, on cases that are executed for real
    Bench(commands::bench::Args),
    /// Show what language models are told
    Prompts(commands::prompts::Args),
    /// Put AIR's hooks into the settings of a coding agent
    Install(commands::install::Args),
    /// Take AIR's hooks out of the settings of a coding agent
    Uninstall(commands::uninstall::Args),
    /// Report what this machine can and cannot do
    Doctor(commands::doctor::Args),
    /// Start a rule set in this directory
    Init(commands::init::Args),
    /// Write a completion script for a shell
    Completions(commands::completions::Args),
    /// Decide about a host's call by the critical guardrails alone. For AIR itself.
    #[command(name = "__critical", hide = true)]
    Critical(commands::critical::Args),
    /// Run as the supervisor inside a sandbox. For AIR itself.
    #[command(name = "__supervise", hide = true)]
    Supervise(commands::supervise::Args),
}
