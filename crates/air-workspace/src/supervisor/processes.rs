//! The processes of the sandbox, from `/proc`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::ffi::OsStrExt,
    time::{Duration, Instant},
};

use air_core::port::Tier;
use rustix::process::{
    Pid, Signal, WaitOptions, kill_process, kill_process_group, setpriority_process, waitpid,
};

use super::{
    births::Births,
    stat::{self, Stat},
};
use crate::{escape::escape, protocol::Process};

/// How long those that are left are stopped or ended again before giving up: a fork may escape one
/// round.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a stopped process may take to come to the end of what the kernel does for it; one whose
/// disk does not answer takes for ever.
const BUSY: Duration = Duration::from_millis(100);
/// How much less than the supervisor a process gets of a processor that is fought for.
const NICE: i32 = 5;
/// Mapped files that are named for one process.
const MAPPED: usize = 4096;
/// How long programs may take to begin, and how often that is looked at: two looks have to agree.
const BEGINNING: Duration = Duration::from_millis(500);
const LOOK: Duration = Duration::from_millis(5);

/// One process and no later one with its pid: by the kernel's time of its start.
pub(super) type Known = (u32, u64);

/// What is not counted as left running.
#[derive(Debug, Clone, Default)]
pub(super) struct Spared {
    /// One process, and not what it has started.
    pub(super) interpreter: Option<u32>,
    /// Processes, and not what they have started since.
    pub(super) services: Vec<Known>,
}

impl Spared {
    fn pids(&self, all: &BTreeMap<u32, Stat>) -> BTreeSet<u32> {
        let is_it =
            |(pid, started): &&Known| all.get(pid).is_some_and(|stat| stat.started == *started);
        let services = self.services.iter().filter(is_it).map(|(pid, _)| *pid);
        services.chain(self.interpreter).collect()
    }
}

/// A process of the pid namespace with all that it has started.
pub(super) fn with_descendants(root: u32) -> Vec<Known> {
    let all = found(Tier::T3);
    let pids = descendants(&all, root).into_iter().chain([root]);
    pids.filter_map(|pid| Some((pid, all.get(&pid)?.started))).collect()
}

/// Waits until processes of the pid namespace and what they start are all waiting for something.
pub(super) fn settle(roots: &[u32]) {
    let deadline = Instant::now() + BEGINNING;
    let mut before = None;
    while Instant::now() < deadline {
        let all = found(Tier::T3);
        let pids: BTreeSet<u32> = roots
            .iter()
            .flat_map(|root| descendants(&all, *root).into_iter().chain([*root]))
            .collect();
        let is_waiting = |pid| all.get(pid).is_none_or(|stat| stat.state == 'S');
        let now = pids.iter().all(is_waiting).then_some(pids);
        if now.is_some() && now == before {
            return;
        }
        before = now;
        std::thread::sleep(LOOK);
    }
}

/// Everything alive but what is spared.
fn others(tier: Tier, spared: &Spared) -> BTreeMap<u32, Stat> {
    let mut all = found(tier);
    let spared = spared.pids(&all);
    all.retain(|pid, _| !spared.contains(pid));
    all
}

/// Pids of everything alive that this supervisor has to answer for.
pub(super) fn alive(tier: Tier) -> BTreeSet<u32> {
    found(tier).into_keys().collect()
}

fn found(tier: Tier) -> BTreeMap<u32, Stat> {
    let mut all = stat::all(stat::pids(), Stat::read, tier == Tier::T3);
    let me = std::process::id();
    match tier {
        // The pid namespace holds nothing else.
        Tier::T3 => all.retain(|pid, _| *pid != me),
        Tier::T1 | Tier::T2 => {
            let own = descendants(&all, me);
            all.retain(|pid, _| own.contains(pid));
        }
    }
    all
}

/// Whether there are more than `limit`, with ended ones that nobody has waited for: these use up pids
/// all the same. Quick where it matters: a fork bomb grows while it is counted.
pub(super) fn are_more_than(tier: Tier, limit: usize) -> bool {
    let Ok(entries) = fs::read_dir("/proc") else { return false };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    if tier == Tier::T3 {
        // One of them is this.
        return pids.take(limit.saturating_add(2)).map(|_: u32| ()).count() > limit + 1;
    }
    let all = pids.filter_map(|pid| Some((pid, Stat::of(pid)?))).collect();
    descendants(&all, std::process::id()).len() > limit
}

fn descendants(all: &BTreeMap<u32, Stat>, root: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::from([root]);
    loop {
        let before = found.len();
        for (pid, stat) in all {
            if found.contains(&stat.parent) {
                found.insert(*pid);
            }
        }
        if found.len() == before {
            found.remove(&root);
            return found;
        }
    }
}

/// Whether anything of the agent's runs but the one thread of an interpreter that waits for a step.
pub(super) fn may_write(tier: Tier, spared: &Spared) -> bool {
    let births = Births::now();
    let threads = |pid| fs::read_dir(format!("/proc/{pid}/task")).map_or(2, Iterator::count);
    // One that has ended has no thread.
    spared.interpreter.is_some_and(|pid| Stat::of(pid).is_some() && threads(pid) > 1)
        || !others(tier, spared).is_empty()
        // What forks and ends faster than the look has to be stopped to be seen.
        || !births.none_since()
}

