//! What the kernel says of processes, one by one.

use std::{collections::BTreeMap, fs, io};

use rustix::io::Errno;

/// Stands for processes of which nothing can be told: no process has it.
const UNSEEN: u32 = u32::MAX;

/// What the kernel says of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) state: char,
    pub(super) parent: u32,
    pub(super) started: u64,
}

impl Stat {
    /// Of one that is there and of which nothing more can be told, it is to be assumed that it runs.
    const UNKNOWN: Self = Self { state: 'R', parent: 0, started: 0 };

    /// `None` where there is no such process, or nothing can be told of it.
    pub(super) fn of(pid: u32) -> Option<Self> {
        Self::read(pid).ok().flatten()
    }

    /// `None` where there is no such process.
    pub(super) fn read(pid: u32) -> io::Result<Option<Self>> {
        match fs::read_to_string(format!("/proc/{pid}/stat")) {
            Ok(text) => Self::parse(pid, &text).map(Some).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, format!("`{text}` is no process"))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            // It ended between opening and reading.
            Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn parse(pid: u32, text: &str) -> Option<Self> {
        // The name is in parentheses and may contain anything, a parenthesis too.
        let (_, rest) = text.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let threads: u32 = fields.nth(15)?.parse().ok()?;
        let started = fields.nth(1)?.parse().ok()?;
        let state = if state == 'Z' && threads > 1 { state_of_threads(pid) } else { state };
        Some(Self { state, parent, started })
    }

    pub(super) fn has_ended(self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// Whether it runs no code of its own before it is continued. One that the kernel is busy for
    /// may still be in the midst of a write.
    pub(super) fn is_still(self, busy_too: bool) -> bool {
        self.has_ended() || matches!(self.state, 'T' | 't') || busy_too && self.state == 'D'
    }
}

/// The state of a process whose first thread has ended and others have not: of the one that is the
/// farthest from still.
fn state_of_threads(pid: u32) -> char {
    let threads = match fs::read_dir(format!("/proc/{pid}/task")) {
        Ok(threads) => threads,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return 'Z',
        Err(_) => return 'R',
    };
    let states = threads.flatten().filter_map(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    });
    states
        .max_by_key(|state| match state {
            'Z' | 'X' | 'x' => 0,
            'T' | 't' => 1,
            'D' => 2,
            _ => 3,
        })
        .unwrap_or('Z')
}

/// What `/proc` lists.
pub(super) fn pids() -> io::Result<Vec<u32>> {
    let mut pids = Vec::new();
    for entry in fs::read_dir("/proc")? {
        pids.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    Ok(pids)
}

/// All of `pids` that have not ended. Where they are `own`, so that nobody else's are among them, one
/// that cannot be looked at counts as running: a tool may have used up what looking takes.
pub(super) fn all(
    pids: io::Result<Vec<u32>>,
    read: impl Fn(u32) -> io::Result<Option<Stat>>,
    own: bool,
) -> BTreeMap<u32, Stat> {
    let Ok(pids) = pids else {
        return own.then_some((UNSEEN, Stat::UNKNOWN)).into_iter().collect();
    };
    let stats = pids.into_iter().filter_map(|pid| match read(pid) {
        Ok(stat) => Some((pid, stat?)),
        Err(_) => own.then_some((pid, Stat::UNKNOWN)),
    });
    stats.filter(|(_, stat)| !stat.has_ended()).collect()
}

#[cfg(test)]
mod tests {
    use std::{process::Command, thread, time::Duration};

    use super::*;

    const RUNS: Stat = Stat { state: 'S', parent: 1, started: 7 };

    #[test]
    fn what_cannot_be_looked_at_runs() {
        let full = || io::Error::from_raw_os_error(Errno::MFILE.raw_os_error());
        let read = |pid| match pid {
            1 => Ok(Some(RUNS)),
            2 => Ok(None),
            3 => Ok(Some(Stat { state: 'Z', ..RUNS })),
            _ => Err(full()),
        };
        let seen = all(Ok(vec![1, 2, 3, 4]), read, true);
        assert_eq!(seen, BTreeMap::from([(1, RUNS), (4, Stat::UNKNOWN)]));
        assert_eq!(all(Err(full()), read, true), BTreeMap::from([(UNSEEN, Stat::UNKNOWN)]));
        // Among those of others nothing is taken for one's own.
        assert_eq!(all(Ok(vec![1, 4]), read, false), BTreeMap::from([(1, RUNS)]));
        assert!(all(Err(full()), read, false).is_empty());
    }

    #[test]
    fn a_process_whose_first_thread_has_ended_is_alive() {
        const CODE: &str = "import ctypes, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
ctypes.CDLL(None).pthread_exit(None)";
        let mut child = Command::new("python3").args(["-c", CODE]).spawn().unwrap();
        let ended_first = |pid: u32| {
            let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
            text.rsplit_once(") ").unwrap().1.starts_with('Z')
        };
        for _ in 0..1000 {
            if ended_first(child.id()) {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        assert!(ended_first(child.id()));
        assert!(!Stat::of(child.id()).unwrap().has_ended());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(Stat::of(child.id()), None);
    }
}
