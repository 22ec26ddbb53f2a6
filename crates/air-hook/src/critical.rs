//! The critical guardrails decide, where no daemon can be had: `airctl` reads them, this program stays small.

use std::{
    io::{Read as _, Write as _},
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use air_hooks::Reply;

use crate::{ask, client::Failed, options::Options, start};

/// What is left to it of the time that the host waits.
pub(crate) const TIME: Duration = Duration::from_secs(4);
/// Between two looks whether it has ended.
const PAUSE: Duration = Duration::from_millis(2);
/// The longest answer, in bytes: it fits into a pipe.
const LARGEST: u64 = 60 << 10;

/// What they say of a payload; why it could not be had.
pub(crate) fn decide(
    options: &Options,
    payload: &[u8],
    failed: &Failed,
    begun: Instant,
) -> Result<Reply, String> {
    let mut command = start::airctl(options);
    command.args(["__critical", "--why", &failed.to_string(), "--"]).arg(&options.host);
    command.args(&options.event);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("airctl cannot be run: {error}"))?;
    let (input, until) = (child.stdin.take(), ask::at_last(options, begun));
    let said = thread::scope(|scope| {
        // It reads all of it before it says anything; one that has ended says why by its code.
        scope.spawn(move || input.map(|mut input| input.write_all(payload)));
        let said = wait(&mut child, until);
        if said.is_err() {
            let _ = child.kill();
            let _ = child.wait();
        }
        said
    });
    ask::printed(&said?).ok_or_else(|| "airctl could not decide".to_owned())
}

fn wait(child: &mut Child, until: Instant) -> Result<Vec<u8>, String> {
    let told = |error: std::io::Error| format!("airctl did not answer: {error}");
    let ended = loop {
        match child.try_wait().map_err(told)? {
            Some(ended) => break ended,
            None if Instant::now() > until => {
                return Err("airctl did not answer in time".to_owned());
            }
            None => thread::sleep(PAUSE),
        }
    };
    if !ended.success() {
        return Err(format!("airctl ended with {ended}"));
    }
    let mut said = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(LARGEST).read_to_end(&mut said).map_err(told)?;
    }
    Ok(said)
}
