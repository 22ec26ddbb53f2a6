//! `airctl fmt`: lays rule files out.

use std::{
    collections::HashSet,
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use serde::Serialize;

use crate::{args::Format, context::Context, error::CliError, exit::Exit, rewrite, rule_files};

/// The path that stands for standard input.
const STDIN: &str = "-";
/// What standard input is called in diagnostics.
const STDIN_NAME: &str = "<stdin>";
/// Version of the JSON document. Fields may be added to it; nothing else changes without a new one.
const DOCUMENT_VERSION: u32 = 1;

/// Lay rule files out
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Rule files, or directories of them; `-` formats standard input to standard output
    #[arg(value_name = "FILE", required = true)]
    pub paths: Vec<PathBuf>,
    /// Change nothing; list the files that would change, and exit with 1 if there are any
    #[arg(long)]
    pub check: bool,
}

/// What became of the files. Also the JSON document.
#[derive(Default, Serialize)]
struct Summary {
    version: u32,
    /// Would change, with `--check`; otherwise were changed.
    changed: Vec<String>,
    unchanged: usize,
    /// Have errors of syntax and were left alone.
    rejected: Vec<String>,
    unreadable: Vec<String>,
}

/// Formats every file, also when another one cannot be. A file with errors of syntax is left alone
/// and is a finding, as is, with `--check`, one that would change.
///
/// # Errors
///
/// If standard input is mixed with files, or output cannot be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    if args.paths.iter().any(|path| path.as_os_str() == STDIN) {
        return match args.paths.as_slice() {
            [_] => stdin(args, context),
            _ => Err(CliError::Usage {
                what: "`-` and files at the same time".to_owned(),
                hint: "give either `-` or files".to_owned(),
            }),
        };
    }
    let mut summary = Summary { version: DOCUMENT_VERSION, ..Summary::default() };
    let mut seen = HashSet::new();
    for path in &args.paths {
        match rule_files::find_in(&context.cwd, path) {
            Ok(files) => {
                for file in files {
                    let place = context.cwd.join(&file);
                    if seen.insert(place.canonicalize().unwrap_or(place)) {
                        one(&file, args, &mut summary, context)?;
                    }
                }
            }
            Err(error) => {
                context.error(&error.to_string())?;
                summary.unreadable.push(path.display().to_string());
            }
        }
    }
    match context.format {
        Format::Json => context.json(&summary)?,
        Format::Human if args.check => {
            for file in &summary.changed {
                writeln!(context.streams.out, "{file}")?;
            }
        }
        Format::Human => {}
    }
    let findings = !summary.rejected.is_empty() || args.check && !summary.changed.is_empty();
    Ok(if !summary.unreadable.is_empty() {
        Exit::CouldNotRun
    } else if findings {
        Exit::Findings
    } else {
        Exit::Fine
    })
}

fn one(
    file: &Path,
    args: &Args,
    summary: &mut Summary,
    context: &mut Context<'_>,
) -> Result<(), CliError> {
    let name = file.display().to_string();
    // A link stays a link: what it leads to is rewritten.
    let place = context.cwd.join(file);
    let read = place.canonicalize().and_then(|place| Ok((fs::read(&place)?, place)));
    let (bytes, place) = match read {
        Ok(read) => read,
        Err(error) => {
            context.error(&CliError::file("read", file)(error).to_string())?;
            summary.unreadable.push(name);
            return Ok(());
        }
    };
    let Some(formatted) = format(&bytes, &name, context)? else {
        context.error(&format!("`{name}` was left alone: it has errors"))?;
        summary.rejected.push(name);
        return Ok(());
    };
    if formatted.as_bytes() == bytes {
        summary.unchanged += 1;
    } else if args.check {
        summary.changed.push(name);
    } else {
        match rewrite::replace(&place, &formatted) {
            Ok(()) => summary.changed.push(name),
            Err(error) => {
                context.error(&CliError::file("write", file)(error).to_string())?;
                summary.unreadable.push(name);
            }
        }
    }
    Ok(())
}

fn stdin(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let mut bytes = Vec::new();
    // One byte past what a rule file may have is enough to see that it has too many.
    let limit = air_lang::MAX_FILE_BYTES as u64 + 1;
    let read = context.streams.input.take(limit).read_to_end(&mut bytes);
    read.map_err(CliError::file("read", STDIN_NAME))?;
    let Some(formatted) = format(&bytes, STDIN_NAME, context)? else {
        return Ok(Exit::Findings);
    };
    if !args.check {
        context.streams.out.write_all(formatted.as_bytes())?;
        return Ok(Exit::Fine);
    }
    if formatted.as_bytes() == bytes {
        return Ok(Exit::Fine);
    }
    writeln!(context.streams.out, "{STDIN_NAME}")?;
    Ok(Exit::Findings)
}

/// The file laid out; `None`, with its errors shown, if it has errors that make its layout doubtful.
fn format(bytes: &[u8], name: &str, context: &mut Context<'_>) -> Result<Option<String>, CliError> {
    let parsed = air_lang::parse_bytes(bytes);
    if !parsed.has_errors() {
        return Ok(Some(air_lang::format(&parsed)));
    }
    let errors: Vec<_> = parsed
        .diagnostics()
        .iter()
        .filter(|found| found.severity == air_lang::Severity::Error)
        .cloned()
        .collect();
    let rendered = air_lang::render(&errors, name, &parsed.text(), context.streams.color);
    context.streams.err.write_all(rendered.as_bytes())?;
    Ok(None)
}
