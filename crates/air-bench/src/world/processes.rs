//! What runs in a sandbox, as the host sees it.

use std::{collections::BTreeMap, fs};

/// One process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    /// Its name for the kernel: 15 bytes at most.
    pub(crate) name: String,
    pub(crate) argv: Vec<String>,
}

/// The processes below `first`, itself aside. Those that have ended and were not waited for are not
/// among them.
pub(crate) fn below(first: u32) -> Vec<Process> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    for pid in pids {
        if let Some(parent) = parent_of(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let (mut all, mut open) = (Vec::new(), vec![first]);
    while let Some(pid) = open.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            all.extend(read(child));
            open.push(child);
        }
    }
    all
}

/// The parent of a process that has not ended.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in brackets, and may hold any.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (!["Z", "X"].contains(&state)).then_some(parent)
}

fn read(pid: u32) -> Option<Process> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    let argv = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let argv = argv.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    let argv = argv.map(|part| String::from_utf8_lossy(part).into_owned()).collect();
    Some(Process { name: name.trim_end().to_owned(), argv })
}

impl Process {
    /// Whether it is the service of that name.
    pub(crate) fn is_service(&self, name: &str) -> bool {
        let cut: String = name.chars().take(15).collect();
        let first = self.argv.first().map(String::as_str).unwrap_or_default();
        self.name == cut || first == name || first.rsplit('/').next() == Some(name)
    }

    /// Whether it is the sandbox's own: its supervisor, or the interpreter that waits for calls.
    pub(crate) fn is_of_the_sandbox(&self) -> bool {
        let own = |part: &String| part.starts_with("/air/") && !part.starts_with("/air/steps/");
        self.name == "bwrap" || self.argv.iter().any(own)
    }
}
