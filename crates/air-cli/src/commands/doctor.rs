//! `airctl doctor`: what this machine can and cannot do.

use air_core::id::SessionId;
use serde::Serialize;

use crate::{
    args::Format,
    context::Context,
    error::CliError,
    exit::Exit,
    guard::{self, Target},
};

/// Report what this machine can and cannot do
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The workspace to look at [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<std::path::PathBuf>,
}

#[derive(Serialize)]
struct Document {
    version: u32,
    tiers: Vec<Confinement>,
    tools: Vec<Tool>,
    state: String,
    journal: String,
}

#[derive(Serialize)]
struct Confinement {
    tier: String,
    available: bool,
    why: String,
    fix: Option<String>,
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    found: bool,
    needed_for: &'static str,
}

/// Reports. A machine on which no agent code can be run contained, or a journal that is damaged, is
/// a finding.
///
/// # Errors
///
/// If the settings cannot be used.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let target = Target { workspace: args.workspace.clone(), ..Target::default() };
    let settings = guard::settings(context, &target)?;
    let state = settings.state.display().to_string();
    let probe = air_workspace::SandboxConfig::new(
        &settings.workspace,
        &settings.state,
        SessionId::from("doctor").as_str(),
        settings.supervisor.clone(),
    );
    let tiers: Vec<Confinement> = air_workspace::detect(&probe)
        .into_iter()
        .map(|report| Confinement {
            tier: report.tier.to_string(),
            available: report.available,
            why: report.why,
            fix: report.fix,
        })
        .collect();
    let tools = vec![
        tool("bwrap", "tier T3"),
        tool("python3", "the tool python_repl"),
        tool("bash", "the tool bash"),
    ];
    let (journal, sound) = match guard::open_read_only(context, &target) {
        Ok(None) => ("none yet".to_owned(), true),
        Ok(Some(air)) => match air.journal().verify() {
            Ok(report) => (format!("sound: {} records", report.records), true),
            Err(error) => (error.to_string(), false),
        },
        Err(error) => (error.to_string(), false),
    };
    let usable = tools.iter().all(|tool| tool.found || tool.name == "bwrap");
    let contained = usable && tiers.iter().any(|tier| tier.available && tier.tier != "T1");
    let document = Document { version: 1, tiers, tools, state, journal };
    match context.format {
        Format::Json => context.json(&document)?,
        Format::Human => write(&document, context)?,
    }
    Ok(if contained && sound { Exit::Fine } else { Exit::Findings })
}

fn tool(name: &'static str, needed_for: &'static str) -> Tool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|dir| dir.join(name).is_file());
    Tool { name, found, needed_for }
}

fn write(document: &Document, context: &mut Context<'_>) -> Result<(), CliError> {
    let yes = context.style(anstyle::AnsiColor::Green.on_default());
    let no = context.style(anstyle::AnsiColor::Red.on_default());
    let out = &mut context.streams.out;
    let mark = |good: bool| {
        if good { format!("{yes}ok{yes:#}     ") } else { format!("{no}missing{no:#}") }
    };
    for tier in &document.tiers {
        writeln!(out, "{}  tier {}: {}", mark(tier.available), tier.tier, tier.why)?;
        if let (false, Some(fix)) = (tier.available, &tier.fix) {
            writeln!(out, "           to fix it: {fix}")?;
        }
    }
    for tool in &document.tools {
        writeln!(out, "{}  {}, for {}", mark(tool.found), tool.name, tool.needed_for)?;
    }
    writeln!(out, "state    {}", document.state)?;
    writeln!(out, "journal  {}", document.journal)?;
    writeln!(
        out,
        "control  cooperative: whoever runs as this user can change AIR's own files; in T2 and T3 \
         the agent cannot see them"
    )?;
    Ok(())
}
