//! `airctl prompts`: what models are told, word for word.

use air_llm::prompts::Prompt;
use serde::Serialize;

use crate::{args::Format, context::Context, error::CliError, exit::Exit};

/// Show what language models are told
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Show this one whole
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

#[derive(Serialize)]
struct Document<'p> {
    version: u32,
    prompts: Vec<Shown<'p>>,
}

#[derive(Serialize)]
struct Shown<'p> {
    name: &'p str,
    prompt_version: u32,
    purpose: &'p str,
    text: &'p str,
}

/// Shows all by name, or one whole.
///
/// # Errors
///
/// If there is none of that name.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let all = air_llm::prompts::all();
    let wanted = |prompt: &&Prompt| args.name.as_deref().is_none_or(|name| name == prompt.name);
    let found: Vec<&Prompt> = all.iter().filter(wanted).collect();
    if found.is_empty() {
        let names: Vec<&str> = all.iter().map(|prompt| prompt.name).collect();
        return Err(CliError::Usage {
            what: format!("no prompt `{}`", args.name.as_deref().unwrap_or_default()),
            hint: format!("there are {}", names.join(", ")),
        });
    }
    if context.format == Format::Json {
        let prompts = found.into_iter().map(|prompt| Shown {
            name: prompt.name,
            prompt_version: prompt.version,
            purpose: prompt.purpose.name(),
            text: prompt.text,
        });
        context.json(&Document { version: 1, prompts: prompts.collect() })?;
        return Ok(Exit::Fine);
    }
    let out = &mut context.streams.out;
    for prompt in found {
        if args.name.is_some() {
            write!(out, "{}", prompt.text)?;
        } else {
            let words = prompt.text.split_whitespace().count();
            let (name, version, purpose) = (prompt.name, prompt.version, prompt.purpose.name());
            writeln!(out, "{name:<24}  version {version}  for {purpose:<12}  {words} words")?;
        }
    }
    Ok(Exit::Fine)
}
