//! Objects and where they are.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use rustix::{
    fs::{AtFlags, CWD, FlockOperation, Timespec, Timestamps, UTIME_NOW, flock, utimensat},
    process::geteuid,
};

use super::{
    Budget, StoreError,
    content::{BLOCK, Hashed},
    gate::Gate,
    private_directory, private_file, unique,
};
use crate::{apply::failpoint, scan::now_ns, tree::Digest};

/// How long an object is spared after it was kept.
pub(super) const SPARED: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(super) struct Disk {
    pub(super) objects: PathBuf,
    pub(super) budget: Budget,
    pub(super) gate: Gate,
    /// On disk, in bytes; counted when it is first needed.
    pub(super) used: OnceLock<AtomicU64>,
    /// Where this process writes what is unfinished.
    workshop: PathBuf,
    /// Says that its owner lives.
    _living: File,
}

/// An unfinished object. It goes when it is dropped.
#[derive(Debug)]
pub(super) struct Temporary {
    pub(super) file: File,
    /// `None` once it has its name.
    path: Option<PathBuf>,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Otherwise it is collected later.
            let _ = fs::remove_file(path);
        }
    }
}

impl Disk {
    pub(super) fn open(state: &Path, budget: Budget) -> Result<Self, StoreError> {
        let objects = state.join("objects");
        // Whoever can write into the outer one could exchange the inner one.
        for (directory, denied) in [(state, 0o022), (&objects, 0o077)] {
            private_directory(directory)?;
            check_private(directory, denied)?;
        }
        for name in ["new", "damaged"] {
            private_directory(&objects.join(name))?;
        }
        let gate = Gate::new(private_file(&objects.join("lock"))?);
        let owner = format!("{}-{}-{}", std::process::id(), now_ns(), unique());
        let workshop = objects.join("new").join(owner);
        let shared = gate.shared()?;
        private_directory(&workshop)?;
        let living = private_file(&workshop.join("lock"))?;
        flock(&living, FlockOperation::NonBlockingLockExclusive)?;
        drop(shared);
        let used = OnceLock::new();
        let disk = Self { objects, budget, gate, used, workshop, _living: living };
        disk.clear_workshops()?;
        Ok(disk)
    }

    pub(super) fn raw(&self, digest: &Digest) -> PathBuf {
        let name = digest.to_string();
        let (folder, name) = name.split_at_checked(2).unwrap_or(("", &name));
        self.objects.join(folder).join(name)
    }

    pub(super) fn packed(&self, digest: &Digest) -> PathBuf {
        self.raw(digest).with_extension("zst")
    }

