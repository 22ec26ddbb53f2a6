//! `airctl resume`: what an ended process left open, and incidents that wait for a person.

mod beside;

use air_core::{
    guardrail::Mode,
    incident::{Classification, Incident, Phase, State},
    port::GuardrailStore as _,
};
use air_server::Verdict;
use futures::executor::block_on;
use serde::Serialize;

use crate::{
    args::Format,
    context::Context,
    error::CliError,
    exit::Exit,
    guard::{self, Target},
    model::{Able, ModelArgs},
    stores::{self, Stores, Whose},
    tell::{plain, state_name},
};

/// Examine what an ended process left open, or decide about an incident that waits for a person
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The incident to decide about; without it, everything that is open is taken up
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// Close it: it was none, or one that does no harm
    #[arg(long, value_enum, value_name = "AS", requires = "id", conflicts_with = "give_up")]
    pub dismiss: Option<Dismissal>,
    /// Leave it failed
    #[arg(long, value_name = "WHY", requires = "id")]
    pub give_up: Option<String>,
    /// Let a held session go: you have looked at it
    #[arg(long, value_name = "SESSION", conflicts_with = "id")]
    pub release: Option<String>,
    /// The workspace [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<std::path::PathBuf>,
    /// Rule files, in place of those of `air.toml` and `AIR_RULES`
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub rules: Vec<std::path::PathBuf>,
    /// The sessions ran without a sandbox
    #[arg(long)]
    pub unsandboxed: bool,
    /// Language models.
    #[command(flatten)]
    pub models: ModelArgs,
}

/// What a dismissed incident was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Dismissal {
    /// It did not happen.
    FalsePositive,
    /// It happened, and does no harm here.
    Benign,
}

#[derive(Serialize)]
struct Document {
    version: u32,
    resumed: Vec<Item>,
    /// What waits beside hosts, in this directory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waiting: Vec<beside::Waiting>,
}

#[derive(Serialize)]
struct Item {
    session: String,
    examined: Vec<u32>,
    incident: Option<String>,
    state: Option<String>,
    undetermined: Vec<String>,
    /// Whether a person must look before anything of it is handed over.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    held: bool,
    /// Paths of the workspace that its changes were handed over to.
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<u64>,
    /// Paths that were left as somebody else changed them, and where the agent's version is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    held_back: Vec<String>,
}

/// Takes up, dismisses or gives up. An incident that is not closed afterwards is a finding.
///
/// # Errors
///
/// If it could not be done.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    stores::person(context)?;
    let models = Able::connect(&args.models, context)?;
    let target = Target {
        workspace: args.workspace.clone(),
        rules: args.rules.clone(),
        unsandboxed: args.unsandboxed,
        minds: models.minds(),
        ..Target::default()
    };
    if let Some(session) = &args.release {
        let stores = Stores::read(context, &target)?;
        let found = stores.session(session)?;
        let events =
            block_on(air::records::session_events(stores.of(&found)?.journal(), &found.item))?;
        if !air_core::session::Session::replay(&events).held() {
            return Err(CliError::Usage {
                what: format!("session {} is not held", found.item),
                hint: "`airctl resume` lists what waits for a person".to_owned(),
            });
        }
        drop(stores);
        let (session, then) = (
            &found.item,
            if found.whose == Whose::Hosts {
                beside::release(&found.item, context)?;
                "goes on"
            } else {
                block_on(guard::open_to_resume(context, &target)?.release(&found.item))?;
                "is over"
            },
        );
        writeln!(context.streams.err, "session {session} is released, and {then}")?;
        return Ok(Exit::Fine);
    }
    let items = match &args.id {
        Some(id) => {
            let stores = Stores::read(context, &target)?;
            let found = stores.incident(id)?;
            let verdict = verdict(args, &found.item.incident)?;
            let id = found.item.incident.id().clone();
            drop(stores);
            if found.whose == Whose::Hosts {
                beside::decide(&found.item.incident, verdict, context)?;
            } else {
                block_on(guard::open_to_resume(context, &target)?.decide(&id, verdict.into()))?;
            }
            let stores = Stores::read(context, &target)?;
            let air = stores.of(&found)?;
            let incident = block_on(air::records::incident(air.journal(), &id))?.incident;
            if args.dismiss.is_some() {
                tell_learned(air, &incident, context)?;
            }
            vec![item(incident.detection().session.as_str(), &[], Some(&incident), &[])]
        }
        None => block_on(guard::open_to_resume(context, &target)?.resume())?
            .iter()
            .map(|attention| {
                let item = item(
                    attention.session.as_str(),
                    &attention.examined,
                    attention.incident.as_ref(),
                    &attention.undetermined,
                );
                let publication = attention.publication.clone().unwrap_or_default();
                let published = attention.publication.as_ref().map(|it| it.changed);
                let (held, held_back) = (attention.held, publication.held_back);
                Item { held, published, held_back, ..item }
            })
            .collect(),
    };
    models.finish()?;
    let (waiting, elsewhere) = match &args.id {
        Some(_) => (Vec::new(), Vec::new()),
        None => beside::waiting(&Stores::read(context, &target)?)?,
    };
    let open = !waiting.is_empty()
        || items.iter().any(|item| {
            item.held
                || !item.undetermined.is_empty()
                || item.state.as_ref().is_some_and(|state| !state.starts_with("closed"))
        });
    match context.format {
        Format::Json => context.json(&Document { version: 1, resumed: items, waiting })?,
        Format::Human => {
            write(&items, &waiting, context)?;
            beside::write(&waiting, &elsewhere, context)?;
        }
    }
    Ok(if open { Exit::Findings } else { Exit::Fine })
}

