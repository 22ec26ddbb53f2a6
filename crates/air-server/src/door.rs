//! Where the daemon is asked: a local socket, and HTTP on loopback.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::{
        fd::AsRawFd as _,
        unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use air_hooks::{DecodeError, Native, Reply, Via, adapter};
use air_protocol::Event;
use axum::{
    Json, Router,
    body::Bytes,
    extract::{ConnectInfo, DefaultBodyLimit, Path as Named, Query, Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::{Deserialize, Serialize};
use tokio::{
    net::{TcpListener, UnixListener},
    sync::Notify,
};

use crate::{
    Options, ServeError,
    line::Line,
    mend, operator,
    peer::{Peer, Quick},
    room::{Asker, Room, Who},
};

/// The directory of what runs, below the state.
pub const RUN: &str = "run";
/// The local socket in it.
pub const SOCKET: &str = "air.sock";
const TOKEN: &str = "token";
const ADDRESS: &str = "address.json";

/// The largest question, in bytes.
const LARGEST: usize = 256 << 20;

/// Where a daemon can be asked: `address.json` beside its socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The local socket.
    pub socket: PathBuf,
    /// The base of HTTP, where it is served.
    pub url: Option<String>,
    /// The bearer token of HTTP. The file that holds it is its user's alone.
    pub token: Option<String>,
    /// The daemon's process.
    pub pid: u32,
    /// Its version.
    pub version: String,
}

/// The doors of one daemon.
#[derive(Debug)]
pub struct Doors {
    address: Address,
    run: PathBuf,
    local: UnixListener,
    http: Option<TcpListener>,
}

impl Doors {
    /// Opens them. Only whoever attends to the store does.
    ///
    /// # Errors
    ///
    /// If one cannot be opened.
    pub async fn open(options: &Options) -> Result<Self, ServeError> {
        let run = options.state.join(RUN);
        private(&run).map_err(ServeError::io(format!("make `{}`", run.display())))?;
        let socket = run.join(SOCKET);
        // The lock of the store is held: whoever made it has ended.
        let _ = fs::remove_file(&socket);
        let local =
            bind(&run).map_err(ServeError::io(format!("listen on `{}`", socket.display())))?;
        let http = match options.http {
            Some(address) if !address.ip().is_loopback() => {
                return Err(ServeError::NotLocal(address));
            }
            Some(address) => {
                let bound = TcpListener::bind(address).await;
                Some(bound.map_err(ServeError::io(format!("listen on {address}")))?)
            }
            None => None,
        };
        let at = http.as_ref().and_then(|http| http.local_addr().ok());
        let token = match &at {
            Some(_) => {
                let path = run.join(TOKEN);
                Some(token(&path).map_err(ServeError::io(format!("use `{}`", path.display())))?)
            }
            None => None,
        };
        let address = Address {
            socket,
            url: at.map(|at| format!("http://{at}")),
            token,
            pid: std::process::id(),
            version: options.version.clone(),
        };
        let doors = Self { address, run, local, http };
        doors.tell().map_err(ServeError::io("write the daemon's address"))?;
        Ok(doors)
    }

    /// Where it can be asked.
    pub fn address(&self) -> &Address {
        &self.address
    }

    fn tell(&self) -> io::Result<()> {
        let json = serde_json::to_vec_pretty(&self.address)?;
        let path = self.run.join(ADDRESS);
        let new = self.run.join(format!("{ADDRESS}.new"));
        let _ = fs::remove_file(&new);
        own(&new)?.write_all(&json)?;
        fs::rename(new, path)
    }

    /// Serves until `stop` is notified.
    pub(crate) async fn serve(self, room: Arc<Room>, stop: Arc<Notify>) -> Result<(), ServeError> {
        let Self { address, run, local, http } = self;
        let stopped = |stop: Arc<Notify>| async move { stop.notified().await };
        let trusted = router(&room, None)
            .merge(operator::routes(Arc::clone(&room)))
            .merge(mend::routes(Arc::clone(&room)))
            .layer(middleware::from_fn(own_user));
        let trusted = trusted.into_make_service_with_connect_info::<Peer>();
        let one = axum::serve(local, trusted).with_graceful_shutdown(stopped(Arc::clone(&stop)));
        let served = if let Some(http) = http {
            let open = router(&room, address.token.clone());
            let open = open.into_make_service_with_connect_info::<Peer>();
            let two = axum::serve(Quick::new(http), open).with_graceful_shutdown(stopped(stop));
            let (one, two) = tokio::join!(one, two);
            one.and(two)
        } else {
            one.await
        };
        for name in [SOCKET, ADDRESS] {
            let _ = fs::remove_file(run.join(name));
        }
        served.map_err(ServeError::io("serve"))
    }
}

/// Binds below the directory's own descriptor: a path may be longer than a socket's name.
fn bind(run: &Path) -> io::Result<UnixListener> {
    let directory = fs::File::open(run)?;
    let short = format!("/proc/self/fd/{}/{SOCKET}", directory.as_raw_fd());
    let listener = std::os::unix::net::UnixListener::bind(short)?;
    fs::set_permissions(run.join(SOCKET), fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}

fn private(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700))
}

fn own(path: &Path) -> io::Result<fs::File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// The token of HTTP, made where there is none. One that others could read is not used again.
fn token(path: &Path) -> io::Result<String> {
    if let Ok(meta) = fs::symlink_metadata(path) {
        let is_private = meta.is_file() && meta.permissions().mode().trailing_zeros() >= 6;
        let held = fs::read_to_string(path).unwrap_or_default();
        if is_private && held.len() == 64 {
            return Ok(held);
        }
        fs::remove_file(path)?;
    }
    let mut random = [0_u8; 32];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    let token = blake3::hash(&random).to_hex().to_string();
    own(path)?.write_all(token.as_bytes())?;
    Ok(token)
}

