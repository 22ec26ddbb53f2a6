//! A change of a host's settings: worked out first, shown or carried out then.

use std::path::{Path, PathBuf};

use air_hooks::settings::{
    Hooks, SettingsError, State,
    trust::{self, Trusted},
};

use super::{
    Host, Scope,
    file::{SettingsFile, refused},
    ledger::{Added, Ledger, Record},
};
use crate::error::CliError;

/// What is to be in a file.
#[derive(Debug)]
pub enum Wanted {
    /// AIR's hooks, beside all that is there.
    Hooks(Hooks),
    /// This text, in a file of AIR's own.
    Whole(String),
    /// That Codex trusts AIR's hooks in the file that is named.
    Trust(PathBuf, Vec<Trusted>),
}

/// What is to become of a file.
#[derive(Debug)]
pub struct Change {
    /// The file as it is.
    pub file: SettingsFile,
    /// What it is to say; `None` where it is to go.
    pub after: Option<String>,
    /// Why the host would not read what it says.
    pub unread: Option<String>,
    host: Host,
    /// Whether something is taken out.
    takes: bool,
    old: Option<Record>,
    new: Option<Record>,
}

/// What became of a file.
#[derive(Debug)]
pub struct Done {
    /// `created`, `changed`, `unchanged`, `removed`.
    pub change: &'static str,
    /// Where what it said before is kept.
    pub backup: Option<PathBuf>,
}

impl Change {
    /// Puts what is wanted into the file at `path`.
    ///
    /// # Errors
    ///
    /// If the file cannot be changed, or not without losing something.
    pub fn install(
        state: &Path,
        (host, scope): (Host, Scope),
        path: &Path,
        wanted: &Wanted,
    ) -> Result<Self, CliError> {
        let file = SettingsFile::read(path)?;
        let old = old(state, host, path, wanted)?;
        let text = file.text.as_deref();
        let mut unread = None;
        let (before, after, added) = match wanted {
            Wanted::Hooks(hooks) => {
                let receipt = old.as_ref().and_then(|old| match &old.added {
                    Added::Hooks(receipt) => Some(receipt),
                    _ => None,
                });
                let told = |error| wrong(path, &error);
                let installed = hooks.install(text, receipt).map_err(told)?;
                unread = hooks.unread(&installed.text).map(|error| error.to_string());
                let before = hooks
                    .uninstall(&installed.text, Some(&installed.receipt))
                    .map_err(|error| wrong(path, &error))?;
                (before, installed.text, Added::Hooks(installed.receipt))
            }
            Wanted::Whole(wanted) => {
                let own = |text| old.as_ref().is_some_and(|old| old.after == text);
                if text.is_some_and(|text| text != wanted && !own(text)) {
                    let how = "move it away: AIR's own file has to have this name";
                    return Err(refused(path, "is there, and is not AIR's", how));
                }
                (None, wanted.clone(), Added::Whole)
            }
            Wanted::Trust(_, trusted) => {
                let told = |error| wrong(path, &error);
                let before = match (text, &old) {
                    (Some(text), Some(old)) => without(path, text, old, None)?,
                    (text, _) => text.map(str::to_owned),
                };
                let (after, receipt) = trust::install(before.as_deref(), trusted).map_err(told)?;
                (before, after, Added::Trust(receipt))
            }
        };
        let unchanged = text == Some(&after);
        let new = (!unchanged).then(|| {
            let mut record = Record::new(host, scope, path, added);
            if let Wanted::Trust(hooks, _) = wanted {
                record.trusts = Some(hooks.clone());
            }
            record.before = before;
            record.after.clone_from(&after);
            record
        });
        if !unchanged {
            file.check()?;
        }
        Ok(Self { file, after: Some(after), unread, host, takes: false, old, new })
    }

    /// Takes what was put into the file at `path` out again.
    ///
    /// # Errors
    ///
    /// If the file cannot be changed, or not without losing something.
    pub fn uninstall(
        state: &Path,
        host: Host,
        path: &Path,
        wanted: &Wanted,
    ) -> Result<Self, CliError> {
        let file = SettingsFile::read(path)?;
        let old = old(state, host, path, wanted)?;
        let after = match (&file.text, &old, wanted) {
            (None, ..) => None,
            (Some(text), Some(old), Wanted::Hooks(hooks)) => without(path, text, old, Some(hooks))?,
            (Some(text), Some(old), _) => without(path, text, old, None)?,
            (Some(text), None, Wanted::Hooks(hooks)) => {
                hooks.uninstall(text, None).map_err(|error| wrong(path, &error))?
            }
            (Some(_), None, Wanted::Whole(_)) => {
                let how = "nobody remembers that AIR wrote it: remove it if it is AIR's";
                return Err(refused(path, "is there", how));
            }
            (Some(text), None, Wanted::Trust(..)) => Some(text.clone()),
        };
        if after != file.text {
            file.check()?;
        }
        Ok(Self { file, after, unread: None, host, takes: true, old, new: None })
    }

