//! `airctl convert`: translates rules of the dialect in which AIR's authors published theirs.

use std::{fs, path::PathBuf};

use air_lang::{Converter, Diagnostic, Report, Severity};
use serde::Serialize;

use crate::{args::Format, context::Context, error::CliError, exit::Exit, rewrite};

/// Version of the JSON document. Fields may be added to it; nothing else changes without a new one.
const DOCUMENT_VERSION: u32 = 1;

/// Translate rules of the dialect in which AIR's authors published theirs
///
/// There, texts stand in quotes, checks are joined by `&&`, `||` and `!`, and steps follow
/// `orchestrate`. The rules go to standard output, what could not be translated exactly to standard
/// error.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Files of that dialect
    #[arg(value_name = "FILE", required = true)]
    pub paths: Vec<PathBuf>,
    /// Write the rules to this file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The JSON document.
#[derive(Serialize)]
struct Document<'d> {
    version: u32,
    rules: usize,
    /// The rules, unless they went to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'d str>,
    unreadable: &'d [String],
    diagnostics: Vec<Report<'d>>,
}

/// One file that was read.
struct Source {
    name: String,
    text: String,
    found: Vec<Diagnostic>,
}

/// Translates every file, also when another one cannot be. A rule with an error is left out and is a
/// finding; what could not be translated exactly is none.
///
/// # Errors
///
/// If the rules or the report cannot be written.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let mut converter = Converter::default();
    let (mut sources, mut unreadable) = (Vec::new(), Vec::new());
    let (mut text, mut rules) = (String::new(), 0);
    for path in &args.paths {
        let name = path.display().to_string();
        let read = fs::read(context.cwd.join(path)).map_err(CliError::file("read", path));
        let source = read.map_err(|error| error.to_string()).and_then(|bytes| {
            String::from_utf8(bytes).map_err(|_| format!("`{name}` is not UTF-8: save it as UTF-8"))
        });
        match source {
            Ok(source) => {
                let converted = converter.convert(&source);
                if !text.is_empty() && !converted.text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&converted.text);
                rules += converted.rules;
                sources.push(Source { name, text: source, found: converted.diagnostics });
            }
            Err(message) => unreadable.push(message),
        }
    }
    match &args.output {
        // A file that is there is not replaced by nothing.
        Some(_) if rules == 0 => {}
        Some(path) => {
            let place = context.cwd.join(path);
            rewrite::write(&place, &text).map_err(CliError::file("write", path))?;
        }
        None if context.format == Format::Human => {
            context.streams.out.write_all(text.as_bytes())?;
        }
        None => {}
    }
    report(args, context, &sources, &unreadable, &text, rules)?;
    let errors = sources.iter().flat_map(|it| &it.found).any(|it| it.severity == Severity::Error);
    Ok(if !unreadable.is_empty() {
        Exit::CouldNotRun
    } else if errors {
        Exit::Findings
    } else {
        Exit::Fine
    })
}

fn report(
    args: &Args,
    context: &mut Context<'_>,
    sources: &[Source],
    unreadable: &[String],
    text: &str,
    rules: usize,
) -> Result<(), CliError> {
    if context.format == Format::Json {
        let reports = sources
            .iter()
            .flat_map(|source| source.found.iter().map(|found| found.report(&source.name)));
        return context.json(&Document {
            version: DOCUMENT_VERSION,
            rules,
            text: args.output.is_none().then_some(text),
            unreadable,
            diagnostics: reports.collect(),
        });
    }
    for source in sources {
        let color = context.streams.color;
        let shown = air_lang::render(&source.found, &source.name, &source.text, color);
        context.streams.err.write_all(shown.as_bytes())?;
    }
    for message in unreadable {
        context.error(message)?;
    }
    let noun = if rules == 1 { "rule" } else { "rules" };
    Ok(writeln!(context.streams.err, "{rules} {noun} translated; `airctl check` looks at them")?)
}
