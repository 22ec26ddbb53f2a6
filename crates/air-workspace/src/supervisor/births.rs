//! Whether anything was started meanwhile, as the kernel counts it.

use std::fs;

/// The last pid that was given in this pid namespace, for a process or a thread.
///
/// A look at `/proc` misses what forks and ends faster than it is read. Where a look finds nothing
/// alive and no pid was given from before it to after it, then nothing can have escaped it: whatever
/// was alive before would have been seen, or has ended without an heir.
#[derive(Debug, Clone, Copy)]
pub(super) struct Births(Option<u32>);

impl Births {
    pub(super) fn now() -> Self {
        let last = fs::read_to_string("/proc/sys/kernel/ns_last_pid");
        Self(last.ok().and_then(|last| last.trim().parse().ok()))
    }

    /// Whether it is certain that nothing was started since.
    pub(super) fn none_since(self) -> bool {
        self.0.is_some() && self.0 == Self::now().0
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn whatever_is_started_counts() {
        let before = Births::now();
        Command::new("true").status().unwrap();
        assert!(!before.none_since());
        let before = Births::now();
        std::thread::spawn(|| ()).join().unwrap();
        assert!(!before.none_since());
    }
}
