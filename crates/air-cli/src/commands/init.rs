//! `airctl init`: a rule set to start from.

use std::{fs, io::Write as _, path::Path};

use serde::Serialize;

use crate::{args::Format, context::Context, error::CliError, exit::Exit};

/// The rules to start from.
pub const STARTER_RULES: &str = include_str!("../../../../rules/starter.air");
/// A script whose last steps never run under these rules.
pub const STARTER_SCRIPT: &str = include_str!("../../../../examples/scripts/leave-process.toml");
/// One rule for each kind of harm of a code agent.
pub const CODE_RULES: &str = include_str!("../../../../rules/code.air");
/// One rule for each class of attacks.
pub const ATTACK_RULES: &str = include_str!("../../../../rules/attacks.air");
const SETTINGS: &str = include_str!("../../assets/air.toml");
const SCRIPT: (&str, &str) = ("scripts/leave-process.toml", STARTER_SCRIPT);
/// What to do next.
const NEXT: [&str; 3] =
    ["airctl check", "airctl run --script scripts/leave-process.toml", "airctl incidents"];

/// Start a rule set in this directory
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Rules to begin with; may be given more than once
    #[arg(long, value_enum, value_name = "PACK", default_value = "starter")]
    pack: Vec<Pack>,
}

/// A set of rules that ships.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Pack {
    /// Over what a call changed: few rules, few false alarms
    Starter,
    /// One rule for each of twelve classes of attacks, told from the source of a call
    Attacks,
    /// One rule for each of 25 kinds of harm, for agents that stay in their working directory
    Code,
}

impl Pack {
    fn file(self) -> (&'static str, &'static str) {
        match self {
            Self::Starter => ("rules/starter.air", STARTER_RULES),
            Self::Attacks => ("rules/attacks.air", ATTACK_RULES),
            Self::Code => ("rules/code.air", CODE_RULES),
        }
    }
}

/// The JSON document.
#[derive(Serialize)]
struct Document {
    version: u32,
    created: Vec<&'static str>,
    next: [&'static str; NEXT.len()],
}

/// Writes the files, all of them or, where one is there already, none.
///
/// # Errors
///
/// If a file is there already or cannot be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let mut files = vec![("air.toml", SETTINGS)];
    for file in args.pack.iter().map(|pack| pack.file()).chain([SCRIPT]) {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    // A dangling link is there as well.
    let there = files.iter().find(|(name, _)| context.cwd.join(name).symlink_metadata().is_ok());
    if let Some((name, _)) = there {
        return Err(CliError::Usage {
            what: format!("`{name}` is there already"),
            hint: "`init` overwrites nothing: move it away, or work with what is there".to_owned(),
        });
    }
    for (name, text) in &files {
        create(&context.cwd.join(name), text).map_err(CliError::file("create", name))?;
    }
    let created: Vec<&'static str> = files.iter().map(|(name, _)| *name).collect();
    match context.format {
        Format::Json => context.json(&Document { version: 1, created, next: NEXT })?,
        Format::Human => {
            for name in &created {
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
