//! Trees over time: each checkpoint is what changed since the one before.

mod done;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use serde::{Deserialize, Serialize};

use crate::{
    apply::failpoint,
    blind::Covered,
    differences::{Difference, difference, differences},
    store::{private_directory, private_file, unique},
    tree::{Digest, Entry, Kind, Place, Tree, Unread},
};

pub use done::{Done, Position};

/// What a file of a checkpoint begins with. Readers refuse any other version.
const HEADER: &[u8] = b"air checkpoint 2\n";
/// What it begins with in every version.
const FORMAT: &[u8] = b"air checkpoint ";
/// After so many differences a whole tree is written again.
const CHAIN: u32 = 256;

/// The trees of one list of roots: the latest in memory, earlier ones on disk.
#[derive(Debug)]
pub struct Timeline {
    directory: PathBuf,
    tree: Tree,
    last: Option<String>,
    chain: u32,
    /// What the places that have changed since `last` held then.
    changed: BTreeMap<Place, Option<Entry>>,
    unread_changed: bool,
    /// What is known of [`Self::after`].
    afters: HashMap<String, String>,
    /// The same of what was on disk when it was first asked for: read once, and not at each step.
    earlier_afters: OnceLock<HashMap<String, String>>,
    is_behind: bool,
}

/// A checkpoint could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TimelineError {
    /// None of that name is held.
    #[error("checkpoint `{0}` is not held")]
    Unknown(String),
    /// It was not written to its end, or changed since.
    #[error("checkpoint `{0}` is torn")]
    Torn(String),
    /// It is not what was written.
    #[error("checkpoint `{name}` is damaged: {why}")]
    Damaged {
        /// Which.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// The file system.
    #[error("checkpoints in `{directory}`: {source}")]
    Io {
        /// Where.
        directory: PathBuf,
        /// Why.
        source: io::Error,
    },
}

#[derive(Serialize, Deserialize)]
struct Stored {
    parent: Option<String>,
    /// The checkpoint at which began what this is the end of.
    after: Option<String>,
    scanned_ns: i64,
    unread: Vec<Unread>,
    /// What places hold now; `None` of those that hold nothing any more.
    changes: Vec<(Place, Option<Entry>)>,
}

/// What a look covered.
#[derive(Debug, Clone)]
pub enum Scope {
    /// Everything.
    Everything,
    /// These places: the first alone, the second with all that is below them.
    Places(BTreeSet<Place>, BTreeSet<Place>),
}

impl Timeline {
    /// The timeline that is kept in `directory`; it goes on after its last checkpoint. A power
    /// failure may have torn what was written last: then after the last one that is whole, and what
    /// is torn is set aside.
    ///
    /// # Errors
    ///
    /// [`TimelineError::Damaged`] if another version wrote the last checkpoint.
    pub fn open(directory: &Path) -> Result<Self, TimelineError> {
        let mut timeline = Self::empty(directory);
        private_directory(directory).map_err(timeline.failed())?;
        let head = match fs::read(directory.join("head")) {
            Ok(head) => String::from_utf8_lossy(&head).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(timeline),
            Err(error) => return Err(timeline.failed()(error)),
        };
        let mut candidates = vec![head];
        let mut tried = false;
        while let Some(name) = candidates.pop() {
            match timeline.load(&name) {
                Ok((tree, chain)) => {
                    (timeline.tree, timeline.chain, timeline.last) = (tree, chain, Some(name));
                    break;
                }
                Err(TimelineError::Unknown(_) | TimelineError::Torn(_)) => {}
                Err(error) => return Err(error),
            }
            if !tried {
                (candidates, tried) = (timeline.oldest_first().map_err(timeline.failed())?, true);
            }
        }
        timeline.is_behind = tried;
        if tried {
            timeline.set_aside().map_err(timeline.failed())?;
        }
        Ok(timeline)
    }

