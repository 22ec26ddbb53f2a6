//! `airctl rules`: rules before they are anybody's.

mod generate;

use crate::{context::Context, error::CliError, exit::Exit};

/// Have rules drafted by a language model
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Clone, clap::Subcommand)]
enum What {
    /// Draft one rule a category of incidents, and try each before a person reads it
    Generate(Box<generate::Args>),
}

/// Does what was asked.
///
/// # Errors
///
/// If it could not be done.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    match &args.what {
        What::Generate(args) => generate::run(args, context),
    }
}