/// Says what became of the guardrail that was learned from a dismissed incident.
fn tell_learned(
    air: &air::Air,
    incident: &Incident,
    context: &mut Context<'_>,
) -> Result<(), CliError> {
    let Some(adopted) = incident.adopted() else { return Ok(()) };
    let current = block_on(air.journal().current())?;
    let id = &adopted.id;
    let err = &mut context.streams.err;
    match current.iter().find(|held| held.id == *id).map(|held| held.mode) {
        Some(Mode::Retired) => writeln!(
            err,
            "guardrail {id} is retired; `airctl guardrails promote {id}` puts it back to use"
        )?,
        Some(Mode::Enforce | Mode::Shadow) => writeln!(
            err,
            "guardrail {id} stays in force; `airctl guardrails retire {id}` takes it out of use"
        )?,
        None => {}
    }
    Ok(())
}

fn item(
    session: &str,
    examined: &[u32],
    incident: Option<&Incident>,
    undetermined: &[air_core::evaluation::FindingRecord],
) -> Item {
    Item {
        session: session.to_owned(),
        examined: examined.to_vec(),
        incident: incident.map(|incident| incident.id().to_string()),
        state: incident.map(|incident| state_name(incident.state())),
        undetermined: undetermined.iter().map(|found| format!("@{}", found.rule)).collect(),
        held: false,
        published: None,
        held_back: Vec::new(),
    }
}

fn verdict(args: &Args, incident: &Incident) -> Result<Verdict, CliError> {
    if let Some(why) = &args.give_up {
        return Ok(Verdict::GiveUp(air_core::redact::redact(why)));
    }
    if let Some(dismissal) = args.dismiss {
        return Ok(Verdict::Dismiss(match dismissal {
            Dismissal::FalsePositive => Classification::FalsePositive,
            Dismissal::Benign => Classification::BenignPositive,
        }));
    }
    let first: Option<Phase> = match incident.state() {
        State::Escalated(failed) => failed.first().copied(),
        _ => None,
    };
    first.map(Verdict::Retry).ok_or_else(|| CliError::Usage {
        what: format!("incident {} is {}", incident.id(), state_name(incident.state())),
        hint:
            "only an escalated incident waits for a person; without an id, `airctl resume` takes \
               up what an ended process left open"
                .to_owned(),
    })
}

fn write(
    items: &[Item],
    waiting: &[beside::Waiting],
    context: &mut Context<'_>,
) -> Result<(), CliError> {
    if items.is_empty() && waiting.is_empty() {
        writeln!(context.streams.err, "nothing is open in this workspace")?;
    }
    for item in items {
        let out = &mut context.streams.out;
        for step in &item.examined {
            writeln!(out, "session {}: step {step} was examined", item.session)?;
        }
        for rule in &item.undetermined {
            writeln!(out, "session {}: {rule} could not be decided", item.session)?;
        }
        match (&item.incident, &item.state) {
            (Some(id), Some(state)) => writeln!(out, "incident {id}: {state}")?,
            _ if item.held => writeln!(
                out,
                "session {0}: held; look at it, then `airctl resume --release {0}` hands its changes \
                 over",
                item.session
            )?,
            _ => writeln!(out, "session {}: no incident", item.session)?,
        }
        if let Some(changed) = item.published.filter(|changed| *changed > 0) {
            let paths = if changed == 1 { "1 path".to_owned() } else { format!("{changed} paths") };
            let session = &item.session;
            writeln!(
                out,
                "session {session}: published {paths} in the workspace; `airctl undo --session \
                 {session}` takes that back"
            )?;
        }
        for path in &item.held_back {
            writeln!(out, "session {}: held back {}", item.session, plain(path))?;
        }
    }
    Ok(())
}
