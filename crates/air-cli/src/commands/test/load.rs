//! From paths to suites.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use air_testkit::suite::{self, Case};

use crate::{error::CliError, rule_files};

/// A test file.
pub(super) struct Suite {
    pub(super) file: PathBuf,
    /// Its name as a person is shown it.
    pub(super) shown: String,
    pub(super) text: String,
    pub(super) cases: Vec<Case>,
}

/// All suites that `paths` stand for. `read` are the files that were read, rule files included,
/// as they were.
pub(super) fn suites(
    paths: &[PathBuf],
    cwd: &Path,
    read: &mut BTreeMap<PathBuf, Stamp>,
) -> Result<Vec<Suite>, CliError> {
    let mut files = Vec::new();
    for path in paths {
        files.extend(test_files(&cwd.join(path)).map_err(CliError::file("read", path))?);
    }
    // All of them, also where one of them is broken.
    read.extend(files.iter().map(|file| (file.clone(), stamp(file))));
    let mut suites = Vec::new();
    for file in files {
        let shown = shown(&file, cwd);
        let text = fs::read_to_string(&file).map_err(CliError::file("read", &file))?;
        let mut load = |name: &str| rules(&file, name, cwd, read);
        let cases = suite::parse(&text, &mut load)
            .map_err(|error| unusable(&shown, error.line, &error.message))?;
        suites.push(Suite { file, shown, text, cases });
    }
    Ok(suites)
}

/// Tells one state of a file from another: when it was changed and how long it is, if it is there.
pub(super) type Stamp = Option<(SystemTime, u64)>;

pub(super) fn stamp(file: &Path) -> Stamp {
    let found = fs::metadata(file).ok()?;
    Some((found.modified().ok()?, found.len()))
}

pub(super) fn unusable(file: &str, line: usize, message: &str) -> CliError {
    CliError::Usage {
        what: format!("{file}:{line}: {message}"),
        hint: "a case has rules fenced as `air`, steps as `toml`, and a transcript as `expect`; \
               docs/testing-rules.md tells more"
            .to_owned(),
    }
}

fn shown(file: &Path, cwd: &Path) -> String {
    file.strip_prefix(cwd).unwrap_or(file).display().to_string()
}

/// The rule files that `name` stands for, beside the suite `file`.
fn rules(
    file: &Path,
    name: &str,
    cwd: &Path,
    read: &mut BTreeMap<PathBuf, Stamp>,
) -> Result<Vec<(String, String)>, String> {
    let base = file.parent().unwrap_or(Path::new("."));
    let found = rule_files::find_in(base, Path::new(name)).map_err(|error| error.to_string())?;
    let rule_file = |path: PathBuf| {
        let failed = |error| format!("cannot read `{}`: {error}", path.display());
        // One name for one file, wherever it is named from.
        let place = base.join(&path).canonicalize().map_err(failed)?;
        read.insert(place.clone(), stamp(&place));
        let text = fs::read_to_string(&place).map_err(failed)?;
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        Ok((shown(&place, &cwd), text))
    };
    found.into_iter().map(rule_file).collect()
}

/// The file itself, or the Markdown files below a directory.
pub(super) fn test_files(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    let mut open = vec![path.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            } else if entry.path().extension().is_some_and(|extension| extension == "md") {
                found.push(entry.path());
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}
