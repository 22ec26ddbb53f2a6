//! Which file a content was taken from: copied, encoded, packed, in part.
//!
//! Labelled files, of the workspace and of the system, are sources; so is what was found to be one of
//! them encoded, under the name of its origin, so that two steps are seen as one. Any other file of the
//! workspace is recognised only where its whole content is repeated.

mod listing;
mod output;
mod paths;

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{self, Cursor, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    thread::JoinHandle,
};

use air_checkpoint::{Digest, Kind, Place, Root, beneath, overlay::Shown, store};
use air_core::fact::PathLabels;
use air_origin::{Limits, Match, Sources};
use rustix::fs::{Mode, OFlags};

pub(crate) use self::{
    output::Before,
    paths::{absolute, is_visible},
};
use crate::{
    effects::agent_path,
    layers::{Layers, WORKSPACE},
};

/// The largest source, in bytes. What of a larger one is copied is not recognised.
const SOURCE_BYTES: u64 = 64 << 20;
/// Bytes that are searched after one step; what is beyond has an unknown origin.
const STEP_BYTES: u64 = 256 << 20;

/// Where contents may come from, as long as a session lasts.
#[derive(Debug)]
pub(crate) struct Origins {
    labels: Arc<dyn PathLabels>,
    sources: Sources,
    /// What of each source has been read.
    read: HashMap<String, Key>,
    /// Labelled files of the workspace, looked for in the background.
    finding: Option<JoinHandle<paths::Labelled>>,
    found: Vec<Vec<u8>>,
    /// Directories of the workspace whose entries have labels.
    directories: Vec<Vec<u8>>,
    /// Why a source may be missing.
    incomplete: Option<String>,
    digests: HashMap<Key, Digest>,
}

/// What changes with a file's content: device, inode, size, change of content, change of anything.
type Key = (u64, u64, u64, i64, i64);

/// A file or directory beside the watched roots.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Beside {
    /// Where it is.
    pub(crate) host: PathBuf,
    /// What the agent calls it.
    pub(crate) shown: String,
}

/// What is known of one content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It repeats this file.
    From(String),
    /// It repeats none that is known.
    Nowhere,
    /// It could not be looked at wholly, and why.
    Unknown(String),
}

impl Origins {
    pub(crate) fn new(labels: Arc<dyn PathLabels>, workspace: Option<&Root>) -> Self {
        let finding = workspace.cloned().and_then(|root| {
            let labels = Arc::clone(&labels);
            let find = move || paths::labelled(&root, &*labels);
            std::thread::Builder::new().name("air-labels".to_owned()).spawn(find).ok()
        });
        Self {
            labels,
            sources: Sources::default(),
            read: HashMap::new(),
            finding,
            found: Vec::new(),
            directories: Vec::new(),
            incomplete: None,
            digests: HashMap::new(),
        }
    }

    /// Reads what has a label and is new or another than before: files outside of the roots, and
    /// those of the workspace as the user left them.
    pub(crate) fn refresh(&mut self, layers: &Layers, outside: &[Beside]) {
        if let Some(finding) = self.finding.take() {
            let found = finding.join().unwrap_or_default();
            (self.found, self.directories) = (found.files, found.directories);
            if !found.whole {
                let why = "not every labelled file of the workspace is known";
                self.incomplete.get_or_insert_with(|| why.to_owned());
            }
        }
        for Beside { host, shown } in outside {
            if self.labels.is_sensitive(shown)
                && let Ok(file) = open(host)
            {
                self.add(shown, file);
            }
        }
        let Some(root) = layers.workspace().cloned() else { return };
        for path in std::mem::take(&mut self.found) {
            if let Ok(file) = open_below(&root, &path) {
                self.add(&root.shown(&path), file);
            }
            self.found.push(path);
        }
    }

    fn add(&mut self, name: &str, mut file: File) {
        let Ok(key) = key(&file) else { return };
        if key.2 == 0 || self.read.get(name) == Some(&key) {
            return;
        }
        if key.2 > SOURCE_BYTES {
            let why = format!("{name} is too large for its copies to be recognised");
            self.incomplete.get_or_insert(why);
            return;
        }
        if self.sources.add(name, &mut file).is_ok() {
            self.read.insert(name.to_owned(), key);
        }
    }

