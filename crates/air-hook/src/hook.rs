//! `air-hook HOST [EVENT]`: what a host of an agent spawns as a hook.
//!
//! It hands its standard input to the daemon, and prints and exits as that says. It decides nothing. Where it
//! cannot ask in time, it refuses by the host's strongest means; or has the critical guardrails asked, or lets
//! pass, where it was told so (`--away`). Nothing of its environment or input is written anywhere.

use std::{
    io::{self, Read as _, Write as _},
    process::ExitCode,
    time::Instant,
};

use air_hooks::{Away, Native, Reply, Via, adapter};

use crate::{ask, client::Failed, critical, options::Options};

/// The largest payload that is read, in bytes.
const LARGEST: u64 = 256 << 20;

/// The whole program.
pub fn main() -> ExitCode {
    let begun = Instant::now();
    let options = match Options::read() {
        Ok(options) => options,
        Err(why) => return print(&refusal(&why)),
    };
    let Some(adapter) = adapter(&options.host) else {
        return print(&refusal(&format!("air-hook: no host is called `{}`", options.host)));
    };
    let mut payload = Vec::new();
    let read = io::stdin().lock().take(LARGEST).read_to_end(&mut payload);
    let is_whole = read.is_ok();
    let asked = match read {
        Ok(_) => reply(&options, &payload, begun),
        Err(error) => Err(Failed::Asking(format!("its input could not be read: {error}"))),
    };
    let reply = asked.unwrap_or_else(|failed| {
        let refuse = |why: &str| {
            let (event, version) = (options.event.as_deref(), None);
            adapter.refuse(&Native { payload: &payload, event, via: Via::Command, version }, why)
        };
        let closed = format!("AIR cannot be asked, and nothing runs without it: {failed}");
        match options.away {
            Away::Open => Reply::default(),
            Away::Critical if is_whole => {
                let decided = critical::decide(&options, &payload, &failed, begun);
                decided.unwrap_or_else(|why| {
                    refuse(&format!("{closed}; its critical guardrails cannot be asked: {why}"))
                })
            }
            Away::Critical | Away::Closed => refuse(&closed),
        }
    });
    print(&reply)
}

/// Asks the daemon, and starts it where it is not there.
fn reply(options: &Options, payload: &[u8], begun: Instant) -> Result<Reply, Failed> {
    match ask::ask(options, payload, begun) {
        // It takes a moment; the host waits for the whole. One that has ended at this very question is
        // asked again once: told twice, what has happened is known by its call.
        Err(Failed::Away(_) | Failed::Ended(_)) if !options.no_start => {
            ask::starting(options, payload, begun)
        }
        asked => asked,
    }
}

/// What every host takes for a no.
fn refusal(why: &str) -> Reply {
    Reply { stdout: String::new(), stderr: why.to_owned(), exit: 2 }
}

fn print(reply: &Reply) -> ExitCode {
    // Where nobody reads, the exit code says it.
    let _ = io::stdout().write_all(reply.stdout.as_bytes());
    let _ = io::stderr().write_all(reply.stderr.as_bytes());
    ExitCode::from(reply.exit)
}
