//! What a person tells the daemon: over the local socket only, and never from within an agent.

use std::{collections::BTreeMap, sync::Arc};

use air::{AirError, records};
use air_core::{
    id::{ApprovalId, SessionId},
    port::Journal as _,
    session::{SessionEvent, Status},
};
use axum::{
    Json, Router,
    extract::{ConnectInfo, Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::{Deserialize, Serialize};

use crate::{
    beat::{Beat, now},
    peer::{Peer, started},
    room::Room,
};

/// How the daemon is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StatusView {
    /// Its version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// How long it has been up, in milliseconds.
    pub up_ms: u64,
    /// Sessions in memory.
    pub live: usize,
    /// What was heard of each host since it began.
    pub hosts: BTreeMap<String, Beat>,
}

/// A question that waits for a person, or was decided.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ApprovalView {
    /// Its id.
    pub id: String,
    /// The session.
    pub session: String,
    /// The host, and its own id of the session.
    pub host: String,
    /// See `host`.
    pub host_session: String,
    /// The directory that the session is about.
    pub tree: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: serde_json::Value,
    /// What is asked.
    pub question: String,
    /// When it is refused, if nobody decides, in milliseconds since the Unix epoch.
    pub until_ms: u64,
    /// What was decided.
    pub allowed: Option<bool>,
    /// Whether the process of its host has ended: the call is made only where the session is resumed.
    #[serde(default)]
    pub left: bool,
}

/// One session beside a host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionView {
    /// Its id.
    pub id: String,
    /// The host, and its own id of the session.
    pub host: String,
    /// See `host`.
    pub host_session: String,
    /// The directory that it is about.
    pub tree: String,
    /// Where it stands.
    pub status: String,
    /// The incident that ended it, or is about to.
    pub incident: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Decided {
    allow: bool,
}

pub(crate) type Told<T> = Result<Json<T>, Refused>;

/// Why nothing was done.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) StatusCode, pub(crate) String);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.0, format!("{}\n", self.1)).into_response()
    }
}

impl From<AirError> for Refused {
    fn from(error: AirError) -> Self {
        Self(StatusCode::CONFLICT, error.to_string())
    }
}

impl From<air_core::port::JournalError> for Refused {
    fn from(error: air_core::port::JournalError) -> Self {
        AirError::from(error).into()
    }
}

pub(crate) fn routes(room: Arc<Room>) -> Router {
    Router::new()
        .route("/v1/status", get(status))
        .route("/v1/sessions", get(sessions))
        .route("/v1/approvals", get(approvals))
        .route("/v1/approvals/{id}", post(decide))
        .route("/v1/release/{session}", post(release))
        .route("/v1/stop", post(stop))
        .with_state(room)
}

/// Refuses whoever runs below an agent: it must not approve its own calls.
pub(crate) fn person(room: &Room, peer: &Peer) -> Result<(), Refused> {
    let refused = |why: &str| Err(Refused(StatusCode::FORBIDDEN, why.to_owned()));
    let &Peer::Local { uid, pid } = peer else {
        return refused("this is asked over the local socket only");
    };
    if uid != Some(rustix::process::getuid().as_raw()) {
        return refused("the daemon is another user's");
    }
    // One that has ended already, or is of another namespace, may be anybody's.
    let unknown = "who asks cannot be told: it has to wait for the answer, on this machine";
    let Some(began) = pid.and_then(started) else { return refused(unknown) };
    let Some(pid) = pid else { return refused(unknown) };
    if let Some(host) = room.agents.above(pid) {
        return refused(&format!(
            "this runs below {host}: an agent may not tell AIR what to do; ask from a terminal"
        ));
    }
    if started(pid) != Some(began) {
        return refused(unknown);
    }
    Ok(())
}

async fn status(State(room): State<Arc<Room>>) -> Json<StatusView> {
    Json(StatusView {
        version: room.options.version.clone(),
        pid: std::process::id(),
        up_ms: u64::try_from(room.since.elapsed().as_millis()).unwrap_or(u64::MAX),
        live: room.live(),
        hosts: room.beats.all(),
    })
}

async fn sessions(State(room): State<Arc<Room>>) -> Told<Vec<SessionView>> {
    let all = room.attended.all().await?;
    let views = all.into_iter().map(|known| SessionView {
        id: known.id.to_string(),
        host: known.beside.host,
        host_session: known.beside.session,
        tree: known.beside.tree,
        status: known.status.name().to_owned(),
        incident: known.incident.map(|incident| incident.to_string()),
    });
    Ok(Json(views.collect()))
}

async fn approvals(
    State(room): State<Arc<Room>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
) -> Told<Vec<ApprovalView>> {
    let mut all = waiting(&room).await?;
    if person(&room, &peer).is_err() {
        // An agent may know that calls wait, and not what those of others say.
        for asked in &mut all {
            asked.arguments = serde_json::Value::Null;
        }
    }
    Ok(Json(all))
}

