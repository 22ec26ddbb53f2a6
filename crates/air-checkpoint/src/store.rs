//! Contents by digest, kept so that they survive a crash. Holds secrets, so only its owner may look
//! into it.
//!
//! ```text
//! objects/<2>/<62>        as it is: just kept, or not worth compressing
//! objects/<2>/<62>.zst    one zstd frame
//! objects/new/<owner>/    unfinished, of one process
//! objects/damaged/        what does not have its digest any more
//! objects/lock            shared while an object appears, exclusive while objects go
//! ```
//!
//! An object appears under its name complete, and never changes. It is written as it is; a thread
//! writes it through to the disk and compresses it later. Until then its mode is 0600, afterwards
//! 0400: after a power failure those of mode 0600 are checked before they are believed.

mod content;
mod disk;
mod error;
mod gate;
mod upkeep;
mod worker;

use std::{
    collections::HashSet,
    fs::{self, DirBuilder, File},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::fs::ioctl_ficlone;

use self::{
    content::{Hashed, copy, hash},
    disk::{Disk, Temporary},
    worker::Worker,
};
pub use self::{
    content::{digest, digest_of},
    error::StoreError,
    upkeep::{Collected, Usage, Verified},
};
use crate::tree::Digest;

/// Contents up to this size are read into memory at once, in bytes.
const SMALL: u64 = 1 << 20;

/// A store of contents. Clones share it; several processes may use one directory.
#[derive(Debug, Clone)]
pub struct Store {
    disk: Arc<Disk>,
    worker: Arc<Worker>,
}

/// How much a store takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// On disk for all objects, in bytes. Kept to what this process knows: what another one adds is
    /// counted at the next [`Store::usage`] or [`Store::collect`].
    pub bytes: u64,
    /// For one content, in bytes of its length.
    pub content_bytes: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes: 4 << 30, content_bytes: 1 << 30 }
    }
}

impl Store {
    /// Opens the store in the directory `state`, with the budget there is by default; makes it if
    /// it is missing.
    ///
    /// # Errors
    ///
    /// As [`Self::open_with`].
    pub fn open(state: &Path) -> Result<Self, StoreError> {
        Self::open_with(state, Budget::default())
    }

    /// Opens the store in the directory `state`; makes it if it is missing.
    ///
    /// # Errors
    ///
    /// [`StoreError::Exposed`] if others than its owner may look into it; I/O errors.
    pub fn open_with(state: &Path, budget: Budget) -> Result<Self, StoreError> {
        let disk = Arc::new(Disk::open(state, budget)?);
        let worker = Arc::new(Worker::start(Arc::clone(&disk))?);
        Ok(Self { disk, worker })
    }

    /// Whether it has an object of that name. Only reading tells whether it is intact.
    pub fn holds(&self, digest: &Digest) -> bool {
        self.disk.raw(digest).exists() || self.disk.packed(digest).exists()
    }

    /// Whether a content of that length is held. If so, [`Self::collect`] spares it as if it had
    /// just been kept.
    pub fn spare(&self, digest: &Digest, length: u64) -> bool {
        self.disk.refresh(&Hashed { digest: *digest, length }).unwrap_or(false)
    }

