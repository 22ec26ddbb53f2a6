//! `airctl init`: a rule set to start from.

use std::{fs, io::Write as _, path::Path};

use serde::Serialize;

use crate::{args::Format, context::Context, error::CliError, exit::Exit};

/// The rules to start from.
pub const STARTER_RULES: &str = include_str!("../../../../rules/starter.air");
/// A script whose last steps never run under these rules.
pub const STARTER_SCRIPT: &str = include_str!("../../../../examples/scripts/leave-process.toml");
const SETTINGS: &str = include_str!("../../assets/air.toml");

/// What is written, in order.
const FILES: [(&str, &str); 3] = [
    ("air.toml", SETTINGS),
    ("rules/starter.air", STARTER_RULES),
    ("scripts/leave-process.toml", STARTER_SCRIPT),
];
/// What to do next.
const NEXT: [&str; 3] =
    ["airctl check", "airctl run --script scripts/leave-process.toml", "airctl incidents"];

/// Start a rule set in this directory
#[derive(Debug, Clone, clap::Args)]
pub struct Args {}

/// The JSON document.
#[derive(Serialize)]
struct Document {
    version: u32,
    created: [&'static str; FILES.len()],
    next: [&'static str; NEXT.len()],
}

/// Writes the files, all of them or, where one is there already, none.
///
/// # Errors
///
/// If a file is there already or cannot be written.
pub fn run(_args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    // A dangling link is there as well.
    let there = FILES.iter().find(|(name, _)| context.cwd.join(name).symlink_metadata().is_ok());
    if let Some((name, _)) = there {
        return Err(CliError::Usage {
            what: format!("`{name}` is there already"),
            hint: "`init` overwrites nothing: move it away, or work with what is there".to_owned(),
        });
    }
    for (name, text) in FILES {
        create(&context.cwd.join(name), text).map_err(CliError::file("create", name))?;
    }
    let created = FILES.map(|(name, _)| name);
    match context.format {
        Format::Json => context.json(&Document { version: 1, created, next: NEXT })?,
        Format::Human => {
            for name in created {
                writeln!(context.streams.out, "created {name}")?;
            }
            writeln!(context.streams.out, "\nnext:")?;
            for command in NEXT {
                writeln!(context.streams.out, "  {command}")?;
            }
        }
    }
    Ok(Exit::Fine)
}

fn create(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::File::create_new(path)?.write_all(text.as_bytes())
}
