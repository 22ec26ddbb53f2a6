//! `airctl guardrails`: what was learned from incidents.

use air_core::{
    guardrail::{Guardrail, Provenance},
    port::GuardrailStore as _,
};
use futures::executor::block_on;
use serde::Serialize;

use crate::{
    args::Format,
    context::Context,
    error::CliError,
    exit::Exit,
    guard::{self, Target},
    time,
};

/// Show what was learned from incidents
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// What to show; without it, the list
    #[command(subcommand)]
    pub action: Option<Action>,
    /// The workspace whose guardrails to show [default: the current directory]
    #[arg(long, value_name = "DIR", global = true)]
    pub workspace: Option<std::path::PathBuf>,
}

/// What to show of the guardrails.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Action {
    /// List them
    List,
    /// Show one as rule text, with what it was learned from
    Show {
        /// The guardrail; the start of its id is enough where only one has it
        #[arg(value_name = "ID")]
        id: String,
    },
    /// List the versions of one
    History {
        /// The guardrail; the start of its id is enough where only one has it
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Serialize)]
struct Document<'d> {
    version: u32,
    guardrails: &'d [Guardrail],
}

/// Shows them.
///
/// # Errors
///
/// If there is no such guardrail or the store cannot be read.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let target = Target { workspace: args.workspace.clone(), ..Target::default() };
    let air = guard::open_read_only(context, &target)?;
    let current = match &air {
        Some(air) => block_on(air.journal().current())?,
        None => Vec::new(),
    };
    let pick = |id: &str| {
        guard::by_prefix(current.clone(), |guardrail| guardrail.id.as_str(), id, "guardrail")
    };
    let (shown, texts) = match (&args.action, &air) {
        (None | Some(Action::List), _) | (_, None) => (current, false),
        (Some(Action::Show { id }), Some(_)) => (vec![pick(id)?], true),
        (Some(Action::History { id }), Some(air)) => {
            (block_on(air.journal().history(&pick(id)?.id))?, true)
        }
    };
    if context.format == Format::Json {
        context.json(&Document { version: 1, guardrails: &shown })?;
        return Ok(Exit::Fine);
    }
    if shown.is_empty() {
        writeln!(context.streams.err, "no guardrails have been learned in this workspace")?;
    }
    for guardrail in &shown {
        let Guardrail { id, version, mode, created_at, .. } = guardrail;
        let from = match &guardrail.provenance {
            Provenance::Authored { by } => format!("written by {by}"),
            Provenance::Synthesized { incident, .. } => format!("from incident {incident}"),
            Provenance::Refined { replaces, .. } => format!("refines version {replaces}"),
        };
        let (at, mode) = (time::local(created_at.0), mode.name());
        if texts {
            writeln!(context.streams.out, "# {id} version {version}, {mode}, {from}, {at}")?;
            writeln!(context.streams.out, "{}", guardrail.text.trim_end())?;
        } else {
            let name = guardrail.text.lines().next().unwrap_or_default();
            writeln!(context.streams.out, "{id}  v{version}  {mode:<7}  {at}  {from}  {name}")?;
        }
    }
    Ok(Exit::Fine)
}
