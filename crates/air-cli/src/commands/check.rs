//! `airctl check`: what is wrong with rule files, all of it at once, and what is odd about them.

mod mend;
mod sarif;

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use air_lang::{Diagnostic, Parsed, Report, Severity, lint::Settings};
use clap::ValueEnum;
use serde::Serialize;

use crate::{args::Format, context::Context, error::CliError, exit::Exit, rule_files};

/// Version of the JSON document. Fields may be added to it; nothing else changes without a new one.
const DOCUMENT_VERSION: u32 = 1;

/// Report what is wrong with rule files
///
/// `docs/lints.md` explains every finding.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Rule files, or directories of them; without any, those of `air.toml` and `AIR_RULES`
    #[arg(value_name = "FILE")]
    pub paths: Vec<PathBuf>,
    /// Exit with 1 also for findings of this kind
    #[arg(long, value_enum, value_name = "KIND")]
    pub deny: Vec<Deny>,
    /// Mend what can be mended for certain, in place
    #[arg(long)]
    pub fix: bool,
    /// With `--fix`: change nothing, and show as a diff what would change
    #[arg(long, requires = "fix")]
    pub dry_run: bool,
    /// Write SARIF.
    #[arg(skip)]
    pub sarif: bool,
}

/// Findings that are no errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Deny {
    /// Warnings.
    Warnings,
}

/// One file that was read.
struct Checked {
    name: String,
    /// Where it is.
    place: PathBuf,
    parsed: Parsed,
    found: Vec<Diagnostic>,
}

/// One path that was not.
#[derive(Serialize)]
struct Unreadable {
    file: String,
    message: String,
}

/// The JSON document.
#[derive(Serialize)]
struct Document<'d> {
    version: u32,
    files: usize,
    rules: usize,
    #[serde(flatten)]
    counts: Counts,
    /// Findings that were mended, or would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    mended: Option<usize>,
    unreadable: &'d [Unreadable],
    diagnostics: Vec<Report<'d>>,
}

#[derive(Clone, Copy, Default, Serialize)]
struct Counts {
    errors: usize,
    warnings: usize,
    notes: usize,
}

/// Checks every file, also when another one cannot be read. A denied finding is a finding; a file
/// that cannot be read makes it "could not run".
///
/// # Errors
///
/// If there is nothing to check, or the report cannot be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let paths = if args.paths.is_empty() { &context.config.rules } else { &args.paths };
    if paths.is_empty() {
        return Err(CliError::Usage {
            what: "no rule files".to_owned(),
            hint: "name files or directories, or set `rules` in `air.toml`".to_owned(),
        });
    }
    let mut unreadable = Vec::new();
    let mut checked = read(paths, context, &mut unreadable);
    let settings = Settings { tools: context.config.tools.clone() };
    let mended = match (args.fix, args.dry_run) {
        (false, _) => None,
        (true, true) => Some(mend::show(&checked, &settings, context)?),
        (true, false) => Some(mend::write(&mut checked, &settings, &mut unreadable)),
    };
    find(&mut checked, &settings);

    let counts = count(&checked);
    let rules = checked.iter().map(|file| file.parsed.rules().len()).sum();
    match context.format {
        Format::Human => {
            human(&checked, &unreadable, context)?;
            summary(&checked, &unreadable, rules, mended, args, context)?;
        }
        Format::Json if args.sarif => context.json(&sarif::log(&checked, &unreadable))?,
        Format::Json => {
            let reports = checked
                .iter()
                .flat_map(|file| file.found.iter().map(|diagnostic| diagnostic.report(&file.name)));
            context.json(&Document {
                version: DOCUMENT_VERSION,
                files: checked.len(),
                rules,
                counts,
                mended,
                unreadable: &unreadable,
                diagnostics: reports.collect(),
            })?;
        }
    }
    let denied = args.deny.contains(&Deny::Warnings) && counts.warnings > 0;
    Ok(if !unreadable.is_empty() {
        Exit::CouldNotRun
    } else if counts.errors > 0 || denied {
        Exit::Findings
    } else {
        Exit::Fine
    })
}

