//! What AIR keeps of one workspace's sessions, how much that is, and how it goes.

use std::{
    collections::HashSet,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use air_checkpoint::{
    Digest, Store, StoreError, Timeline, TimelineError,
    apply::{self, ApplyError},
    store::{Collected, Usage, Verified},
};

use crate::config::Limits;
pub(crate) use crate::remove::remove_all;

/// Directories of a session that hold checkpoints.
const TIMELINES: [&str; 3] = ["timeline", "shown", "bases"];

/// The contents and checkpoints of one workspace. They hold secrets.
#[derive(Debug)]
pub struct Archive {
    state: PathBuf,
    store: Store,
}

/// The archive could not do it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The contents.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Checkpoints of a session: nothing is removed while it is not known what they need.
    #[error("session {session}: {source}; nothing was removed")]
    Session {
        /// Which.
        session: String,
        /// Why.
        source: TimelineError,
    },
    /// What was changed in the workspace and can be undone.
    #[error("{0}; nothing was removed")]
    Changes(#[from] ApplyError),
    /// A file.
    #[error("`{path}`: {source}")]
    Io {
        /// Which.
        path: String,
        /// Why.
        source: io::Error,
    },
}

impl Archive {
    /// Opens what is kept in a workspace's state directory.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Store`] if others may look into it.
    pub fn open(state: &Path, limits: &Limits) -> Result<Self, ArchiveError> {
        Ok(Self { state: state.to_path_buf(), store: Store::open_with(state, limits.budget())? })
    }

    /// How much is kept, with what was swapped out of the workspace.
    ///
    /// # Errors
    ///
    /// If the contents cannot be listed.
    pub fn usage(&self) -> Result<Usage, ArchiveError> {
        let mut usage = self.store.usage()?;
        for directory in self.applied()? {
            usage.bytes += apply::displaced_bytes(&directory).map_err(at(&directory))?;
        }
        Ok(usage)
    }

    /// Where what was changed is recorded, with what was swapped out.
    fn applied(&self) -> Result<Vec<PathBuf>, ArchiveError> {
        let sessions = self.state.join("sessions");
        let own = self.sessions()?.into_iter().map(|name| sessions.join(name).join("applied"));
        Ok(own.chain([self.state.join("applied")]).collect())
    }

    /// Whether files of a session were not handed over: they are nowhere else.
    pub fn holds_back(&self, session: &str) -> bool {
        let path = self.state.join("sessions").join(session).join("held-back");
        match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// The sessions of which something is kept, by name, in no order.
    ///
    /// # Errors
    ///
    /// If they cannot be listed.
    pub fn sessions(&self) -> Result<Vec<String>, ArchiveError> {
        let path = self.state.join("sessions");
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(at(&path)(error)),
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        Ok(names.collect())
    }

    /// Removes all that is kept of a session but its evidence: what it did cannot be undone any
    /// more. Contents go with the next [`Self::collect`].
    ///
    /// # Errors
    ///
    /// If a file cannot be removed.
    pub fn forget(&self, session: &str) -> Result<(), ArchiveError> {
        let path = self.state.join("sessions").join(session);
        let plain = Path::new(session).components().count() == 1 && !session.starts_with('.');
        if !plain {
            return Err(at(&path)(io::ErrorKind::InvalidInput.into()));
        }
        remove_all(&path).map_err(at(&path))
    }

    /// Removes contents that nothing needs any more, and records of what was changed before the
    /// oldest session that is kept.
    ///
    /// # Errors
    ///
    /// If it cannot be told what is needed; then nothing was removed.
    pub fn collect(&self) -> Result<Collected, ArchiveError> {
        let oldest = self.oldest().map_err(at(&self.state.join("sessions")))?;
        apply::forget_before(&self.state.join("applied"), oldest)?;
        let mut live: HashSet<Digest> = HashSet::new();
        let mut directories = Vec::new();
        live.extend(apply::contents(&self.state.join("applied"))?);
        for session in self.sessions()? {
            let directory = self.state.join("sessions").join(&session);
            live.extend(apply::contents(&directory.join("applied"))?);
            directories.extend(TIMELINES.iter().map(|name| directory.join(name)));
        }
        for directory in directories {
            let needed = Timeline::contents(&directory).map_err(|source| {
                let session = directory.parent().and_then(Path::file_name).unwrap_or_default();
                ArchiveError::Session { session: session.to_string_lossy().into_owned(), source }
            })?;
            live.extend(needed);
        }
        Ok(self.store.collect(&live)?)
    }

    /// When the oldest session that is kept began, in nanoseconds since 1970, or somewhat earlier:
    /// its first checkpoint is among the first that is written of it.
    fn oldest(&self) -> io::Result<i64> {
        let mut oldest = i64::MAX;
        let sessions = self.state.join("sessions");
        let names = match fs::read_dir(&sessions) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(oldest),
            names => names?,
        };
        for session in names {
            let session = session?.path();
            let mut seen = vec![session.clone()];
            match fs::read_dir(session.join("timeline")) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                entries => {
                    for entry in entries? {
                        seen.push(entry?.path());
                    }
                }
            }
            for path in seen {
                let found = path.symlink_metadata()?;
                let ns = found.mtime().saturating_mul(1_000_000_000);
                oldest = oldest.min(ns.saturating_add(found.mtime_nsec()));
            }
        }
        Ok(oldest)
    }

    /// Reads every content and compares it with its name.
    ///
    /// # Errors
    ///
    /// If they cannot be listed.
    pub fn verify(&self) -> Result<Verified, ArchiveError> {
        Ok(self.store.verify()?)
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> ArchiveError {
    let path = path.display().to_string();
    move |source| ArchiveError::Io { path, source }
}