    /// Whether what was written last was torn: there may have been later checkpoints than
    /// [`Self::last`].
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    fn oldest_first(&self) -> io::Result<Vec<String>> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if is_name(&name) {
                all.push((entry.metadata()?.modified()?, name));
            }
        }
        all.sort();
        Ok(all.into_iter().map(|(_, name)| name).collect())
    }

    /// Takes what is torn out of the way of [`Self::contents`].
    fn set_aside(&self) -> io::Result<()> {
        for name in self.oldest_first()? {
            if matches!(self.read(&name), Err(TimelineError::Torn(_))) {
                fs::rename(
                    self.directory.join(&name),
                    self.directory.join(format!("torn-{name}")),
                )?;
            }
        }
        match &self.last {
            Some(last) => self.put("head", last.as_bytes()),
            None => fs::remove_file(self.directory.join("head")),
        }
    }

    /// The latest look.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The last checkpoint, if there is one.
    pub fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// Takes what a look found in the place of what was known of its scope.
    pub fn observe(&mut self, scope: &Scope, found: Tree) {
        let touched: BTreeSet<Place> = match scope {
            Scope::Everything => {
                self.tree.entries.keys().chain(found.entries.keys()).cloned().collect()
            }
            Scope::Places(alone, below) => {
                let covered = below.iter().flat_map(|outer| {
                    self.tree.below(outer).map(|(place, _)| place.clone()).chain([outer.clone()])
                });
                covered.chain(alone.iter().cloned()).chain(found.entries.keys().cloned()).collect()
            }
        };
        let mut entries = found.entries;
        for place in touched {
            let now = entries.remove(&place);
            let before = match now.clone() {
                Some(now) => self.tree.entries.insert(place.clone(), now),
                None => self.tree.entries.remove(&place),
            };
            if before != now {
                self.changed.entry(place).or_insert(before);
            }
        }
        // Who looks at a directory alone does not list it.
        let is_listed = |place: &Place| {
            self.tree.entries.get(place).is_none_or(|entry| entry.kind != Kind::Directory)
        };
        let all_below: Covered<'_> = match scope {
            Scope::Everything => Covered::default(),
            Scope::Places(_, below) => below.iter().collect(),
        };
        let is_covered = |unread: &Unread| match scope {
            Scope::Everything => true,
            Scope::Places(alone, _) => {
                (alone.contains(&unread.place) && is_listed(&unread.place))
                    || all_below.covers(&unread.place)
            }
        };
        let again: HashSet<&Place> = found.unread.iter().map(|unread| &unread.place).collect();
        let old = self.tree.unread.iter();
        let old = old.filter(|unread| !is_covered(unread) && !again.contains(&unread.place));
        let mut unread: Vec<Unread> = old.cloned().collect();
        unread.extend(found.unread);
        self.unread_changed |= unread != self.tree.unread;
        self.tree.unread = unread;
        // What a partial look did not cover was seen earlier: its doubts remain.
        if matches!(scope, Scope::Everything) {
            self.tree.scanned_ns = found.scanned_ns;
        }
    }

    /// Remembers the latest look; its name.
    ///
    /// # Errors
    ///
    /// [`TimelineError::Io`]; then nothing has changed.
    pub fn checkpoint(&mut self) -> Result<String, TimelineError> {
        self.write(None)
    }

    fn write(&mut self, after: Option<&str>) -> Result<String, TimelineError> {
        if let Some(last) = &self.last
            && self.changed.is_empty()
            && !self.unread_changed
            && after.is_none_or(|after| after == last)
        {
            return Ok(last.clone());
        }
        let parent = self.last.clone().filter(|_| self.chain < CHAIN);
        let all =
            self.tree.entries.iter().map(|(place, entry)| (place.clone(), Some(entry.clone())));
        let some =
            self.changed.keys().map(|place| (place.clone(), self.tree.entries.get(place).cloned()));
        let stored = Stored {
            scanned_ns: self.tree.scanned_ns,
            unread: self.tree.unread.clone(),
            changes: if parent.is_some() { some.collect() } else { all.collect() },
            after: after.map(str::to_owned),
            parent,
        };
        let name = self.save(&stored).map_err(self.failed())?;
        self.chain = if stored.parent.is_some() { self.chain + 1 } else { 0 };
        self.last = Some(name.clone());
        self.changed.clear();
        self.unread_changed = false;
        Ok(name)
    }

    fn save(&self, stored: &Stored) -> io::Result<String> {
        let (digest, content) = seal(stored)?;
        let name: String = digest.chars().take(16).collect();
        self.put(&name, &content)?;
        self.comes_next(&name)?;
        // Written last: a crash before it leaves a checkpoint that nobody knows of.
        self.put("head", name.as_bytes())?;
        Ok(name)
    }

    fn put(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let unfinished = self.directory.join(format!("new-{}-{}", std::process::id(), unique()));
        private_file(&unfinished)?.write_all(content)?;
        failpoint::keeps();
        fs::rename(unfinished, self.directory.join(name))
    }

    /// The tree that a checkpoint remembers.
    ///
    /// # Errors
    ///
    /// [`TimelineError::Unknown`] and [`TimelineError::Damaged`].
    pub fn load_tree(&self, name: &str) -> Result<Tree, TimelineError> {
        if self.last.as_deref() == Some(name) {
            let mut tree = self.tree.clone();
            for (place, before) in &self.changed {
                match before {
                    Some(entry) => tree.entries.insert(place.clone(), entry.clone()),
                    None => tree.entries.remove(place),
                };
            }
            if !self.unread_changed {
                return Ok(tree);
            }
        }
        self.load(name).map(|(tree, _)| tree)
    }

    fn load(&self, name: &str) -> Result<(Tree, u32), TimelineError> {
        let mut chain = vec![self.read(name)?];
        while let Some(parent) = chain.last().and_then(|last| last.parent.clone()) {
            if chain.len() > usize::try_from(CHAIN).unwrap_or(usize::MAX) {
                let why = "its parents have no end".to_owned();
                return Err(TimelineError::Damaged { name: name.to_owned(), why });
            }
            chain.push(self.read(&parent)?);
        }
        let length = u32::try_from(chain.len()).unwrap_or(CHAIN).saturating_sub(1);
        let mut tree = Tree::default();
        for stored in chain.into_iter().rev() {
            for (place, entry) in stored.changes {
                match entry {
                    Some(entry) => tree.entries.insert(place, entry),
                    None => tree.entries.remove(&place),
                };
            }
            tree.scanned_ns = stored.scanned_ns;
            tree.unread = stored.unread;
        }
        Ok((tree, length))
    }

    fn read(&self, name: &str) -> Result<Stored, TimelineError> {
        let unknown = || TimelineError::Unknown(name.to_owned());
        // A name may come from outside.
        if !is_name(name) {
            return Err(unknown());
        }
        let content = match fs::read(self.directory.join(name)) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(unknown()),
            Err(error) => return Err(self.failed()(error)),
        };
        let known = content.starts_with(FORMAT);
        if known && !content.starts_with(HEADER) && content.len() >= HEADER.len() {
            let why = "another version".to_owned();
            return Err(TimelineError::Damaged { name: name.to_owned(), why });
        }
        unseal(&content).map_err(|_| TimelineError::Torn(name.to_owned()))
    }

    /// What differs between a checkpoint and the latest look, and what could not be looked at then.
    ///
    /// # Errors
    ///
    /// As [`Self::load_tree`].
    pub fn since<T>(
        &self,
        name: &str,
        each: impl FnOnce(&[Difference<'_>], &[Unread]) -> T,
    ) -> Result<T, TimelineError> {
        if self.last.as_deref() == Some(name) && !self.unread_changed && !self.touches_names() {
            let changed = self.changed.iter();
            let all: Vec<Difference<'_>> = changed
                .filter_map(|(place, before)| {
                    difference(place, before.as_ref(), self.tree.entries.get(place))
                })
                .collect();
            return Ok(each(&all, &self.tree.unread));
        }
        let before = self.load_tree(name)?;
        Ok(each(&differences(&before, &self.tree), &before.unread))
    }

    /// Whether files with several names are among what has changed.
    fn touches_names(&self) -> bool {
        let now = self.changed.keys().filter_map(|place| self.tree.entries.get(place));
        self.changed.values().flatten().chain(now).any(|entry| entry.links > 1)
    }

    /// The contents that checkpoints in a directory need, of which there may be none.
    ///
    /// # Errors
    ///
    /// If one cannot be read: then nothing is known of what it needs.
    pub fn contents(directory: &Path) -> Result<HashSet<Digest>, TimelineError> {
        if !directory.exists() {
            return Ok(HashSet::new());
        }
        let timeline = Self::empty(directory);
        let mut contents = HashSet::new();
        for name in timeline.names()? {
            let changes = timeline.read(&name)?.changes;
            let entries = changes.into_iter().filter_map(|(_, entry)| entry);
            contents.extend(entries.filter(|entry| entry.kept).filter_map(|entry| entry.digest));
        }
        Ok(contents)
    }

    fn empty(directory: &Path) -> Self {
        Self {
            directory: directory.to_path_buf(),
            tree: Tree::default(),
            last: None,
            chain: 0,
            changed: BTreeMap::new(),
            unread_changed: false,
            afters: HashMap::new(),
            earlier_afters: OnceLock::new(),
            is_behind: false,
        }
    }

    /// All checkpoints that are held, in no order.
    fn names(&self) -> Result<Vec<String>, TimelineError> {
        let entries = fs::read_dir(&self.directory).map_err(self.failed())?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        Ok(names.filter(|name| is_name(name)).collect())
    }

    fn failed(&self) -> impl Fn(io::Error) -> TimelineError + use<> {
        let directory = self.directory.clone();
        move |source| TimelineError::Io { directory: directory.clone(), source }
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// As it is written to a file, with its digest.
pub(crate) fn seal(what: &impl Serialize) -> io::Result<(String, Vec<u8>)> {
    let encoded = postcard::to_stdvec(what).map_err(io::Error::other)?;
    let digest = blake3::hash(&encoded).to_hex().to_string();
    let mut content = HEADER.to_vec();
    content.extend(digest.as_bytes());
    content.extend(zstd::encode_all(encoded.as_slice(), 1)?);
    Ok((digest, content))
}

/// What was sealed; an error says why it is not that.
pub(crate) fn unseal<T: for<'a> Deserialize<'a>>(content: &[u8]) -> Result<T, String> {
    let rest = content.strip_prefix(HEADER).ok_or("another version")?;
    let (digest, body) = rest.split_at_checked(64).ok_or("cut off")?;
    let body = zstd::decode_all(body).map_err(|error| error.to_string())?;
    if blake3::hash(&body).to_hex().as_bytes() != digest {
        return Err("its digest differs".to_owned());
    }
    postcard::from_bytes(&body).map_err(|error| error.to_string())
}
