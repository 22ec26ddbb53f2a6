//! `airctl store`: what is kept of sessions so that it can be undone.

use futures::executor::block_on;
use serde::Serialize;

use crate::{
    args::Format,
    context::Context,
    error::CliError,
    exit::Exit,
    guard::{self, Target},
    stores,
};

/// Show, check or erase what is kept of sessions so that it can be undone
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Erase what is kept of this session; its story stays, and it cannot be undone any more
    #[arg(long, value_name = "SESSION")]
    pub forget: Option<String>,
    /// Remove contents that no session needs any more
    #[arg(long)]
    pub collect: bool,
    /// Read every content and compare it with its name
    #[arg(long)]
    pub verify: bool,
    /// The workspace [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<std::path::PathBuf>,
    /// The store of all sessions beside hosts, in place of the workspace's
    #[arg(long, conflicts_with = "workspace")]
    pub hosts: bool,
}

#[derive(Serialize)]
struct Document {
    version: u32,
    sessions: Vec<String>,
    contents: u64,
    bytes: u64,
    budget_bytes: u64,
    removed_bytes: Option<u64>,
    intact: Option<u64>,
    damaged: Vec<String>,
}

/// Shows what is kept. A damaged content is a finding.
///
/// # Errors
///
/// If it cannot be used, or the session has not ended.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let target = Target { workspace: args.workspace.clone(), ..Target::default() };
    if args.forget.is_some() || args.collect {
        stores::person(context)?;
    }
    let air = if args.hosts {
        stores::open_hosts(context)?
    } else {
        guard::open_without_rules(context, &target)?
    };
    let removed = match &args.forget {
        Some(session) => Some(block_on(air.forget(&session.as_str().into()))?),
        None if args.collect => Some(air.collect()?),
        None => None,
    };
    let archive = air.archive()?;
    let verified =
        if args.verify { Some(archive.verify().map_err(air::AirError::from)?) } else { None };
    let usage = archive.usage().map_err(air::AirError::from)?;
    let damaged = verified.as_ref().map(|found| {
        let unreadable = found.unreadable.iter().map(|(digest, why)| format!("{digest}: {why}"));
        found.damaged.iter().map(ToString::to_string).chain(unreadable).collect::<Vec<_>>()
    });
    let mut sessions = archive.sessions().map_err(air::AirError::from)?;
    sessions.sort();
    let document = Document {
        version: 1,
        sessions,
        contents: usage.objects,
        bytes: usage.bytes,
        budget_bytes: usage.budget,
        removed_bytes: removed.map(|removed| removed.bytes),
        intact: verified.map(|found| found.intact),
        damaged: damaged.unwrap_or_default(),
    };
    match context.format {
        Format::Json => context.json(&document)?,
        Format::Human => write(&document, context)?,
    }
    Ok(if document.damaged.is_empty() { Exit::Fine } else { Exit::Findings })
}

fn write(document: &Document, context: &mut Context<'_>) -> Result<(), CliError> {
    let out = &mut context.streams.out;
    let mib = |bytes: u64| format!("{}.{} MiB", bytes >> 20, ((bytes % (1 << 20)) * 10) >> 20);
    let Document { sessions, contents, .. } = document;
    writeln!(
        out,
        "kept     {} of {}: {contents} contents of {} sessions",
        mib(document.bytes),
        mib(document.budget_bytes),
        sessions.len(),
    )?;
    for session in sessions {
        writeln!(out, "         {session}")?;
    }
    if let Some(removed) = document.removed_bytes {
        writeln!(out, "removed  {}", mib(removed))?;
    }
    if let Some(intact) = document.intact {
        writeln!(out, "intact   {intact} contents, {} damaged", document.damaged.len())?;
    }
    for damaged in &document.damaged {
        writeln!(out, "damaged  {damaged}")?;
    }
    Ok(())
}
