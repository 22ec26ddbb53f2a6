//! Between appearing and going: a lock among the threads of this process and among processes.

use std::{
    fs::File,
    io,
    sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use rustix::fs::{FlockOperation, flock};

#[derive(Debug)]
pub(super) struct Gate {
    file: File,
    threads: RwLock<()>,
    /// Threads that share the lock of this process.
    sharing: Mutex<usize>,
}

pub(super) struct Shared<'a> {
    gate: &'a Gate,
    _threads: RwLockReadGuard<'a, ()>,
}

pub(super) struct Exclusive<'a> {
    gate: &'a Gate,
    _threads: RwLockWriteGuard<'a, ()>,
}

impl Gate {
    pub(super) fn new(file: File) -> Self {
        Self { file, threads: RwLock::new(()), sharing: Mutex::new(0) }
    }

    pub(super) fn shared(&self) -> io::Result<Shared<'_>> {
        let threads = self.threads.read().unwrap_or_else(PoisonError::into_inner);
        let mut sharing = self.sharing.lock().unwrap_or_else(PoisonError::into_inner);
        if *sharing == 0 {
            self.lock(FlockOperation::LockShared)?;
        }
        *sharing += 1;
        Ok(Shared { gate: self, _threads: threads })
    }

    pub(super) fn exclusive(&self) -> io::Result<Exclusive<'_>> {
        let threads = self.threads.write().unwrap_or_else(PoisonError::into_inner);
        self.lock(FlockOperation::LockExclusive)?;
        Ok(Exclusive { gate: self, _threads: threads })
    }

    fn lock(&self, operation: FlockOperation) -> io::Result<()> {
        Ok(rustix::io::retry_on_intr(|| flock(&self.file, operation))?)
    }
}

impl Drop for Shared<'_> {
    fn drop(&mut self) {
        let mut sharing = self.gate.sharing.lock().unwrap_or_else(PoisonError::into_inner);
        *sharing -= 1;
        if *sharing == 0 {
            // It cannot fail for a file that is open.
            let _ = self.gate.lock(FlockOperation::Unlock);
        }
    }
}

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        let _ = self.gate.lock(FlockOperation::Unlock);
    }
}
