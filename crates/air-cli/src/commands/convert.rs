//! `airctl convert`.
use crate::{context::Context, error::CliError, exit::Exit};
use std::path::PathBuf;
/// Translate rules
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Files
    pub paths: Vec<PathBuf>,
}
/// x
///
/// # Errors
/// x
pub fn run(_args: &Args, _context: &mut Context<'_>) -> Result<Exit, CliError> {
    Ok(Exit::Fine)
}
