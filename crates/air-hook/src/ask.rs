//! A host's payload, and what the daemon says that the host shall be told.

use std::{
    thread,
    time::{Duration, Instant},
};

use air_hooks::{Away, Reply};

use crate::{
    client::{self, Answer, Failed, Question},
    critical,
    options::Options,
    start,
};

/// How long before the host gives up it is answered.
const MARGIN: Duration = Duration::from_millis(400);
/// Between two looks whether a daemon is there.
const PAUSE: Duration = Duration::from_millis(10);
/// How often it is started before that is given up.
const STARTS: u32 = 3;

/// Asks, once.
pub(crate) fn ask(options: &Options, payload: &[u8], begun: Instant) -> Result<Reply, Failed> {
    let query = options.event.as_ref().map(|event| format!("?event={}", plain(event)));
    let path = format!("/v1/native/{}{}", plain(&options.host), query.unwrap_or_default());
    let question = Question { method: "POST", path: &path, body: payload };
    reply(&client::ask(&options.state, question, until(options, begun))?)
}

/// Starts a daemon, unless another shim is at it, and asks until one is there or the time is over.
pub(crate) fn starting(options: &Options, payload: &[u8], begun: Instant) -> Result<Reply, Failed> {
    let (mut leave, mut daemon, mut starts) = (None, None, 0);
    loop {
        if leave.is_none() {
            // One that is at it and ends leaves it to the next.
            leave = start::leave(options)?;
        }
        if leave.is_some() && daemon.is_none() {
            daemon = Some(start::start(options)?);
            starts += 1;
        }
        let why = match ask(options, payload, begun) {
            Err(Failed::Away(why)) if Instant::now() < until(options, begun) => why,
            asked => return asked,
        };
        thread::sleep(PAUSE);
        // Where the one before is just ending, the next start is the one.
        if let Some(status) = daemon.as_mut().and_then(|daemon| daemon.try_wait().ok()?) {
            if starts >= STARTS {
                return Err(Failed::Away(format!("{why}; started, it ended with {status}")));
            }
            thread::sleep(PAUSE * 10);
            daemon = None;
        }
    }
}

/// Until then the daemon is waited for.
fn until(options: &Options, begun: Instant) -> Instant {
    let all = options.patience.saturating_sub(MARGIN);
    let kept = match options.away {
        Away::Critical => critical::TIME.min(all / 2),
        Away::Closed | Away::Open => Duration::ZERO,
    };
    begun + all.saturating_sub(kept)
}

/// Until then the host is answered.
pub(crate) fn at_last(options: &Options, begun: Instant) -> Instant {
    begun + options.patience.saturating_sub(MARGIN)
}

/// What may stand in a path: names of hosts and events have nothing else.
fn plain(text: &str) -> String {
    text.chars().filter(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.')).collect()
}

fn reply(answer: &Answer) -> Result<Reply, Failed> {
    if answer.status != 200 {
        let why = String::from_utf8_lossy(&answer.body);
        return Err(Failed::Asking(format!("{} {}", answer.status, why.trim())));
    }
    let bad = || Failed::Asking("its answer cannot be read".to_owned());
    printed(&answer.body).ok_or_else(bad)
}

/// What is to be printed, as the daemon and `airctl` say it.
pub(crate) fn printed(json: &[u8]) -> Option<Reply> {
    let value: serde_json::Value = serde_json::from_slice(json).ok()?;
    let text = |name: &str| value.get(name).and_then(|it| it.as_str()).map(str::to_owned);
    let exit = value.get("exit").and_then(serde_json::Value::as_u64);
    Some(Reply {
        stdout: text("stdout")?,
        stderr: text("stderr")?,
        exit: u8::try_from(exit?).ok()?,
    })
}
