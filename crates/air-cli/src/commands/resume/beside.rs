//! The same for sessions beside hosts: by the daemon, which has them, or by this process where there is none.

use std::collections::BTreeSet;

use air::records;
use air_core::{
    id::SessionId,
    incident::Incident,
    session::{self, SessionEvent, Status},
};
use air_server::Verdict;
use futures::executor::block_on;
use serde::Serialize;

use crate::{
    context::Context,
    daemon::{Daemon, plain_id},
    error::CliError,
    stores::{self, Stores, Whose},
    tell::{plain, state_name},
};

/// A session beside a host that waits for a person.
#[derive(Debug, Serialize)]
pub(super) struct Waiting {
    session: String,
    host: String,
    tree: String,
    /// The incident to decide about, and its state.
    #[serde(skip_serializing_if = "Option::is_none")]
    incident: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    /// Whether it is held.
    held: bool,
    /// Calls that nobody has decided about.
    approvals: usize,
}

/// What waits in the directory of the command, and the directories of what waits elsewhere.
pub(super) fn waiting(stores: &Stores) -> Result<(Vec<Waiting>, Vec<String>), CliError> {
    let (mut here, mut elsewhere) = (Vec::new(), BTreeSet::new());
    for found in stores.each(|air| block_on(records::sessions(air.journal())))? {
        if found.whose != Whose::Hosts {
            continue;
        }
        let journal = stores.of(&found)?.journal();
        let events = block_on(records::session_events(journal, &found.item))?;
        let Some(SessionEvent::Opened { beside: Some(beside), .. }) = events.first() else {
            continue;
        };
        let machine = session::Session::replay(&events);
        let (incident, state) = match machine.status() {
            Status::Unresolved { incident } => {
                let record = block_on(records::incident(journal, incident))?;
                (Some(incident.to_string()), Some(state_name(record.incident.state())))
            }
            _ => (None, None),
        };
        let monitoring = *machine.status() == Status::Monitoring;
        let asked = machine.approvals().values().filter(|asked| asked.allowed.is_none());
        let waits = Waiting {
            session: found.item.to_string(),
            host: beside.host.clone(),
            tree: beside.tree.clone(),
            incident,
            state,
            held: monitoring && machine.held(),
            approvals: if monitoring { asked.count() } else { 0 },
        };
        if waits.incident.is_none() && !waits.held && waits.approvals == 0 {
            continue;
        }
        if stores.is_here(&found)? {
            here.push(waits);
        } else {
            elsewhere.insert(waits.tree);
        }
    }
    Ok((here, elsewhere.into_iter().collect()))
}

/// Says what waits, and how it is decided.
pub(super) fn write(
    waiting: &[Waiting],
    elsewhere: &[String],
    context: &mut Context<'_>,
) -> Result<(), CliError> {
    let out = &mut context.streams.out;
    for Waiting { session, host, incident, state, held, approvals, .. } in waiting {
        let host = plain(host);
        if let (Some(id), Some(state)) = (incident, state) {
            writeln!(
                out,
                "incident {id}: {state}, beside {host}; `airctl resume {id}` tries it again, \
                 `--dismiss` or `--give-up` closes it"
            )?;
        }
        if *held {
            writeln!(
                out,
                "session {session}: held, beside {host}; look at it, then `airctl resume --release \
                 {session}`"
            )?;
        }
        if *approvals > 0 {
            let calls = if *approvals == 1 { "a call waits" } else { "calls wait" };
            writeln!(out, "session {session}: {calls}, beside {host}; `airctl approvals`")?;
        }
    }
    for tree in elsewhere {
        let tree = plain(tree);
        writeln!(
            context.streams.err,
            "more waits beside hosts in {tree}: `airctl resume --workspace {tree}` lists it"
        )?;
    }
    Ok(())
}

/// Lets a held session go.
pub(super) fn release(session: &SessionId, context: &Context<'_>) -> Result<(), CliError> {
    let daemon = Daemon::of(context)?;
    if daemon.runs() {
        let path = format!("/v1/release/{}", plain_id(session.as_str())?);
        return daemon.post::<bool>(&path, &serde_json::json!({})).map(drop);
    }
    let attended = stores::attend(context)?;
    Ok(block_on(stores::join(&attended, session)?.hosted.release())?)
}

/// Carries out what a person decided about an escalated incident.
pub(super) fn decide(
    incident: &Incident,
    verdict: Verdict,
    context: &Context<'_>,
) -> Result<(), CliError> {
    let daemon = Daemon::of(context)?;
    let id = incident.id();
    if daemon.runs() {
        let body = serde_json::to_value(&verdict).map_err(std::io::Error::from)?;
        let path = format!("/v1/incidents/{}", plain_id(id.as_str())?);
        return daemon.have_done::<bool>(&path, &body).map(drop);
    }
    let attended = stores::attend(context)?;
    let mut joined = stores::join(&attended, &incident.detection().session)?;
    // Whoever was in the host cannot be asked without a daemon.
    joined.hosted.left();
    block_on(joined.hosted.decide(id, verdict.into()))?;
    Ok(())
}
