//! `airctl install`: puts AIR's hooks into the settings of a host.

use std::path::{Path, PathBuf};

use air_hooks::{
    Away,
    settings::{Hooks, Link},
};
use serde::Serialize;

use crate::{
    args::Format,
    context::Context,
    error::CliError,
    exit::Exit,
    hosts::{
        Host, Scope,
        change::{Change, Wanted},
        codex,
        file::SettingsFile,
        ledger::Ledger,
        program,
    },
    stores,
};

pub(super) mod list;

/// The first version of Claude Code that is known to honour `onFailure`.
const HELD: [u32; 3] = [2, 1, 329];

/// Put AIR's hooks into the settings of a host: beside all that is there, and so that they can be taken
/// out again without a trace
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The host
    #[arg(value_enum, value_name = "HOST", required_unless_present = "list")]
    pub host: Option<Host>,
    /// Whose settings
    #[command(flatten)]
    pub place: Place,
    /// The program that the host runs [default: `air-hook` beside `airctl`]
    #[arg(long, value_name = "PATH")]
    pub hook: Option<PathBuf>,
    /// Have the host ask here, in place of running the program, where it can; it has to know the token
    /// as `AIR_TOKEN`. Only for versions of Claude Code that honour `onFailure`
    #[arg(long, value_name = "URL")]
    pub http: Option<String>,
    /// What becomes of a call while AIR's daemon is away and cannot be started [default: as it is installed,
    /// else closed]
    #[arg(long, value_enum, value_name = "POLICY")]
    pub away: Option<Policy>,
    /// Also tell Codex that AIR's hooks are trusted: it passes over others without a word
    #[arg(long)]
    pub trust: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// List the hosts on this machine, and what is installed
    #[arg(long, conflicts_with_all = ["host", "dry_run", "trust"])]
    pub list: bool,
}

/// What becomes of a call while AIR's daemon is away and cannot be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Policy {
    /// It does not run
    Closed,
    /// A copy of the critical guardrails decides, and nothing looks at what it does
    Critical,
    /// It runs
    Open,
}

impl From<Policy> for Away {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Closed => Self::Closed,
            Policy::Critical => Self::Critical,
            Policy::Open => Self::Open,
        }
    }
}

/// Whose settings.
#[derive(Debug, Clone, clap::Args)]
pub struct Place {
    /// This user's settings, for every project; this is what is done anyway
    #[arg(long)]
    pub user: bool,
    /// The settings of this project, of everybody who works on it
    #[arg(long, conflicts_with = "user")]
    pub project: bool,
    /// This user's settings of this project; Claude Code only
    #[arg(long, conflicts_with_all = ["user", "project"])]
    pub local: bool,
    /// The project [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
}

impl Place {
    /// Which.
    pub fn scope(&self) -> Scope {
        match (self.project, self.local) {
            (true, _) => Scope::Project,
            (_, true) => Scope::Local,
            _ => Scope::User,
        }
    }

    /// The project's directory, absolute.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn directory(&self, cwd: &Path) -> Result<PathBuf, CliError> {
        let named = self.workspace.as_deref().unwrap_or(Path::new("."));
        cwd.join(named).canonicalize().map_err(CliError::file("open workspace", named))
    }
}

/// The JSON document, also of `uninstall`.
#[derive(Serialize)]
pub(super) struct Document {
    pub(super) version: u32,
    pub(super) host: Host,
    pub(super) scope: Scope,
    pub(super) dry_run: bool,
    pub(super) files: Vec<Changed>,
    /// What keeps the hooks from being seen.
    pub(super) warnings: Vec<String>,
}

/// What became of one file.
#[derive(Serialize)]
pub(super) struct Changed {
    pub(super) file: String,
    pub(super) change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) backup: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) diff: Option<String>,
}

/// Installs. Hooks that the host would not see are a finding.
///
/// # Errors
///
/// If a file cannot be read or written; it is then left alone.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let Some(host) = args.host else { return list::run(&args.place, context) };
    if !args.dry_run {
        stores::person(context)?;
    }
    let state = context.config.state_dir()?.to_owned();
    let scope = args.place.scope();
    let project = args.place.directory(&context.cwd)?;
    let shim = program::shim(args.hook.as_deref(), &context.cwd)?;
    let file = host.file(scope, &context.environment, &project)?;
    let away = match args.away {
        Some(policy) => policy.into(),
        None => SettingsFile::read(&file)?
            .text
            .and_then(|text| installed_away(host, &shim, &text))
            .unwrap_or_default(),
    };
    let wanted = wanted(host, &shim, args.http.as_deref(), away, &state)?;
    let mut document = Document {
        version: 1,
        host,
        scope,
        dry_run: args.dry_run,
        files: Vec::new(),
        warnings: Vec::new(),
    };
    let ledger = if args.dry_run { None } else { Some(Ledger::open(&state)?) };
    let change = Change::install(&state, (host, scope), &file, &wanted)?;
    if args.http.is_some() {
        let found = program::find(host, context.environment.path.as_deref());
        document.warnings.extend(unheld(found.and_then(|found| program::version(&found))));
    }
    if let Some(why) = &change.unread {
        document.warnings.push(format!(
            "{} does not read this file, so it runs no hook of it: {why}",
            host.name()
        ));
    }
    document.settle(change, ledger.as_ref())?;
    if host == Host::Codex {
        let place = (state.as_path(), scope, project.as_path());
        let trusted = trust(args, &shim, &file, place, ledger.as_ref(), &mut document, context);
        // The hooks are in by now, whatever becomes of this.
        if let Err(error) = trusted {
            let hint = error.hint().map_or_else(String::new, |hint| format!(": {hint}"));
            document.warnings.push(format!("{error}{hint}"));
        }
    }
    drop(ledger);
    document.show(context, "installed")?;
    let next = !args.dry_run && context.format == Format::Human;
    if next && document.warnings.is_empty() {
        writeln!(context.streams.err, "next: airctl doctor")?;
    }
    Ok(if document.warnings.is_empty() { Exit::Fine } else { Exit::Findings })
}

