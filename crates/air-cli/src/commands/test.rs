//! `airctl test`: rules against scripted steps.

mod coverage;
mod load;
mod mutate;
mod watch;

use std::{collections::BTreeMap, fs, path::PathBuf};

use air_testkit::{
    coverage::Coverage,
    run::{self, Played},
    suite::{Case, Expect},
};
use serde::Serialize;

use self::load::{Stamp, Suite, unusable};
use crate::{args::Format, context::Context, error::CliError, exit::Exit};

/// Run rule tests: Markdown files whose cases have rules, steps, and what is to come of them
#[derive(Debug, Clone, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct Args {
    /// Test files, or directories of them
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Write what happens into the files, as what is expected from now on
    #[arg(long)]
    pub update: bool,
    /// Show which rules and clauses no case exercises
    #[arg(long)]
    pub coverage: bool,
    /// Less coverage than this is a finding
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(..=100))]
    pub min_coverage: Option<u8>,
    /// Change the rules in one place at a time, and show which changes no case notices
    #[arg(long)]
    pub mutate: bool,
    /// A smaller share of noticed changes than this is a finding
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(..=100))]
    pub min_score: Option<u8>,
    /// How many changes are tried at most; of more, ones that are spread evenly
    #[arg(long, value_name = "N", default_value_t = 2000)]
    pub max_mutants: usize,
    /// Run again whenever a test or rule file changes; Ctrl-C ends it
    #[arg(long, conflicts_with = "update")]
    pub watch: bool,
}

#[derive(Serialize)]
struct Document {
    version: u32,
    passed: usize,
    failed: usize,
    failures: Vec<Failure>,
    coverage: Option<coverage::Summary>,
    mutation: Option<mutate::Summary>,
}

#[derive(Serialize)]
struct Failure {
    file: String,
    line: usize,
    case: String,
    expected: String,
    actual: String,
}

/// Runs the tests. One that fails is a finding, and so is less than what is asked of coverage or
/// mutation.
///
/// # Errors
///
/// If a file cannot be read or holds no case, or a case cannot be played.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    if args.watch {
        return watch::run(args, context);
    }
    once(args, context, &mut BTreeMap::new())
}

/// Runs the tests once. `files` are all that were read, also where it fails.
fn once(
    args: &Args,
    context: &mut Context<'_>,
    files: &mut BTreeMap<PathBuf, Stamp>,
) -> Result<Exit, CliError> {
    let suites = load::suites(&args.paths, &context.cwd, files)?;
    let measured = args.coverage || args.min_coverage.is_some();
    let mut coverage = measured.then(Coverage::default);
    let (mut passed, mut failures) = (0, Vec::new());
    for suite in &suites {
        let (right, mut wrong) = play(suite, args.update, coverage.as_mut())?;
        passed += right;
        failures.append(&mut wrong);
    }
    let failed = failures.len();
    if passed + failed == 0 {
        return Err(CliError::Usage {
            what: "no case was found: nothing was tested".to_owned(),
            hint: "a case is a heading with blocks fenced as `toml` and `expect`, or with a table \
                   fenced as `flagged` or `clean`"
                .to_owned(),
        });
    }
    let coverage = coverage.map(|coverage| coverage::Summary::of(&coverage.rules()));
    let mutation = match (args.mutate || args.min_score.is_some(), failed) {
        (true, 0) => Some(mutate::Summary::of(suites, args.max_mutants)),
        (true, _) => {
            writeln!(context.streams.err, "note: no rule was changed: a case fails as it is")?;
            None
        }
        (false, _) => None,
    };
    let short = |wanted: Option<u8>, reached: Option<f64>| {
        wanted.is_some_and(|wanted| reached.is_none_or(|reached| reached < f64::from(wanted)))
    };
    let finding = failed > 0
        || short(args.min_coverage, coverage.as_ref().map(|coverage| coverage.percent))
        || short(args.min_score, mutation.as_ref().map(|mutation| mutation.percent));
    let document = Document { version: 1, passed, failed, failures, coverage, mutation };
    match context.format {
        Format::Json => context.json(&document)?,
        Format::Human => write(&document, context)?,
    }
    Ok(if finding { Exit::Findings } else { Exit::Fine })
}

/// How many cases of a suite passed, and what failed, in the order of the file.
fn play(
    suite: &Suite,
    update: bool,
    mut coverage: Option<&mut Coverage>,
) -> Result<(usize, Vec<Failure>), CliError> {
    let (mut passed, mut failures) = (0, Vec::new());
    let mut updated = suite.text.clone();
    // From the end, so that places further up stay where they are.
    for case in suite.cases.iter().rev() {
        let played = match &mut coverage {
            Some(coverage) => run::run_covered(case, &suite.shown, coverage),
            None => run::run(case),
        };
        let played =
            played.map_err(|error| unusable(&suite.shown, case.line, &error.to_string()))?;
        match &case.expect {
            _ if played.passed => passed += 1,
            Expect::Transcript { at, .. } if update => {
                updated.replace_range(at.clone(), &played.actual);
                passed += 1;
            }
            _ => failures.push(failure(&suite.shown, case, played)),
        }
    }
    if updated != suite.text {
        fs::write(&suite.file, updated).map_err(CliError::file("write", &suite.file))?;
    }
    failures.reverse();
    Ok((passed, failures))
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

fn write(document: &Document, context: &mut Context<'_>) -> Result<(), CliError> {
    let out = &mut context.streams.out;
    for Failure { file, line, case, expected, actual } in &document.failures {
        writeln!(out, "{file}:{line}: `{case}` failed")?;
        difference(expected, actual, out)?;
    }
    if let Some(coverage) = &document.coverage {
        coverage.write(out)?;
    }
    if let Some(mutation) = &document.mutation {
        mutation.write(out)?;
    }
    Ok(writeln!(out, "{} passed, {} failed", document.passed, document.failed)?)
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

/// `part` of `whole` in percent; all of nothing is all.
#[expect(clippy::cast_precision_loss, reason = "counts of cases, not of bytes")]
fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { part as f64 * 100.0 / whole as f64 }
}
