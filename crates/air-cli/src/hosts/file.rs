//! A host's settings file: read as it is, replaced whole or not at all, with its owner and mode.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown},
    path::{Path, PathBuf},
};

use crate::error::CliError;

/// A settings file that is larger is none.
const MAX_BYTES: u64 = 8 << 20;
/// What stands between the name of a file and what makes the one beside it unique.
const TEMPORARY: &str = ".air-tmp-";

/// A file that can be replaced.
#[derive(Debug)]
pub struct SettingsFile {
    /// Where the host looks for it.
    pub path: PathBuf,
    /// Where it really is.
    real: PathBuf,
    /// What is in it; `None` where there is none.
    pub text: Option<String>,
}

impl SettingsFile {
    /// Reads it, through links.
    ///
    /// # Errors
    ///
    /// If it is something else than a text in a file.
    pub fn read(path: &Path) -> Result<Self, CliError> {
        let absent = Self { path: path.to_owned(), real: path.to_owned(), text: None };
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
                return Ok(absent);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(refused(path, "is a link to nothing", "make its target, or remove it"));
            }
            Err(error) => return Err(CliError::file("read", path)(error)),
        };
        if !fs::metadata(&real).map_err(CliError::file("read", path))?.is_file() {
            return Err(refused(path, "is no file", "move it away"));
        }
        let file = fs::File::open(&real).map_err(CliError::file("read", path))?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(CliError::file("read", path))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(refused(path, "is too large for a settings file", "look at what it is"));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| refused(path, "is not UTF-8", "save it as UTF-8, which its host reads"))?;
        Ok(Self { path: path.to_owned(), real, text: Some(text) })
    }

    /// Whether it could be replaced.
    ///
    /// # Errors
    ///
    /// If somebody has protected it.
    pub fn check(&self) -> Result<(), CliError> {
        let writable = |path: &Path| {
            fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o222 != 0)
        };
        if self.text.is_some() && !writable(&self.real) {
            let how = format!("`chmod u+w {}` if you want it changed", self.real.display());
            return Err(refused(&self.path, "is read-only", &how));
        }
        let directory = self.real.ancestors().skip(1).find(|above| above.exists());
        match directory {
            Some(directory) if !writable(directory) => {
                let how = format!("`chmod u+w {}` if you want it changed", directory.display());
                Err(refused(&self.path, "is in a directory that is read-only", &how))
            }
            _ => Ok(()),
        }
    }

    /// Puts `text` in its place, or takes it away. Answers with the directories that were made for it, the
    /// outermost first.
    ///
    /// # Errors
    ///
    /// If it cannot be written, or somebody has changed it since it was read. It is as it was then.
    pub fn replace(&self, text: Option<&str>) -> Result<Vec<PathBuf>, CliError> {
        if Self::read(&self.path)?.text != self.text {
            let how = "close what is writing it, and try again";
            return Err(refused(&self.path, "was changed meanwhile", how));
        }
        let Some(text) = text else {
            if self.text.is_some() {
                fs::remove_file(&self.real).map_err(CliError::file("remove", &self.path))?;
            }
            return Ok(Vec::new());
        };
        let directory = self.real.parent().unwrap_or(Path::new("/"));
        let mut made: Vec<_> =
            directory.ancestors().filter(|above| !above.exists()).map(Path::to_owned).collect();
        made.reverse();
        fs::create_dir_all(directory).map_err(CliError::file("make", directory))?;
        self.sweep(directory);
        self.write(directory, text).map_err(CliError::file("write", &self.path))?;
        Ok(made)
    }

    fn write(&self, directory: &Path, text: &str) -> io::Result<()> {
        let plain = |error: io::Error| io::Error::from(error.kind());
        let mut file = tempfile::Builder::new()
            .prefix(&self.temporary())
            .tempfile_in(directory)
            .map_err(plain)?;
        file.write_all(text.as_bytes())?;
        if self.text.is_some() {
            let before = fs::metadata(&self.real)?;
            let now = file.as_file().metadata()?;
            if (before.uid(), before.gid()) != (now.uid(), now.gid()) {
                fchown(file.as_file(), Some(before.uid()), Some(before.gid()))?;
            }
            file.as_file().set_permissions(before.permissions())?;
        } else {
            file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
        }
        file.as_file().sync_all()?;
        file.persist(&self.real).map_err(|error| error.error)?;
        // The name is as durable as the contents.
        fs::File::open(directory)?.sync_all()
    }

    /// Removes what a run that was killed left beside it.
    fn sweep(&self, directory: &Path) {
        let Ok(entries) = fs::read_dir(directory) else { return };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(&self.temporary()) {
                // It is in nobody's way.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn temporary(&self) -> String {
        let name = self.real.file_name().unwrap_or_default().to_string_lossy();
        format!(".{name}{TEMPORARY}")
    }
}

/// A file that is left alone.
pub fn refused(path: &Path, why: &str, hint: &str) -> CliError {
    CliError::Usage {
        what: format!("`{}` {why}: it was left alone", path.display()),
        hint: hint.to_owned(),
    }
}
