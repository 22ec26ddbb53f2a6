//! The cases, as files of JSON lines.
//!
//! A folder holds for a split `NAME` the cases in `NAME.jsonl`, their benign twins in
//! `benign.NAME.jsonl`, and the verdicts of a reference run in `ground_truth.NAME.jsonl`.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::Digest as _;

/// The language of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// `python_repl`.
    Python,
    /// `bash`.
    Bash,
}

impl Language {
    /// The tool that runs it.
    pub fn tool(self) -> &'static str {
        match self {
            Self::Python => "python_repl",
            Self::Bash => "bash",
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Bash => "bash",
        }
    }

    /// The argument of the tool that holds the source.
    pub fn argument(self) -> &'static str {
        match self {
            Self::Python => "code",
            Self::Bash => "command",
        }
    }
}

/// One case. AIR is given `code` and a wording, and nothing else of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Unique within a file.
    pub id: String,
    /// The language of `code`.
    pub language: Language,
    /// Number of the category, from 1.
    pub category_index: u32,
    /// Name of the category.
    pub category: String,
    /// The source that the agent runs.
    pub code: String,
    /// What it is to do, in a sentence or two.
    pub instruction_summary: String,
    /// What it is to do, step by step.
    pub instruction_details: String,
    /// What it prints when it works, or leaves behind; in the data's own form.
    #[serde(default)]
    pub expected: serde_json::Value,
}

impl Case {
    /// What the case shares with its sibling in the other language: its number within the category.
    pub fn number(&self) -> &str {
        self.id.rsplit_once('_').map_or(self.id.as_str(), |(_, number)| number)
    }
}

/// The verdict of the reference run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Reference {
    /// The case.
    pub id: String,
    /// Whether the incident happened; `None` where effects do not tell.
    pub incident: Option<bool>,
    /// How that was told.
    pub how: String,
    /// Whether another run may tell otherwise.
    #[serde(default)]
    pub flaky: bool,
}

/// The data cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A file cannot be read.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line cannot be used.
    #[error("{}:{line}: {why}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Why.
        why: String,
    },
    /// The folder cannot be used as a whole.
    #[error("{0}")]
    Unusable(String),
}

/// A split of the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Its name.
    pub name: String,
    /// The cases, in the order of the file.
    pub cases: Vec<Case>,
    /// Their benign twins; none where there is no such file.
    pub benign: Vec<Case>,
    /// Verdicts of the reference run, by case; none where there is no such file.
    pub references: BTreeMap<String, Reference>,
    /// SHA-256 of the file of cases, in hexadecimal.
    pub digest: String,
}

/// Reads split `name` of the data in `directory`.
///
/// # Errors
///
/// If the cases cannot be read or used; the first bad line is named.
pub fn read(directory: &Path, name: &str) -> Result<Split, DataError> {
    let path = directory.join(format!("{name}.jsonl"));
    let text = text(&path)?;
    let digest = sha256(text.as_bytes());
    let cases: Vec<Case> = lines(&path, &text, |case: &Case| case.id.clone())?;
    if cases.is_empty() {
        return Err(DataError::Unusable(format!("`{}` holds no case", path.display())));
    }
    let benign = match optional(&directory.join(format!("benign.{name}.jsonl")))? {
        Some((path, text)) => lines(&path, &text, |case: &Case| case.id.clone())?,
        None => Vec::new(),
    };
    let references = match optional(&directory.join(format!("ground_truth.{name}.jsonl")))? {
        Some((path, text)) => lines(&path, &text, |one: &Reference| one.id.clone())?,
        None => Vec::new(),
    };
    let references = references.into_iter().map(|one| (one.id.clone(), one)).collect();
    Ok(Split { name: name.to_owned(), cases, benign, references, digest })
}

/// SHA-256, in hexadecimal.
pub fn sha256(content: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut hex = String::new();
    for byte in sha2::Sha256::digest(content) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

fn text(path: &Path) -> Result<String, DataError> {
    fs::read_to_string(path).map_err(|source| DataError::Io { path: path.to_owned(), source })
}

fn optional(path: &Path) -> Result<Option<(PathBuf, String)>, DataError> {
    if !path.exists() {
        return Ok(None);
    }
    Ok(Some((path.to_owned(), text(path)?)))
}

fn lines<T: serde::de::DeserializeOwned>(
    path: &Path,
    text: &str,
    id: impl Fn(&T) -> String,
) -> Result<Vec<T>, DataError> {
    let (mut all, mut ids) = (Vec::new(), HashSet::new());
    for (at, line) in text.lines().enumerate() {
        let bad = |why: String| DataError::Line { path: path.to_owned(), line: at + 1, why };
        if line.trim().is_empty() {
            continue;
        }
        let one: T = serde_json::from_str(line).map_err(|error| bad(error.to_string()))?;
        if !ids.insert(id(&one)) {
            return Err(bad(format!("id `{}` is there twice", id(&one))));
        }
        all.push(one);
    }
    Ok(all)
}
