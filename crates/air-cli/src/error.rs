//! Why a command could not run.

use std::{io, path::PathBuf};

use crate::{config::ConfigError, rule_files::RuleFilesError, script::ScriptError};

/// A command could not run. Shown as `error: …`, with its hint on a line of its own.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CliError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The script cannot be used.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The rule files cannot be found.
    #[error(transparent)]
    RuleFiles(#[from] RuleFilesError),
    /// Something that a command needs was not given.
    #[error("{what}")]
    Usage {
        /// What is missing or wrong.
        what: String,
        /// What to do about it.
        hint: String,
    },
    /// A file could not be read or written.
    #[error("cannot {action} `{}`: {source}", path.display())]
    File {
        /// The verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The command's own output could not be written.
    #[error("cannot write output: {0}")]
    Output(#[from] io::Error),
    /// AIR could not do it.
    #[error(transparent)]
    Air(#[from] air::AirError),
}

impl CliError {
    /// A closure that turns an I/O error on `path` into this error.
    pub fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { action, path, source }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Usage { hint, .. } => Some(hint),
            _ => None,
        }
    }

    /// Whether the reader of the output has gone away: nobody is left to tell.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<air_core::port::JournalError> for CliError {
    fn from(error: air_core::port::JournalError) -> Self {
        Self::Air(error.into())
    }
}

impl From<air::RuntimeError> for CliError {
    fn from(error: air::RuntimeError) -> Self {
        Self::Air(error.into())
    }
}
