//! `airctl undo`: takes back what a session did to the files.

use air::{Undo, UndoneAs};
use futures::executor::block_on;
use serde::Serialize;

use crate::{
    args::Format,
    context::Context,
    error::CliError,
    exit::Exit,
    guard::{self, Target},
    tell::plain,
};

/// Paths that are listed one by one.
const MOST: usize = 50;

/// Take back what a session did to the files; what others changed since is kept
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The session [default: the last one]
    #[arg(long, value_name = "ID", conflicts_with = "incident")]
    pub session: Option<String>,
    /// Only what this step did
    #[arg(long, value_name = "N", conflicts_with = "incident")]
    pub step: Option<u32>,
    /// Only what the step of this incident did
    #[arg(long, value_name = "ID")]
    pub incident: Option<String>,
    /// Only this file, or what is below this directory
    #[arg(long = "file", value_name = "PATH", num_args = 1..)]
    pub files: Vec<String>,
    /// Show what would be done, as a diff, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Take the last undo back
    #[arg(long, conflicts_with_all = ["step", "incident", "files"])]
    pub redo: bool,
    /// The workspace [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<std::path::PathBuf>,
}

#[derive(Serialize)]
struct Document {
    version: u32,
    session: String,
    dry_run: bool,
    change: Option<String>,
    paths: Vec<Item>,
    diff: String,
    late: Vec<String>,
}

#[derive(Serialize)]
struct Item {
    path: String,
    result: &'static str,
    why: Option<String>,
}

/// Undoes. A path that was refused is a finding.
///
/// # Errors
///
/// If there is nothing to undo, or it could not be done.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let target = Target { workspace: args.workspace.clone(), ..Target::default() };
    let air = guard::open_without_rules(context, &target)?;
    let incident = match &args.incident {
        Some(id) => {
            let all = block_on(air::records::incidents(air.journal()))?;
            let record =
                guard::by_prefix(all, |record| record.incident.id().as_str(), id, "incident")?;
            Some(record.incident.id().clone())
        }
        None => None,
    };
    let what = Undo {
        session: args.session.as_deref().map(Into::into),
        step: args.step,
        incident,
        files: args.files.clone(),
        dry_run: args.dry_run,
        redo: args.redo,
    };
    let report = block_on(air.undo(&what))?;
    let undone = report.undone;
    let items: Vec<Item> = undone.paths.into_iter().map(item).collect();
    let refused = items.iter().any(|item| item.result == "refused");
    let document = Document {
        version: 1,
        session: report.session.to_string(),
        dry_run: args.dry_run,
        change: undone.id,
        paths: items,
        diff: undone.diff,
        late: undone.late,
    };
    match context.format {
        Format::Json => context.json(&document)?,
        Format::Human => write(&document, args.redo, context)?,
    }
    Ok(if refused || !document.late.is_empty() { Exit::Findings } else { Exit::Fine })
}

fn item((path, done): (String, UndoneAs)) -> Item {
    let (result, why) = match done {
        UndoneAs::Restored => ("restored", None),
        UndoneAs::Removed => ("removed", None),
        UndoneAs::Unchanged => ("unchanged", None),
        UndoneAs::Merged => ("merged", None),
        UndoneAs::Refused(why) => ("refused", Some(why)),
    };
    Item { path, result, why }
}

fn write(document: &Document, redo: bool, context: &mut Context<'_>) -> Result<(), CliError> {
    let bold = context.style(anstyle::Style::new().bold());
    let out = &mut context.streams.out;
    let told: Vec<&Item> =
        document.paths.iter().filter(|item| item.result != "unchanged").collect();
    let verb = if redo { "take the last undo back in" } else { "undo" };
    let heading = match (told.is_empty(), document.dry_run) {
        (true, _) => "nothing to do: the files are as they were",
        (false, true) => "would be done",
        (false, false) => "done",
    };
    writeln!(out, "{bold}{verb} session {}: {heading}{bold:#}", document.session)?;
    for item in told.iter().take(MOST) {
        let why = item.why.as_ref().map(|why| format!(": {}", plain(why))).unwrap_or_default();
        writeln!(out, "  {:<9} {}{why}", item.result, plain(&item.path))?;
    }
    if told.len() > MOST {
        writeln!(out, "  … and {} more", told.len() - MOST)?;
    }
    for late in &document.late {
        writeln!(out, "  late      {}", plain(late))?;
    }
    if !document.diff.is_empty() {
        writeln!(out)?;
        for line in document.diff.lines() {
            writeln!(out, "{}", plain(line))?;
        }
    }
    if document.change.is_some() && !redo {
        writeln!(context.streams.err, "`airctl undo --redo` takes this back")?;
    }
    Ok(())
}
