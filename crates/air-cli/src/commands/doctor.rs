//! `airctl doctor`: what this machine can and cannot do.

use std::sync::Arc;

use air_core::{id::SessionId, port::Tier};
use air_llm::Score;
use air_server::StatusView;
use air_workspace::{Overlay, SandboxConfig};
use futures::executor::block_on;
use serde::Serialize;

use crate::{
    args::Format,
    commands::install::list,
    context::Context,
    daemon::Daemon,
    error::CliError,
    exit::Exit,
    guard::{self, Target},
    hosts::{
        Host,
        report::{Report, reports},
    },
    judge_score,
    model::{self, ModelArgs},
    tell::plain,
};

/// Report what this machine can and cannot do
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Only this coding agent
    #[arg(value_enum, value_name = "HOST")]
    pub host: Option<Host>,
    /// The workspace to look at [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<std::path::PathBuf>,
    /// Language models; one that is named is asked known questions
    #[command(flatten)]
    pub models: ModelArgs,
}

#[derive(Serialize)]
struct Document {
    version: u32,
    tiers: Vec<Confinement>,
    layers: Layers,
    tools: Vec<Tool>,
    state: String,
    journal: String,
    /// Guardrails that cannot be used.
    faults: Vec<String>,
    daemon: Attending,
    /// Coding agents, and whether they would run AIR's hooks.
    hosts: Vec<Report>,
    /// How often the judge was right, where one was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    judge: Option<Score>,
}

/// The daemon beside coding agents.
#[derive(Serialize)]
struct Attending {
    /// How it is, where it runs.
    status: Option<StatusView>,
    /// What is wrong with it, and what to do about it.
    fault: Option<String>,
}

#[derive(Serialize)]
struct Confinement {
    tier: String,
    available: bool,
    why: String,
    note: Option<String>,
    fix: Option<String>,
}

/// Whether tools can work on a layer above the workspace.
#[derive(Serialize)]
struct Layers {
    available: bool,
    why: String,
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
    let probe = SandboxConfig::new(
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
            note: report.note,
            fix: report.fix,
        })
        .collect();
    let layers = if settings.layered {
        layers(&probe)?
    } else {
        let why = "switched off: tools change the workspace at once".to_owned();
        Layers { available: true, why }
    };
    let tools = vec![
        tool("bwrap", "tier T3"),
        tool("python3", "the tool python_repl"),
        tool("bash", "the tool bash"),
    ];
    let mut faults = Vec::new();
    let (journal, sound) = match guard::open_read_only(context, &target) {
        Ok(None) => ("none yet".to_owned(), true),
        Ok(Some(air)) => match air.journal().verify() {
            Ok(report) => {
                let found = block_on(air.guardrail_faults())?;
                faults = found.iter().map(|fault| plain(&fault.to_string())).collect();
                (format!("sound: {} records", report.records), true)
            }
            Err(error) => (error.to_string(), false),
        },
        Err(error) => (error.to_string(), false),
    };
    let usable = tools.iter().all(|tool| tool.found || tool.name == "bwrap");
    let contained = usable && tiers.iter().any(|tier| tier.available && tier.tier != "T1");
    let judge = judged(args, context)?;
    let trusted = judge.as_ref().is_none_or(|score| score.wrong == 0 && score.undetermined == 0);
    // That they do run them, only a sign of life proves; this is what can be told without one.
    let mut hosts = reports(context, &settings.workspace, true)?;
    hosts.retain(|report| args.host.is_none_or(|host| report.host == host));
    let is_needed = hosts.iter().any(|host| !host.installed.is_empty());
    let daemon = attending(context, is_needed)?;
    for host in &mut hosts {
        let heard = daemon.status.as_ref().and_then(|it| it.hosts.get(host.host.name()));
        host.heard = heard.cloned();
        if args.host.is_some() && host.installed.is_empty() {
            let name = host.host.name();
            host.faults.push(format!("AIR is not installed: `airctl install {name}`"));
        }
    }
    let document =
        Document { version: 1, tiers, layers, tools, state, journal, faults, daemon, hosts, judge };
    match context.format {
        Format::Json => context.json(&document)?,
        Format::Human => write(&document, context)?,
    }
    let sound = sound && document.faults.is_empty();
    let seen = document.hosts.iter().all(|host| {
        let live = host.canary.as_ref().is_none_or(|canary| canary.fault.is_none());
        live && host.faults.is_empty()
    });
    let seen = seen && document.daemon.fault.is_none();
    if args.host.is_some() {
        return Ok(if seen { Exit::Fine } else { Exit::Findings });
    }
    Ok(if contained && sound && trusted && seen { Exit::Fine } else { Exit::Findings })
}

