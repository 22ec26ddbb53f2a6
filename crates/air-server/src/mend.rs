//! What a person takes back, or decides about an incident: over the local socket, or where no daemon runs by
//! whoever holds the store.

use std::sync::Arc;

use air::{AirError, Attended, Decision, Joined, Undo, UndoReport, UndoneAs, records};
use air_core::{
    id::{IncidentId, SessionId},
    incident::{Classification, Phase},
};
use axum::{
    Json, Router,
    extract::{ConnectInfo, Path, State},
    http::StatusCode,
    routing::post,
};
use serde::{Deserialize, Serialize};

use crate::{
    operator::{Refused, Told, person},
    peer::Peer,
    room::Room,
};

/// What is to be taken back of a session.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct UndoWish {
    /// Only what this step did.
    pub step: Option<u32>,
    /// Only what the step of this incident did.
    pub incident: Option<String>,
    /// Only these files, or what is below these directories.
    pub files: Vec<String>,
    /// Say only what would be done.
    pub dry_run: bool,
    /// Take the last undo back.
    pub redo: bool,
}

/// What was taken back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UndoView {
    /// Of which session.
    pub session: String,
    /// Its name, to be undone in turn.
    pub change: Option<String>,
    /// What became of each path.
    pub paths: Vec<PathView>,
    /// What would change.
    pub diff: String,
    /// Where somebody's late changes are.
    pub late: Vec<String>,
}

/// What became of one path.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PathView {
    /// The path.
    pub path: String,
    /// What became of it.
    pub result: String,
    /// Why, where it was left as it is.
    pub why: Option<String>,
}

/// What a person decides about an incident.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Try the phase again.
    Retry(Phase),
    /// Close it.
    Dismiss(Classification),
    /// Leave it failed.
    GiveUp(String),
}

impl From<Verdict> for Decision {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Retry(phase) => Self::Retry(phase),
            Verdict::Dismiss(classification) => Self::Dismiss(classification),
            Verdict::GiveUp(why) => Self::GiveUp(why),
        }
    }
}

/// Takes back what a session did. Where its host `has_left`, its calls have ended: they are examined first.
///
/// # Errors
///
/// As [`Attended::undo`].
pub async fn undo(
    attended: &Attended,
    joined: &mut Joined,
    wish: UndoWish,
    has_left: bool,
) -> Result<UndoView, AirError> {
    if has_left && !joined.hosted.can_be_undone() && !wish.dry_run {
        joined.hosted.end().await?;
    }
    let session = joined.hosted.id().clone();
    let what = Undo {
        session: Some(session.clone()),
        step: wish.step,
        incident: wish.incident.as_deref().map(Into::into),
        files: wish.files,
        dry_run: wish.dry_run,
        redo: wish.redo,
    };
    Ok(attended.undo(joined, &what).await?.into())
}

impl From<UndoReport> for UndoView {
    fn from(report: UndoReport) -> Self {
        let path = |(path, done): (String, UndoneAs)| {
            let (result, why) = match done {
                UndoneAs::Restored => ("restored", None),
                UndoneAs::Removed => ("removed", None),
                UndoneAs::Unchanged => ("unchanged", None),
                UndoneAs::Merged => ("merged", None),
                UndoneAs::Refused(why) => ("refused", Some(why)),
            };
            PathView { path, result: result.to_owned(), why }
        };
        let undone = report.undone;
        Self {
            session: report.session.to_string(),
            change: undone.id,
            paths: undone.paths.into_iter().map(path).collect(),
            diff: undone.diff,
            late: undone.late,
        }
    }
}

pub(crate) fn routes(room: Arc<Room>) -> Router {
    Router::new()
        .route("/v1/undo/{session}", post(take_back))
        .route("/v1/incidents/{id}", post(decide))
        .route("/v1/reload", post(reload))
        .with_state(room)
}

async fn take_back(
    State(room): State<Arc<Room>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Path(session): Path<String>,
    Json(wish): Json<UndoWish>,
) -> Told<UndoView> {
    // To look is nobody's privilege.
    if !wish.dry_run {
        person(&room, &peer)?;
    }
    let _at_work = room.at_work().await;
    let id = SessionId::from(session.as_str());
    let known = room.attended.all().await?.into_iter().find(|known| known.id == id);
    let missing = || Refused(StatusCode::NOT_FOUND, format!("no session `{session}`"));
    let known = known.ok_or_else(missing)?;
    let has_left = room.agents.have_left(&known.beside.host, &known.beside.session);
    if let Some((key, slot)) = room.slot_of(&id) {
        let mut work = slot.work.lock().await;
        if let Some(joined) = room.with(&mut work, &key).await? {
            return Ok(Json(undo(&room.attended, joined, wish, has_left).await?));
        }
    }
    // Its host goes on in another one.
    let mut joined = room.attended.go_on(&id).await?;
    Ok(Json(undo(&room.attended, &mut joined, wish, has_left).await?))
}

async fn decide(
    State(room): State<Arc<Room>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Path(incident): Path<String>,
    Json(verdict): Json<Verdict>,
) -> Told<bool> {
    person(&room, &peer)?;
    let _at_work = room.at_work().await;
    let id = IncidentId::from(incident.as_str());
    let record = records::incident(&**room.attended.journal(), &id).await?;
    let session = record.incident.detection().session.clone();
    if let Some((key, slot)) = room.slot_of(&session) {
        let mut work = slot.work.lock().await;
        if let Some(joined) = room.with(&mut work, &key).await? {
            if let Some(known) = room.attended.all().await?.iter().find(|one| one.id == session)
                && room.agents.have_left(&known.beside.host, &known.beside.session)
            {
                joined.hosted.left();
            }
            joined.hosted.decide(&id, verdict.into()).await.map_err(AirError::from)?;
            drop(work);
            room.renew().await?;
            return Ok(Json(true));
        }
    }
    let mut joined = room.attended.go_on(&session).await?;
    joined.hosted.decide(&id, verdict.into()).await.map_err(AirError::from)?;
    room.renew().await?;
    Ok(Json(true))
}

/// A guardrail was changed in the store.
async fn reload(State(room): State<Arc<Room>>, ConnectInfo(peer): ConnectInfo<Peer>) -> Told<bool> {
    person(&room, &peer)?;
    room.renew().await?;
    Ok(Json(true))
}