    /// As [`Self::keep_at_most`], with the limit of the budget.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn keep(&self, file: &File) -> Result<Digest, StoreError> {
        self.keep_at_most(file, u64::MAX)
    }

    /// Keeps the whole content of a regular file; its digest, which is of what was kept. Holes stay
    /// holes. May move the file's offset. A file that changes meanwhile gives a content that it may
    /// never have had, under that content's digest.
    ///
    /// # Errors
    ///
    /// Nothing is left behind after any of them. [`StoreError::TooLarge`] for more than `limit`
    /// bytes, or more than the budget has for one content; [`StoreError::OverBudget`];
    /// [`StoreError::NoSpace`]; I/O errors.
    pub fn keep_at_most(&self, file: &File, limit: u64) -> Result<Digest, StoreError> {
        let limit = limit.min(self.disk.budget.content_bytes);
        let found = file.metadata()?;
        let (length, allocated) = (found.len(), found.blocks() * 512);
        if length > limit {
            return Err(StoreError::TooLarge { limit });
        }
        let is_dense = allocated >= length || length <= 4096;
        if length <= SMALL
            && is_dense
            && let Some(content) = small(file)?
        {
            return self.keep_bytes(&content, limit);
        }
        let new = self.disk.temporary()?;
        let is_clone = ioctl_ficlone(&new.file, file).is_ok();
        // A clone is ours alone, and cannot change.
        let mut hashed = hash(if is_clone { &new.file } else { file }, limit)?;
        if self.disk.refresh(&hashed)? {
            return Ok(hashed.digest);
        }
        self.disk.check_budget(length.min(allocated))?;
        if !is_clone {
            // It may have changed since it was hashed: it is named after what was written.
            hashed = copy(file, &new.file, limit)?;
        }
        self.install(new, hashed)
    }

    fn keep_bytes(&self, content: &[u8], limit: u64) -> Result<Digest, StoreError> {
        let length = content.len() as u64;
        if length > limit {
            return Err(StoreError::TooLarge { limit });
        }
        let hashed = Hashed { digest: Digest(*blake3::hash(content).as_bytes()), length };
        if self.disk.refresh(&hashed)? {
            return Ok(hashed.digest);
        }
        self.disk.check_budget(length)?;
        let new = self.disk.temporary()?;
        (&new.file).write_all(content)?;
        self.install(new, hashed)
    }

    fn install(&self, mut new: Temporary, hashed: Hashed) -> Result<Digest, StoreError> {
        if self.disk.install(&mut new, &hashed)? {
            self.worker.take_on(hashed.digest);
        }
        Ok(hashed.digest)
    }

    /// Writes a content to `to`. It is checked against its digest only at its end: what has been
    /// written before an error is not to be believed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`]; [`StoreError::Damaged`], after which it is held no longer; I/O
    /// errors of either side.
    pub fn read(&self, digest: &Digest, to: &mut impl Write) -> Result<(), StoreError> {
        self.disk.read(digest, to)
    }

    /// Erases one content: at once and for all who use the store, whatever needs it. That its bytes
    /// are overwritten on the disk is not promised. It is kept again where a file has it still.
    /// Whether it was held.
    ///
    /// # Errors
    ///
    /// I/O errors.
    pub fn erase(&self, digest: &Digest) -> Result<bool, StoreError> {
        self.disk.erase(digest)
    }

    /// Counts what is held.
    ///
    /// # Errors
    ///
    /// I/O errors.
    pub fn usage(&self) -> Result<Usage, StoreError> {
        self.disk.usage()
    }

    /// Removes what is not in `live`, and what processes that have died left unfinished. `live`
    /// holds the digests that are needed by all who use the store; what was kept, or would have
    /// been had it not been held already, within the last minute is spared.
    ///
    /// # Errors
    ///
    /// I/O errors. What was removed before stays removed; it is safe to call this again.
    pub fn collect(&self, live: &HashSet<Digest>) -> Result<Collected, StoreError> {
        self.disk.collect(live)
    }

    /// Checks each object against its digest. Those that are damaged are held no longer; their
    /// bytes are moved to `objects/damaged`.
    ///
    /// # Errors
    ///
    /// I/O errors of the directories. Objects that cannot be read are in the answer.
    pub fn verify(&self) -> Result<Verified, StoreError> {
        self.disk.verify()
    }

    /// Waits until all that was kept by this process is on the disk, and compressed where that
    /// pays; whether it is.
    pub fn settle(&self) -> bool {
        self.worker.settle()
    }
}

/// A content of at most [`SMALL`] bytes.
fn small(file: &File) -> io::Result<Option<Vec<u8>>> {
    let expected = usize::try_from(file.metadata()?.len()).unwrap_or(0);
    let mut content = vec![0; expected + 1];
    let mut length = 0;
    loop {
        let rest = content.get_mut(length..).unwrap_or_default();
        match file.read_at(rest, length as u64) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        // It grows.
        if length == content.len() {
            return Ok(None);
        }
    }
    content.truncate(length);
    Ok(Some(content))
}

/// Reads all of `from` in blocks.
fn each_block(
    from: &mut impl Read,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffer = vec![0_u8; content::BLOCK];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => take(buffer.get(..length).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Distinguishes what this process writes at the same time.
pub fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Makes a directory, and those around it that are missing, for its owner alone.
///
/// # Errors
///
/// I/O errors.
pub fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes a file for its owner alone, or empties one.
///
/// # Errors
///
/// I/O errors.
pub fn private_file(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}