fn read(
    paths: &[PathBuf],
    context: &Context<'_>,
    unreadable: &mut Vec<Unreadable>,
) -> Vec<Checked> {
    let mut checked = Vec::new();
    let mut seen = HashSet::new();
    let mut missing = |path: &Path, message: String| {
        unreadable.push(Unreadable { file: path.display().to_string(), message });
    };
    for path in paths {
        let files = match rule_files::find_in(&context.cwd, path) {
            Ok(files) => files,
            Err(error) => {
                missing(path, error.to_string());
                continue;
            }
        };
        for file in files {
            let place = context.cwd.join(&file);
            // A file that is named twice has no duplicate rules.
            if !seen.insert(place.canonicalize().unwrap_or_else(|_| place.clone())) {
                continue;
            }
            match fs::read(&place) {
                Ok(bytes) => {
                    let parsed = air_lang::parse_bytes(&bytes);
                    // Settings name files absolutely; below the current directory that is only long.
                    let name = file.strip_prefix(&context.cwd).unwrap_or(&file);
                    let name = name.display().to_string();
                    checked.push(Checked { name, place, parsed, found: Vec::new() });
                }
                Err(error) => {
                    missing(&file, CliError::file("read", &file)(error).to_string());
                }
            }
        }
    }
    checked
}

/// Finds what is wrong with each file, with the files together, and what is odd about their rules.
fn find(checked: &mut [Checked], settings: &Settings) {
    let files: Vec<(String, Parsed)> =
        checked.iter().map(|file| (file.name.clone(), file.parsed.clone())).collect();
    let odd = air_lang::lint(&files, settings);
    let errors = air_lang::rule_set(&files).err().map_or_else(Vec::new, |set| set.errors);
    for (file, odd) in checked.iter_mut().zip(odd) {
        file.found = file.parsed.diagnostics().to_vec();
        file.found.extend(odd);
    }
    for (index, error) in errors {
        if let Some(file) = checked.get_mut(index)
            && !file.found.contains(&error)
        {
            file.found.push(error);
        }
    }
    for file in checked {
        file.found.sort_by_key(|found| (found.span.start, found.severity));
    }
}

fn count(checked: &[Checked]) -> Counts {
    let mut counts = Counts::default();
    for found in checked.iter().flat_map(|file| &file.found) {
        match found.severity {
            Severity::Error => counts.errors += 1,
            Severity::Warning => counts.warnings += 1,
            Severity::Note => counts.notes += 1,
        }
    }
    counts
}

fn human(
    checked: &[Checked],
    unreadable: &[Unreadable],
    context: &mut Context<'_>,
) -> Result<(), CliError> {
    for file in checked.iter().filter(|file| !file.found.is_empty()) {
        let text = file.parsed.text();
        let rendered = air_lang::render(&file.found, &file.name, &text, context.streams.color);
        context.streams.err.write_all(rendered.as_bytes())?;
    }
    for path in unreadable {
        context.error(&path.message)?;
    }
    Ok(())
}

fn summary(
    checked: &[Checked],
    unreadable: &[Unreadable],
    rules: usize,
    mended: Option<usize>,
    args: &Args,
    context: &mut Context<'_>,
) -> Result<(), CliError> {
    let Counts { errors, warnings, notes } = count(checked);
    let found = [plural(errors, "error"), plural(warnings, "warning"), plural(notes, "note")];
    let found: Vec<&str> =
        found.iter().map(String::as_str).filter(|text| !text.starts_with("0 ")).collect();
    let mut found = if found.is_empty() { "no findings".to_owned() } else { found.join(", ") };
    if !unreadable.is_empty() {
        found = format!("{found}; {} not checked", plural(unreadable.len(), "path"));
    }
    let (rules, files) = (plural(rules, "sound rule"), plural(checked.len(), "file"));
    let err = &mut context.streams.err;
    writeln!(err, "{rules} in {files}: {found}")?;
    let all = checked.iter().flat_map(|file| &file.found);
    let fixable = all.filter(|found| !found.fix.is_empty()).count();
    match mended {
        Some(mended) if args.dry_run => {
            writeln!(err, "{} would be mended", plural(mended, "finding"))?;
        }
        Some(mended) => writeln!(err, "{} mended", plural(mended, "finding"))?,
        None if fixable > 0 => {
            writeln!(err, "{} can be mended: `airctl check --fix`", plural(fixable, "finding"))?;
        }
        None => {}
    }
    Ok(())
}

fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
