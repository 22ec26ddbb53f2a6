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
/// The incidents that users of coding agents report.
pub const CODING_RULES: &str = include_str!("../../../../rules/coding.air");
/// One rule for each class of attacks.
pub const ATTACK_RULES: &str = include_str!("../../../../rules/attacks.air");
const SETTINGS: &str = include_str!("../../assets/air.toml");
/// A script whose last step never runs under the rules of the other packs.
const ACCOUNTS: &str = include_str!("../../assets/copy-accounts.toml");

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
    /// The incidents that users of coding agents report, for agents on somebody's own machine
    Coding,
}

impl Pack {
    /// What shows the rules at work, and how it is run.
    fn script(self) -> ((&'static str, &'static str), &'static str) {
        match self {
            Self::Starter => (
                ("scripts/leave-process.toml", STARTER_SCRIPT),
                "airctl run --script scripts/leave-process.toml",
            ),
            Self::Attacks | Self::Code | Self::Coding => (
                ("scripts/copy-accounts.toml", ACCOUNTS),
                "airctl run --script scripts/copy-accounts.toml",
            ),
        }
    }

    fn file(self) -> (&'static str, &'static str) {
        match self {
            Self::Starter => ("rules/starter.air", STARTER_RULES),
            Self::Attacks => ("rules/attacks.air", ATTACK_RULES),
            Self::Code => ("rules/code.air", CODE_RULES),
            Self::Coding => ("rules/coding.air", CODING_RULES),
        }
    }
}

/// The JSON document.
#[derive(Serialize)]
struct Document {
    version: u32,
    created: Vec<&'static str>,
    next: [&'static str; 3],
}

/// Writes the files, all of them or, where one is there already, none.
///
/// # Errors
///
/// If a file is there already or cannot be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let mut files = vec![("air.toml", SETTINGS)];
    let (script, run) = args.pack.first().copied().unwrap_or(Pack::Starter).script();
    let next = ["airctl check", run, "airctl incidents"];
    for file in args.pack.iter().map(|pack| pack.file()).chain([script]) {
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
        Format::Json => context.json(&Document { version: 1, created, next })?,
        Format::Human => {
            for name in &created {
                writeln!(context.streams.out, "created {name}")?;
            }
            writeln!(context.streams.out, "\nnext:")?;
            for command in next {
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
