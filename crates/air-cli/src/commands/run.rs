//! `airctl run`: an agent under guard, scripted or on a language model.

use air_agent::Style;
use clap::ValueEnum;

use crate::{
    context::Context,
    error::CliError,
    exit::Exit,
    guard::{self, Target},
    model::{self, ModelArgs},
    play,
    script::Script,
    tell::End,
    work::{self, Task},
};

/// Run an agent under guard: a script, or a language model with a task
#[derive(Debug, Clone, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct Args {
    /// What a scripted agent does: a TOML file with a `task` and its `[[step]]`s
    #[arg(long, value_name = "FILE")]
    pub script: Option<std::path::PathBuf>,
    /// What an agent on a language model is to do; without it, it is asked for line by line
    #[arg(long, value_name = "TEXT", conflicts_with = "script")]
    pub task: Option<String>,
    /// Go on with a session of an agent on a language model whose process ended
    #[arg(long, value_name = "SESSION", conflicts_with = "script")]
    pub resume: Option<String>,
    /// How an agent on a language model acts
    #[arg(long, value_enum, value_name = "STYLE", default_value_t)]
    pub agent: AgentStyle,
    /// The tools that it has
    #[arg(long, value_enum, value_name = "SET", default_value_t)]
    pub tools: ToolSet,
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
    /// Language models.
    #[command(flatten)]
    pub models: ModelArgs,
}

/// How an agent acts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum AgentStyle {
    /// It calls tools.
    #[default]
    React,
    /// It writes code, in blocks that are run.
    Codeact,
}

/// Tools of an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ToolSet {
    /// Those of a code agent: `bash`, `python_repl` and files.
    #[default]
    Code,
}

/// Runs the agent. With `--exit-code`, anything but an undisturbed end is a finding.
///
/// # Errors
///
/// If it could not be done.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let script = args.script.as_ref().map(|file| Script::read(&context.cwd.join(file)));
    let script = script.transpose()?;
    let models = model::connect(&args.models, context)?;
    let target = Target {
        workspace: args.workspace.clone(),
        rules: args.rules.clone(),
        unsandboxed: args.unsandboxed,
        no_learn: args.no_learn,
        direct: args.direct,
        minds: models.as_ref().map(model::Connected::minds).unwrap_or_default(),
        judge_mode: args.models.judge_mode,
    };
    let (air, end) = match (&script, &models) {
        (Some(script), _) => {
            let air = guard::open(context, &target)?;
            guard::tell_faults(&air, context)?;
            let end = play::play(&air, script, context)?;
            (air, end)
        }
        (None, Some(models)) => {
            let air = guard::open(context, &target)?;
            guard::tell_faults(&air, context)?;
            let style = match args.agent {
                AgentStyle::React => Style::ReAct,
                AgentStyle::Codeact => Style::CodeAct,
            };
            let task = match (&args.resume, &args.task) {
                (Some(id), word) => {
                    let sessions =
                        futures::executor::block_on(air::records::sessions(air.journal()))?;
                    let id = guard::by_prefix(sessions, |it| it.as_str(), id, "session")?;
                    Task::Again(id, word.clone())
                }
                (None, Some(task)) => Task::Once(task.clone()),
                (None, None) => Task::Asked,
            };
            let end = work::work(&air, models, style, &task, context);
            models.finish()?;
            (air, end?)
        }
        (None, None) => {
            return Err(CliError::Usage {
                what: "there is nothing to run".to_owned(),
                hint: "name a script with `--script FILE`, or a language model with `--model \
                       PROVIDER:NAME` and its `--task`"
                    .to_owned(),
            });
        }
    };
    if let (Some(models), true) = (&models, script.is_some()) {
        models.finish()?;
    }
    drop(air);
    if let End::Incident { incident, .. } = &end
        && context.format == crate::args::Format::Human
    {
        writeln!(context.streams.err, "`airctl explain {incident}` tells the story")?;
    }
    Ok(if args.exit_code && end != End::DONE { Exit::Findings } else { Exit::Fine })
}
