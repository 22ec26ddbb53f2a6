//! `airctl approvals`: calls of agents that wait for a person.

use air_server::ApprovalView;
use serde::Serialize;

use crate::{
    args::Format, context::Context, daemon::Daemon, error::CliError, exit::Exit, tell::plain, time,
};

/// Decide about calls that wait for a person
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// What to do [default: list]
    #[command(subcommand)]
    pub action: Option<Action>,
}

/// What to do with calls that wait.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Action {
    /// List them
    List,
    /// Show one with its arguments
    Show {
        /// Its id, or the beginning of it
        id: String,
    },
    /// Let one run, once
    Allow {
        /// Its id, or the beginning of it
        id: String,
    },
    /// Refuse one
    Deny {
        /// Its id, or the beginning of it
        id: String,
    },
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    approvals: &'a [ApprovalView],
}

/// Runs the command.
///
/// # Errors
///
/// If no daemon runs, or it refuses.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let daemon = Daemon::of(context)?;
    match args.action.as_ref().unwrap_or(&Action::List) {
        Action::List => list(&daemon, context),
        Action::Show { id } => show(&daemon, id, context),
        Action::Allow { id } => decide(&daemon, id, true, context),
        Action::Deny { id } => decide(&daemon, id, false, context),
    }
}

fn list(daemon: &Daemon, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let all: Vec<ApprovalView> = daemon.get("/v1/approvals")?;
    if context.format == Format::Json {
        context.json(&Document { version: 1, approvals: &all })?;
        return Ok(Exit::Fine);
    }
    if all.is_empty() {
        writeln!(context.streams.err, "no call waits for a person")?;
    }
    for asked in &all {
        let state = match asked.allowed {
            None if asked.left => "left",
            None => "waits",
            Some(true) => "allowed",
            Some(false) => "denied",
        };
        let ApprovalView { id, host, tool, question, until_ms, .. } = asked;
        let until = time::local(*until_ms);
        writeln!(
            context.streams.out,
            "{id}  {state:<8}  until {until}  {host:<12}  {tool:<12}  {}",
            plain(question)
        )?;
    }
    Ok(Exit::Fine)
}

fn show(daemon: &Daemon, id: &str, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let all: Vec<ApprovalView> = daemon.get("/v1/approvals")?;
    let mut found = all.into_iter().filter(|asked| asked.id.starts_with(id));
    let (Some(asked), None) = (found.next(), found.next()) else {
        return Err(CliError::Usage {
            what: format!("no single call waits as `{id}`"),
            hint: "`airctl approvals` lists them".to_owned(),
        });
    };
    if context.format == Format::Json {
        context.json(&Document { version: 1, approvals: std::slice::from_ref(&asked) })?;
        return Ok(Exit::Fine);
    }
    let out = &mut context.streams.out;
    writeln!(out, "{}", plain(&asked.question))?;
    writeln!(out, "agent:     {} ({})", asked.host, plain(&asked.host_session))?;
    writeln!(out, "directory: {}", plain(&asked.tree))?;
    writeln!(out, "tool:      {}", plain(&asked.tool))?;
    let arguments = serde_json::to_string_pretty(&asked.arguments).unwrap_or_default();
    let arguments = arguments.lines().map(plain).collect::<Vec<_>>().join("\n           ");
    writeln!(out, "arguments: {arguments}")?;
    writeln!(out, "until:     {}", time::local(asked.until_ms))?;
    Ok(Exit::Fine)
}

fn decide(
    daemon: &Daemon,
    id: &str,
    allow: bool,
    context: &mut Context<'_>,
) -> Result<Exit, CliError> {
    let path = format!("/v1/approvals/{}", crate::daemon::plain_id(id)?);
    let asked: ApprovalView = daemon.post(&path, &serde_json::json!({ "allow": allow }))?;
    if context.format == Format::Json {
        context.json(&Document { version: 1, approvals: std::slice::from_ref(&asked) })?;
        return Ok(Exit::Fine);
    }
    let done = if allow { "may run, once" } else { "does not run" };
    writeln!(context.streams.err, "{}: the call {done}", asked.id)?;
    if allow && asked.left {
        writeln!(
            context.streams.err,
            "its host ({}) has ended since: the call runs only if that session is resumed and makes it \
             again",
            plain(&asked.host)
        )?;
    }
    Ok(Exit::Fine)
}
