//! Which file a content was copied from.

use std::{
    collections::HashMap,
    fs::File,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Component, Path, PathBuf},
};

use air_core::{effects::Change, fact::PathLabels};

use crate::{
    bwrap,
    effects::{Difference, agent_path},
    manifest::{Kind, Manifest},
    scan::Root,
    store,
};

/// Digests of files outside of the roots, by what changes with their content.
pub(crate) type Cache = HashMap<(PathBuf, u64, u64, i64, i64), String>;

/// Where contents may come from.
pub(crate) struct Origins<'a> {
    roots: &'a [Root],
    labels: &'a dyn PathLabels,
    /// The digest, whether it is in the checkpoint, the place's root, the path.
    by_digest: HashMap<&'a str, Vec<(usize, String)>>,
    outside: Vec<Outside>,
    cache: &'a mut Cache,
}

struct Outside {
    path: PathBuf,
    size: u64,
}

impl<'a> Origins<'a> {
    pub(crate) fn new(
        roots: &'a [Root],
        labels: &'a dyn PathLabels,
        before: &'a Manifest,
        outside: impl Iterator<Item = PathBuf>,
        cache: &'a mut Cache,
    ) -> Self {
        let mut by_digest: HashMap<&str, Vec<(usize, String)>> = HashMap::new();
        for (place, entry) in &before.entries {
            if let (Some(digest), true) = (&entry.digest, entry.size > 0) {
                let candidate = (place.0, agent_path(roots, place));
                by_digest.entry(digest).or_default().push(candidate);
            }
        }
        let outside = outside.filter_map(|path| {
            let found = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
            Some(Outside { size: found.len(), path })
        });
        Self { roots, labels, by_digest, outside: outside.collect(), cache }
    }

    /// The file whose content this one repeats. A labelled one is preferred, then one of the same
    /// root.
    pub(crate) fn of(&mut self, difference: &Difference<'_>) -> Option<String> {
        if difference.change == Change::Deleted {
            return None;
        }
        let now = difference.now.filter(|now| now.kind == Kind::File && now.size > 0)?;
        let digest = now.digest.as_deref()?;
        if difference.before.is_some_and(|before| before.digest.as_deref() == Some(digest)) {
            return None;
        }
        let own = agent_path(self.roots, difference.place);
        let mut candidates = self.by_digest.get(digest).cloned().unwrap_or_default();
        candidates.retain(|(_, path)| *path != own);
        for outside in self.outside.iter().filter(|outside| outside.size == now.size) {
            if digest_of(self.cache, &outside.path).as_deref() == Some(digest) {
                candidates.push((usize::MAX, outside.path.to_string_lossy().into_owned()));
            }
        }
        let root = difference.place.0;
        candidates
            .into_iter()
            .min_by_key(|(from, path)| (self.labels.labels(path).is_empty(), *from != root))
            .map(|(_, path)| path)
    }
}

/// The digest of a file outside of the roots, as long as it can be read.
fn digest_of(cache: &mut Cache, path: &Path) -> Option<String> {
    let no_wait = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).ok()?;
    let mut file = File::options().read(true).custom_flags(no_wait).open(path).ok()?;
    let now = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let changed = now.ctime().saturating_mul(1_000_000_000).saturating_add(now.ctime_nsec());
    let key = (path.to_path_buf(), now.ino(), now.len(), now.mtime(), changed);
    if let Some(digest) = cache.get(&key) {
        return Some(digest.clone());
    }
    let digest = store::digest(&mut file).ok()?;
    cache.insert(key, digest.clone());
    Some(digest)
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
