//! Paths as the agent means them, and which of them hold what must not turn up elsewhere.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
};

use air_checkpoint::{Root, beneath};
use air_core::fact::PathLabels;
use rustix::fs::{Dir, FileType};

use crate::bwrap;

/// Labelled files of one workspace that are known; beyond, some copies are not recognised.
const MOST: usize = 10_000;

/// Directories of one workspace that are known.
const MOST_DIRECTORIES: usize = 2_000;

/// What below a root has a label, as paths below it.
#[derive(Debug, Default)]
pub(crate) struct Labelled {
    pub(crate) files: Vec<Vec<u8>>,
    /// Those whose entries have one.
    pub(crate) directories: Vec<Vec<u8>>,
    /// Whether that is all.
    pub(crate) whole: bool,
}

/// Looks for what has a label below a root.
pub(crate) fn labelled(root: &Root, labels: &dyn PathLabels) -> Labelled {
    let mut found = Labelled { whole: true, ..Labelled::default() };
    let Ok(top) = beneath::root(&root.host) else { return Labelled::default() };
    let mut pending = vec![Vec::new()];
    while let Some(path) = pending.pop() {
        let entry = root.agent.join(OsStr::from_bytes(&path)).join("entry");
        if found.directories.len() < MOST_DIRECTORIES
            && labels.is_sensitive(&entry.to_string_lossy())
        {
            found.directories.push(path.clone());
        }
        let listed = beneath::directory(&top, &path).and_then(|fd| Ok(Dir::new(fd)?));
        let Ok(entries) = listed else {
            found.whole = false;
            continue;
        };
        for entry in entries {
            let Ok(entry) = entry else {
                found.whole = false;
                break;
            };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let mut below = path.clone();
            if !below.is_empty() {
                below.push(b'/');
            }
            below.extend_from_slice(name);
            match entry.file_type() {
                FileType::Directory => pending.push(below),
                FileType::RegularFile | FileType::Unknown => {
                    let path = root.agent.join(OsStr::from_bytes(&below));
                    if labels.is_sensitive(&path.to_string_lossy()) {
                        found.files.push(below);
                    }
                }
                _ => {}
            }
            if found.files.len() >= MOST {
                return Labelled { whole: false, ..found };
            }
        }
    }
    found
}

/// Whether a tool can read this path of the host at all.
pub(crate) fn is_visible(path: &Path, more: &[PathBuf]) -> bool {
    let system = bwrap::SYSTEM.iter().any(|directory| path.starts_with(directory));
    let denied = bwrap::DENIED.iter().any(|denied| path == Path::new(denied));
    (system || more.iter().any(|directory| path.starts_with(directory))) && !denied
}

/// `path` as the agent means it from `cwd`, without `.` and `..`.
pub(crate) fn absolute(cwd: &Path, home: &Path, path: &str) -> PathBuf {
    let joined = match path.strip_prefix("~/") {
        Some(below) => home.join(below),
        None => cwd.join(path),
    };
    let mut plain = PathBuf::new();
    for part in joined.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}
