//! The state that a judge is shown: what lies in the directory that calls begin in, and what runs.
//!
//! It is looked at from outside, so that no program of the agent's reports on itself. Names are
//! untrusted.

use std::{
    ffi::OsStr,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
};

use air_checkpoint::beneath;
use air_core::{
    port::{BoxFuture, Inspector, Tier},
    value::Value,
};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};

use crate::{
    protocol::Process,
    workspace::{Inner, LocalWorkspace, off_thread},
};

/// Entries that are listed.
const MOST_ENTRIES: usize = 120;
/// Entries that are looked at.
const MOST_SEEN: usize = 20_000;
/// Processes that are listed.
const MOST_PROCESSES: usize = 64;
/// How deep it is looked.
const DEEPEST: usize = 12;

impl Inspector for LocalWorkspace {
    fn inspect(&self) -> BoxFuture<'_, Value> {
        let inner = self.inner();
        Box::pin(async move {
            let state = off_thread(move || Ok(inner.state())).await;
            state.unwrap_or_else(|error| Value::unknown(error.to_string()))
        })
    }
}

impl Inner {
    fn state(&self) -> Value {
        let (place, running) = {
            let mut running = self.running();
            let alive = running.sandbox.as_mut().filter(|sandbox| sandbox.is_running());
            let pid = alive.filter(|_| self.tier == Tier::T3).and_then(|it| it.first_process());
            let place = match (pid, running.layers.workspace()) {
                (Some(pid), _) => Some(inside(pid, &self.view.cwd())),
                (None, Some(root)) => Some(root.host.clone()),
                (None, None) => None,
            };
            (place, Self::processes_of(&mut running))
        };
        let files = match place.map(|place| Listing::of(&place)) {
            Some(Ok(listing)) => listing.value(),
            Some(Err(error)) => Value::unknown(format!("it cannot be listed: {error}")),
            None => Value::unknown("there is no directory to list"),
        };
        let processes = match running {
            Ok(processes) => {
                let more = processes.len() > MOST_PROCESSES;
                let reason = more.then_some("there are more");
                Value::list_with(processes.iter().take(MOST_PROCESSES).map(process), reason)
            }
            Err(error) => Value::unknown(error.to_string()),
        };
        Value::record([
            ("directory", Value::from(self.view.cwd().to_string_lossy().as_ref())),
            ("files", files),
            ("processes", processes),
        ])
    }
}

fn process(process: &Process) -> Value {
    Value::record([
        ("pid", Value::Int(process.pid.into())),
        ("argv", Value::strings(process.argv.iter().map(String::as_str))),
    ])
}

/// What a process inside calls `path`.
fn inside(pid: u32, path: &Path) -> PathBuf {
    let below = path.strip_prefix("/").unwrap_or(path);
    Path::new("/proc").join(pid.to_string()).join("root").join(below)
}

/// The entries of a directory and of those below, in the order of their names.
#[derive(Default)]
struct Listing {
    entries: Vec<(String, u64)>,
    seen: usize,
    left_out: bool,
}

impl Listing {
    fn of(place: &Path) -> io::Result<Self> {
        let mut listing = Self::default();
        listing.directory(&beneath::root(place)?, "", 0)?;
        Ok(listing)
    }

    /// No link is followed.
    fn directory(&mut self, directory: &OwnedFd, prefix: &str, depth: usize) -> io::Result<()> {
        let mut names = Vec::new();
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            self.seen += 1;
            if self.seen > MOST_SEEN {
                self.left_out = true;
                break;
            }
            names.push(OsStr::from_bytes(name).to_owned());
        }
        names.sort_unstable();
        for name in names {
            if self.entries.len() >= MOST_ENTRIES {
                self.left_out = true;
                return Ok(());
            }
            let Ok(stat) = statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let shown = format!("{prefix}{}", name.to_string_lossy());
            let kind = FileType::from_raw_mode(stat.st_mode);
            if kind != FileType::Directory {
                let mark = if kind == FileType::Symlink { "@" } else { "" };
                let size = u64::try_from(stat.st_size).unwrap_or_default();
                self.entries.push((format!("{shown}{mark}"), size));
                continue;
            }
            let shown = format!("{shown}/");
            self.entries.push((shown.clone(), 0));
            if depth + 1 >= DEEPEST {
                self.left_out = true;
                continue;
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat(directory, &name, flags, Mode::empty()) {
                Ok(below) => self.directory(&below, &shown, depth + 1)?,
                Err(_) => self.left_out = true,
            }
        }
        Ok(())
    }

    fn value(&self) -> Value {
        let entry = |(path, size): &(String, u64)| {
            let size = Value::Int(i64::try_from(*size).unwrap_or(i64::MAX));
            Value::record([("path", Value::from(path.as_str())), ("size", size)])
        };
        let reason = self.left_out.then_some("there is more than is listed");
        Value::list_with(self.entries.iter().map(entry), reason)
    }
}