/// What all may ask who can: over HTTP with the token.
fn router(room: &Arc<Room>, token: Option<String>) -> Router {
    let questions = Router::new()
        .route("/v1/event", post(event))
        .route("/v1/native/{host}", post(native))
        .route("/hook/{host}", post(hook))
        .layer(DefaultBodyLimit::max(LARGEST))
        .layer(middleware::from_fn(bounded))
        .with_state(Arc::clone(room));
    let questions = match token {
        Some(token) => questions.layer(middleware::from_fn_with_state(Arc::new(token), checked)),
        None => questions,
    };
    questions.route("/v1/health", get(|| async { "ok" }))
}

/// Refuses other users, whom the socket's mode does not keep out: the superuser's calls are none for the
/// journal of somebody else.
async fn own_user(ConnectInfo(peer): ConnectInfo<Peer>, request: Request, next: Next) -> Response {
    let own = rustix::process::geteuid().as_raw();
    match peer {
        Peer::Local { uid: Some(uid), .. } if uid == own => next.run(request).await,
        Peer::Local { uid: Some(_), .. } => {
            refused(StatusCode::FORBIDDEN, &format!("the daemon is another user's (uid {own})"))
        }
        _ => refused(StatusCode::FORBIDDEN, "whose process asks cannot be told"),
    }
}

/// Refuses at once what says that it is too long.
async fn bounded(request: Request, next: Next) -> Response {
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > LARGEST as u64) {
        return refused(StatusCode::PAYLOAD_TOO_LARGE, "the question is too long");
    }
    next.run(request).await
}

/// Refuses what does not come from a program of this machine that knows the token: a page in a browser
/// reaches loopback, too.
async fn checked(State(token): State<Arc<String>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let text = |name| headers.get(name).and_then(|value: &header::HeaderValue| value.to_str().ok());
    let host = text(header::HOST).unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    let is_one = headers.get_all(header::HOST).iter().count() == 1;
    if !is_one || !matches!(host, "127.0.0.1" | "localhost" | "[::1]") {
        return refused(StatusCode::FORBIDDEN, "the host of the request is not this machine");
    }
    if headers.contains_key(header::ORIGIN) {
        return refused(StatusCode::FORBIDDEN, "no page may ask");
    }
    let given = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    // Digests take the same time to compare wherever they differ.
    let is_known =
        given.is_some_and(|given| blake3::hash(given.as_bytes()) == blake3::hash(token.as_bytes()));
    if !is_known {
        return refused(StatusCode::UNAUTHORIZED, "the token is missing or wrong");
    }
    next.run(request).await
}

fn refused(status: StatusCode, why: &str) -> Response {
    (status, format!("{why}\n")).into_response()
}

async fn event(
    State(room): State<Arc<Room>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    match serde_json::from_slice::<Event>(&body) {
        Ok(event) => {
            let asker = asker(peer, &headers, Who::Program);
            Json(room.ask(event, asker).await).into_response()
        }
        Err(error) => {
            refused(StatusCode::BAD_REQUEST, &format!("this is no question of air-hook/1: {error}"))
        }
    }
}

/// How a payload came, beside itself.
#[derive(Debug, Default, Deserialize)]
struct How {
    event: Option<String>,
    version: Option<String>,
}

/// What a command prints, and how it exits.
#[derive(Debug, Serialize, Deserialize)]
struct Printed {
    stdout: String,
    stderr: String,
    exit: u8,
}

async fn native(
    State(room): State<Arc<Room>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Named(host): Named<String>,
    Query(how): Query<How>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let asker = asker(peer, &headers, Who::Program);
    match translated(&room, (&host, Via::Command), &how, asker, &body).await {
        Some(Reply { stdout, stderr, exit }) => {
            Json(Printed { stdout, stderr, exit }).into_response()
        }
        None => refused(StatusCode::NOT_FOUND, "this host is not known"),
    }
}

async fn hook(
    State(room): State<Arc<Room>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Named(host): Named<String>,
    Query(how): Query<How>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let via = if host == "opencode" { Via::Plugin } else { Via::Http };
    let asker = asker(peer, &headers, Who::Host);
    match translated(&room, (&host, via), &how, asker, &body).await {
        Some(reply) => ([(header::CONTENT_TYPE, "application/json")], reply.stdout).into_response(),
        None => refused(StatusCode::NOT_FOUND, "this host is not known"),
    }
}

/// Asks in the host's own words, and answers in them.
async fn translated(
    room: &Arc<Room>,
    (host, via): (&str, Via),
    how: &How,
    asker: Asker,
    payload: &[u8],
) -> Option<Reply> {
    let adapter = adapter(host)?;
    let (event, version) = (how.event.as_deref(), how.version.as_deref());
    let native = Native { payload, event, via, version };
    Some(match adapter.decode(&native) {
        Ok(event) => {
            let answer = room.ask(event.clone(), asker).await;
            adapter.encode(&event, &answer)
        }
        // What is not known cannot be about a call.
        Err(DecodeError::UnknownEvent { .. }) => Reply::default(),
        Err(error) => adapter.refuse(&native, &format!("AIR: {error}")),
    })
}

/// `on` says who is at the other end of a connection over HTTP.
fn asker(peer: Peer, headers: &HeaderMap, on: fn(Line) -> Who) -> Asker {
    let who = match peer {
        Peer::Local { pid, .. } => pid.map_or(Who::Nobody, Who::Shim),
        Peer::Http(line) => line.map_or(Who::Nobody, on),
    };
    let patience = headers.get("x-air-patience-ms").and_then(|value| value.to_str().ok());
    let patience = patience.and_then(|value| value.parse().ok()).map(Duration::from_millis);
    Asker { who, patience }
}
