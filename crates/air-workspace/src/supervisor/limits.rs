//! Limits that every process of a session inherits, and what they use together.

use std::{fs, path::Path};

use rustix::process::{Resource, Rlimit, setrlimit};

use super::processes;
use crate::protocol::Settings;

/// Sets the limits of this process, and so of all that it starts. One that cannot be set was lower
/// before.
pub(super) fn set(settings: &Settings) {
    let set = |resource, value| {
        let _ = setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) });
    };
    let limits = &settings.limits;
    set(Resource::Core, 0);
    set(Resource::As, limits.memory_bytes);
    set(Resource::Fsize, limits.file_bytes);
    set(Resource::Cpu, limits.cpu_s);
    set(Resource::Nofile, limits.open_files);
    set(Resource::Nproc, limits.nproc);
}

/// Why everything has to be ended, if it has to. `services` run beside what is counted.
pub(super) fn exceeded(settings: &Settings, services: usize) -> Option<String> {
    let limits = &settings.limits;
    let processes = usize::try_from(limits.processes).unwrap_or(usize::MAX);
    if processes::are_more_than(settings.tier, processes.saturating_add(services)) {
        return Some(format!("more than {processes} processes: all were ended"));
    }
    let pids = processes::alive(settings.tier);
    let shared = shared_memory();
    let sum = |of: fn(u32) -> u64| pids.iter().map(|pid| of(*pid)).sum::<u64>() + shared;
    // Pages that processes share are counted once only by the slower way.
    let limit = limits.total_memory_bytes;
    (sum(resident) > limit && sum(proportional) > limit)
        .then(|| format!("more than {} MiB of memory: all were ended", limit >> 20))
}

fn resident(pid: u32) -> u64 {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
    pages.unwrap_or(0).saturating_mul(page)
}

fn proportional(pid: u32) -> u64 {
    let Ok(text) = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) else {
        return resident(pid);
    };
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

/// What fills `/dev/shm`, which is the sandbox's own only in a mount namespace.
fn shared_memory() -> u64 {
    let shm = Path::new("/dev/shm");
    if std::process::id() != 1 {
        return 0;
    }
    rustix::fs::statvfs(shm)
        .map_or(0, |stat| stat.f_blocks.saturating_sub(stat.f_bfree).saturating_mul(stat.f_frsize))
}
