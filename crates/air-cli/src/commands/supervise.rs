//! `airctl __supervise`: the supervisor inside a sandbox.

use crate::{context::Context, error::CliError, exit::Exit};

/// Run as the supervisor inside a sandbox. For AIR itself.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// What AIR hands over
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub rest: Vec<std::ffi::OsString>,
}

/// Never reached: `main` hands over to the supervisor before it takes hold of the streams, which
/// are the supervisor's channel to AIR.
///
/// # Errors
///
/// Always.
pub fn run(_args: &Args, _context: &mut Context<'_>) -> Result<Exit, CliError> {
    Err(CliError::Usage {
        what: "the supervisor runs inside a sandbox only".to_owned(),
        hint: "AIR starts it by itself".to_owned(),
    })
}
