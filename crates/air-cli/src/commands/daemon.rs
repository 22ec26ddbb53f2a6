//! `airctl daemon`: AIR beside coding agents, one process a user.

use std::{
    env, fs,
    net::SocketAddr,
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use air::{Air, AirError, Attended, Settings};
use air_core::rule::Rule;
use air_server::{Options, ServeError, StatusView};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::Notify,
};

use crate::{
    args::Format, commands::init::CODING_RULES, context::Context, daemon::Daemon, error::CliError,
    exit::Exit, guard, stores, time,
};

/// How long a daemon may take to start, or to end.
const PATIENCE: Duration = Duration::from_secs(15);

/// Run AIR beside coding agents, or say how it does
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// What to do [default: status]
    #[command(subcommand)]
    pub action: Option<Action>,
}

/// What to do with the daemon.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Action {
    /// Say how it is
    Status,
    /// Start it in the background
    Start(Run),
    /// End it; sessions go on with the next one
    Stop,
    /// End it and start it again
    Restart(Run),
    /// Run it in the foreground
    Run(Run),
}

/// How the daemon is run.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Run {
    /// Where HTTP is served, on loopback only; port 0 is any
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub http: Option<SocketAddr>,
    /// Rule files, in place of those of the settings [default: the pack for coding agents]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub rules: Vec<PathBuf>,
    /// Seconds that a call waits for a person, while its host does
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    pub approval_wait: u64,
    /// Seconds after which a question that nobody answered is a no
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    pub approval_timeout: u64,
    /// Say nothing when all is well
    #[arg(long, short)]
    pub quiet: bool,
}

/// Runs the command.
///
/// # Errors
///
/// If the daemon cannot be run or reached.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let daemon = Daemon::of(context)?;
    match &args.action {
        None | Some(Action::Status) => {}
        // A hook starts it so, and an agent may: with the user's own rules.
        Some(Action::Run(run) | Action::Start(run)) if run.rules.is_empty() => {}
        Some(_) => stores::person(context)?,
    }
    match args.action.as_ref().unwrap_or(&Action::Status) {
        Action::Status => status(&daemon, context),
        Action::Start(run) => start(&daemon, run, context),
        Action::Stop => stop(&daemon, context),
        Action::Restart(run) => {
            if daemon.runs() {
                stop(&daemon, context)?;
            }
            start(&daemon, run, context)
        }
        Action::Run(run) => serve(&daemon, run, context),
    }
}

fn status(daemon: &Daemon, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let status: StatusView = daemon.get("/v1/status")?;
    if context.format == Format::Json {
        context.json(&status)?;
        return Ok(Exit::Fine);
    }
    let StatusView { version, pid, up_ms, live, hosts } = status;
    let out = &mut context.streams.out;
    let up = Duration::from_millis(up_ms).as_secs();
    writeln!(
        out,
        "AIR {version} runs as process {pid} for {up} s, with {live} sessions in memory"
    )?;
    for (host, beat) in hosts {
        let last = beat.points.values().max().copied().unwrap_or_default();
        let version = beat.version.unwrap_or_else(|| "of unknown version".to_owned());
        writeln!(out, "{host} {version}: last heard of at {}", time::local(last))?;
    }
    Ok(Exit::Fine)
}

