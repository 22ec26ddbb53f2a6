//! Runs the tests again whenever one of their files changes.

use std::{collections::BTreeMap, path::PathBuf, thread, time::Duration};

use super::{
    Args,
    load::{self, Stamp},
    once,
};
use crate::{context::Context, error::CliError, exit::Exit};

/// How often files are looked at. Also how long they must be still before the tests run again.
const INTERVAL: Duration = Duration::from_millis(200);

/// Runs the tests until the process is ended.
pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    loop {
        // As they were when they were read: no change after that is missed.
        let mut read = BTreeMap::new();
        // Tests that cannot be run now may be mended in a moment.
        if let Err(error) = once(args, context, &mut read) {
            if error.is_closed_pipe() {
                return Err(error);
            }
            context.show_error(&error)?;
        }
        context.streams.out.flush()?;
        writeln!(context.streams.err, "waiting for a change; Ctrl-C ends it")?;
        let mut last = read;
        let mut changed = false;
        loop {
            let now = state(args, context, &last);
            if now != last {
                (last, changed) = (now, true);
            } else if changed {
                break;
            }
            thread::sleep(INTERVAL);
        }
        writeln!(context.streams.err)?;
    }
}

/// The files that were read, and those that would be read now.
fn state(
    args: &Args,
    context: &Context<'_>,
    read: &BTreeMap<PathBuf, Stamp>,
) -> BTreeMap<PathBuf, Stamp> {
    let tests = args
        .paths
        .iter()
        .flat_map(|path| load::test_files(&context.cwd.join(path)).unwrap_or_default());
    let files = read.keys().cloned().chain(tests);
    files.map(|file| (file.clone(), load::stamp(&file))).collect()
}
