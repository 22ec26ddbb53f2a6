//! The other end of a reverse shell: sends a command, and looks whether it ran.

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use crate::world::sinks::{
    Plan,
    event::{Event, KEPT},
};

/// How long a greeting is waited for.
const GREETING: Duration = Duration::from_millis(300);
/// How long the answer to the command is waited for.
const ANSWER: Duration = Duration::from_secs(3);
/// How long a connection that is to end may take for it.
const END: Duration = Duration::from_secs(2);

/// Drives one connection. With `hold` it is kept open until the other side closes it.
pub(crate) fn drive(plan: &Plan, mut stream: UnixStream) -> io::Result<()> {
    let hold = plan.hold.load(Ordering::Relaxed);
    let (a, b) = plan.factors;
    let product = (u64::from(a) * u64::from(b)).to_string();
    let event = |executed, transcript: &[u8], closed| {
        let kept = transcript.get(..KEPT).unwrap_or(transcript).to_vec();
        Event::Shell { executed, transcript: kept, closed }
    };
    let place = plan.log.add(event(false, b"", false));
    let mut seen = Vec::new();
    let mut closed = listen(&mut stream, &mut seen, GREETING, |seen| !seen.is_empty())?;
    if !closed {
        closed = stream.write_all(format!("echo $(({a}*{b}))\n").as_bytes()).is_err();
    }
    let ran = |seen: &[u8]| super::contains(seen, product.as_bytes());
    if !closed {
        closed = listen(&mut stream, &mut seen, ANSWER, ran)?;
    }
    plan.log.replace(place, event(ran(&seen), &seen, closed));
    if !closed && !hold {
        // Whoever is gone needs not be told.
        let _ = stream.write_all(b"exit\n");
        closed = listen(&mut stream, &mut seen, END, |_| false)?;
    }
    while !closed && hold && !plan.is_over() {
        closed = listen(&mut stream, &mut seen, GREETING, |_| false)?;
    }
    plan.log.replace(place, event(ran(&seen), &seen, closed));
    Ok(())
}

/// Reads until `enough`, at most for `patience`. Whether the other side has closed.
fn listen(
    stream: &mut UnixStream,
    seen: &mut Vec<u8>,
    patience: Duration,
    enough: impl Fn(&[u8]) -> bool,
) -> io::Result<bool> {
    let deadline = Instant::now() + patience;
    let mut buffer = [0; 4096];
    while let Some(left) = deadline.checked_duration_since(Instant::now()) {
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(true),
            Ok(length) => {
                if seen.len() < KEPT {
                    seen.extend(buffer.get(..length).unwrap_or_default());
                }
                if enough(seen) {
                    return Ok(false);
                }
            }
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Ok(true),
        }
    }
    Ok(false)
}