/// What is to be in the file of `host`.
pub(super) fn wanted(
    host: Host,
    shim: &str,
    http: Option<&str>,
    away: Away,
    state: &Path,
) -> Result<Wanted, CliError> {
    let link = match http {
        Some(_) if host != Host::ClaudeCode => {
            return Err(CliError::Usage {
                what: format!("{} cannot be held over HTTP", host.name()),
                hint: "leave `--http` away".to_owned(),
            });
        }
        Some(_) if away == Away::Critical => {
            return Err(CliError::Usage {
                what: "over HTTP a host cannot ask the critical guardrails".to_owned(),
                hint: "leave `--http` away, or use `--away closed`".to_owned(),
            });
        }
        Some(url) => Link::Http { program: shim, url, away },
        None => Link::Command { program: shim, away },
    };
    if let Some(hooks) = Hooks::new(host.name(), &link) {
        return Ok(Wanted::Hooks(hooks));
    }
    let state = state.display().to_string();
    Ok(Wanted::Whole(air_hooks::opencode_plugin(&state, shim, away)))
}

/// What becomes of a call while AIR is away, as a settings file of `host` says it; `None` where AIR's hooks are
/// not in it.
pub(crate) fn installed_away(host: Host, shim: &str, text: &str) -> Option<Away> {
    match Hooks::new(host.name(), &Link::Command { program: shim, away: Away::Closed }) {
        Some(hooks) => hooks.away(text, host.before_a_call()).ok().flatten(),
        None => air_hooks::opencode_away(text),
    }
}

/// What is said where a host may not wait for an answer over HTTP.
fn unheld(version: Option<String>) -> Option<String> {
    let known = version.as_deref().map(|version| {
        let parts: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).collect();
        parts >= HELD.to_vec()
    });
    match (known, version) {
        (Some(true), _) => None,
        (_, Some(version)) => Some(format!(
            "claude-code {version} lets calls pass while AIR is away: leave `--http` away"
        )),
        (_, None) => Some(
            "whether this claude-code lets calls pass while AIR is away is not known: before \
             2.1.329 it may"
                .to_owned(),
        ),
    }
}

fn trust(
    args: &Args,
    shim: &str,
    file: &Path,
    (state, scope, project): (&Path, Scope, &Path),
    ledger: Option<&Ledger>,
    document: &mut Document,
    context: &Context<'_>,
) -> Result<(), CliError> {
    let home = Host::Codex.home(&context.environment)?;
    let how = "start codex and trust them with `/hooks`, or use `--trust`";
    let Some(codex) = program::find(Host::Codex, context.environment.path.as_deref()) else {
        let warning = format!("codex is not on the search path: {how} where it is");
        document.warnings.push(warning);
        return Ok(());
    };
    let Some(ledger) = ledger else { return Ok(()) };
    let found = codex::hooks(&codex, &home, project, file, shim)?;
    if found.is_empty() {
        document.warnings.push(
            "codex does not see AIR's hooks: a project has to be trusted, and hooks switched on"
                .to_owned(),
        );
    }
    if found.iter().all(|(_, trusted)| *trusted) {
        return Ok(());
    }
    if !args.trust {
        document.warnings.push(format!("codex passes over hooks that it does not trust: {how}"));
        return Ok(());
    }
    let found = found.into_iter().map(|(hook, _)| hook).collect();
    let wanted = Wanted::Trust(file.to_owned(), found);
    let change = Change::install(state, (Host::Codex, scope), &home.join("config.toml"), &wanted)?;
    document.settle(change, Some(ledger))
}

impl Document {
    /// Carries a change out, or shows it where nothing is to be changed.
    pub(super) fn settle(
        &mut self,
        change: Change,
        ledger: Option<&Ledger>,
    ) -> Result<(), CliError> {
        let file = change.file.path.display().to_string();
        let changed = match ledger {
            None => {
                let diff = (!change.is_none()).then(|| change.diff());
                let change = if change.is_none() { "unchanged" } else { "would-change" };
                Changed { file, change, backup: None, diff }
            }
            Some(ledger) => {
                let done = change.carry_out(ledger)?;
                let backup = done.backup.map(|path| path.display().to_string());
                Changed { file, change: done.change, backup, diff: None }
            }
        };
        self.files.push(changed);
        Ok(())
    }

    /// Shows what became of the files.
    pub(super) fn show(&self, context: &mut Context<'_>, verb: &str) -> Result<(), CliError> {
        if context.format == Format::Json {
            return context.json(self);
        }
        let yellow = context.style(anstyle::AnsiColor::Yellow.on_default().bold());
        let Context { streams, .. } = context;
        for changed in &self.files {
            match &changed.diff {
                Some(diff) => write!(streams.out, "{diff}")?,
                None if changed.change == "unchanged" => {
                    writeln!(streams.out, "unchanged  {}", changed.file)?;
                }
                None => writeln!(streams.out, "{verb:<9}  {} ({})", changed.file, changed.change)?,
            }
            if let Some(backup) = &changed.backup {
                writeln!(streams.out, "backup     {backup}")?;
            }
        }
        for warning in &self.warnings {
            writeln!(streams.err, "{yellow}warning{yellow:#}: {warning}")?;
        }
        Ok(())
    }
}
