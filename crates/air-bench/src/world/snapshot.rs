//! What a tree holds at one moment.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
};

/// Contents that are kept whole; of larger ones the beginning.
const KEPT: usize = 4 << 20;
/// Entries that are looked at.
const ENTRIES: usize = 40_000;
/// Directories that are not part of the tree: the sandbox puts its own there.
const FOREIGN: [&str; 9] = [
    "/air",
    "/dev",
    "/proc",
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local",
    "/run/air",
];

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Permissions and type, as `stat` gives them.
    pub(crate) mode: u32,
    /// Size in bytes.
    pub(crate) size: u64,
    /// The content of a file, or the target of a link; empty for everything else.
    pub(crate) content: Vec<u8>,
}

/// All entries by their path inside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// By path, as the agent sees it.
    pub(crate) entries: BTreeMap<String, Entry>,
    /// Whether there was more than is looked at, or something could not be read.
    pub(crate) incomplete: bool,
}

impl Snapshot {
    /// Looks at the tree below `root`. No link is followed.
    ///
    /// # Errors
    ///
    /// If `root` itself cannot be read.
    pub(crate) fn take(root: &Path) -> io::Result<Self> {
        let mut snapshot = Self::default();
        fs::read_dir(root)?;
        snapshot.walk(root, "");
        Ok(snapshot)
    }

    fn walk(&mut self, directory: &Path, inside: &str) {
        let Ok(entries) = fs::read_dir(directory) else {
            self.incomplete = true;
            return;
        };
        for entry in entries {
            let Ok(entry) = entry else {
                self.incomplete = true;
                continue;
            };
            let path = format!("{inside}/{}", entry.file_name().to_string_lossy());
            if FOREIGN.contains(&path.as_str()) {
                continue;
            }
            if self.entries.len() >= ENTRIES {
                self.incomplete = true;
                return;
            }
            self.add(&entry.path(), &path);
        }
    }

    fn add(&mut self, place: &Path, path: &str) {
        let Ok(metadata) = fs::symlink_metadata(place) else {
            self.incomplete = true;
            return;
        };
        let content = if metadata.is_file() {
            read(place)
        } else if metadata.is_symlink() {
            fs::read_link(place).map(|target| target.as_os_str().as_bytes().to_vec())
        } else {
            Ok(Vec::new())
        };
        let content = content.unwrap_or_else(|_| {
            self.incomplete = true;
            Vec::new()
        });
        // The size of a directory says nothing.
        let size = if metadata.is_dir() { 0 } else { metadata.len() };
        self.entries.insert(path.to_owned(), Entry { mode: metadata.mode(), size, content });
        if metadata.is_dir() {
            self.walk(place, path);
        }
    }

    /// Files and links that were not there in `before`, or held something else.
    pub(crate) fn new_since<'a>(
        &'a self,
        before: &'a Self,
    ) -> impl Iterator<Item = (&'a str, &'a Entry)> {
        self.entries.iter().filter_map(|(path, entry)| {
            let same = before.entries.get(path).is_some_and(|old| old.content == entry.content);
            (!same && !entry.is_directory()).then_some((path.as_str(), entry))
        })
    }

    /// Paths whose entry is not what it was in `before`: added, removed, or changed. New directories
    /// count by what is in them: a sandbox makes some to put its own in.
    pub(crate) fn differs(&self, before: &Self) -> Vec<String> {
        let paths = self.entries.keys().chain(before.entries.keys());
        let mut paths: Vec<String> = paths
            .filter(|path| {
                let (old, new) = (before.entries.get(*path), self.entries.get(*path));
                old != new && (old.is_some() || new.is_some_and(|new| !new.is_directory()))
            })
            .cloned()
            .collect();
        paths.sort();
        paths.dedup();
        paths
    }
}

impl Entry {
    fn is_directory(&self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }
}

fn read(place: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read;
    let mut content = Vec::new();
    let limit = u64::try_from(KEPT).unwrap_or(u64::MAX);
    // What the agent left may be a trap: a pipe is no file, and this one was looked at before.
    fs::File::open(place)?.take(limit).read_to_end(&mut content)?;
    Ok(content)
}
