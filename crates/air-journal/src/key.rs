//! The journal's secret: 32 random bytes in a file of their own, from which all keys derive.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use crate::error::OpenError;

const LENGTH: usize = 32;

/// The keys of one journal. Its `Debug` shows none of them.
#[derive(Clone)]
pub(crate) struct Key {
    chain: [u8; LENGTH],
    payload: [u8; LENGTH],
    check: [u8; LENGTH],
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    // Contexts are durable: another text is another key.
    fn derive(secret: &[u8; LENGTH]) -> Self {
        Self {
            chain: blake3::derive_key("air-journal v1 chain", secret),
            payload: blake3::derive_key("air-journal v1 payload", secret),
            check: blake3::derive_key("air-journal v1 check", secret),
        }
    }

    /// Starts the hash of one record.
    pub(crate) fn chain(&self) -> blake3::Hasher {
        blake3::Hasher::new_keyed(&self.chain)
    }

    /// The id of a payload: 32 hex digits that say nothing about the content without the key.
    pub(crate) fn payload_id(&self, content: &[u8]) -> String {
        let mut id = blake3::keyed_hash(&self.payload, content).to_hex().to_string();
        id.truncate(32);
        id
    }

    /// Kept in the database to tell a wrong key from a broken chain.
    pub(crate) fn check(&self) -> &[u8] {
        &self.check
    }
}

/// Where the key of the journal at `journal` is.
pub(crate) fn path(journal: &Path) -> PathBuf {
    journal.with_file_name("key")
}

/// Reads the key beside `journal`.
pub(crate) fn read(journal: &Path) -> Result<Key, OpenError> {
    let path = path(journal);
    let bytes = fs::read(&path)
        .map_err(|source| OpenError::KeyUnreadable { path: path.clone(), source })?;
    let secret: [u8; LENGTH] = bytes
        .try_into()
        .map_err(|_| OpenError::KeyWrong { path, why: "it does not have 32 bytes" })?;
    Ok(Key::derive(&secret))
}

/// Reads the key beside a journal that is just being made, or makes it. The caller holds the
/// journal's write lock, so nobody else makes one.
pub(crate) fn read_or_create(journal: &Path) -> Result<Key, OpenError> {
    let path = path(journal);
    if !path.exists() {
        create(&path).map_err(|source| OpenError::KeyNotCreated { path, source })?;
    }
    read(journal)
}

// Written under another name first: a key file is never there in part.
fn create(path: &Path) -> io::Result<()> {
    let mut secret = [0; LENGTH];
    File::open("/dev/urandom")?.read_exact(&mut secret)?;
    let draft = path.with_file_name(format!("key.{}.new", std::process::id()));
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(&secret)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    sync_directory_of(path)
}

/// Makes the names in the directory of `path` survive the loss of power.
pub(crate) fn sync_directory_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}
