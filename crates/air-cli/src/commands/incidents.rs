//! `airctl incidents`: what has happened in this workspace.

use air::records::IncidentRecord;
use serde::Serialize;

use crate::{
    args::Format,
    context::Context,
    error::CliError,
    exit::Exit,
    guard::Target,
    stores::{In, Stores, Whose},
    tell::state_name,
    time,
};

/// List incidents
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The workspace whose incidents to list [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<std::path::PathBuf>,
}

#[derive(Serialize)]
struct Document {
    version: u32,
    incidents: Vec<Item>,
}

#[derive(Serialize)]
struct Item {
    id: String,
    at_ms: u64,
    rule: String,
    severity: &'static str,
    state: String,
    tool: String,
    session: String,
    guardrail: Option<String>,
    store: Whose,
}

/// Lists them, oldest first.
///
/// # Errors
///
/// If the store cannot be read.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let target = Target { workspace: args.workspace.clone(), ..Target::default() };
    let stores = Stores::read(context, &target)?;
    let mut here = Vec::new();
    for found in stores.incidents()? {
        let session = found.item.incident.detection().session.clone();
        let session = In { store: found.store, whose: found.whose, item: session };
        if stores.is_here(&session)? {
            here.push(found);
        }
    }
    let began = |found: &In<IncidentRecord>| found.item.events.first().map(|(at, _)| *at);
    here.sort_by_key(began);
    let items: Vec<Item> = here
        .iter()
        .map(|found| {
            let record = &found.item;
            let detection = record.incident.detection();
            let lead = detection.findings.first();
            Item {
                id: record.incident.id().to_string(),
                at_ms: record.events.first().map_or(0, |(at, _)| at.0),
                rule: lead.map_or_else(String::new, |found| format!("@{}", found.rule)),
                severity: lead.map_or("", |found| found.severity.keyword()),
                state: state_name(record.incident.state()),
                tool: detection.tool.clone(),
                session: detection.session.to_string(),
                guardrail: record.incident.adopted().map(|adopted| adopted.id.to_string()),
                store: found.whose,
            }
        })
        .collect();
    if context.format == Format::Json {
        context.json(&Document { version: 1, incidents: items })?;
        return Ok(Exit::Fine);
    }
    if items.is_empty() {
        writeln!(context.streams.err, "no incidents in this workspace")?;
    }
    for item in &items {
        let Item { id, at_ms, rule, severity, state, tool, .. } = item;
        let at = time::local(*at_ms);
        writeln!(
            context.streams.out,
            "{id}  {at}  {severity:<8}  {state:<24}  {tool:<12}  {rule}"
        )?;
    }
    Ok(Exit::Fine)
}
