//! `airctl replay`: rules over what was recorded, and what they would have changed.

use std::{fmt::Write as _, path::PathBuf};

use air::{Air, Change, ReplayedStep, Trial};
use air_core::{
    evaluation::FindingRecord,
    outcome::Outcome,
    port::{GuardrailStore as _, Journal as _, RuleReader as _, Stream},
    rule::Rule,
};
use futures::executor::block_on;
use serde::Serialize;

use crate::{
    args::Format,
    commands::explain::redacted,
    context::Context,
    error::CliError,
    exit::Exit,
    guard::{self, Target},
    stores,
    tell::plain,
};

/// How much of a call is shown in the table, in characters.
const SHOWN_CALL: usize = 60;

/// Show what rules would have changed in recorded sessions; nothing is executed or written
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Rule files, with the guardrails in force, in place of all that there was [default: those of
    /// `air.toml` and `AIR_RULES`]
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["candidate", "guardrail"])]
    pub rules: Vec<PathBuf>,
    /// Rule files beside all that there was
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "guardrail")]
    pub candidate: Vec<PathBuf>,
    /// A guardrail of the store, as if it had been enforced; the start of its id is enough
    #[arg(long, value_name = "ID")]
    pub guardrail: Option<String>,
    /// Only this session; the start of its id is enough
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// The workspace whose sessions to replay [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// The sessions beside hosts, of all directories, in place of the workspace's
    #[arg(long, conflicts_with = "workspace")]
    pub hosts: bool,
    /// Show the steps on which nothing would have changed as well
    #[arg(long)]
    pub all: bool,
    /// Exit with 1 if something would have changed, or it cannot be told
    #[arg(long)]
    pub exit_code: bool,
}

#[derive(Serialize)]
struct Document {
    version: u32,
    summary: Summary,
    steps: Vec<Row>,
}

#[derive(Serialize, Default)]
struct Summary {
    sessions: usize,
    steps: usize,
    newly_blocked: usize,
    no_longer_blocked: usize,
    newly_flagged: usize,
    no_longer_flagged: usize,
    cannot_be_told: usize,
}

#[derive(Serialize)]
struct Row {
    session: String,
    step: u32,
    tool: String,
    arguments: Option<serde_json::Value>,
    /// Rules that refused it or made it an incident then.
    then: Vec<String>,
    incident: Option<String>,
    now: Vec<Found>,
    undetermined: Vec<Found>,
    change: &'static str,
    why: Option<String>,
}

#[derive(Serialize)]
struct Found {
    rule: String,
    why: Option<String>,
}

/// Replays. With `--exit-code`, anything that would have changed is a finding.
///
/// # Errors
///
/// If the rules cannot be loaded or the journal cannot be followed.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let target = Target { workspace: args.workspace.clone(), ..Target::default() };
    let found = if args.hosts {
        stores::read_hosts(context)?
    } else {
        guard::open_read_only(context, &target)?
    };
    let air = found.ok_or_else(|| CliError::Usage {
        what: if args.hosts {
            "no session has been recorded beside a host".to_owned()
        } else {
            "no session has been recorded in this workspace".to_owned()
        },
        hint:
            "`--workspace` names another workspace, `--state` another place, `--hosts` what agents \
               did in their own hosts"
                .to_owned(),
    })?;
    let trial = trial(args, &air, context)?;
    let session = match &args.session {
        Some(prefix) => {
            let streams = block_on(air.journal().streams())?;
            let sessions = streams.into_iter().filter_map(|stream| match stream {
                Stream::Session(id) => Some(id),
                Stream::Incident(_) => None,
            });
            let found = guard::by_prefix(sessions.collect(), |id| id.as_str(), prefix, "session");
            Some(found.map_err(|error| CliError::Usage {
                what: error.to_string(),
                hint: "`airctl replay --all` names those that there are".to_owned(),
            })?)
        }
        None => None,
    };
    let replayed = block_on(air.replay(trial, session.as_ref()))?;
    let summary = Summary::of(&replayed);
    let changed = replayed.iter().any(|step| step.change != Change::None);
    let shown = replayed.into_iter().filter(|step| args.all || step.change != Change::None);
    let steps: Vec<Row> = shown.map(Row::new).collect();
    match context.format {
        Format::Json => context.json(&Document { version: 1, summary, steps })?,
        Format::Human => write(&summary, &steps, context)?,
    }
    Ok(if args.exit_code && changed { Exit::Findings } else { Exit::Fine })
}

