//! `airctl`: the process around [`air_cli::run`].

use std::{
    env, io,
    io::{IsTerminal as _, Write as _},
    process::ExitCode,
};

use air_cli::{
    args::{Cli, Color},
    context::Streams,
    environment::Environment,
    exit::Exit,
};
use anstream::{AutoStream, ColorChoice};
use clap::Parser as _;

fn main() -> ExitCode {
    // The supervisor's streams are its channel to AIR: nothing else may take hold of them.
    let mut arguments = env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == "__supervise") {
        return air_workspace::supervisor::main(arguments);
    }
    // Wrong arguments end the process here, with the code that `Exit` has for them.
    let cli = Cli::parse();
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let choice = |auto| match cli.global.color {
        Color::Auto => auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    };
    let (out_choice, err_choice) =
        (choice(AutoStream::choice(&stdout)), choice(AutoStream::choice(&stderr)));
    let is_terminal = stdout.is_terminal();
    let mut out = AutoStream::new(stdout.lock(), out_choice);
    let mut err = AutoStream::new(stderr.lock(), err_choice);
    let cwd = match env::current_dir() {
        Ok(cwd) => cwd,
        Err(error) => {
            let _ = writeln!(err, "error: cannot tell the current directory: {error}");
            return Exit::CouldNotRun.into();
        }
    };
    let streams = Streams {
        input: &mut stdin.lock(),
        color: [out_choice, err_choice].iter().any(|choice| *choice != ColorChoice::Never),
        terminal: is_terminal,
        out: &mut out,
        err: &mut err,
    };
    air_cli::run(cli, &Environment::of_process(), cwd, streams).into()
}