async fn waiting(room: &Room) -> Result<Vec<ApprovalView>, Refused> {
    let mut all = Vec::new();
    for known in room.attended.all().await? {
        if known.status != Status::Monitoring {
            continue;
        }
        let journal = &**room.attended.journal();
        let events = records::session_events(journal, &known.id).await?;
        let machine = air_core::session::Session::replay(&events);
        let left = room.agents.have_left(&known.beside.host, &known.beside.session);
        for event in &events {
            let SessionEvent::ApprovalAsked { approval, tool, call, question, until } = event
            else {
                continue;
            };
            let Some(asked) = machine.approvals().get(approval) else { continue };
            let json = journal.payload(call).await?.unwrap_or_default();
            let arguments = serde_json::from_slice::<(String, serde_json::Value)>(&json);
            all.push(ApprovalView {
                id: approval.to_string(),
                session: known.id.to_string(),
                host: known.beside.host.clone(),
                host_session: known.beside.session.clone(),
                tree: known.beside.tree.clone(),
                tool: tool.clone(),
                arguments: arguments.map(|(_, arguments)| arguments).unwrap_or_default(),
                question: question.clone(),
                until_ms: until.0,
                allowed: asked.allowed,
                left,
            });
        }
    }
    Ok(all)
}

async fn decide(
    State(room): State<Arc<Room>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Path(id): Path<String>,
    Json(decided): Json<Decided>,
) -> Told<ApprovalView> {
    person(&room, &peer)?;
    let all = waiting(&room).await?;
    let mut found = all.into_iter().filter(|asked| asked.id.starts_with(&id));
    let asked = found.next();
    let missing = || Refused(StatusCode::NOT_FOUND, format!("no call waits as `{id}`"));
    let Some(asked) = asked else { return Err(past(&room, &id).await?.unwrap_or_else(missing)) };
    if found.next().is_some() {
        return Err(Refused(StatusCode::CONFLICT, format!("`{id}` is the beginning of several")));
    }
    if let Some(allowed) = asked.allowed {
        let done = if allowed { "allowed" } else { "refused" };
        return Err(Refused(StatusCode::CONFLICT, format!("`{id}` is {done} already")));
    }
    if asked.until_ms <= now() {
        let why = format!("nobody has decided about `{id}` in time: the call is refused");
        return Err(Refused(StatusCode::CONFLICT, why));
    }
    let session = SessionId::from(asked.session.as_str());
    let (key, slot) = room.slot_of(&session).ok_or_else(missing)?;
    let _at_work = room.at_work().await;
    let mut work = slot.work.lock().await;
    let joined = room.with(&mut work, &key).await?.ok_or_else(missing)?;
    let approval = ApprovalId::from(asked.id.as_str());
    joined.hosted.answer(&approval, decided.allow).await.map_err(AirError::from)?;
    drop(work);
    slot.answered.notify_waiters();
    Ok(Json(ApprovalView { allowed: Some(decided.allow), ..asked }))
}

/// Why a question of the past cannot be decided any more, where there was one.
async fn past(room: &Room, id: &str) -> Result<Option<Refused>, Refused> {
    for known in room.attended.all().await? {
        let events = records::session_events(&**room.attended.journal(), &known.id).await?;
        let asked = events.iter().any(|event| {
            matches!(event, SessionEvent::ApprovalAsked { approval, .. }
                if approval.as_str().starts_with(id))
        });
        if !asked {
            continue;
        }
        let why = if known.status == Status::Monitoring {
            format!("the call of `{id}` was decided and made")
        } else {
            format!(
                "session {} is over ({}): the call of `{id}` does not run any more",
                known.id,
                known.status.name()
            )
        };
        return Ok(Some(Refused(StatusCode::CONFLICT, why)));
    }
    Ok(None)
}

async fn release(
    State(room): State<Arc<Room>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Path(session): Path<String>,
) -> Told<bool> {
    person(&room, &peer)?;
    let id = SessionId::from(session.as_str());
    let missing = || Refused(StatusCode::NOT_FOUND, format!("no session `{session}`"));
    let (key, slot) = room.slot_of(&id).ok_or_else(missing)?;
    let _at_work = room.at_work().await;
    let mut work = slot.work.lock().await;
    let joined = room.with(&mut work, &key).await?.ok_or_else(missing)?;
    joined.hosted.release().await.map_err(AirError::from)?;
    Ok(Json(true))
}

async fn stop(State(room): State<Arc<Room>>, ConnectInfo(peer): ConnectInfo<Peer>) -> Told<bool> {
    person(&room, &peer)?;
    room.stop.notify_waiters();
    Ok(Json(true))
}
