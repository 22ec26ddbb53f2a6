//! `airctl __critical`: what `air-hook` runs where no daemon can be had, and the critical guardrails are to
//! decide.

use std::{env, path::PathBuf};

use air::Critical;
use futures::executor::block_on;
use serde::Serialize;

use crate::{context::Context, daemon::Daemon, error::CliError, exit::Exit};

/// Decide about a host's call by the critical guardrails alone. For AIR itself.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The host
    pub host: String,
    /// Its event, where the payload does not say it
    pub event: Option<String>,
    /// Why no daemon can be asked
    #[arg(long, value_name = "TEXT", default_value = "its daemon does not run")]
    pub why: String,
}

/// The JSON document: what the hook is to print, and how it is to exit.
#[derive(Serialize)]
struct Document {
    version: u32,
    stdout: String,
    stderr: String,
    exit: u8,
}

/// Reads a payload, and says what its host is to be told.
///
/// # Errors
///
/// If it cannot be read, or the host is not known. Whoever asks refuses then.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let mut payload = Vec::new();
    context.streams.input.read_to_end(&mut payload)?;
    let hosts = Daemon::of(context)?.hosts();
    let home = env::home_dir().unwrap_or_else(|| PathBuf::from("/"));
    let critical = Critical::read(&hosts, home, context.config.label_table()?);
    let asked = (args.host.as_str(), args.event.as_deref());
    let reply = block_on(air_server::answer_alone(critical, asked, &payload, &args.why));
    let reply = reply.ok_or_else(|| CliError::Usage {
        what: format!("no host is called `{}`", args.host),
        hint: "`airctl install --list` names them".to_owned(),
    })?;
    let air_hooks::Reply { stdout, stderr, exit } = reply;
    context.json(&Document { version: 1, stdout, stderr, exit })?;
    Ok(Exit::Fine)
}