    /// The origin of each file that appeared or changed, by place. What comes from a source is a
    /// source from now on.
    pub(crate) fn of(
        &mut self,
        layers: &Layers,
        shown: &[Shown],
        outside: &[Beside],
        mentioned: &[Place],
    ) -> HashMap<Place, Origin> {
        let mut exact = Exact::of(layers, shown, outside, mentioned);
        let mut origins = HashMap::new();
        let mut left = STEP_BYTES;
        for change in shown {
            let Some(now) = change.now.as_ref().filter(|now| now.kind == Kind::File) else {
                continue;
            };
            let same = |before: &air_checkpoint::Entry| {
                before.kind == Kind::File && before.digest.is_some() && before.digest == now.digest
            };
            if now.size == 0 || change.before.as_ref().is_some_and(same) {
                continue;
            }
            let own = agent_path(layers.roots(), &change.place);
            let mut origin = Origin::Unknown("too much changed to look at all of it".to_owned());
            if now.size <= left {
                left -= now.size;
                origin = self.trace(layers, change, &own);
            }
            if self.labels.is_sensitive(&own)
                && let Some(file) = layers.roots().get(change.place.0)
                && let Ok(file) = open_below(file, &change.place.1)
            {
                self.add(&own, file);
            }
            if origin != Origin::Nowhere || !exact.knows(now.size) {
                origins.insert(change.place.clone(), origin);
                continue;
            }
            let found = now.digest.and_then(|digest| exact.find(self, &digest, now.size, &own));
            origins.insert(change.place.clone(), found.map_or(Origin::Nowhere, Origin::From));
        }
        origins
    }

    fn trace(&mut self, layers: &Layers, change: &Shown, own: &str) -> Origin {
        let Some(root) = layers.roots().get(change.place.0) else { return Origin::Nowhere };
        let mut content = match open_below(root, &change.place.1) {
            Ok(file) => file,
            Err(error) => return Origin::Unknown(format!("it could not be read: {error}")),
        };
        let traced = self.sources.trace(&mut content, &Limits::default());
        let mut matches: Vec<_> =
            traced.matches.into_iter().filter(|found| found.name != own).collect();
        if let (Some(before), false) = (&change.before, matches.is_empty())
            && let Some(before) = layers.content(&change.place, before)
        {
            // What was in it before was not taken from there now.
            let earlier = self.sources.trace(&mut Cursor::new(before), &Limits::default()).matches;
            matches.retain(|found| {
                let same = earlier.iter().find(|other| other.name == found.name);
                same.is_none_or(|other| other.shared_bytes < found.shared_bytes)
            });
        }
        match (matches.into_iter().next(), traced.incomplete.or_else(|| self.incomplete.clone())) {
            (Some(found), _) => {
                let size = change.now.as_ref().map_or(0, |now| now.size);
                if is_encoded(&found, size)
                    && let Ok(mut copy) = open_below(root, &change.place.1)
                {
                    // Without it a second step is not recognised, and this one is.
                    let _ = self.sources.add(&found.name, &mut (&mut copy).take(SOURCE_BYTES));
                }
                Origin::From(found.name)
            }
            (None, Some(why)) => Origin::Unknown(why),
            (None, None) => Origin::Nowhere,
        }
    }

    /// The origin of bytes that were sent; `truncated` says that there were more.
    pub(crate) fn of_payload(&self, payload: &[u8], truncated: bool) -> Origin {
        let traced = self.sources.trace(&mut Cursor::new(payload), &Limits::default());
        let more = truncated.then(|| "not all that was sent was kept".to_owned());
        match traced.matches.into_iter().next() {
            Some(found) => Origin::From(found.name),
            None => more.or(traced.incomplete).map_or(Origin::Nowhere, Origin::Unknown),
        }
    }
}

/// Files by their whole content.
#[derive(Debug, Default)]
struct Exact {
    /// Paths by the digest of what was there.
    known: HashMap<Digest, Vec<String>>,
    /// Those that were not read yet, by size.
    files: HashMap<u64, Vec<(Where, String)>>,
    /// Those that were, by digest.
    read: HashMap<Digest, Vec<String>>,
    /// Of `known` and `files`.
    sizes: HashSet<u64>,
}

/// Where a file is.
#[derive(Debug)]
enum Where {
    /// Below a root: no link leads there.
    Below(Root, Vec<u8>),
    Beside(PathBuf),
}

