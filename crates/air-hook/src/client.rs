//! One question to AIR's daemon over its local socket: HTTP/1.1, without a runtime.

use std::{
    fmt, fs,
    io::{self, Read as _, Write as _},
    os::{
        fd::AsRawFd as _,
        unix::{fs::MetadataExt as _, net::UnixStream},
    },
    path::Path,
    time::{Duration, Instant},
};

/// The directory of the daemon's socket, below the state, and its name.
const RUN: &str = "hosts/run";
const HOSTS: &str = "hosts";
const SOCKET: &str = "air.sock";
/// The largest answer, in bytes.
const LARGEST: usize = 64 << 20;

/// Why there is no answer.
#[derive(Debug)]
pub enum Failed {
    /// No daemon is there.
    Away(String),
    /// It ended before it began to answer.
    Ended(String),
    /// One is there, and did not answer, or not in time.
    Asking(String),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Away(why) => write!(f, "its daemon does not run ({why}); `airctl daemon start`"),
            Self::Ended(why) | Self::Asking(why) => {
                write!(f, "its daemon did not answer: {why}; `airctl daemon status`")
            }
        }
    }
}

impl std::error::Error for Failed {}

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// `GET` or `POST`.
    pub method: &'a str,
    /// Path and query, of plain ASCII.
    pub path: &'a str,
    /// JSON, or nothing.
    pub body: &'a [u8],
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status of HTTP.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// Asks the daemon of the state directory `state`, until `until`.
///
/// # Errors
///
/// If there is none, or it does not answer in time.
pub fn ask(state: &Path, question: Question<'_>, until: Instant) -> Result<Answer, Failed> {
    if let Some(why) = foreign(state) {
        return Err(Failed::Asking(why));
    }
    let mut stream = connect(&state.join(RUN)).map_err(|error| Failed::Away(error.to_string()))?;
    let left = left(until)?;
    stream.set_write_timeout(Some(left)).map_err(asking)?;
    let Question { method, path, body } = question;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         x-air-patience-ms: {}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        left.as_millis(),
        body.len()
    );
    let sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    match sent {
        // It may answer, and end, before it has heard all.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        sent => sent.map_err(asking)?,
    }
    let mut answer = Vec::new();
    let mut chunk = [0_u8; 16 << 10];
    loop {
        stream.set_read_timeout(Some(self::left(until)?)).map_err(asking)?;
        let read = match stream.read(&mut chunk) {
            Err(error) if answer.is_empty() => return Err(asking(error)),
            // What has begun to be answered was done.
            Err(error) => return Err(Failed::Asking(error.to_string())),
            Ok(read) => read,
        };
        answer.extend_from_slice(chunk.get(..read).unwrap_or_default());
        if answer.len() > LARGEST {
            return Err(Failed::Asking("its answer is too long".to_owned()));
        }
        if let Some(whole) = whole(&answer) {
            return Ok(whole);
        }
        if read == 0 && answer.is_empty() {
            return Err(Failed::Ended("it ended".to_owned()));
        }
        if read == 0 {
            return Err(Failed::Asking("it ended in the middle of its answer".to_owned()));
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` hands over")]
fn asking(error: io::Error) -> Failed {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::WouldBlock | Kind::TimedOut => Failed::Asking("its time was over".to_owned()),
        Kind::ConnectionReset | Kind::BrokenPipe => Failed::Ended(error.to_string()),
        _ => Failed::Asking(error.to_string()),
    }
}

/// The time that is left.
fn left(until: Instant) -> Result<Duration, Failed> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(Failed::Asking("its time was over".to_owned())) } else { Ok(left) }
}

/// Why the daemon is another user's, where it is: it is told nothing, and none is started in its place.
fn foreign(state: &Path) -> Option<String> {
    let own = match fs::metadata("/proc/self") {
        Ok(process) => process.uid(),
        Err(error) => return Some(format!("whose process this is cannot be told: {error}")),
    };
    // What is not visible lies in a directory that is.
    for directory in [state.join(RUN), state.join(HOSTS), state.to_path_buf()] {
        match fs::metadata(&directory) {
            Ok(found) if found.uid() == own => return None,
            Ok(found) => {
                let directory = directory.display();
                return Some(format!("`{directory}` is another user's (uid {})", found.uid()));
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(_) => return None,
        }
    }
    Some(format!("`{}` is another user's", state.display()))
}

/// Below the directory's own descriptor: a path may be longer than a socket's name.
fn connect(run: &Path) -> io::Result<UnixStream> {
    let directory = fs::File::open(run)?;
    UnixStream::connect(format!("/proc/self/fd/{}/{SOCKET}", directory.as_raw_fd()))
}

/// The answer, once all of it is there.
fn whole(answer: &[u8]) -> Option<Answer> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let (head, rest) = answer.split_at_checked(end + 4)?;
    let head = std::str::from_utf8(head).ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    })?;
    let status = head.split_whitespace().nth(1)?.parse().ok()?;
    Some(Answer { status, body: rest.get(..length)?.to_vec() })
}
