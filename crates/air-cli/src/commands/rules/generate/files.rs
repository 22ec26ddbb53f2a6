//! Where drafts go. What is there is never overwritten.

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use super::{Read, input::Category, report::Outcome};
use crate::{error::CliError, tell::plain};

pub(super) struct Place {
    good: PathBuf,
    returned: PathBuf,
}

impl Place {
    pub(super) fn open(directory: &Path) -> Result<Self, CliError> {
        let returned = directory.join("returned");
        fs::create_dir_all(&returned).map_err(CliError::file("make", &returned))?;
        Ok(Self { good: directory.to_owned(), returned })
    }

    /// What became of a rule that an earlier run has written; with `again`, returned ones do not count.
    pub(super) fn kept(&self, name: &str, again: bool) -> Option<Outcome> {
        let is_there = |directory: &Path| file(directory, name).symlink_metadata().is_ok();
        if is_there(&self.good) {
            Some(Outcome::Kept)
        } else {
            (is_there(&self.returned) && !again).then_some(Outcome::ReturnedEarlier)
        }
    }

    pub(super) fn write(&self, category: &Category, read: &Read, by: &str) -> Result<(), CliError> {
        let title = plain(&category.title);
        let mut text = format!("# Drafted by {by} for the category: {title}\n");
        let old = file(&self.returned, &category.name);
        if read.faults.is_empty() {
            text.push_str("# Nobody has read it yet.\n\n");
            text.push_str(&air_lang::format(&air_lang::parse(&read.text)));
            put(&file(&self.good, &category.name), &text)?;
            return match fs::remove_file(&old) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(CliError::file("remove", &old)(error))
                }
                _ => Ok(()),
            };
        }
        for fault in &read.faults {
            let _ = writeln!(text, "# returned: {}: {}", fault.code, plain(&fault.message));
        }
        text.push_str("#\n");
        // As comments: whoever loads the whole directory must not load what was returned.
        for line in read.text.lines() {
            let shown: String =
                line.chars().filter(|letter| !letter.is_control() || *letter == '\t').collect();
            let _ = writeln!(text, "{}", format!("# {shown}").trim_end());
        }
        put(&old, &text)
    }
}

fn file(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.air"))
}

/// Whole, or not at all.
fn put(path: &Path, text: &str) -> Result<(), CliError> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let written = tempfile::NamedTempFile::new_in(directory).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)
    });
    written.map(drop).map_err(CliError::file("write", path))
}
