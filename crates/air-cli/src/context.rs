//! What a command is given beside its arguments. Injected, so that every command can be tested.

use std::{
    fmt,
    io::{self, Read, Write},
    path::PathBuf,
};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::{args::Format, config::Config, environment::Environment, error::CliError};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Where a command reads and writes.
pub struct Streams<'w> {
    /// Standard input.
    pub input: &'w mut dyn Read,
    /// Standard output: what was asked for.
    pub out: &'w mut dyn Write,
    /// Standard error: diagnostics and progress, for a person.
    pub err: &'w mut dyn Write,
    /// Whether styled text may be written. A stream that cannot show styles drops them.
    pub color: bool,
    /// Whether `out` is a terminal, which obeys what untrusted bytes tell it.
    pub terminal: bool,
}

/// The world as a command sees it.
#[derive(Debug)]
pub struct Context<'w> {
    /// Where it reads and writes.
    pub streams: Streams<'w>,
    /// How `streams.out` is to be written.
    pub format: Format,
    /// The settings in force.
    pub config: Config,
    /// The current directory, absolute.
    pub cwd: PathBuf,
    /// What the environment says.
    pub environment: Environment,
}

impl fmt::Debug for Streams<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").field("color", &self.color).finish_non_exhaustive()
    }
}

impl Context<'_> {
    /// Writes one JSON document and a line end to standard output.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn json(&mut self, document: &impl Serialize) -> Result<(), CliError> {
        let out = &mut self.streams.out;
        serde_json::to_writer(&mut **out, document).map_err(io::Error::from)?;
        Ok(writeln!(out)?)
    }

    /// Writes `error: …` to standard error.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn error(&mut self, message: &str) -> Result<(), CliError> {
        let style = self.style(ERROR);
        Ok(writeln!(self.streams.err, "{style}error{style:#}: {message}")?)
    }

    /// Writes an error with its hint to standard error.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn show_error(&mut self, error: &CliError) -> Result<(), CliError> {
        self.error(&error.to_string())?;
        if let Some(hint) = error.hint() {
            let style = self.style(HINT);
            writeln!(self.streams.err, "{style}hint{style:#}: {hint}")?;
        }
        Ok(())
    }

    /// `style` where styled text may be written, and no style elsewhere.
    pub fn style(&self, style: Style) -> Style {
        if self.streams.color { style } else { Style::new() }
    }
}
