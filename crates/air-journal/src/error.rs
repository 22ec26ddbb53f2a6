//! What can be wrong with a journal, and what to do about it.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use air_core::port::JournalError;
use rusqlite::ErrorCode;

/// A journal could not be opened. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Its directory cannot be made.
    #[error(
        "cannot create directory `{}`: {source}; create it, or choose another place for the journal",
        path.display()
    )]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// There is none, and it was to be read only.
    #[error("there is no journal at `{}`; check the path", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// Something else has its name.
    #[error(
        "`{}` is not a file; choose another place for the journal, or move it away",
        path.display()
    )]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// It holds something else.
    #[error(
        "`{}` is the database of another application; choose another place for the journal",
        path.display()
    )]
    Foreign {
        /// The path.
        path: PathBuf,
    },
    /// It is not a database, or not whole.
    #[error(
        "journal `{}` is damaged: {detail}; nothing has been changed: restore a backup, or move the \
         file and those beside it that begin with its name away to start a new one",
        path.display()
    )]
    Damaged {
        /// The path.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// A newer version wrote it.
    #[error(
        "journal has schema version {found}, but this version of air supports {supported}; upgrade air"
    )]
    Newer {
        /// Its schema version.
        found: u32,
        /// The last schema version that is known here.
        supported: u32,
    },
    /// Another process holds it for longer than an append waits.
    #[error(
        "journal is locked by another process: `{}`; end that process, or try again when it is done",
        path.display()
    )]
    Locked {
        /// The path.
        path: PathBuf,
    },
    /// It cannot be written.
    #[error(
        "journal `{}` cannot be written; make the file and its directory writable for this user",
        path.display()
    )]
    ReadOnly {
        /// The path.
        path: PathBuf,
    },
    /// No space is left.
    #[error("no space left for journal `{}`; free some and try again", path.display())]
    DiskFull {
        /// The path.
        path: PathBuf,
    },
    /// Its key cannot be read.
    #[error(
        "cannot read the journal's key `{}`: {source}; restore the key from the backup of the journal, \
         or move the journal away to start a new one",
        path.display()
    )]
    KeyUnreadable {
        /// The key file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// Its key is not the one that it was made with.
    #[error(
        "`{}` is not the key of this journal: {why}; restore the key from the backup of the journal, \
         or move the journal away to start a new one",
        path.display()
    )]
    KeyWrong {
        /// The key file.
        path: PathBuf,
        /// What is wrong.
        why: &'static str,
    },
    /// Its key cannot be made.
    #[error(
        "cannot create the journal's key `{}`: {source}; make its directory writable for this user",
        path.display()
    )]
    KeyNotCreated {
        /// The key file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// Its writer could not be started.
    #[error("cannot start the journal's writer: {0}")]
    Thread(#[source] io::Error),
    /// Storage failed in another way.
    #[error("journal `{}`: {source}", path.display())]
    Storage {
        /// The path.
        path: PathBuf,
        /// How.
        #[source]
        source: Arc<rusqlite::Error>,
    },
}

impl OpenError {
    /// Says what is wrong with the journal at `path`, by SQLite's error.
    pub(crate) fn from_sqlite(path: &Path, error: impl Into<Arc<rusqlite::Error>>) -> Self {
        let source = error.into();
        let path = path.to_path_buf();
        match source.as_ref() {
            // The type or encoding of a column is not what the schema says.
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..) => Self::Damaged { path, detail: source.to_string() },
            other => match other.sqlite_error_code() {
                Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                    Self::Damaged { path, detail: source.to_string() }
                }
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path },
                Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly { path },
                Some(ErrorCode::DiskFull) => Self::DiskFull { path },
                _ => Self::Storage { path, source },
            },
        }
    }
}

/// Storage could not do it. Cloned to every request of a group that fails as a whole.
#[derive(Debug, Clone)]
pub(crate) enum StoreError {
    /// Someone else was first.
    Conflict { expected: u64, actual: u64 },
    /// What the journal holds, or what is to be written, is not usable; the message says what to do.
    Unusable(String),
    /// The writer is gone.
    Stopped,
    /// SQLite failed.
    Sqlite(Arc<rusqlite::Error>),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(Arc::new(error))
    }
}

impl StoreError {
    /// The error as the port has it, for the journal at `path`.
    pub(crate) fn at(self, path: &Path) -> JournalError {
        match self {
            Self::Conflict { expected, actual } => JournalError::Conflict { expected, actual },
            Self::Unusable(why) => JournalError::Unusable(why),
            Self::Stopped => JournalError::Unusable(format!(
                "the writer of journal `{}` has stopped; what was not confirmed may or may not be \
                 recorded: open the journal again",
                path.display()
            )),
            Self::Sqlite(error) => match OpenError::from_sqlite(path, error) {
                OpenError::Storage { source, .. } => JournalError::Storage(Box::new(source)),
                known => JournalError::Unusable(known.to_string()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trouble_says_what_to_do() {
        use rusqlite::ffi;
        #[rustfmt::skip]
        let table = [
            (ffi::SQLITE_NOTADB,   "restore a backup"),
            (ffi::SQLITE_CORRUPT,  "restore a backup"),
            (ffi::SQLITE_BUSY,     "locked by another process"),
            (ffi::SQLITE_READONLY, "writable for this user"),
            (ffi::SQLITE_FULL,     "free some"),
        ];
        for (code, advice) in table {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let error = StoreError::from(error).at(Path::new("j")).to_string();
            assert!(error.contains(advice), "{code}: {error}");
        }
    }
}
