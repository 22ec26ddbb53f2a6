//! What was installed where, in AIR's own directory, so that it can be taken back exactly.

use std::{
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use air_hooks::settings::{Receipt, trust::TrustReceipt};
use serde::{Deserialize, Serialize};

use super::{Host, Scope};
use crate::error::CliError;

/// Version of a record. Fields may be added to it; nothing else changes without a new one.
const VERSION: u32 = 1;

/// Below AIR's state; apart from what the daemon keeps there, and locks.
const DIRECTORY: &str = "installed";

/// One file that AIR's hooks are in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Of the record.
    pub version: u32,
    /// Whose.
    pub host: Host,
    /// For whom.
    pub scope: Scope,
    /// The file, as the host looks for it.
    pub file: PathBuf,
    /// The file with AIR's hooks that are trusted by this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusts: Option<PathBuf>,
    /// What it said before; `None` where there was none.
    pub before: Option<String>,
    /// What it said after.
    pub after: String,
    /// What was added.
    pub added: Added,
    /// A copy of what it said before.
    pub backup: Option<PathBuf>,
    /// Directories that were made for it, the outermost first.
    pub directories: Vec<PathBuf>,
}

/// What was added to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Added {
    /// Hooks.
    Hooks(Receipt),
    /// Hooks that are trusted.
    Trust(TrustReceipt),
    /// All of it.
    Whole,
}

impl Record {
    /// One with nothing but its place.
    pub fn new(host: Host, scope: Scope, file: &Path, added: Added) -> Self {
        Self {
            version: VERSION,
            host,
            scope,
            file: file.to_owned(),
            trusts: None,
            before: None,
            after: String::new(),
            added,
            backup: None,
            directories: Vec::new(),
        }
    }
}

/// The directory of records. While it is held, nobody else changes a host's settings through AIR.
#[derive(Debug)]
pub struct Ledger {
    directory: PathBuf,
    _lock: fs::File,
}

impl Ledger {
    /// Opens it below the directory of AIR's state, and waits until it is free.
    ///
    /// # Errors
    ///
    /// If it cannot be used.
    pub fn open(state: &Path) -> Result<Self, CliError> {
        let directory = state.join(DIRECTORY);
        let backups = directory.join("backups");
        // What people have in their settings is nobody else's to read.
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&backups).map_err(CliError::file("make", &backups))?;
        let path = directory.join("lock");
        let options = fs::File::options().create(true).truncate(false).write(true).open(&path);
        let lock = options.map_err(CliError::file("open", &path))?;
        lock.lock().map_err(CliError::file("lock", &path))?;
        Ok(Self { directory, _lock: lock })
    }

    /// All records.
    ///
    /// # Errors
    ///
    /// If one cannot be read.
    pub fn records(state: &Path) -> Result<Vec<Record>, CliError> {
        let directory = state.join(DIRECTORY);
        let entries = match fs::read_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(CliError::file("read", &directory))?,
        };
        let mut records = Vec::new();
        for entry in entries {
            let path = entry.map_err(CliError::file("read", &directory))?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                records.push(read(&path)?);
            }
        }
        records.sort_by(|a, b| a.file.cmp(&b.file));
        Ok(records)
    }

    /// The record of `file`, or of what trusts the hooks in it.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn get(
        state: &Path,
        host: Host,
        file: &Path,
        trust: bool,
    ) -> Result<Option<Record>, CliError> {
        let path = state.join(DIRECTORY).join(name(host, file, trust));
        if path.exists() { read(&path).map(Some) } else { Ok(None) }
    }

    /// Keeps `record`, before what it tells is done.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn put(&self, record: &Record) -> Result<(), CliError> {
        let path = self.path(record);
        let text = serde_json::to_string_pretty(record).map_err(io::Error::from)?;
        // Nobody else writes while this is held, so one name is enough, and nothing piles up.
        let new = path.with_extension("new");
        let written = fs::File::create(&new).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &path)
        });
        written.map_err(CliError::file("write", path))
    }

    /// Forgets `record`, after it was taken back.
    ///
    /// # Errors
    ///
    /// If it cannot be removed.
    pub fn remove(&self, record: &Record) -> Result<(), CliError> {
        let path = self.path(record);
        fs::remove_file(&path).map_err(CliError::file("remove", path))
    }

    /// Keeps a copy of `text`, which stood in `file`: the same one where it is kept already.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn back_up(&self, host: Host, file: &Path, text: &str) -> Result<PathBuf, CliError> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        for number in 1_u32.. {
            let name = format!("{}-{name}.air-backup-{number}", host.name());
            let path = self.directory.join("backups").join(name);
            if fs::read_to_string(&path).is_ok_and(|kept| kept == text) {
                return Ok(path);
            }
            let created = fs::File::options().write(true).create_new(true).open(&path);
            match created {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => {
                    let written = created.and_then(|mut file| {
                        file.write_all(text.as_bytes())?;
                        file.sync_all()
                    });
                    written.map_err(CliError::file("write", &path))?;
                    return Ok(path);
                }
            }
        }
        Err(CliError::file("write", file)(io::ErrorKind::StorageFull.into()))
    }

    fn path(&self, record: &Record) -> PathBuf {
        let file = record.trusts.as_deref().unwrap_or(&record.file);
        self.directory.join(name(record.host, file, record.trusts.is_some()))
    }
}

/// Readable, and no two files have one name.
fn name(host: Host, file: &Path, trust: bool) -> String {
    let mut name = host.name().to_owned();
    if trust {
        name.push_str("-trust");
    }
    for byte in file.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' => name.push(char::from(*byte)),
            b'/' => name.push('_'),
            other => _ = write!(name, "%{other:02x}"),
        }
    }
    name.push_str(".json");
    name
}

fn read(path: &Path) -> Result<Record, CliError> {
    let text = fs::read_to_string(path).map_err(CliError::file("read", path))?;
    let record: Result<Record, _> = serde_json::from_str(&text);
    match record {
        Ok(record) if record.version == VERSION => Ok(record),
        Ok(Record { version, .. }) => Err(CliError::Usage {
            what: format!("`{}` is of version {version}", path.display()),
            hint: "a newer airctl has written it: use that one".to_owned(),
        }),
        Err(error) => Err(CliError::Usage {
            what: format!("`{}` cannot be read: {error}", path.display()),
            hint: "move it away: AIR's hooks are then taken out without it".to_owned(),
        }),
    }
}