fn trial(args: &Args, air: &Air, context: &mut Context<'_>) -> Result<Trial, CliError> {
    if let Some(id) = &args.guardrail {
        let current = block_on(air.journal().current())?;
        let guardrail = guard::by_prefix(current, |held| held.id.as_str(), id, "guardrail")?;
        let rule: Result<Rule, String> = air_lang::LangRules.rule(&guardrail.text);
        let rule = rule.map_err(|why| CliError::Usage {
            what: format!("guardrail `{}` cannot be read: {why}", guardrail.id),
            hint: "`airctl guardrails history ID` lists its versions".to_owned(),
        })?;
        return Ok(Trial::Beside(vec![rule]));
    }
    if !args.candidate.is_empty() {
        return guard::load_rules(context, &args.candidate).map(Trial::Beside);
    }
    let paths =
        if args.rules.is_empty() { context.config.rules.clone() } else { args.rules.clone() };
    if paths.is_empty() {
        return Err(CliError::Usage {
            what: "no rules to try".to_owned(),
            hint: "name them with `--rules`, `--candidate` or `--guardrail`".to_owned(),
        });
    }
    guard::load_rules(context, &paths).map(Trial::Instead)
}

impl Summary {
    fn of(steps: &[ReplayedStep]) -> Self {
        let mut summary = Self { steps: steps.len(), ..Self::default() };
        let mut last = None;
        for step in steps {
            summary.sessions += usize::from(last != Some(&step.session));
            last = Some(&step.session);
            match &step.change {
                Change::None => {}
                Change::NewlyBlocked => summary.newly_blocked += 1,
                Change::NoLongerBlocked => summary.no_longer_blocked += 1,
                Change::NewlyFlagged => summary.newly_flagged += 1,
                Change::NoLongerFlagged => summary.no_longer_flagged += 1,
                Change::Unknown(_) => summary.cannot_be_told += 1,
            }
        }
        summary
    }
}

impl Row {
    fn new(step: ReplayedStep) -> Self {
        let found = |found: &FindingRecord| Found {
            rule: format!("@{}", found.rule),
            why: match &found.verdict.outcome {
                Outcome::Undetermined(why) => Some(why.to_string()),
                Outcome::Satisfied | Outcome::Unsatisfied => None,
            },
        };
        Self {
            session: step.session.to_string(),
            step: step.index,
            tool: step.tool,
            arguments: step.call.map(|call| redacted(call.arguments.into())),
            then: step.then.iter().map(|rule| format!("@{rule}")).collect(),
            incident: step.incident.map(|id| id.to_string()),
            now: step.now.iter().map(found).collect(),
            undetermined: step.undetermined.iter().map(found).collect(),
            change: step.change.name(),
            why: match step.change {
                Change::Unknown(why) => Some(why),
                _ => None,
            },
        }
    }

    /// The call in one line, cut.
    fn call(&self) -> String {
        let Some(serde_json::Value::Object(fields)) = &self.arguments else {
            return String::new();
        };
        let texts = fields.values().map(|value| match value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let line = texts.collect::<Vec<_>>().join(" ");
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut: String = line.chars().take(SHOWN_CALL).collect();
        plain(&if cut.len() < line.len() { format!("{cut}…") } else { cut })
    }
}

fn write(summary: &Summary, steps: &[Row], context: &mut Context<'_>) -> Result<(), CliError> {
    let out = &mut context.streams.out;
    for step in steps {
        let tool = plain(&step.tool);
        writeln!(
            out,
            "{} step {}: {}  {tool}  {}",
            step.session,
            step.step,
            step.change,
            step.call()
        )?;
        let mut line = String::new();
        if !step.then.is_empty() {
            let incident = step.incident.as_ref().map(|id| format!(" in incident {id}"));
            let _ = write!(line, "  then {}{}", step.then.join(", "), incident.unwrap_or_default());
        }
        for (word, found) in [("now", &step.now), ("undetermined", &step.undetermined)] {
            for found in found {
                let why = found.why.as_ref().map(|why| format!(" ({})", plain(why)));
                let _ = write!(line, "  {word} {}{}", found.rule, why.unwrap_or_default());
            }
        }
        if let Some(why) = &step.why {
            let _ = write!(line, "  because {}", plain(why));
        }
        if !line.is_empty() {
            writeln!(out, "  {line}")?;
        }
    }
    let Summary {
        sessions,
        steps,
        newly_blocked,
        no_longer_blocked,
        newly_flagged,
        no_longer_flagged,
        cannot_be_told,
    } = summary;
    writeln!(
        out,
        "{steps} steps of {sessions} sessions: {newly_blocked} newly blocked, {no_longer_blocked} no \
         longer; {newly_flagged} newly flagged, {no_longer_flagged} no longer; {cannot_be_told} cannot \
         be told"
    )?;
    Ok(())
}
