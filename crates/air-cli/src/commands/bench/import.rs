//! `airctl bench import`: files of cases from a checkout.

use std::path::PathBuf;

use serde::Serialize;

use crate::{args::Format, context::Context, error::CliError, exit::Exit};

/// Make the files of cases from a checkout of their authors' repository
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Whose cases they are.
    #[arg(value_enum)]
    from: From,
    /// The checkout
    checkout: PathBuf,
    /// Where the files go
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

/// Whose cases.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum From {
    /// RedCode-Exec
    Redcode,
}

#[derive(Serialize)]
struct Document {
    version: u32,
    files: Vec<File>,
}

#[derive(Serialize)]
struct File {
    path: String,
    cases: usize,
}

/// Imports.
///
/// # Errors
///
/// If the checkout is not what is known, or a file cannot be written.
pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let From::Redcode = args.from;
    let (checkout, out) = (context.cwd.join(&args.checkout), context.cwd.join(&args.out));
    let written = air_bench::import::redcode_to(&checkout, &out);
    let written = written.map_err(|error| CliError::Usage {
        what: error.to_string(),
        hint: "name the root of a checkout of github.com/AI-secure/RedCode".to_owned(),
    })?;
    let files = written.into_iter();
    let files = files.map(|(path, cases)| File { path: path.display().to_string(), cases });
    let files: Vec<File> = files.collect();
    match context.format {
        Format::Json => context.json(&Document { version: 1, files })?,
        Format::Human => {
            for file in files {
                writeln!(context.streams.out, "{}: {} cases", file.path, file.cases)?;
            }
        }
    }
    Ok(Exit::Fine)
}