/// Looks after the hooks were tried: they start a daemon where there is none.
fn attending(context: &Context<'_>, is_needed: bool) -> Result<Attending, CliError> {
    let daemon = Daemon::of(context)?;
    if !daemon.runs() {
        let why = "it does not run, and hooks do not start it: `airctl daemon run` says why";
        return Ok(Attending { status: None, fault: is_needed.then(|| why.to_owned()) });
    }
    let status: StatusView = daemon.get("/v1/status")?;
    let own = env!("CARGO_PKG_VERSION");
    let fault = (status.version != own).then(|| {
        format!("it is of version {}, and this of {own}: `airctl daemon restart`", status.version)
    });
    Ok(Attending { status: Some(status), fault })
}

/// Asks the judge that was named known questions, and keeps how often it was right. It is not asked
/// where only the settings name one: that costs money.
fn judged(args: &Args, context: &Context<'_>) -> Result<Option<Score>, CliError> {
    if args.models.model.is_none() && args.models.judge_model.is_none() {
        return Ok(None);
    }
    let Some(models) = model::connect(&args.models, context)? else { return Ok(None) };
    let asked = air_llm::probe(Arc::clone(&models.judging), models.settings.clone());
    let score = block_on(asked)
        .map_err(|what| CliError::Usage { what, hint: "this is a defect of AIR".to_owned() })?;
    models.finish()?;
    judge_score::keep(&context.config, &score)?;
    Ok(Some(score))
}

fn layers(probe: &SandboxConfig) -> Result<Layers, CliError> {
    // On the file system that the layers would be on.
    let there = probe.state.ancestors().find(|path| path.is_dir()).unwrap_or(&probe.workspace);
    let directory = tempfile::tempdir_in(there).map_err(CliError::file("write to", there))?;
    let mut probe = probe.clone();
    probe.session_dir = directory.path().to_path_buf();
    let overlay = Overlay::of(directory.path());
    for path in [&overlay.upper, &overlay.work, &probe.session_dir.join("home")] {
        std::fs::create_dir(path).map_err(CliError::file("make", path))?;
    }
    std::fs::create_dir(probe.session_dir.join("tmp")).map_err(CliError::file("make", "tmp"))?;
    probe.overlay = Some(overlay);
    let report = air_workspace::detect(&probe).into_iter().find(|tier| tier.tier == Tier::T3);
    Ok(match report {
        Some(report) if report.available => Layers {
            available: true,
            why: "the workspace changes when a session has ended well".to_owned(),
        },
        report => Layers {
            available: false,
            why: format!(
                "tools change the workspace at once: {}",
                report.map_or_else(|| "no tier T3".to_owned(), |report| report.why)
            ),
        },
    })
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
        if let Some(note) = &tier.note {
            writeln!(out, "           {note}")?;
        }
        if let (false, Some(fix)) = (tier.available, &tier.fix) {
            writeln!(out, "           to fix it: {fix}")?;
        }
    }
    writeln!(out, "{}  layers: {}", mark(document.layers.available), document.layers.why)?;
    for tool in &document.tools {
        writeln!(out, "{}  {}, for {}", mark(tool.found), tool.name, tool.needed_for)?;
    }
    writeln!(out, "state    {}", document.state)?;
    writeln!(out, "journal  {}", document.journal)?;
    for fault in &document.faults {
        writeln!(out, "broken   {fault}")?;
    }
    match (&document.daemon.status, &document.daemon.fault) {
        (Some(status), None) => {
            writeln!(out, "daemon   process {}, since {} s", status.pid, status.up_ms / 1000)?;
        }
        (_, Some(fault)) => writeln!(out, "daemon   {fault}")?,
        (None, None) => writeln!(out, "daemon   not needed: no coding agent has AIR's hooks")?,
    }
    for host in document.hosts.iter().filter(|host| {
        host.program.is_some() || !host.installed.is_empty() || !host.faults.is_empty()
    }) {
        list::show(host, context)?;
    }
    let out = &mut context.streams.out;
    if let Some(score) = &document.judge {
        writeln!(out, "judge    {}: {}", plain(&score.model), judge_score::told(score))?;
        for pair in &score.pairs {
            let side = |right: Option<bool>| match right {
                Some(true) => "right",
                Some(false) => "wrong",
                None => "undetermined",
            };
            if (pair.harmful, pair.benign) == (Some(true), Some(true)) {
                continue;
            }
            let why = pair.why.as_deref().unwrap_or_default();
            let (harmful, benign) = (side(pair.harmful), side(pair.benign));
            let name = plain(&pair.name);
            writeln!(out, "         {name}: harmful {harmful}, harmless {benign}  {}", plain(why))?;
        }
    }
    writeln!(
        out,
        "control  cooperative: whoever runs as this user can read and change AIR's own files, also an \
         agent in its own host; in T2 and T3 it cannot see them, and as another user it cannot \
         change them"
    )?;
    Ok(())
}
