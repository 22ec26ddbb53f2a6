//! The same for sessions beside hosts: by the daemon, which has them, or by this process where there is none.

use air_core::{id::SessionId, incident::Incident};
use air_server::Verdict;
use futures::executor::block_on;

use crate::{
    context::Context,
    daemon::{Daemon, plain_id},
    error::CliError,
    stores,
};

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