impl Where {
    fn open(&self) -> io::Result<File> {
        match self {
            Self::Below(root, path) => open_below(root, path),
            Self::Beside(path) => open(path),
        }
    }
}

impl Exact {
    /// Files whose whole content may be repeated: those that changed or went, those that the call
    /// names, and those outside.
    fn of(layers: &Layers, shown: &[Shown], outside: &[Beside], mentioned: &[Place]) -> Self {
        let mut exact = Self::default();
        for change in shown {
            let before = change.before.as_ref().filter(|before| before.kind == Kind::File);
            let Some(before) = before.filter(|before| before.size > 0) else { continue };
            let path = agent_path(layers.roots(), &change.place);
            if let Some(digest) = before.digest {
                exact.sizes.insert(before.size);
                exact.known.entry(digest).or_default().push(path);
            } else if let Some(root) = layers.workspace().filter(|_| change.below) {
                // What the user still has is read only where something of its size has come.
                let place = Where::Below(root.clone(), change.place.1.clone());
                exact.add(place, before.size, path);
            }
        }
        for place in mentioned {
            let Some(root) = layers.roots().get(place.0) else { continue };
            let lower = layers.workspace().filter(|_| place.0 == WORKSPACE);
            for root in [Some(root), lower].into_iter().flatten() {
                let file = Where::Below(root.clone(), place.1.clone());
                if let Some(size) = size(&file) {
                    exact.add(file, size, root.shown(&place.1));
                }
            }
        }
        for Beside { host, shown } in outside {
            let file = Where::Beside(host.clone());
            if let Some(size) = size(&file) {
                exact.add(file, size, shown.clone());
            }
        }
        exact
    }

    fn add(&mut self, file: Where, size: u64, path: String) {
        self.sizes.insert(size);
        self.files.entry(size).or_default().push((file, path));
    }

    fn knows(&self, size: u64) -> bool {
        self.sizes.contains(&size)
    }

    fn find(
        &mut self,
        origins: &mut Origins,
        digest: &Digest,
        size: u64,
        own: &str,
    ) -> Option<String> {
        let known = self.known.get(digest).into_iter().flatten();
        if let Some(path) = known.into_iter().find(|path| *path != own) {
            return Some(path.clone());
        }
        for (file, path) in self.files.remove(&size).unwrap_or_default() {
            if let Some(digest) = origins.digest_of(&file) {
                self.read.entry(digest).or_default().push(path);
            }
        }
        self.read.get(digest).into_iter().flatten().find(|path| *path != own).cloned()
    }
}

impl Origins {
    fn digest_of(&mut self, file: &Where) -> Option<Digest> {
        let mut file = file.open().ok()?;
        let key = key(&file).ok()?;
        if let Some(digest) = self.digests.get(&key) {
            return Some(*digest);
        }
        let digest = store::digest(&mut file).ok()?;
        self.digests.insert(key, digest);
        Some(digest)
    }
}

/// Whether a content is little else than a copy in another form. A plain copy is recognised by its
/// source; and whatever else the agent put beside one must not pass for it later.
fn is_encoded(found: &Match, size: u64) -> bool {
    /// How much larger a copy may be, in halves: hexadecimal digits with some spaces.
    const HALVES: u64 = 5;
    !found.how.is_empty() && size.saturating_mul(2) <= found.shared_bytes.saturating_mul(HALVES)
}

fn key(file: &File) -> io::Result<Key> {
    let meta = file.metadata()?;
    let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000) + rest;
    let content = nanoseconds(meta.mtime(), meta.mtime_nsec());
    let anything = nanoseconds(meta.ctime(), meta.ctime_nsec());
    Ok((meta.dev(), meta.ino(), meta.len(), content, anything))
}

/// The size of a file that is one.
fn size(file: &Where) -> Option<u64> {
    file.open().ok()?.metadata().ok().map(|meta| meta.len())
}

/// Opens a file of the host, and nothing else: no link either. Never waits.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Opens a file below a root, without following a link.
pub(crate) fn open_below(root: &Root, path: &[u8]) -> io::Result<File> {
    let (parent, name) = beneath::split(path);
    let directory = beneath::directory(&beneath::root(&root.host)?, parent)?;
    let file = File::from(beneath::file(&directory, name)?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}
