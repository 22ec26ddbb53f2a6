//! `airctl test`: rules against scripted steps.

use std::{
    fs,
    path::{Path, PathBuf},
};

use air_testkit::{
    run::Played,
    suite::{self, Case, Expect},
};
use serde::Serialize;

use crate::{args::Format, context::Context, error::CliError, exit::Exit, rule_files};

/// Run rule tests: Markdown files whose cases have rules, steps and the expected transcript
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Test files, or directories of them
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Write what happens into the files, as what is expected from now on
    #[arg(long)]
    pub update: bool,
}

#[derive(Serialize)]
struct Document {
    version: u32,
    passed: usize,
    failed: usize,
    failures: Vec<Failure>,
}

#[derive(Serialize)]
struct Failure {
    file: String,
    line: usize,
    case: String,
    expected: String,
    actual: String,
}

/// Runs the tests. One that fails is a finding.
///
/// # Errors
///
/// If a file cannot be read or holds no case, or a case cannot be played.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let mut passed = 0;
    let mut failures = Vec::new();
    for path in &args.paths {
        for file in files(&context.cwd.join(path)).map_err(CliError::file("read", path))? {
            let shown = file.strip_prefix(&context.cwd).unwrap_or(&file).display().to_string();
            let text = fs::read_to_string(&file).map_err(CliError::file("read", &file))?;
            let mut load = |name: &str| load(&file, name);
            let cases = suite::parse(&text, &mut load)
                .map_err(|error| unusable(&shown, error.line, &error.message))?;
            let mut updated = text.clone();
            // From the end, so that places further up stay where they are.
            for case in cases.iter().rev() {
                let played = air_testkit::run::run(case)
                    .map_err(|error| unusable(&shown, case.line, &error.to_string()))?;
                match &case.expect {
                    _ if played.passed => passed += 1,
                    Expect::Transcript { at, .. } if args.update => {
                        updated.replace_range(at.clone(), &played.actual);
                        passed += 1;
                    }
                    _ => failures.push(failure(&shown, case, played)),
                }
            }
            if updated != text {
                fs::write(&file, updated).map_err(CliError::file("write", &file))?;
            }
        }
    }
    failures.reverse();
    let failed = failures.len();
    if passed + failed == 0 {
        return Err(CliError::Usage {
            what: "no case was found: nothing was tested".to_owned(),
            hint: "a case is a heading with blocks fenced as `toml` and `expect`, or with a table \
                   fenced as `flagged` or `clean`"
                .to_owned(),
        });
    }
    match context.format {
        Format::Json => context.json(&Document { version: 1, passed, failed, failures })?,
        Format::Human => {
            for failure in &failures {
                let Failure { file, line, case, expected, actual } = failure;
                let out = &mut context.streams.out;
                writeln!(out, "{file}:{line}: `{case}` failed")?;
                difference(expected, actual, out)?;
            }
            writeln!(context.streams.out, "{passed} passed, {failed} failed")?;
        }
    }
    Ok(if failed == 0 { Exit::Fine } else { Exit::Findings })
}

fn failure(file: &str, case: &Case, played: Played) -> Failure {
    Failure {
        file: file.to_owned(),
        line: case.line,
        case: case.name.clone(),
        expected: played.expected,
        actual: played.actual,
    }
}

/// The rule files that `name` stands for, beside the suite `file`.
fn load(file: &Path, name: &str) -> Result<Vec<(String, String)>, String> {
    let base = file.parent().unwrap_or(Path::new("."));
    let found = rule_files::find_in(base, Path::new(name)).map_err(|error| error.to_string())?;
    let read = |path: PathBuf| {
        let text = fs::read_to_string(base.join(&path))
            .map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
        Ok((path.display().to_string(), text))
    };
    found.into_iter().map(read).collect()
}

fn unusable(file: &str, line: usize, message: &str) -> CliError {
    CliError::Usage {
        what: format!("{file}:{line}: {message}"),
        hint: "a case has rules fenced as `air`, steps as `toml`, and a transcript as `expect`"
            .to_owned(),
    }
}

/// Lines that were expected and lines that came, in order, where they differ.
fn difference(
    expected: &str,
    actual: &str,
    out: &mut dyn std::io::Write,
) -> Result<(), std::io::Error> {
    let (expected, actual): (Vec<&str>, Vec<&str>) =
        (expected.trim().lines().collect(), actual.trim().lines().collect());
    for at in 0..expected.len().max(actual.len()) {
        match (expected.get(at), actual.get(at)) {
            (Some(want), Some(came)) if want == came => writeln!(out, "    {want}")?,
            (want, came) => {
                if let Some(want) = want {
                    writeln!(out, "  - {want}")?;
                }
                if let Some(came) = came {
                    writeln!(out, "  + {came}")?;
                }
            }
        }
    }
    Ok(())
}

/// The file itself, or the Markdown files below a directory.
fn files(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    let mut open = vec![path.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            } else if entry.path().extension().is_some_and(|extension| extension == "md") {
                found.push(entry.path());
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}
