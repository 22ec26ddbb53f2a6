//! What became of each category.

use serde::Serialize;

use super::{
    input::Category,
    trial::{Fault, Tried},
};
use crate::{args::Format, context::Context, error::CliError, tell::plain};

/// What became of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Good,
    Returned,
    /// A good one was there.
    Kept,
    ReturnedEarlier,
    NotWritten,
}

impl Outcome {
    fn told(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Returned => "returned",
            Self::Kept => "kept",
            Self::ReturnedEarlier => "returned earlier",
            Self::NotWritten => "not written",
        }
    }
}

#[derive(Serialize)]
pub(super) struct Row {
    category: String,
    rule: String,
    outcome: Outcome,
    /// Below the directory; `None` where there is no file.
    file: Option<String>,
    pub(super) faults: Vec<Fault>,
    pub(super) tried: Option<Tried>,
}

impl Row {
    pub(super) fn new(category: &Category, outcome: Outcome) -> Self {
        let name = &category.name;
        let file = match outcome {
            Outcome::Good | Outcome::Kept => Some(format!("{name}.air")),
            Outcome::Returned | Outcome::ReturnedEarlier => Some(format!("returned/{name}.air")),
            Outcome::NotWritten => None,
        };
        Self {
            category: category.title.clone(),
            rule: format!("@{name}"),
            outcome,
            file,
            faults: Vec::new(),
            tried: None,
        }
    }
}

/// The whole run, as a document.
#[derive(Serialize)]
pub(super) struct Report {
    version: u32,
    /// Who drafted.
    by: String,
    rules: Vec<Row>,
}

impl Report {
    pub(super) fn new(by: String) -> Self {
        Self { version: 1, by, rules: Vec::new() }
    }

    /// Adds a row. A person sees on standard error how far it is.
    pub(super) fn add(&mut self, row: Row, context: &mut Context<'_>) -> Result<(), CliError> {
        if context.format == Format::Human {
            writeln!(context.streams.err, "{}: {}", plain(&row.category), row.outcome.told())?;
        }
        self.rules.push(row);
        Ok(())
    }

    fn count(&self, outcomes: &[Outcome]) -> usize {
        self.rules.iter().filter(|row| outcomes.contains(&row.outcome)).count()
    }

    pub(super) fn returned(&self) -> usize {
        self.count(&[Outcome::Returned, Outcome::ReturnedEarlier])
    }

    pub(super) fn not_written(&self) -> usize {
        self.count(&[Outcome::NotWritten])
    }

    pub(super) fn write(&self, context: &mut Context<'_>) -> Result<(), CliError> {
        if context.format == Format::Json {
            return context.json(self);
        }
        let out = &mut context.streams.out;
        let width = self.rules.iter().map(|row| row.category.chars().count()).max().unwrap_or(0);
        for row in &self.rules {
            let file = row.file.as_deref().unwrap_or("-");
            let (title, outcome) = (plain(&row.category), row.outcome.told());
            writeln!(out, "{title:<width$}  {outcome:<16}  {file}")?;
            for fault in &row.faults {
                writeln!(out, "    {}: {}", fault.code, plain(&fault.message))?;
            }
            if let Some(tried) = &row.tried {
                writeln!(out, "    {}", tried.told())?;
            }
        }
        let good = self.count(&[Outcome::Good, Outcome::Kept]);
        let (returned, left) = (self.returned(), self.not_written());
        writeln!(out, "{good} good, {returned} returned, {left} not written; none is in force")?;
        Ok(())
    }
}
