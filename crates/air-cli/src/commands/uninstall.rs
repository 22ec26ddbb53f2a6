//! `airctl uninstall`: takes AIR's hooks out of the settings of a host.

use air_hooks::Away;

use crate::{
    commands::install::{Document, Place, wanted},
    context::Context,
    error::CliError,
    exit::Exit,
    hosts::{
        Host,
        change::{Change, Wanted},
        ledger::Ledger,
    },
    stores,
};

/// Take AIR's hooks out of the settings of a host: as they were before where nobody has changed them
/// since, and otherwise without what is AIR's
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The host
    #[arg(value_enum, value_name = "HOST")]
    pub host: Host,
    /// Whose settings
    #[command(flatten)]
    pub place: Place,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Takes them out.
///
/// # Errors
///
/// If a file cannot be read or written; it is then left alone.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    if !args.dry_run {
        stores::person(context)?;
    }
    let state = context.config.state_dir()?.to_owned();
    let (host, scope) = (args.host, args.place.scope());
    let project = args.place.directory(&context.cwd)?;
    let file = host.file(scope, &context.environment, &project)?;
    let mut document = Document {
        version: 1,
        host,
        scope,
        dry_run: args.dry_run,
        files: Vec::new(),
        warnings: Vec::new(),
    };
    let ledger = if args.dry_run { None } else { Some(Ledger::open(&state)?) };
    let own = wanted(host, "air-hook", None, Away::Closed, &state)?;
    let change = Change::uninstall(&state, host, &file, &own)?;
    document.settle(change, ledger.as_ref())?;
    if let Some(trust) = Ledger::get(&state, host, &file, true)? {
        let wanted = Wanted::Trust(file.clone(), Vec::new());
        let change = Change::uninstall(&state, host, &trust.file, &wanted)?;
        document.settle(change, ledger.as_ref())?;
    }
    document.show(context, "restored")?;
    Ok(Exit::Fine)
}
