//! `airctl undo`: takes back what a session did to the files.

use air::Undo;
use air_core::id::{IncidentId, SessionId};
use air_server::{PathView, UndoView, UndoWish};
use futures::executor::block_on;
use serde::Serialize;

use crate::{
    args::Format,
    context::Context,
    daemon::{Daemon, plain_id},
    error::CliError,
    exit::Exit,
    guard::{self, Target},
    stores::{self, In, Stores, Whose},
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
    dry_run: bool,
    #[serde(flatten)]
    undone: UndoView,
}

/// Undoes. A path that was refused is a finding.
///
/// # Errors
///
/// If there is nothing to undo, or it could not be done.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    if !args.dry_run {
        stores::person(context)?;
    }
    let target = Target { workspace: args.workspace.clone(), ..Target::default() };
    let read = Stores::read(context, &target)?;
    let (session, incident) = match (&args.session, &args.incident) {
        (_, Some(id)) => {
            let In { store, whose, item } = read.incident(id)?;
            let session = item.incident.detection().session.clone();
            (In { store, whose, item: session }, Some(item.incident.id().clone()))
        }
        (Some(id), None) => (read.session(id)?, None),
        (None, None) => (read.last()?, None),
    };
    drop(read);
    let undone = match session.whose {
        Whose::Hosts => beside(args, &session.item, incident.as_ref(), context)?,
        Whose::Workspace => {
            let air = guard::open_without_rules(context, &target)?;
            let what = Undo {
                session: Some(session.item),
                step: args.step,
                incident,
                files: args.files.clone(),
                dry_run: args.dry_run,
                redo: args.redo,
            };
            block_on(air.undo(&what))?.into()
        }
    };
    let document = Document { version: 1, dry_run: args.dry_run, undone };
    match context.format {
        Format::Json => context.json(&document)?,
        Format::Human => write(&document, args.redo, context)?,
    }
    let UndoView { paths, late, .. } = &document.undone;
    let refused = paths.iter().any(|item| item.result == "refused");
    Ok(if refused || !late.is_empty() { Exit::Findings } else { Exit::Fine })
}

/// Of a session beside a host: by the daemon, which has it, or by this process where there is none.
fn beside(
    args: &Args,
    session: &SessionId,
    incident: Option<&IncidentId>,
    context: &Context<'_>,
) -> Result<UndoView, CliError> {
    let wish = UndoWish {
        step: args.step,
        incident: incident.map(ToString::to_string),
        // The daemon is elsewhere.
        files: args.files.iter().map(|file| absolute(file, context)).collect(),
        dry_run: args.dry_run,
        redo: args.redo,
    };
    let daemon = Daemon::of(context)?;
    if daemon.runs() {
        let body = serde_json::to_value(&wish).map_err(std::io::Error::from)?;
        return daemon.have_done(&format!("/v1/undo/{}", plain_id(session.as_str())?), &body);
    }
    let attended = stores::attend(context)?;
    let mut joined = stores::join(&attended, session)?;
    Ok(block_on(air_server::undo(&attended, &mut joined, wish, false))?)
}

/// A path as the session would name it: as it is where it is no file here.
fn absolute(file: &str, context: &Context<'_>) -> String {
    let path = context.cwd.join(file);
    // What is to come back may be gone, and its directory may not.
    let whole = path.parent().and_then(|parent| parent.canonicalize().ok());
    let whole = whole.zip(path.file_name()).map(|(parent, name)| parent.join(name));
    whole.unwrap_or(path).display().to_string()
}

fn write(document: &Document, redo: bool, context: &mut Context<'_>) -> Result<(), CliError> {
    let bold = context.style(anstyle::Style::new().bold());
    let out = &mut context.streams.out;
    let Document { dry_run, undone, .. } = document;
    let told: Vec<&PathView> =
        undone.paths.iter().filter(|item| item.result != "unchanged").collect();
    let verb = if redo { "take the last undo back in" } else { "undo" };
    let heading = match (told.is_empty(), *dry_run) {
        (true, _) => "nothing to do: the files are as they were",
        (false, true) => "would be done",
        (false, false) => "done",
    };
    writeln!(out, "{bold}{verb} session {}: {heading}{bold:#}", undone.session)?;
    for item in told.iter().take(MOST) {
        let why = item.why.as_ref().map(|why| format!(": {}", plain(why))).unwrap_or_default();
        writeln!(out, "  {:<9} {}{why}", item.result, plain(&item.path))?;
    }
    if told.len() > MOST {
        writeln!(out, "  … and {} more", told.len() - MOST)?;
    }
    for late in &undone.late {
        writeln!(out, "  late      {}", plain(late))?;
    }
    if !undone.diff.is_empty() {
        writeln!(out)?;
        for line in undone.diff.lines() {
            writeln!(out, "{}", plain(line))?;
        }
    }
    if undone.change.is_some() && !redo {
        writeln!(context.streams.err, "`airctl undo --redo` takes this back")?;
    }
    Ok(())
}
