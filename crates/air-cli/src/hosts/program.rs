//! Programs on this machine: AIR's shim, and the hosts themselves.

use std::{
    io::{Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use super::Host;
use crate::error::CliError;

/// More than this of what a host says is not read.
const MAX_OUTPUT: u64 = 4 << 20;
/// A host that has not told its version by then has none.
const VERSION_WITHIN: Duration = Duration::from_secs(10);

/// The shim that hosts run, absolute: the one named, or the one beside this program.
///
/// # Errors
///
/// If it is not there.
pub fn shim(named: Option<&Path>, cwd: &Path) -> Result<String, CliError> {
    let path = if let Some(named) = named {
        cwd.join(named)
    } else {
        let own = std::env::current_exe().map_err(CliError::file("find", "airctl"))?;
        own.with_file_name("air-hook")
    };
    let missing = |why: &str| CliError::Usage {
        what: format!("`{}` {why}", path.display()),
        hint: "put `air-hook` beside `airctl`, or name it with `--hook PATH`".to_owned(),
    };
    let found = path.metadata().map_err(|_| missing("is not there"))?;
    if !found.is_file() || found.permissions().mode() & 0o111 == 0 {
        return Err(missing("is no program"));
    }
    match path.to_str() {
        Some(text) if !text.chars().any(char::is_control) => Ok(text.to_owned()),
        _ => Err(missing("has a name that no settings file can hold")),
    }
}

/// Where the host is, by the search path.
pub fn find(host: Host, path: Option<&std::ffi::OsStr>) -> Option<PathBuf> {
    let directories: Vec<PathBuf> = std::env::split_paths(path?).collect();
    let mut names = host.programs().iter();
    names.find_map(|name| directories.iter().map(|at| at.join(name)).find(|file| file.is_file()))
}

/// The version that a host tells, if it does in time.
pub fn version(program: &Path) -> Option<String> {
    let told = talk(Command::new(program).arg("--version"), &[], VERSION_WITHIN, |_| false)?;
    let word =
        |word: &&str| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.');
    let told = told.split_whitespace().find(word)?.trim_end_matches(['.', ',']);
    Some(told.chars().filter(|letter| !letter.is_control()).take(40).collect())
}

/// What a program says on standard output until `enough` says so of what was said, or it ends.
pub fn talk(
    command: &mut Command,
    lines: &[String],
    within: Duration,
    enough: impl Fn(&str) -> bool,
) -> Option<String> {
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = streams.spawn().ok()?;
    let mut input = child.stdin.take()?;
    let output = child.stdout.take()?;
    let (sender, received) = mpsc::channel();
    thread::spawn(move || {
        let mut output = output.take(MAX_OUTPUT);
        let mut buffer = vec![0; 1 << 16];
        while let Ok(read @ 1..) = output.read(&mut buffer) {
            let some = buffer.get(..read).unwrap_or_default().to_vec();
            if sender.send(some).is_err() {
                break;
            }
        }
    });
    for line in lines {
        // It may have ended; what it said until then is what counts.
        let _ = input.write_all(line.as_bytes()).and_then(|()| input.write_all(b"\n"));
    }
    let until = Instant::now() + within;
    let mut said = Vec::new();
    let mut whole = false;
    loop {
        let text = String::from_utf8_lossy(&said);
        if enough(&text) {
            whole = true;
            break;
        }
        match received.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(more) => said.extend(more),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                whole = true;
                break;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => break,
        }
    }
    // A server ends with its input.
    drop(input);
    let until = Instant::now() + Duration::from_millis(500);
    while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let _ = child.wait();
    whole.then(|| String::from_utf8_lossy(&said).into_owned())
}
