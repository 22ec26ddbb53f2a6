//! The subcommands, one file each.

pub mod approvals;
pub mod bench;
pub mod check;
pub mod completions;
pub mod convert;
pub mod critical;
pub mod daemon;
pub mod demo;
pub mod doctor;
pub mod explain;
pub mod fmt;
pub mod guardrails;
pub mod incidents;
pub mod init;
pub mod install;
pub mod prompts;
pub mod replay;
pub mod resume;
pub mod rules;
pub mod run;
pub mod store;
pub mod supervise;
pub mod test;
pub mod undo;
pub mod uninstall;

use crate::{args::Command, context::Context, error::CliError, exit::Exit};

/// Does what was asked.
///
/// # Errors
///
/// If it could not be done. What was found on the way has been written.
pub fn dispatch(command: Command, context: &mut Context<'_>) -> Result<Exit, CliError> {
    match command {
        Command::Daemon(args) => daemon::run(&args, context),
        Command::Approvals(args) => approvals::run(&args, context),
        Command::Demo(args) => demo::run(&args, context),
        Command::Rules(args) => rules::run(&args, context),
        Command::Run(args) => run::run(&args, context),
        Command::Check(args) => check::run(&args, context),
        Command::Convert(args) => convert::run(&args, context),
        Command::Fmt(args) => fmt::run(&args, context),
        Command::Test(args) => test::run(&args, context),
        Command::Incidents(args) => incidents::run(&args, context),
        Command::Explain(args) => explain::run(&args, context),
        Command::Guardrails(args) => guardrails::run(&args, context),
        Command::Prompts(args) => prompts::run(&args, context),
        Command::Replay(args) => replay::run(&args, context),
        Command::Resume(args) => resume::run(&args, context),
        Command::Undo(args) => undo::run(&args, context),
        Command::Store(args) => store::run(&args, context),
        Command::Bench(args) => bench::run(&args, context),
        Command::Doctor(args) => doctor::run(&args, context),
        Command::Install(args) => install::run(&args, context),
        Command::Uninstall(args) => uninstall::run(&args, context),
        Command::Init(args) => init::run(&args, context),
        Command::Completions(args) => completions::run(&args, context),
        Command::Critical(args) => critical::run(&args, context),
        Command::Supervise(args) => supervise::run(&args, context),
    }
}
