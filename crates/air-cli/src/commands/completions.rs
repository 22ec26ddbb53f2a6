//! `airctl completions`: completion scripts for shells.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{args::Cli, context::Context, error::CliError, exit::Exit};

/// Write a completion script for a shell
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

/// Writes the script to standard output.
///
/// # Errors
///
/// If it cannot be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    // The generator panics where it cannot write; a buffer always can be written to.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "airctl", &mut script);
    context.streams.out.write_all(&script)?;
    Ok(Exit::Fine)
}