/// Files that anything has mapped so that writing to memory writes to them; `None` where that
/// cannot be told of one.
pub(super) fn mapped(tier: Tier) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for pid in alive(tier) {
        all.extend(shared(pid)?);
    }
    Some(all)
}

/// All but `spared`, in the order in which they were started.
pub(super) fn describe_all(tier: Tier, spared: &Spared) -> Vec<Process> {
    let births = Births::now();
    let mut all: Vec<(u32, Stat)> = others(tier, spared).into_iter().collect();
    if all.is_empty() && !births.none_since() {
        all.extend(
            fleeting(spared.interpreter.as_slice()).and_then(|pid| Some((pid, Stat::of(pid)?))),
        );
    }
    all.sort_by_key(|(pid, stat)| (stat.started, *pid));
    all.into_iter().map(|(pid, stat)| describe(pid, stat)).collect()
}

fn describe(pid: u32, stat: Stat) -> Process {
    let cwd = fs::read_link(format!("/proc/{pid}/cwd")).ok();
    let cwd = cwd.map(|cwd| escape(cwd.as_os_str().as_bytes()));
    let (argv, shared) = (argv(pid), shared(pid));
    Process { pid, parent: stat.parent, argv, state: stat.state, cwd, shared }
}

/// Its command line; its name in brackets where it has none.
pub(super) fn argv(pid: u32) -> Vec<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    let mut argv: Vec<String> = Vec::new();
    if !line.is_empty() {
        let parts = line.split(|byte| *byte == 0).take(64);
        argv.extend(parts.map(|part| String::from_utf8_lossy(part).into_owned()));
    } else if let Ok(name) = fs::read_to_string(format!("/proc/{pid}/comm")) {
        argv.push(format!("[{}]", name.trim_end()));
    }
    argv
}

/// Files that it has mapped so that writing to its memory writes to them; `None` where that cannot
/// be told.
fn shared(pid: u32) -> Option<Vec<String>> {
    let maps = fs::read(format!("/proc/{pid}/maps")).ok()?;
    let mut files = BTreeSet::new();
    for line in maps.split(|byte| *byte == b'\n') {
        // Address, permissions, offset, device, inode; the name may hold anything.
        let Some(at) = line.iter().position(|byte| *byte == b'/') else { continue };
        let (fields, name) = line.split_at_checked(at)?;
        let permissions = fields.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        if permissions.get(1) == Some(&b'w') && permissions.get(3) == Some(&b's') {
            files.insert(escape(&unquoted(name)));
        }
        if files.len() > MAPPED {
            return None;
        }
    }
    Some(files.into_iter().collect())
}

/// The kernel writes a line break of a name as `\012`.
fn unquoted(name: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(b"\\012") {
            plain.push(b'\n');
            rest = after;
        } else {
            plain.push(*first);
            rest = after;
        }
    }
    plain
}

