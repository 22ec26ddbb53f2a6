//! The command line `airctl`, as a library, so that its commands can be tested.
//!
//! [`args`] says what can be asked, [`commands`] does it: one file each, in which `run` takes the
//! arguments and a [`context::Context`] and answers with an [`exit::Exit`]. Nothing here prints:
//! streams are injected. Arguments and settings are trusted; scripts and rule files are not.

pub mod args;
pub mod commands;
pub mod config;
pub mod context;
pub mod daemon;
pub mod environment;
pub mod error;
pub mod exit;
pub mod guard;
pub mod hosts;
pub mod judge_score;
pub mod model;
pub mod play;
mod rewrite;
pub mod rule_files;
pub mod script;
pub mod stores;
pub mod tell;
pub mod time;
pub mod toml_file;
pub mod work;

use std::path::PathBuf;

use crate::{
    args::{Cli, Command, Form, Format},
    config::Config,
    context::{Context, Streams},
    environment::Environment,
    error::CliError,
    exit::Exit,
};

/// Does what was asked in the directory `cwd`, which is absolute, and writes why if it cannot.
pub fn run(cli: Cli, environment: &Environment, cwd: PathBuf, streams: Streams<'_>) -> Exit {
    let Cli { global, mut command } = cli;
    // These work, and may be what is needed, where the settings cannot be used.
    let loads =
        !matches!(command, Command::Supervise(_) | Command::Completions(_) | Command::Init(_));
    let loaded = if loads {
        Config::load(environment, &global.overrides(), &cwd)
    } else {
        Ok(Config::default())
    };
    let (config, failed) = match loaded {
        Ok(config) => (config, None),
        Err(error) => (Config::default(), Some(error)),
    };
    let format = format(global.format, &mut command);
    let mut context = Context {
        streams,
        format: *format.as_ref().unwrap_or(&Format::Human),
        config,
        cwd,
        environment: environment.clone(),
    };
    let done = match (failed, format) {
        (Some(error), _) => Err(error.into()),
        (None, Err(error)) => Err(error),
        (None, Ok(_)) => commands::dispatch(command, &mut context),
    };
    let done = done.and_then(|exit| {
        context.streams.out.flush()?;
        Ok(exit)
    });
    done.unwrap_or_else(|error: CliError| {
        if !error.is_closed_pipe() {
            // If standard error is gone as well, the exit code is all that is left to tell with.
            let _ = context.show_error(&error);
        }
        Exit::CouldNotRun
    })
}

/// The form of output; one that a single command has is in its arguments.
fn format(form: Form, command: &mut Command) -> Result<Format, CliError> {
    match (form, command) {
        (Form::Human, _) => Ok(Format::Human),
        (Form::Json, _) => Ok(Format::Json),
        (Form::Sarif, Command::Check(args)) => {
            args.sarif = true;
            Ok(Format::Json)
        }
        (Form::Sarif, _) => Err(CliError::Usage {
            what: "only `airctl check` writes SARIF".to_owned(),
            hint: "use `--format json`".to_owned(),
        }),
    }
}