    pub(super) fn temporary(&self) -> io::Result<Temporary> {
        let path = self.workshop.join(unique().to_string());
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Temporary { file, path: Some(path) })
    }

    /// Whether the content is held. If so, it is spared as if it had just been kept.
    pub(super) fn refresh(&self, hashed: &Hashed) -> io::Result<bool> {
        if !self.raw(&hashed.digest).exists() && !self.packed(&hashed.digest).exists() {
            return Ok(false);
        }
        let _shared = self.gate.shared()?;
        self.refresh_locked(hashed)
    }

    fn refresh_locked(&self, hashed: &Hashed) -> io::Result<bool> {
        let raw = self.raw(&hashed.digest);
        for path in [raw, self.packed(&hashed.digest)] {
            let found = match path.symlink_metadata() {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            // A power failure may have cut one that was not on the disk.
            if path.extension().is_none() && found.len() != hashed.length {
                continue;
            }
            let age =
                found.modified().ok().and_then(|then| SystemTime::now().duration_since(then).ok());
            if age.is_none_or(|age| age > SPARED / 2) {
                let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
                let times = Timestamps { last_access: now, last_modification: now };
                utimensat(CWD, &path, &times, AtFlags::SYMLINK_NOFOLLOW)?;
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Gives an unfinished object its name; whether it was not held before.
    pub(super) fn install(&self, new: &mut Temporary, hashed: &Hashed) -> Result<bool, StoreError> {
        let _shared = self.gate.shared()?;
        if self.refresh_locked(hashed)? {
            return Ok(false);
        }
        let used = self.used();
        let size = new.file.metadata()?.blocks() * 512;
        self.rename(new, &self.raw(&hashed.digest))?;
        used.fetch_add(size, Ordering::Relaxed);
        Ok(true)
    }

    pub(super) fn rename(&self, new: &mut Temporary, to: &Path) -> io::Result<()> {
        let Some(path) = &new.path else { return Ok(()) };
        failpoint::keeps();
        match fs::rename(path, to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                private_directory(to.parent().unwrap_or(&self.objects))?;
                fs::rename(path, to)?;
            }
            renamed => renamed?,
        }
        new.path = None;
        Ok(())
    }

    /// In bytes on disk.
    pub(super) fn used(&self) -> &AtomicU64 {
        self.used.get_or_init(|| {
            // Where it cannot be counted nothing fits: it is not known to.
            AtomicU64::new(self.count().map_or(u64::MAX / 2, |usage| usage.bytes))
        })
    }

    pub(super) fn check_budget(&self, more: u64) -> Result<(), StoreError> {
        // Files take whole blocks.
        let more = more.div_ceil(4096) * 4096;
        let (used, budget) = (self.used().load(Ordering::Relaxed), self.budget.bytes);
        if used.saturating_add(more) > budget {
            return Err(StoreError::OverBudget { used, budget });
        }
        Ok(())
    }

    /// Removes a file of the store.
    pub(super) fn remove(&self, path: &Path) -> io::Result<Option<u64>> {
        let size = match path.symlink_metadata() {
            Ok(found) => found.blocks() * 512,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        fs::remove_file(path)?;
        self.give_back(size);
        Ok(Some(size))
    }

    fn give_back(&self, bytes: u64) {
        if let Some(used) = self.used.get() {
            let less = |used: u64| Some(used.saturating_sub(bytes));
            let _ = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
    }

    pub(super) fn read(&self, digest: &Digest, to: &mut impl Write) -> Result<(), StoreError> {
        // It is compressed before the other form goes.
        for path in [self.raw(digest), self.packed(digest), self.raw(digest)] {
            match File::open(&path) {
                Ok(file) => {
                    let is_packed = path.extension().is_some();
                    if read_object(file, is_packed, digest, to)? {
                        return Ok(());
                    }
                    self.set_aside(&path)?;
                    return Err(StoreError::Damaged(*digest));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::Missing(*digest))
    }

    /// Moves a damaged object out of the way, so that its content can be kept again.
    pub(super) fn set_aside(&self, path: &Path) -> io::Result<()> {
        let _shared = self.gate.shared()?;
        let size = path.symlink_metadata().map_or(0, |found| found.blocks() * 512);
        let name = path.strip_prefix(&self.objects).unwrap_or(path).to_string_lossy();
        let aside = self.objects.join("damaged").join(name.replace('/', ""));
        match fs::rename(path, aside) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(()) => {
                self.give_back(size);
                Ok(())
            }
        }
    }

    /// Removes what processes that have died left unfinished.
    pub(super) fn clear_workshops(&self) -> io::Result<()> {
        let _exclusive = self.gate.exclusive()?;
        for item in fs::read_dir(self.objects.join("new"))? {
            let workshop = item?.path();
            let lives = File::open(workshop.join("lock"))
                .is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err());
            if lives {
                continue;
            }
            match fs::remove_dir_all(&workshop) {
                // Its owner did just that.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
        Ok(())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Otherwise another process does it.
        let _ = fs::remove_dir_all(&self.workshop);
    }
}

/// Whether the object is what its name says.
pub(super) fn read_object(
    mut file: File,
    is_packed: bool,
    digest: &Digest,
    to: &mut impl Write,
) -> Result<bool, StoreError> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0_u8; BLOCK];
    let mut decoder = if is_packed { Some(zstd::Decoder::new(file.try_clone()?)?) } else { None };
    loop {
        let read = match &mut decoder {
            Some(decoder) => decoder.read(&mut buffer),
            None => file.read(&mut buffer),
        };
        match read {
            Ok(0) => break,
            Ok(length) => {
                let block = buffer.get(..length).unwrap_or_default();
                hasher.update(block);
                to.write_all(block).map_err(StoreError::Io)?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Not the system but the decoder says so.
            Err(error) if error.raw_os_error().is_none() => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(hasher.finalize() == digest.0)
}

fn check_private(path: &Path, denied: u32) -> Result<(), StoreError> {
    let found = path.symlink_metadata()?;
    let why = if found.is_symlink() {
        "it is a symbolic link; name the directory itself"
    } else if !found.is_dir() {
        "it is no directory"
    } else if found.uid() != geteuid().as_raw() {
        "it belongs to another user"
    } else if found.mode() & denied != 0 {
        "others have access to it; `chmod 700` it if they have not used it"
    } else {
        return Ok(());
    };
    Err(StoreError::Exposed { path: path.to_owned(), why })
}
