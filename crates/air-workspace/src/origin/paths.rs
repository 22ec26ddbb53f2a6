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

/// The files below a root that have a label, as paths below it, and whether that is all of them.
pub(crate) fn labelled(root: &Root, labels: &dyn PathLabels) -> (Vec<Vec<u8>>, bool) {
    let (mut found, mut whole) = (Vec::new(), true);
    let Ok(top) = beneath::root(&root.host) else { return (found, false) };
    let mut pending = vec![Vec::new()];
    while let Some(path) = pending.pop() {
        let listed = beneath::directory(&top, &path).and_then(|fd| Ok(Dir::new(fd)?));
        let Ok(entries) = listed else {
            whole = false;
            continue;
        };
        for entry in entries {
            let Ok(entry) = entry else {
                whole = false;
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
                        found.push(below);
                    }
                }
                _ => {}
            }
            if found.len() >= MOST {
                return (found, false);
            }
        }
    }
    (found, whole)
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
