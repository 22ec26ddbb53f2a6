//! What host and supervisor say to each other: one JSON object a line.
//!
//! The host trusts no reply: it may come from a supervisor that an agent has broken.

use std::{
    io::{self, BufRead, Read, Write},
    net::IpAddr,
    path::PathBuf,
};

use air_core::port::Tier;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

pub(crate) use crate::outside::Transport;

/// The longest line either side accepts.
const LINE_LIMIT_BYTES: u64 = 64 << 20;

/// What a supervisor is started with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) tier: Tier,
    /// The program that leads to the supervisor, as it is called inside.
    pub(crate) program: Vec<String>,
    pub(crate) python: String,
    /// Whether the interpreter ignores variables of its own.
    pub(crate) isolated: bool,
    pub(crate) driver: PathBuf,
    pub(crate) cwd: PathBuf,
    pub(crate) limits: ProcessLimits,
    pub(crate) confinement: Confinement,
    /// Ports of loopback that lead outside, where anything does: what answers there is asked for
    /// over the standard input.
    #[serde(default)]
    pub(crate) outside: Option<Vec<(Transport, u16)>>,
}

/// What processes may use, one by one and together.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ProcessLimits {
    pub(crate) memory_bytes: u64,
    pub(crate) total_memory_bytes: u64,
    pub(crate) file_bytes: u64,
    pub(crate) open_files: u64,
    pub(crate) cpu_s: u64,
    pub(crate) processes: u32,
    /// How many threads the kernel lets the user have, with those that it has elsewhere.
    pub(crate) nproc: u64,
}

/// What Landlock lets a process see and change.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Confinement {
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) writable: Vec<PathBuf>,
    /// Whether AIR is root and the workspace somebody else's.
    #[serde(default)]
    pub(crate) foreign: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    Run(Run),
    Python(Python),
    Processes {},
    /// Ends everything, the interpreter too, which is not counted.
    Kill {},
    /// Stops everything, the interpreter too.
    Freeze {},
    /// Lets everything go on.
    Thaw {},
    /// Stops everything if anything may write, until `Thaw`.
    Quiet {},
    /// Starts those of these services that do not run.
    Start {
        services: Vec<Service>,
        /// Whether an agent may have had a hand in what they begin with.
        touched: bool,
    },
    /// Which services run.
    Services {},
    /// Separates what was from what comes.
    Mark {},
    Connections {
        since: u64,
    },
    Isolate {},
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) argv: Vec<String>,
    pub(crate) stdin: String,
    pub(crate) timeout_ms: u64,
    pub(crate) output_limit_bytes: u64,
}

/// A program that runs beside the agent's.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Service {
    pub(crate) name: String,
    pub(crate) argv: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServiceState {
    pub(crate) name: String,
    pub(crate) runs: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Python {
    pub(crate) source: String,
    /// The name that the source has in tracebacks.
    pub(crate) path: String,
    pub(crate) timeout_ms: u64,
    pub(crate) output_limit_bytes: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    Ran(Ran),
    Processes(Vec<Process>),
    Killed {
        ended: u32,
        left: u32,
    },
    /// How many processes are stopped, and how many still run.
    Frozen {
        stopped: u32,
        running: u32,
    },
    /// How many processes go on.
    Thawed(u32),
    /// Names of services that were started, and which were not, and why.
    Started {
        started: Vec<String>,
        failed: Vec<String>,
    },
    Services(Vec<ServiceState>),
    /// Whether anything was stopped, how many processes run all the same, and files that change
    /// when processes write to their memory, escaped and as seen inside; `None` where that cannot
    /// be told.
    Quiet {
        stopped: bool,
        running: u32,
        mapped: Option<Vec<String>>,
    },
    Marked(u64),
    Connections(Connections),
    Isolated {
        closed: usize,
    },
    Failed(String),
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ran {
    /// Lossy UTF-8.
    pub(crate) output: String,
    pub(crate) omitted_bytes: u64,
    /// Why the call failed, as an agent will read it.
    pub(crate) error: Option<String>,
    /// Said before the output, such as that the interpreter is another one.
    pub(crate) note: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) argv: Vec<String>,
    /// The kernel's letter, such as `R` or `T`.
    pub(crate) state: char,
    /// Escaped, as all paths of it, and as seen inside.
    pub(crate) cwd: Option<String>,
    /// Files that change when it writes to its memory; `None` where that cannot be told.
    pub(crate) shared: Option<Vec<String>>,
}

/// Connections that were attempted, and why some are missing.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Connections {
    pub(crate) items: Vec<Connection>,
    pub(crate) incomplete: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Connection {
    /// The name that was asked for, or the address.
    pub(crate) host: String,
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
    pub(crate) transport: Transport,
    pub(crate) direction: Direction,
    pub(crate) bytes_sent: u64,
    /// The first of what was sent.
    #[serde(with = "crate::base64")]
    pub(crate) payload: Vec<u8>,
    /// Whether more was sent than is in the payload.
    pub(crate) truncated: bool,
    pub(crate) bytes_received: u64,
    /// The first of what was answered.
    #[serde(with = "crate::base64")]
    pub(crate) received: Vec<u8>,
    pub(crate) received_truncated: bool,
    /// How often was sent again after something had been received.
    pub(crate) turns: u32,
    /// `None`: nothing was sent.
    pub(crate) protocol: Option<Protocol>,
    pub(crate) delivered: bool,
    pub(crate) pid: u32,
    pub(crate) argv: Vec<String>,
}

/// What is spoken over a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Protocol {
    Http,
    Tls,
    Dns,
    Other,
}

impl Protocol {
    /// Its name in conditions.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Tls => "tls",
            Self::Dns => "dns",
            Self::Other => "other",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Direction {
    Out,
    /// To something inside.
    Local,
    Listen,
}

/// The next message; `None` at the end of the stream.
pub(crate) fn read<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    let length = from.take(LINE_LIMIT_BYTES).read_until(b'\n', &mut line)?;
    if length == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "message is cut off or too long"));
    }
    Ok(Some(serde_json::from_slice(&line)?))
}

pub(crate) fn write(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    if u64::try_from(line.len()).unwrap_or(u64::MAX) > LINE_LIMIT_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "message is too long"));
    }
    to.write_all(&line)?;
    to.flush()
}