fn start(daemon: &Daemon, run: &Run, context: &mut Context<'_>) -> Result<Exit, CliError> {
    if daemon.runs() {
        writeln!(context.streams.err, "a daemon runs already")?;
        return Ok(Exit::Fine);
    }
    let program = env::current_exe().map_err(CliError::file("find", "airctl"))?;
    let log = daemon.hosts().join("daemon.log");
    fs::create_dir_all(daemon.hosts()).map_err(CliError::file("make", daemon.hosts()))?;
    let said = fs::File::create(&log).map_err(CliError::file("write", &log))?;
    let mut command = Command::new(program);
    command.args(["daemon", "run", "--quiet", "--state"]).arg(daemon.state());
    if let Some(http) = run.http {
        command.arg("--http").arg(http.to_string());
    }
    if !run.rules.is_empty() {
        command.arg("--rules").args(run.rules.iter().map(|path| context.cwd.join(path)));
    }
    command.arg("--approval-wait").arg(run.approval_wait.to_string());
    command.arg("--approval-timeout").arg(run.approval_timeout.to_string());
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
    command.process_group(0);
    let mut child = command.spawn().map_err(CliError::file("start", "airctl"))?;
    let mut until = Instant::now() + PATIENCE;
    let mut has_ended = false;
    loop {
        if daemon.runs() {
            // Of several that are started at once, one stays.
            let status: StatusView = daemon.get("/v1/status")?;
            writeln!(context.streams.err, "started as process {}", status.pid)?;
            return Ok(Exit::Fine);
        }
        if !has_ended && child.try_wait()?.is_some() {
            has_ended = true;
            until = until.min(Instant::now() + Duration::from_secs(2));
        }
        if Instant::now() > until {
            let said = fs::read_to_string(&log).unwrap_or_default();
            return Err(CliError::Usage {
                what: format!("the daemon did not start: {}", said.trim()),
                hint: "`airctl daemon run` runs it in the foreground".to_owned(),
            });
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn stop(daemon: &Daemon, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let _: bool = daemon.post("/v1/stop", &serde_json::json!({}))?;
    let until = Instant::now() + PATIENCE;
    while daemon.runs() {
        if Instant::now() > until {
            return Err(CliError::Usage {
                what: "the daemon has not ended yet".to_owned(),
                hint: "it finishes what is under way first".to_owned(),
            });
        }
        thread::sleep(Duration::from_millis(20));
    }
    writeln!(context.streams.err, "stopped; what was open is in the journal")?;
    Ok(Exit::Fine)
}

fn serve(daemon: &Daemon, run: &Run, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let settings = settings(daemon, run, context)?;
    let labels = context.config.label_table()?;
    let home = env::home_dir().unwrap_or_else(|| PathBuf::from("/"));
    let options = Options {
        state: settings.state.clone(),
        http: run.http,
        approval_wait: Duration::from_secs(run.approval_wait),
        approval_timeout: Duration::from_secs(run.approval_timeout),
        live_sessions: 128,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(CliError::file("start", "threads"))?;
    let hosts = daemon.hosts();
    let (err, quiet) = (&mut context.streams.err, run.quiet);
    runtime.block_on(async move {
        let air = Air::open(settings, labels)?;
        let opened = Attended::open(air, home).await;
        let (attended, faults) = opened.map_err(|error| match error {
            AirError::InUse => CliError::Usage {
                what: format!("another process attends to `{}`", hosts.display()),
                hint: "`airctl daemon status` says whether it is a daemon".to_owned(),
            },
            error => error.into(),
        })?;
        for fault in faults {
            writeln!(err, "warning: {fault}")?;
        }
        let stop = Arc::new(Notify::new());
        let mut ended = signal(SignalKind::terminate())?;
        let mut interrupted = signal(SignalKind::interrupt())?;
        let told = Arc::clone(&stop);
        tokio::spawn(async move {
            futures::future::select(Box::pin(ended.recv()), Box::pin(interrupted.recv())).await;
            // It may not serve yet: then nobody is there to be told.
            loop {
                told.notify_waiters();
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        let served = air_server::serve(options, attended, stop, |address| {
            let http = address.url.as_deref().unwrap_or("no HTTP");
            if !quiet {
                // Where nobody reads, it serves all the same.
                let _ = writeln!(err, "listening on {} and {http}", address.socket.display());
            }
        });
        served.await.map_err(failed)
    })?;
    Ok(Exit::Fine)
}

fn failed(error: ServeError) -> CliError {
    match error {
        ServeError::Air(error) => error.into(),
        other => CliError::Usage {
            what: other.to_string(),
            hint: "`airctl daemon status` says whether another one runs".to_owned(),
        },
    }
}

/// The user's own settings: a project's say nothing here.
fn settings(daemon: &Daemon, run: &Run, context: &mut Context<'_>) -> Result<Settings, CliError> {
    let program = env::current_exe().map_err(CliError::file("find", "airctl"))?;
    let supervisor = vec![program.into(), "__supervise".into()];
    let hosts = daemon.hosts();
    let mut settings = Settings::new(&hosts, &hosts, supervisor);
    settings.state = hosts;
    settings.policy = context.config.policy;
    settings.learn = context.config.learn;
    settings.models = context.config.models.models(None);
    let paths = if run.rules.is_empty() { context.config.rules.clone() } else { run.rules.clone() };
    settings.rules =
        if paths.is_empty() { built_in()? } else { guard::load_rules(context, &paths)? };
    Ok(settings)
}

/// The pack that ships with AIR for coding agents.
fn built_in() -> Result<Vec<Rule>, CliError> {
    let pack = ("coding.air".to_owned(), air_lang::parse_bytes(CODING_RULES.as_bytes()));
    air_lang::rule_set(&[pack]).map_err(|set| CliError::Usage {
        what: format!("{set}: the rules that ship with AIR cannot be loaded"),
        hint: "name rule files with `--rules`".to_owned(),
    })
}
