//! One watch for all who look at the same roots: the kernel has few queues for changes, which all programs
//! of a user share.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Dirty, Watch};
use crate::tree::Root;

/// How many queues a user has, where that is not told.
const QUEUES: usize = 128;

/// Watches of many roots. It keeps at most half of a user's queues: where more roots than that are looked
/// at, those go without that were looked at longest ago, until they are looked at again.
#[derive(Debug)]
pub struct Watches {
    private: PathBuf,
    most: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    watched: BTreeMap<Vec<PathBuf>, Watched>,
    /// Counts up.
    clock: u64,
}

#[derive(Debug)]
struct Watched {
    watch: Arc<Mutex<Watch>>,
    used: u64,
    lookers: u64,
}

/// One who looks at roots that others may look at as well. It is told all that it has not seen yet, whatever
/// others were told.
#[derive(Debug)]
pub struct Looker {
    watches: Arc<Watches>,
    watch: Arc<Mutex<Watch>>,
    key: Vec<PathBuf>,
    id: u64,
}

impl Watches {
    /// `private` is a directory of AIR's own outside of all roots; it is made if it is missing.
    pub fn new(private: &Path) -> Arc<Self> {
        let limit = fs::read_to_string("/proc/sys/fs/inotify/max_user_instances");
        let limit = limit.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(QUEUES);
        Self::at_most(limit / 2, private)
    }

    /// The same, with at most so many queues.
    pub fn at_most(most: usize, private: &Path) -> Arc<Self> {
        let inner = Mutex::default();
        Arc::new(Self { private: private.to_owned(), most: most.max(1), inner })
    }

    /// Another one who looks at `roots`. What changes before it asks first is not told.
    ///
    /// # Errors
    ///
    /// If the system does not tell what is mounted.
    pub fn looker(self: &Arc<Self>, roots: &[Root]) -> io::Result<Looker> {
        let key: Vec<PathBuf> = roots.iter().map(|root| root.host.clone()).collect();
        let mut inner = lock(&self.inner);
        inner.clock += 1;
        let id = inner.clock;
        let watched = match inner.watched.entry(key.clone()) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let watch = Arc::new(Mutex::new(Watch::asleep(roots, &self.private)?));
                entry.insert(Watched { watch, used: id, lookers: 0 })
            }
        };
        watched.lookers += 1;
        let watch = Arc::clone(&watched.watch);
        Ok(Looker { watches: Arc::clone(self), watch, key, id })
    }

    /// Whoever looks at `key` needs a queue.
    fn make_room(&self, key: &[PathBuf]) {
        let mut inner = lock(&self.inner);
        inner.clock += 1;
        let clock = inner.clock;
        if let Some(own) = inner.watched.get_mut(key) {
            own.used = clock;
        }
        let others = inner.watched.iter().filter(|(other, _)| other.as_slice() != key);
        // One that is just looked at is not waited for.
        let armed = others.filter_map(|(_, other)| {
            let watch = other.watch.try_lock().ok()?;
            watch.armed.is_some().then_some((other.used, other))
        });
        let armed: BTreeMap<u64, &Watched> = armed.collect();
        let over = (armed.len() + 1).saturating_sub(self.most);
        for other in armed.values().take(over) {
            if let Ok(mut watch) = other.watch.try_lock() {
                watch.disarm("others were watched in its place");
            }
        }
    }
}

impl Looker {
    /// All that changed since the last call: see [`Watch::dirty`]. Everything, at the first.
    pub fn dirty(&mut self) -> Dirty {
        self.watches.make_room(&self.key);
        lock(&self.watch).dirty_of(self.id)
    }
}

impl Drop for Looker {
    fn drop(&mut self) {
        let mut inner = lock(&self.watches.inner);
        let Some(watched) = inner.watched.get_mut(&self.key) else { return };
        watched.lookers = watched.lookers.saturating_sub(1);
        if watched.lookers == 0 {
            inner.watched.remove(&self.key);
            return;
        }
        drop(inner);
        lock(&self.watch).pending.remove(&self.id);
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
