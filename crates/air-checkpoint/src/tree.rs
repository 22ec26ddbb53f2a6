//! What the watched roots hold at one moment.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsStr,
    fmt,
    os::unix::ffi::OsStrExt,
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

/// A directory whose changes are seen and undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Where it is.
    pub host: PathBuf,
    /// As whoever works on it calls it.
    pub agent: PathBuf,
}

/// An index into the list of roots, and a path below that one, without a leading or doubled `/`. The
/// root itself has an empty path. Sorts a directory before what is in it.
pub type Place = (usize, Vec<u8>);

/// The BLAKE3 digest of a content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One file, directory, link or other thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// Permission bits, with those for set-user-id, set-group-id and sticky.
    pub mode: u32,
    /// The owner's user id on the host.
    pub uid: u32,
    /// The owner's group id on the host.
    pub gid: u32,
    /// In bytes; of a link, the length of its target.
    pub size: u64,
    /// Time of the last change of content, in nanoseconds since the Unix epoch.
    pub mtime_ns: i64,
    /// Time of the last change of anything. No program can set it.
    pub ctime_ns: i64,
    /// With `device` the identity of the file on this machine.
    pub inode: u64,
    /// See `inode`.
    pub device: u64,
    /// Names that the file has, here or elsewhere.
    pub links: u64,
    /// Of the content of a regular file that could be read.
    pub digest: Option<Digest>,
    /// Whether the content is held in the store.
    pub kept: bool,
    /// Extended attributes of the `user` name space, access lists of POSIX, and file capabilities;
    /// sorted by name. Empty where the file system has none.
    pub attributes: Vec<(String, Vec<u8>)>,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, with its target as it is.
    Link(Vec<u8>),
    /// A named pipe.
    Fifo,
    /// What hides an entry of a lower layer in the upper layer of an overlay: the device 0:0.
    Whiteout,
    /// A socket or a device: it cannot be put back.
    Other,
}

impl Entry {
    /// Whether nothing has happened to the file since `other` was seen: identity, size, times,
    /// owner and mode are the same. A shared mapping may change content all the same.
    pub fn is_untouched(&self, other: &Self) -> bool {
        let key = |entry: &Self| {
            let times = (entry.mtime_ns, entry.ctime_ns);
            let file = (entry.device, entry.inode, entry.links);
            (file, entry.size, times, entry.mode, entry.uid, entry.gid)
        };
        self.kind == other.kind && key(self) == key(other)
    }

    /// Whether it can be put back from what is held.
    pub fn is_restorable(&self) -> bool {
        match self.kind {
            Kind::File => self.kept,
            Kind::Directory | Kind::Link(_) | Kind::Fifo | Kind::Whiteout => true,
            Kind::Other => false,
        }
    }
}

/// What the watched roots hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// When the look began, in nanoseconds since the Unix epoch.
    pub scanned_ns: i64,
    /// By place.
    pub entries: BTreeMap<Place, Entry>,
    /// What could not be looked at, so that nothing is known of it.
    pub unread: Vec<Unread>,
}

/// A place that could not be looked at, with all that is below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// Where.
    pub place: Place,
    /// Why, for a person.
    pub why: String,
}

impl Unread {
    /// Whether `place` could not be looked at either.
    pub fn covers(&self, place: &Place) -> bool {
        contains(&self.place, place)
    }
}

impl Tree {
    /// Whether entries at or below `place` may be there and not in the tree.
    pub fn is_blind_at(&self, place: &Place) -> bool {
        self.unread.iter().any(|unread| unread.covers(place))
    }

    /// The places that are names of one file, for files with more than one name among the roots.
    pub fn names_by_file(&self) -> HashMap<(u64, u64), Vec<&Place>> {
        let mut names: HashMap<_, Vec<&Place>> = HashMap::new();
        let files = self.entries.iter().filter(|(_, entry)| entry.links > 1);
        for (place, entry) in files.filter(|(_, entry)| entry.kind == Kind::File) {
            names.entry((entry.device, entry.inode)).or_default().push(place);
        }
        names.retain(|_, places| places.len() > 1);
        names
    }

    /// The entries below `place`, in order, without itself.
    pub fn below<'a>(
        &'a self,
        place: &Place,
    ) -> impl Iterator<Item = (&'a Place, &'a Entry)> + use<'a> {
        let (from, to) = if place.1.is_empty() {
            ((place.0, vec![0]), (place.0 + 1, Vec::new()))
        } else {
            let mut from = place.clone();
            from.1.push(b'/');
            let mut to = place.clone();
            to.1.push(b'/' + 1);
            (from, to)
        };
        self.entries.range(from..to)
    }
}

/// Whether `place` is `outer` or below it.
pub(crate) fn contains(outer: &Place, place: &Place) -> bool {
    let rest = place.1.strip_prefix(outer.1.as_slice());
    outer.0 == place.0
        && rest.is_some_and(|rest| outer.1.is_empty() || rest.is_empty() || rest.starts_with(b"/"))
}

impl Root {
    /// A place below this root, as whoever works on it calls it.
    pub fn agent_path(&self, path: &[u8]) -> PathBuf {
        if path.is_empty() { self.agent.clone() } else { self.agent.join(OsStr::from_bytes(path)) }
    }

    /// As [`Self::agent_path`], for a person: bytes that are no text are replaced.
    pub fn shown(&self, path: &[u8]) -> String {
        self.agent_path(path).to_string_lossy().into_owned()
    }
}
