//! `results.jsonl`: one row a line, only ever appended to, so that a run can go on where it ended.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::row::{Phase, Recorded, Row};

/// The version of the file.
const VERSION: u32 = 1;

/// What rows of one file have in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the file.
    version: u32,
    /// SHA-256 of the cases.
    pub data: String,
    /// SHA-256 of the rules.
    pub rules: String,
    /// All else that rows depend on, as text.
    pub options: String,
}

impl Header {
    /// A header of the current version.
    pub fn new(data: String, rules: String, options: String) -> Self {
        Self { version: VERSION, data, rules, options }
    }
}

/// The rows cannot be read or kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file could not be used.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The rows are those of another run.
    #[error("`{}` was made with other {what}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
    },
    /// A line in the middle is damaged.
    #[error("{}:{line}: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Why.
        why: String,
    },
}

/// The rows so far, and where more are kept.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    path: PathBuf,
    file: File,
    rows: BTreeMap<(String, Phase), Row>,
}

impl Store {
    /// Opens the rows in `directory`, and makes them if there are none. A last line that was not
    /// finished is dropped.
    ///
    /// # Errors
    ///
    /// If they are of another run, or cannot be used.
    pub fn open(directory: &Path, header: &Header) -> Result<Self, StoreError> {
        let path = directory.join("results.jsonl");
        let io = |source| StoreError::Io { path: path.clone(), source };
        fs::create_dir_all(directory.join("steps")).map_err(io)?;
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).read(true).open(&path).map_err(io)?;
        let text = String::from_utf8_lossy(&fs::read(&path).map_err(io)?).into_owned();
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        file.set_len(u64::try_from(whole).unwrap_or(u64::MAX)).map_err(io)?;
        let mut lines = text.get(..whole).unwrap_or_default().lines().enumerate();
        let mut store = Self { directory: directory.to_owned(), path, file, rows: BTreeMap::new() };
        match lines.next() {
            None => store.line(header)?,
            Some((_, first)) => store.same(first, header)?,
        }
        for (at, line) in lines {
            let row: Row = serde_json::from_str(line).map_err(|error| StoreError::Damaged {
                path: store.path.clone(),
                line: at + 1,
                why: error.to_string(),
            })?;
            store.rows.insert((row.case.clone(), row.phase), row);
        }
        Ok(store)
    }

    fn same(&self, line: &str, header: &Header) -> Result<(), StoreError> {
        let found: Header = serde_json::from_str(line).map_err(|error| StoreError::Damaged {
            path: self.path.clone(),
            line: 1,
            why: error.to_string(),
        })?;
        let differs = [
            ("cases", found.data != header.data),
            ("rules", found.rules != header.rules),
            ("options", found.options != header.options || found.version != header.version),
        ];
        match differs.into_iter().find(|(_, differs)| *differs) {
            Some((what, _)) => Err(StoreError::Other { path: self.path.clone(), what }),
            None => Ok(()),
        }
    }

    /// The row of a case in a phase.
    pub fn row(&self, case: &str, phase: Phase) -> Option<&Row> {
        self.rows.get(&(case.to_owned(), phase))
    }

    /// Keeps a row.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn put(&mut self, row: Row) -> Result<(), StoreError> {
        self.line(&row)?;
        self.rows.insert((row.case.clone(), row.phase), row);
        Ok(())
    }

    fn line(&mut self, content: &impl Serialize) -> Result<(), StoreError> {
        let io = |source| StoreError::Io { path: self.path.clone(), source };
        let mut line = serde_json::to_string(content).map_err(|error| io(error.into()))?;
        line.push('\n');
        self.file.write_all(line.as_bytes()).map_err(io)
    }

    /// What AIR recorded of a case, where it was run.
    pub fn recorded(&self, case: &str) -> Option<Recorded> {
        let text = fs::read(recorded_at(&self.directory, case)).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

/// Where the record of a case is kept.
fn recorded_at(directory: &Path, case: &str) -> PathBuf {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let name: String = case.chars().map(|it| if plain(it) { it } else { '_' }).collect();
    directory.join("steps").join(format!("{name}.json"))
}

/// Keeps what AIR recorded of a case, whole or not at all.
///
/// # Errors
///
/// If it cannot be written.
pub(crate) fn keep(directory: &Path, case: &str, recorded: &Recorded) -> Result<(), StoreError> {
    let path = recorded_at(directory, case);
    let io = |source| StoreError::Io { path: path.clone(), source };
    let json = serde_json::to_vec(recorded).map_err(|error| io(error.into()))?;
    let parent = path.parent().unwrap_or(directory);
    let mut file = tempfile::NamedTempFile::new_in(parent).map_err(io)?;
    file.write_all(&json).map_err(io)?;
    file.persist(&path).map_err(|error| io(error.error))?;
    Ok(())
}
