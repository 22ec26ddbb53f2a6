//! `airctl run`: a scripted agent under guard.

use crate::{
    context::Context,
    error::CliError,
    exit::Exit,
    guard::{self, Target},
    play, tell::End,
    script::Script,
};

/// Run a scripted agent under guard
#[derive(Debug, Clone, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct Args {
    /// What the agent does: a TOML file with a `task` and its `[[step]]`s
    #[arg(long, value_name = "FILE")]
    pub script: std::path::PathBuf,
    /// Rule files, in place of those of `air.toml` and `AIR_RULES`
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub rules: Vec<std::path::PathBuf>,
    /// Directory that the agent works in [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<std::path::PathBuf>,
    /// Run tools without a sandbox: nothing keeps them from the rest of the machine
    #[arg(long)]
    pub unsandboxed: bool,
    /// Exit with 1 if there was an incident, or a step was refused or held
    #[arg(long)]
    pub exit_code: bool,
    /// Learn no guardrail from incidents
    #[arg(long)]
    pub no_learn: bool,
    /// Let tools change the workspace at once; otherwise they work on a layer above it, which is
    /// handed over when the session has ended well
    #[arg(long)]
    pub direct: bool,
}

/// Runs the script. With `--exit-code`, anything but an undisturbed end is a finding.
///
/// # Errors
///
/// If it could not be done.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let script = Script::read(&context.cwd.join(&args.script))?;
    let target = Target {
        workspace: args.workspace.clone(),
        rules: args.rules.clone(),
        unsandboxed: args.unsandboxed,
        no_learn: args.no_learn,
        direct: args.direct,
    };
    let air = guard::open(context, &target)?;
    guard::tell_faults(&air, context)?;
    let end = play::play(&air, &script, context)?;
    if let End::Incident { incident, .. } = &end
        && context.format == crate::args::Format::Human
    {
        writeln!(context.streams.err, "`airctl explain {incident}` tells the story")?;
    }
    Ok(if args.exit_code && end != End::Done { Exit::Findings } else { Exit::Fine })
}
