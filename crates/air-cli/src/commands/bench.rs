//! `airctl bench`: what the product does, measured.

mod code;
mod import;

use crate::{context::Context, error::CliError, exit::Exit};

/// Measure what AIR does, on cases that are executed for real
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// What to measure.
    #[command(subcommand)]
    pub what: What,
}

/// What to measure.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum What {
    /// Play cases of a code agent in sandboxes of their own, and judge them by what they did
    Code(Box<code::Args>),
    /// Make the files of cases from a checkout of their authors' repository
    Import(import::Args),
}

/// Measures.
///
/// # Errors
///
/// If it cannot be run.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    match &args.what {
        What::Code(args) => code::run(args, context),
        What::Import(args) => import::run(args, context),
    }
}
