//! Writes objects through to the disk and compresses them, in a thread of low priority.

use std::{
    collections::VecDeque,
    fs::{self, File, Permissions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

use super::{
    StoreError,
    disk::{Disk, Temporary},
    each_block,
    upkeep::{Object, metadata, objects},
};
use crate::tree::Digest;

/// Smaller contents take a block of the disk in either form, in bytes.
const WORTH_BYTES: u64 = 4096;
/// A little slower than writing; nobody waits for it.
const LEVEL: i32 = 3;
/// Objects are waited for until so long no more came: they share the writing through.
const GATHER: Duration = Duration::from_millis(200);
/// But no longer than this.
const LONGEST: Duration = Duration::from_secs(5);
/// Objects that are written through together.
const BATCH: usize = 1024;
/// Up to so many objects are written through one by one: all else on the file system is spared.
const FEW: usize = 8;
/// How long dropping a store waits for the thread to stop.
const PATIENCE: Duration = Duration::from_millis(500);
/// On the disk, and in its final form.
const SETTLED: u32 = 0o400;

#[derive(Debug)]
pub(super) struct Worker {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    stop: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    tasks: VecDeque<Task>,
    is_busy: bool,
    has_ended: bool,
    has_failed: bool,
    /// Those who wait.
    hurry: usize,
}

#[derive(Debug, Clone, Copy)]
struct Task {
    digest: Digest,
    /// From before this process, so that it may have been cut by a power failure.
    is_doubtful: bool,
}

/// An object in its new form, which is not installed yet.
struct Packed {
    digest: Digest,
    new: Temporary,
}

impl Worker {
    pub(super) fn start(disk: Arc<Disk>) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let its = Arc::clone(&shared);
        shared.lock().is_busy = true;
        thread::Builder::new().name("air-store".into()).spawn(move || {
            its.run(&disk);
            drop(disk);
            its.lock().has_ended = true;
            its.changed.notify_all();
        })?;
        Ok(Self { shared })
    }

    pub(super) fn take_on(&self, digest: Digest) {
        self.shared.lock().tasks.push_back(Task { digest, is_doubtful: false });
        self.shared.changed.notify_all();
    }

    pub(super) fn settle(&self) -> bool {
        let mut state = self.shared.lock();
        state.hurry += 1;
        self.shared.changed.notify_all();
        while (state.is_busy || !state.tasks.is_empty()) && !state.has_ended {
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.hurry -= 1;
        state.tasks.is_empty() && !state.has_failed
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.shared.lock();
        // Under the lock: the thread is not about to wait.
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.changed.notify_all();
        while !state.has_ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn run(&self, disk: &Disk) {
        // On Linux a thread's own. Without it, the work is done all the same.
        let _ = rustix::process::setpriority_process(None, 19);
        disk.used();
        let unsettled = self.unsettled(disk);
        {
            let mut state = self.lock();
            state.has_failed |= unsettled.is_err();
            state.tasks.extend(unsettled.unwrap_or_default());
            state.is_busy = false;
        }
        while let Some(batch) = self.next_batch() {
            let done = self.settle(disk, &batch);
            let mut state = self.lock();
            state.is_busy = false;
            state.has_failed |= done.is_err();
            drop(state);
            self.changed.notify_all();
        }
    }

    /// What another process, or this one's past, left to do.
    fn unsettled(&self, disk: &Disk) -> io::Result<Vec<Task>> {
        let mut tasks = Vec::new();
        for folder in disk.folders()? {
            for Object { digest, path, is_packed } in objects(&folder)? {
                if self.stops() {
                    return Ok(tasks);
                }
                if !is_packed && metadata(&path)?.is_some_and(|found| !is_settled(&found)) {
                    tasks.push(Task { digest, is_doubtful: true });
                }
            }
        }
        Ok(tasks)
    }

    fn next_batch(&self) -> Option<Vec<Task>> {
        let mut state = self.lock();
        self.changed.notify_all();
        while state.tasks.is_empty() {
            if self.stops() {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        // Writing through holds up those who keep.
        let (deadline, mut known) = (Instant::now() + LONGEST, 0);
        while state.hurry == 0 && !self.stops() && Instant::now() < deadline {
            if known == state.tasks.len() {
                break;
            }
            known = state.tasks.len();
            let quiet = |state: &mut State| state.hurry == 0 && !self.stops();
            let waited = self.changed.wait_timeout_while(state, GATHER, quiet);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if self.stops() {
            return None;
        }
        state.is_busy = true;
        let length = state.tasks.len().min(BATCH);
        Some(state.tasks.drain(..length).collect())
    }

    /// What fails stays as it is, and is tried again when the store is next opened.
    fn settle(&self, disk: &Disk, batch: &[Task]) -> Result<(), StoreError> {
        let raw: Vec<PathBuf> = batch.iter().map(|task| disk.raw(&task.digest)).collect();
        write_through(disk, &raw)?;
        let mut packed = Vec::new();
        let mut plain = Vec::new();
        for task in batch {
            if self.stops() {
                return Ok(());
            }
            match self.pack(disk, task) {
                Ok(Some(new)) => packed.push(Packed { digest: task.digest, new }),
                Ok(None) => plain.push(task.digest),
                // It is on the disk. It is as good as any other, but larger.
                Err(StoreError::NoSpace(_)) => {}
                Err(error) => return Err(error),
            }
        }
        for digest in plain {
            let settled = fs::set_permissions(disk.raw(&digest), Permissions::from_mode(SETTLED));
            found(settled)?;
        }
        if packed.is_empty() { Ok(()) } else { replace(disk, packed) }
    }

    /// The compressed form, where that pays.
    fn pack(&self, disk: &Disk, task: &Task) -> Result<Option<Temporary>, StoreError> {
        let path = disk.raw(&task.digest);
        let Some(mut file) = found(File::open(&path))? else { return Ok(None) };
        let stat = file.metadata()?;
        let (length, allocated) = (stat.len(), stat.blocks() * 512);
        if task.is_doubtful {
            let object = Object { digest: task.digest, path: path.clone(), is_packed: false };
            if disk.check(&object)? != Some(true) {
                return Ok(None);
            }
        }
        // Holes take nothing and are quicker to read.
        if length <= WORTH_BYTES || allocated < length {
            return Ok(None);
        }
        let new = disk.temporary()?;
        let most = length / 10 * 9;
        let mut encoder = zstd::Encoder::new(AtMost { to: &new.file, left: most }, LEVEL)?;
        encoder.include_checksum(false)?;
        let mut hasher = blake3::Hasher::new();
        let written = each_block(&mut file, |block| {
            if self.stops() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            hasher.update(block);
            encoder.write_all(block)
        });
        match written.and_then(|()| encoder.finish().map(drop)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        if hasher.finalize() != task.digest.0 {
            disk.set_aside(&path)?;
            return Ok(None);
        }
        new.file.set_permissions(Permissions::from_mode(SETTLED))?;
        Ok(Some(new))
    }
}

/// Puts the compressed forms in the place of the others, so that one of them is always on the disk.
fn replace(disk: &Disk, packed: Vec<Packed>) -> Result<(), StoreError> {
    if packed.len() <= FEW {
        packed.iter().try_for_each(|packed| packed.new.file.sync_all())?;
    } else {
        write_all_through(disk)?;
    }
    let mut replaced = Vec::new();
    for Packed { digest, mut new } in packed {
        let _shared = disk.gate.shared()?;
        // It may have been erased or collected.
        if disk.raw(&digest).exists() {
            let size = new.file.metadata()?.blocks() * 512;
            // Someone may have needed it a moment ago.
            new.file.set_modified(SystemTime::now())?;
            disk.rename(&mut new, &disk.packed(&digest))?;
            disk.used().fetch_add(size, Ordering::Relaxed);
            replaced.push(digest);
        }
    }
    if replaced.len() <= FEW {
        for digest in &replaced {
            sync_folder(&disk.packed(digest))?;
        }
    } else {
        write_all_through(disk)?;
    }
    for digest in replaced {
        let _shared = disk.gate.shared()?;
        disk.remove(&disk.raw(&digest))?;
    }
    Ok(())
}

fn is_settled(found: &fs::Metadata) -> bool {
    found.mode() & 0o777 == SETTLED
}

fn write_through(disk: &Disk, paths: &[PathBuf]) -> io::Result<()> {
    if paths.len() > FEW {
        return write_all_through(disk);
    }
    for path in paths {
        if let Some(file) = found(File::open(path))? {
            file.sync_all()?;
            sync_folder(path)?;
        }
    }
    Ok(())
}

/// All of the file system at once.
fn write_all_through(disk: &Disk) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(&disk.objects)?)?)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// `None` where there is nothing.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Fails once more is written.
struct AtMost<'a> {
    to: &'a File,
    left: u64,
}

impl Write for AtMost<'_> {
    fn write(&mut self, block: &[u8]) -> io::Result<usize> {
        if block.len() as u64 > self.left {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let written = self.to.write(block)?;
        self.left -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