/// Stops everything; how many are stopped, and how many still run.
pub(super) fn freeze(tier: Tier) -> (u32, u32) {
    let begun = Instant::now();
    let deadline = begun + PATIENCE / 3;
    let mut before = BTreeSet::new();
    loop {
        let births = Births::now();
        // At once for all, so that no fork escapes it.
        signal_namespace(Signal::STOP);
        let now = found(tier);
        if tier != Tier::T3 {
            signal_each(&children(), Signal::STOP);
            signal_each(now.keys(), Signal::STOP);
        }
        let pids: BTreeSet<u32> = now.keys().copied().collect();
        let busy_too = begun.elapsed() > BUSY;
        let mut running = now.values().filter(|stat| !stat.is_still(busy_too)).count();
        let late = Instant::now() > deadline;
        let is_whole = births.none_since();
        // A tree that is walked may have grown meanwhile: two rounds have to agree.
        if running == 0 && (is_whole || pids == before) || late {
            running += usize::from(!is_whole && fleeting(&[]).is_some());
            if running == 0 || late {
                return (count(pids.len()), count(running));
            }
        }
        before = pids;
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// One of those that fork and end faster than `/proc` is read. No look at it finds them running, but
/// they keep ending as children of this process.
fn fleeting(awaited: &[u32]) -> Option<u32> {
    reap_orphans(awaited);
    std::thread::sleep(Duration::from_millis(4));
    let has_ended = |pid: &u32| Stat::of(*pid).is_some_and(Stat::has_ended);
    children().into_iter().find(|pid| !awaited.contains(pid) && has_ended(pid))
}

/// Lets everything go on.
pub(super) fn thaw(tier: Tier) -> u32 {
    let pids = alive(tier);
    signal_namespace(Signal::CONT);
    signal_each(&pids, Signal::CONT);
    count(pids.len())
}

/// Lets what is spared go on.
pub(super) fn let_go(tier: Tier, spared: &Spared) {
    signal_each(&spared.pids(&found(tier)), Signal::CONT);
}

/// Ends all but `spared`; how many were ended, and how many are left.
pub(super) fn end_all(tier: Tier, spared: &Spared) -> (u32, u32) {
    let deadline = Instant::now() + PATIENCE;
    let mut ended = BTreeSet::new();
    loop {
        let interpreter = spared.interpreter.as_slice();
        let births = Births::now();
        let mut left: BTreeSet<u32> = others(tier, spared).into_keys().collect();
        let may_escape = left.is_empty() && !births.none_since();
        left.extend(if may_escape { fleeting(interpreter) } else { None });
        if left.is_empty() || Instant::now() > deadline {
            return (count(ended.len()), count(left.len()));
        }
        // One that was never seen running counts as one.
        ended.extend(left);
        end_round(tier, spared);
        reap_orphans(interpreter);
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Ends what is there: in a pid namespace at once, elsewhere one by one, stopped first.
fn end_round(tier: Tier, spared: &Spared) {
    let spares = spared.interpreter.is_some() || !spared.services.is_empty();
    signal_namespace(if spares { Signal::STOP } else { Signal::KILL });
    if tier != Tier::T3 {
        freeze(tier);
    }
    signal_each(others(tier, spared).keys(), Signal::KILL);
    if tier != Tier::T3 {
        chase(spared.interpreter);
    }
    if spares {
        let_go(tier, spared);
    }
}

/// Ends those that fork and end faster than `/proc` is read: orphans of the tree become children of
/// this process, which the kernel lists at once.
fn chase(spared: Option<u32>) {
    let until = Instant::now() + Duration::from_millis(100);
    while Instant::now() < until {
        let mut pids = children();
        pids.retain(|pid| Some(*pid) != spared);
        if pids.is_empty() {
            return;
        }
        signal_each(&pids, Signal::KILL);
        reap_orphans(spared.as_slice());
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

pub(super) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // One that has ended by itself needs no signal.
        let _ = kill_process(pid, signal);
    }
}

/// Gives way to the supervisor, which has to get its turn beside a fork bomb.
pub(super) fn yield_to_supervisor(pid: u32) {
    // Without it everything is only slower.
    let _ = setpriority_process(i32::try_from(pid).ok().and_then(Pid::from_raw), NICE);
}

fn signal_each<'a>(pids: impl IntoIterator<Item = &'a u32>, kind: Signal) {
    for pid in pids {
        signal(*pid, kind);
    }
}

/// Ends the process group that `pid` leads.
pub(super) fn end_group(pid: u32) {
    if let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw)
        && group != Pid::INIT
    {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Signals everything in the pid namespace at once, which no fork escapes. Only as its pid 1:
/// elsewhere it would reach processes that are not ours.
fn signal_namespace(signal: Signal) {
    if std::process::id() == 1 {
        // The group of pid 1 is `kill(-1)`.
        let _ = kill_process_group(Pid::INIT, signal);
    }
}

/// Takes leave of ended processes whose parents ended before, and not of `awaited`.
pub(super) fn reap_orphans(awaited: &[u32]) {
    children().into_iter().filter(|pid| !awaited.contains(pid)).for_each(reap);
}

/// Takes leave of a child, if it has ended.
pub(super) fn reap(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // One that runs on stays.
        let _ = waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

/// Children of this process, which has one thread.
fn children() -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/self/task/{}/children", std::process::id()));
    list.unwrap_or_default().split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader},
        process::{Command, Stdio},
    };

    use super::*;
    use crate::escape::unescape;

    const MAPS: &str = "import mmap, os, sys, time
directory = sys.argv[1].encode()
keep = []
for name, access in ((b'shared', 1), (b'odd\\n\\xff%', 1), (b'read', 2), (b'own', 3)):
    with open(directory + b'/' + name, 'wb+') as file:
        file.write(b'x' * 4096); file.flush()
        kinds = {1: mmap.ACCESS_WRITE, 2: mmap.ACCESS_READ, 3: mmap.ACCESS_COPY}
        keep.append(mmap.mmap(file.fileno(), 4096, access=kinds[access]))
os.chdir(directory)
print('ready', flush=True)
time.sleep(60)";

    #[test]
    fn a_process_is_described() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let mut command = Command::new("python3");
        command.arg("-c").arg(MAPS).arg(&folder).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let all = describe_all(Tier::T2, &Spared::default());
        let seen = all.iter().find(|one| one.pid == child.id()).unwrap().clone();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(seen.parent, std::process::id());
        assert!("RS".contains(seen.state), "{seen:?}");
        assert_eq!(unescape(&seen.cwd.unwrap()), folder.as_os_str().as_bytes());
        let at = |name: &[u8]| [folder.as_os_str().as_bytes(), b"/", name].concat();
        let shared: Vec<Vec<u8>> = seen.shared.unwrap().iter().map(|path| unescape(path)).collect();
        assert!(shared.contains(&at(b"shared")) && shared.contains(&at(b"odd\n\xff%")));
        assert!(!shared.contains(&at(b"read")) && !shared.contains(&at(b"own")));
    }
}
