//! Which rule files are meant.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// How the name of a rule file ends.
const EXTENSION: &str = "air";
/// Directories within directories that are looked into.
const MAX_DEPTH: usize = 64;

/// Rule files cannot be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuleFilesError {
    /// There is nothing of that name.
    #[error("no such file or directory: `{}`", .0.display())]
    Missing(PathBuf),
    /// A pattern or directory stands for no file. Not the same as no rules: a typo must not disarm.
    #[error("no rule file matches `{}`", .0.display())]
    NoMatch(PathBuf),
    /// Directories are nested too deep, or lead back into themselves.
    #[error("directory `{}` is nested too deep", .0.display())]
    TooDeep(PathBuf),
    /// A directory cannot be read.
    #[error("cannot read directory `{}`: {source}", path.display())]
    Unreadable {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The files that `path`, relative to `base`, stands for: itself; if it is a directory, the rule
/// files in it at any depth; if its last component has a `*`, the files that match. They are named
/// as `path` is, and in the order of their names.
///
/// # Errors
///
/// If there are none, or not all could be looked for.
pub fn find_in(base: &Path, path: &Path) -> Result<Vec<PathBuf>, RuleFilesError> {
    let place = base.join(path);
    let mut found = Vec::new();
    if place.is_dir() {
        walk(base, path, 0, &mut found)?;
    } else if place.try_exists().unwrap_or(true) {
        found.push(path.to_owned());
    } else {
        let pattern = path.file_name().map(|name| name.to_string_lossy());
        let Some(pattern) = pattern.filter(|name| name.contains('*')) else {
            return Err(RuleFilesError::Missing(path.to_owned()));
        };
        for entry in entries(base, path.parent().unwrap_or(Path::new("")))? {
            let name = entry.file_name().unwrap_or_default().to_string_lossy();
            if air_core::rule::glob(&pattern, &name) && base.join(&entry).is_file() {
                found.push(entry);
            }
        }
    }
    if found.is_empty() { Err(RuleFilesError::NoMatch(path.to_owned())) } else { Ok(found) }
}

/// The files that all of `paths` stand for, each once.
///
/// # Errors
///
/// If one of them stands for none.
pub fn find_all(base: &Path, paths: &[PathBuf]) -> Result<Vec<PathBuf>, RuleFilesError> {
    let mut all = Vec::new();
    for path in paths {
        for file in find_in(base, path)? {
            if !all.contains(&file) {
                all.push(file);
            }
        }
    }
    Ok(all)
}

fn walk(
    base: &Path,
    directory: &Path,
    depth: usize,
    found: &mut Vec<PathBuf>,
) -> Result<(), RuleFilesError> {
    if depth == MAX_DEPTH {
        return Err(RuleFilesError::TooDeep(directory.to_owned()));
    }
    for entry in entries(base, directory)? {
        let place = base.join(&entry);
        // A link to a directory may lead back here; what it leads to can be named by itself.
        if place.is_dir() && !place.is_symlink() {
            walk(base, &entry, depth + 1, found)?;
        } else if entry.extension().is_some_and(|extension| extension == EXTENSION) {
            found.push(entry);
        }
    }
    Ok(())
}

fn entries(base: &Path, directory: &Path) -> Result<Vec<PathBuf>, RuleFilesError> {
    let read = || -> io::Result<Vec<PathBuf>> {
        fs::read_dir(base.join(directory))?
            .map(|entry| entry.map(|entry| directory.join(entry.file_name())))
            .collect()
    };
    let mut paths = read()
        .map_err(|source| RuleFilesError::Unreadable { path: directory.to_owned(), source })?;
    paths.sort_unstable();
    Ok(paths)
}
