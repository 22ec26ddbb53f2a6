//! AIR's daemon: one process a user, beside all agents of that user.
//!
//! Hosts ask over a local socket (the shim `air-hook`) or over HTTP on loopback (hooks that can, plugins,
//! SDKs), by `air-hook/1` or by their own payloads. All sessions share one journal and one set of rules in
//! force. What is durable is in the journal: a daemon that is killed loses nothing, and the next one goes
//! on.
//!
//! Start at [`serve`]; `room.rs` holds the sessions, `told.rs` says what a host is answered.

mod agents;
mod beat;
mod call;
mod canary;
mod critical;
mod door;
mod line;
mod mend;
mod operator;
mod peer;
mod question;
mod room;
mod slot;
mod told;
mod upkeep;

use std::{io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use air::Attended;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::Notify;

pub use agents::Agents;
pub use beat::Beat;
pub use canary::{CANARY, CONTROL, DOCTOR};
pub use critical::answer_alone;
pub use door::{Address, Doors, RUN, SOCKET};
pub use mend::{PathView, UndoView, UndoWish, Verdict, undo};
pub use operator::{ApprovalView, SessionView, StatusView};

/// How a daemon works.
#[derive(Debug, Clone)]
pub struct Options {
    /// AIR's directory for all hosts of the user.
    pub state: PathBuf,
    /// Where HTTP is served; only on loopback. Port 0: any. `None`: nowhere.
    pub http: Option<SocketAddr>,
    /// How long a call waits for a person before it is refused for now; never longer than the host waits.
    pub approval_wait: Duration,
    /// When an approval that nobody gave is refused.
    pub approval_timeout: Duration,
    /// Sessions that are kept in memory; others are read again when they go on.
    pub live_sessions: usize,
    /// The version that is told.
    pub version: String,
}

/// The daemon could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A socket or file could not be used.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// Something was to be served beyond this machine.
    #[error("{0} is not on loopback: the daemon serves this machine only")]
    NotLocal(SocketAddr),
    /// The store.
    #[error(transparent)]
    Air(#[from] air::AirError),
}

impl ServeError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

/// Serves until `stop` is notified; what is under way is finished. `ready` is told where.
///
/// # Errors
///
/// If it cannot begin to.
pub async fn serve(
    options: Options,
    attended: Attended,
    stop: Arc<Notify>,
    ready: impl FnOnce(&Address),
) -> Result<(), ServeError> {
    more_files();
    let doors = Doors::open(&options).await?;
    let room = room::Room::open(options, attended, Arc::clone(&stop)).await?;
    ready(doors.address());
    let ticking = tokio::spawn(upkeep::tick(Arc::clone(&room)));
    doors.serve(Arc::clone(&room), stop).await?;
    ticking.abort();
    room.settle().await;
    Ok(())
}

/// As many open files as the system lets it have: every session has some.
fn more_files() {
    let now = getrlimit(Resource::Nofile);
    // Where that fails, sessions beyond them are refused, with the reason.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, ..now });
}
