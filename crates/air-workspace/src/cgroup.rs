//! Control groups for a sandbox, where this process may make some. None is ever assumed.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::fs::{Access, access};

use air_checkpoint::store::unique;

/// Processes beside the agent's: bubblewrap, the supervisor, their threads.
pub(crate) const OWN_PROCESSES: u32 = 8;

/// Limits of a sandbox as a whole. Removed when dropped, once its processes have ended.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    made: Vec<PathBuf>,
    pub(crate) limits_memory: bool,
    pub(crate) limits_processes: bool,
}

impl Groups {
    /// Makes what can be made. Where the kernel limits the user's `processes` by itself, a group of
    /// its own for them only takes time.
    pub(crate) fn make(memory_bytes: u64, processes: u32, is_bound: bool) -> Self {
        // A little more, so that the supervisor comes first where it can and says why.
        let memory = memory_bytes.saturating_add(memory_bytes / 8).to_string();
        let pids = processes.saturating_add(OWN_PROCESSES).to_string();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mut groups = Self::default();
        if let Some(parent) = own_directory(&own, &mounts, "memory") {
            groups.limits_memory = groups.add(&parent, &[("memory.limit_in_bytes", &memory)]);
        }
        let parent = own_directory(&own, &mounts, "pids").filter(|_| !is_bound);
        if let Some(parent) = parent {
            groups.limits_processes = groups.add(&parent, &[("pids.max", &pids)]);
        }
        if !groups.limits_memory && !groups.limits_processes {
            let parents = unified(&own, &mounts);
            let set = [("memory.max", &*memory), ("pids.max", &*pids)];
            let done = parents.iter().any(|parent| groups.add(parent, &set));
            (groups.limits_memory, groups.limits_processes) = (done, done);
        }
        groups
    }

    /// The files that take the pids of those to be limited.
    pub(crate) fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.made.iter().map(|group| group.join("cgroup.procs"))
    }

    fn add(&mut self, parent: &Path, set: &[(&str, &str)]) -> bool {
        remove_left(parent);
        let group = parent.join(format!("air-{}-{}", std::process::id(), unique()));
        if fs::create_dir(&group).is_err() {
            return false;
        }
        let can_join = access(group.join("cgroup.procs"), Access::WRITE_OK).is_ok();
        // It must exist already: where the controller is another one it does not.
        let write = |(file, value): &(&str, &str)| {
            let mut file = fs::OpenOptions::new().write(true).open(group.join(file))?;
            io::Write::write_all(&mut file, value.as_bytes())
        };
        if !can_join || set.iter().map(write).any(|written| written.is_err()) {
            let _ = fs::remove_dir(&group);
            return false;
        }
        self.made.push(group);
        true
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(1);
        for group in &self.made {
            // Ended processes leave it a little later.
            while fs::remove_dir(group).is_err() && group.exists() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

/// Removes what processes that are gone could not.
fn remove_left(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix("air-")?.split('-').next());
        if pid
            .is_some_and(|pid| pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists())
        {
            // One that still has processes stays.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// This process's directory of a version 1 controller.
fn own_directory(own: &str, mounts: &str, controller: &str) -> Option<PathBuf> {
    let is_of = |list: &str| list.split(',').any(|name| name == controller);
    let path = own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        parts.next().filter(|list| is_of(list))?;
        parts.next()
    })?;
    let (root, place) = mounts.lines().find_map(|line| {
        let (place, kind) = mount(line)?;
        let options = kind.strip_prefix("cgroup ")?.split_whitespace().nth(1)?;
        is_of(options).then_some(place)
    })?;
    below(path, root, place)
}

/// Directories of the unified hierarchy, this process's first, that pass both controllers on and
/// that it may move processes in.
fn unified(own: &str, mounts: &str) -> Vec<PathBuf> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::"));
    let found = mounts.lines().find_map(|line| {
        let (place, kind) = mount(line)?;
        kind.starts_with("cgroup2 ").then_some(place)
    });
    let (Some(path), Some((root, place))) = (path, found) else { return Vec::new() };
    let Some(own) = below(path, root, place) else { return Vec::new() };
    let passes_on = |group: &Path| {
        let control = fs::read_to_string(group.join("cgroup.subtree_control"));
        let control = control.unwrap_or_default();
        let has = |name| control.split_whitespace().any(|one| one == name);
        let may_move = access(group.join("cgroup.procs"), Access::WRITE_OK).is_ok();
        has("memory") && has("pids") && may_move
    };
    let ancestors = own.ancestors().take_while(|group| group.starts_with(place));
    ancestors.filter(|group| passes_on(group)).map(Path::to_path_buf).collect()
}

/// What of the hierarchy is mounted where, and its kind, source and options.
fn mount(line: &str) -> Option<((&str, &str), &str)> {
    let (place, kind) = line.split_once(" - ")?;
    let mut fields = place.split(' ').skip(3);
    Some(((fields.next()?, fields.next()?), kind))
}

fn below(path: &str, root: &str, place: &str) -> Option<PathBuf> {
    let relative = Path::new(path).strip_prefix(root).ok()?;
    let inside = !relative.components().any(|part| part == std::path::Component::ParentDir);
    inside.then(|| Path::new(place).join(relative))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_directory_is_found_in_both_versions() {
        let own = "5:memory:/user/1\n4:cpu,pids:/\n0::/";
        let mounts = "32 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      33 31 0:30 /user /cg/pids rw shared:1 - cgroup none rw,cpu,pids\n";
        let memory = own_directory(own, mounts, "memory");
        assert_eq!(memory.as_deref(), Some(Path::new("/sys/fs/cgroup/memory/user/1")));
        assert_eq!(own_directory(own, mounts, "pids"), None, "it lies outside of what is mounted");
        assert_eq!(own_directory(own, mounts, "blkio"), None);
        assert!(unified(own, mounts).is_empty());
        assert_eq!(below("/a/../..", "/", "/sys"), None);
    }
}
