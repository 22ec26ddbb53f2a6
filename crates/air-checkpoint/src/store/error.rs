use std::{io, path::PathBuf};

use rustix::io::Errno;

use crate::tree::Digest;

/// Why a content is not kept, or not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It would take more than the budget.
    #[error(
        "{used} of {budget} bytes for kept contents are taken; remove checkpoints or raise the budget"
    )]
    OverBudget {
        /// On disk, in bytes.
        used: u64,
        /// In bytes.
        budget: u64,
    },
    /// The file system, or the user's share of it, is full.
    #[error("no space left for kept contents: {0}")]
    NoSpace(#[source] io::Error),
    /// The content is larger than one may be.
    #[error("the content has more than {limit} bytes")]
    TooLarge {
        /// In bytes.
        limit: u64,
    },
    /// What is held under the digest is something else.
    #[error("kept content `{0}` is damaged")]
    Damaged(Digest),
    /// It was never kept, or is gone.
    #[error("content `{0}` is not kept")]
    Missing(Digest),
    /// Others could look into the store's directory, or lead it elsewhere.
    #[error("`{path}` is not safe for kept contents: {why}")]
    Exposed {
        /// The directory.
        path: PathBuf,
        /// What is wrong, and what to do.
        why: &'static str,
    },
    /// Any other error of the file system.
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(Errno::NOSPC | Errno::DQUOT) => Self::NoSpace(error),
            _ => Self::Io(error),
        }
    }
}

impl From<Errno> for StoreError {
    fn from(error: Errno) -> Self {
        io::Error::from(error).into()
    }
}

impl From<StoreError> for io::Error {
    fn from(error: StoreError) -> Self {
        let kind = match error {
            StoreError::Io(error) | StoreError::NoSpace(error) => return error,
            StoreError::OverBudget { .. } => io::ErrorKind::QuotaExceeded,
            StoreError::TooLarge { .. } => io::ErrorKind::FileTooLarge,
            StoreError::Damaged(_) => io::ErrorKind::InvalidData,
            StoreError::Missing(_) => io::ErrorKind::NotFound,
            StoreError::Exposed { .. } => io::ErrorKind::PermissionDenied,
        };
        Self::new(kind, error)
    }
}
