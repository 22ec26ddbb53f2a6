//! A language model that does what a script says, on loopback, in four dialects.
//!
//! [`ModelServer::start`] runs a [`Script`]; [`ModelServer::requests`] tells what was asked. It shares its
//! codecs with the client of `air-wire`: other clients and other servers must be tried against both.

mod connection;
mod file;
mod other;
mod reply;
mod script;
mod seen;
mod serve;

use std::{fmt, io, net::SocketAddr, sync::Arc};

use air_wire::Dialect;
use tokio::runtime::{Builder, Runtime};

pub use file::ScriptError;
pub use other::OtherServer;
pub use regex::Regex;
pub use reply::Reply;
pub use script::{Pattern, Script, When};
pub use seen::Seen;

use serve::Shared;

/// A running server. Dropping it ends it, with whatever it was doing.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl ModelServer {
    /// Starts on a free port of loopback.
    ///
    /// # Errors
    ///
    /// There is no port, or no thread.
    pub fn start(script: Script) -> io::Result<Self> {
        Self::start_at(0, script)
    }

    /// Starts on a port of loopback.
    ///
    /// # Errors
    ///
    /// The port is taken, or there is no thread.
    pub fn start_at(port: u16, script: Script) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("model-server")
            .enable_all()
            .build()?;
        let listener = runtime.block_on(tokio::net::TcpListener::bind(("127.0.0.1", port)))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(script));
        runtime.spawn(serve::run(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, runtime: Some(runtime) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its base URL as clients of a dialect want it: with the version for those of OpenAI.
    pub fn base_url(&self, dialect: Dialect) -> String {
        base_url(&format!("http://{}", self.address), dialect)
    }

    /// All requests so far that could be read, oldest first.
    pub fn requests(&self) -> Vec<Arc<Seen>> {
        self.shared.seen()
    }

    /// How many requests were refused, because they could not be read or had not the right key.
    pub fn refused(&self) -> usize {
        self.shared.refused()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for ModelServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelServer").field("address", &self.address).finish_non_exhaustive()
    }
}

fn base_url(server: &str, dialect: Dialect) -> String {
    match dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses => format!("{server}/v1"),
        Dialect::Anthropic | Dialect::Gemini => server.to_owned(),
    }
}
