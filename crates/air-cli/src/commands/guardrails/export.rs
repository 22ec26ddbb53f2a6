//! Guardrails for another policy engine.

use air_core::guardrail::Guardrail;
use air_lang::export::{self, Structured};
use serde::Serialize;

use crate::{context::Context, error::CliError, exit::Exit};

/// A language that guardrails are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Language {
    /// Rego, of Open Policy Agent.
    Rego,
    /// Cedar.
    Cedar,
    /// One document with everything: text, mode, provenance, and the condition as a tree.
    Json,
}

#[derive(Serialize)]
struct Document<'g> {
    version: u32,
    guardrails: Vec<Structured<'g>>,
}

/// Writes them to standard output, and what is left out to standard error.
pub(super) fn run(
    to: Language,
    guardrails: &[Guardrail],
    context: &mut Context<'_>,
) -> Result<Exit, CliError> {
    let exported = match to {
        Language::Json => {
            let guardrails = guardrails.iter().map(export::structured).collect();
            context.json(&Document { version: 1, guardrails })?;
            return Ok(Exit::Fine);
        }
        Language::Rego => export::rego(guardrails),
        Language::Cedar => export::cedar(guardrails),
    };
    write!(context.streams.out, "{}", exported.text)?;
    for (id, why) in &exported.left_out {
        writeln!(context.streams.err, "warning: {id} is left out: {why}")?;
    }
    Ok(Exit::Fine)
}