    /// Whether the file is as it is to be.
    pub fn is_none(&self) -> bool {
        self.file.text == self.after
    }

    /// The change as a patch.
    pub fn diff(&self) -> String {
        let before = self.file.text.as_deref().unwrap_or_default();
        let after = self.after.as_deref().unwrap_or_default();
        let name = self.file.path.display().to_string();
        let mut options = diffy::DiffOptions::new();
        options.set_original_filename(name.clone()).set_modified_filename(name);
        options.create_patch(before, after).to_string()
    }

    /// Carries it out. What would be needed to take it back is kept first.
    ///
    /// # Errors
    ///
    /// If it cannot be done; the file is then as it was.
    pub fn carry_out(self, ledger: &Ledger) -> Result<Done, CliError> {
        let unchanged = self.is_none();
        let Self { file, after, host, takes, old, new, .. } = self;
        let change = match (&file.text, &after) {
            _ if unchanged => "unchanged",
            (None, _) => "created",
            (Some(_), Some(_)) => "changed",
            (Some(_), None) => "removed",
        };
        let mut backup = None;
        if let Some(mut record) = new {
            if let Some(old) = &old {
                record.directories.clone_from(&old.directories);
            }
            if let Some(text) = &file.text {
                backup = Some(ledger.back_up(record.host, &file.path, text)?);
                record.backup.clone_from(&backup);
            }
            ledger.put(&record)?;
            let made = match file.replace(after.as_deref()) {
                Ok(made) => made,
                Err(error) => {
                    // Nothing was installed: nothing is to be on record that was not before.
                    match &old {
                        Some(old) => ledger.put(old)?,
                        None => ledger.remove(&record)?,
                    }
                    return Err(error);
                }
            };
            if !made.is_empty() {
                record.directories = made;
                ledger.put(&record)?;
            }
        } else if takes {
            // What somebody has changed since is more than the record could bring back.
            if let (false, Some(text)) = (unchanged, &file.text)
                && old.as_ref().is_none_or(|old| old.after != *text)
            {
                backup = Some(ledger.back_up(host, &file.path, text)?);
            }
            if !unchanged {
                file.replace(after.as_deref())?;
            }
            if let Some(old) = &old {
                ledger.remove(old)?;
                for directory in old.directories.iter().rev() {
                    // Others may have put something there.
                    let _ = std::fs::remove_dir(directory);
                }
            }
        }
        Ok(Done { change, backup })
    }
}

fn old(state: &Path, host: Host, path: &Path, wanted: &Wanted) -> Result<Option<Record>, CliError> {
    match wanted {
        Wanted::Trust(hooks, _) => Ledger::get(state, host, hooks, true),
        Wanted::Hooks(_) | Wanted::Whole(_) => Ledger::get(state, host, path, false),
    }
}

/// `text` without what `old` tells of.
fn without(
    path: &Path,
    text: &str,
    old: &Record,
    hooks: Option<&Hooks>,
) -> Result<Option<String>, CliError> {
    if text == old.after {
        return Ok(old.before.clone());
    }
    let told = |error| wrong(path, &error);
    match (&old.added, hooks) {
        (Added::Hooks(receipt), Some(hooks)) => {
            if hooks.state(text).map_err(told)? == State::Absent {
                return Ok(Some(text.to_owned()));
            }
            hooks.uninstall(text, Some(receipt)).map_err(told)
        }
        (Added::Trust(receipt), _) => trust::uninstall(text, receipt).map_err(told),
        (Added::Whole | Added::Hooks(_), _) => {
            let how = "save what is yours, and remove it";
            Err(refused(path, "was changed since AIR wrote it", how))
        }
    }
}

/// A settings file that cannot be used.
pub fn wrong(path: &Path, error: &SettingsError) -> CliError {
    let place =
        error.place().map_or_else(String::new, |(line, column)| format!(":{line}:{column}"));
    let what = match error {
        SettingsError::Syntax { what, .. } | SettingsError::Shape { what, .. } => what.clone(),
        other => other.to_string(),
    };
    CliError::Usage {
        what: format!("{}{place}: {what}; the file was left alone", path.display()),
        hint: "mend the file, and try again".to_owned(),
    }
}
