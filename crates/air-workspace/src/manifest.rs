//! What the watched roots hold at one moment, and its form on disk.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use air_core::id::CheckpointId;
use serde::{Deserialize, Serialize};

use crate::store::{private_directory, private_file, unique};

/// Readers refuse any other.
const VERSION: u32 = 1;

/// Index of a watched root, and the path below it; the root itself has an empty one.
pub(crate) type Place = (usize, Vec<u8>);

#[derive(Debug, Clone, Default)]
pub(crate) struct Manifest {
    /// When the scan began, in nanoseconds since the Unix epoch.
    pub(crate) scanned_ns: i64,
    pub(crate) entries: BTreeMap<Place, Entry>,
    /// What could not be looked at, so that nothing is known of it.
    pub(crate) unread: Vec<Unread>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Unread {
    pub(crate) root: usize,
    /// Escaped.
    pub(crate) path: String,
    pub(crate) why: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) mode: u32,
    pub(crate) size: u64,
    pub(crate) mtime_ns: i64,
    pub(crate) ctime_ns: i64,
    pub(crate) inode: u64,
    pub(crate) device: u64,
    /// Of a regular file that could be read.
    pub(crate) digest: Option<String>,
    /// Whether the content is held.
    pub(crate) kept: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    File,
    Directory,
    /// With its target, escaped.
    Link(String),
    Fifo,
    /// A socket or device: it cannot be put back.
    Other,
}

impl Entry {
    /// Whether the agent would call it the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let content = self.kind != Kind::File
            || match (&self.digest, &other.digest) {
                (Some(one), Some(another)) => one == another,
                _ => self.size == other.size && self.mtime_ns == other.mtime_ns,
            };
        let mode = matches!(self.kind, Kind::Link(_)) || self.mode == other.mode;
        self.kind == other.kind && content && mode
    }

    /// Whether it can be put back from what is held.
    pub(crate) fn is_restorable(&self) -> bool {
        match self.kind {
            Kind::File => self.kept,
            Kind::Directory | Kind::Link(_) | Kind::Fifo => true,
            Kind::Other => false,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    scanned_ns: i64,
    unread: Vec<Unread>,
    entries: Vec<(usize, String, Entry)>,
}

impl Manifest {
    /// Its name: the same content has the same one.
    pub(crate) fn save(&self, state: &Path) -> io::Result<CheckpointId> {
        let entries: Vec<_> = self
            .entries
            .iter()
            .map(|((root, path), entry)| (*root, escape(path), entry.clone()))
            .collect();
        let name = blake3::hash(&serde_json::to_vec(&entries)?).to_hex();
        let id = CheckpointId::from(name.chars().take(16).collect::<String>().as_str());
        let path = path_of(state, &id)?;
        if path.exists() {
            return Ok(id);
        }
        let stored = Stored {
            version: VERSION,
            scanned_ns: self.scanned_ns,
            unread: self.unread.clone(),
            entries,
        };
        let folder = state.join("checkpoints");
        private_directory(&folder)?;
        let unfinished = folder.join(format!("new-{}-{}", std::process::id(), unique()));
        let content = zstd::encode_all(serde_json::to_vec(&stored)?.as_slice(), 1)?;
        private_file(&unfinished)?.write_all(&content)?;
        fs::rename(unfinished, path)?;
        Ok(id)
    }

    /// Whether entries at or below `place` may be there and not in the manifest.
    pub(crate) fn is_blind_at(&self, place: &Place) -> bool {
        self.unread.iter().any(|unread| {
            let path = unescape(&unread.path);
            let rest = place.1.strip_prefix(path.as_slice());
            unread.root == place.0
                && rest.is_some_and(|rest| {
                    path.is_empty() || rest.is_empty() || rest.starts_with(b"/")
                })
        })
    }

    /// What was saved; `None` if there is none of that name.
    pub(crate) fn load(state: &Path, id: &CheckpointId) -> io::Result<Option<Self>> {
        let Ok(path) = path_of(state, id) else { return Ok(None) };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let stored: Stored = serde_json::from_slice(&zstd::decode_all(file)?)?;
        if stored.version != VERSION {
            let what = format!("checkpoint has version {}, not {VERSION}", stored.version);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let entries = stored.entries.into_iter();
        let entries = entries.map(|(root, path, entry)| ((root, unescape(&path)), entry)).collect();
        Ok(Some(Self { scanned_ns: stored.scanned_ns, entries, unread: stored.unread }))
    }
}

/// Refuses names that are not ours: an id may come from outside.
fn path_of(state: &Path, id: &CheckpointId) -> io::Result<PathBuf> {
    let name = id.as_str();
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(state.join("checkpoints").join(name))
}

/// Bytes as text, reversibly.
pub(crate) fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '%' => text.push_str("%25"),
                _ => text.push(character),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "%{byte:02x}");
        }
    }
    text
}

pub(crate) fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let Some((code, after)) = after.split_at_checked(2) else { break };
        bytes.extend(u8::from_str_radix(code, 16));
        rest = after;
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}
