//! Moves files out of the agent's reach. Nothing is followed, nothing is lost.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
};

use air_checkpoint::{
    Root, beneath,
    store::{private_directory, private_file},
};
use air_core::id::IncidentId;
use rustix::{
    fs::{
        AtFlags, CWD, Dir, FileType, Stat, fchmod, fgetxattr, readlinkat, renameat, statat,
        symlinkat, unlinkat,
    },
    io::Errno,
};

use crate::{layers::WORKSPACE, view::View};

/// What was moved, and what could not be.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    pub(crate) moved: Vec<String>,
    pub(crate) failed: Vec<String>,
}

/// What the agent reaches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reach<'a> {
    pub(crate) roots: &'a [Root],
    pub(crate) view: &'a View,
    /// What shows through the first root where that has nothing.
    pub(crate) lower: Option<&'a Path>,
}

/// Moves `paths`, as the agent calls them, absolute and without `.` and `..`, into the evidence of `incident`.
pub(crate) fn quarantine(
    reach: Reach<'_>,
    state: &Path,
    incident: &IncidentId,
    paths: &[String],
) -> io::Result<Moved> {
    let evidence = evidence(state, incident)?;
    let mut moved = Moved::default();
    let mut directories = Vec::new();
    for path in paths {
        match one(reach, &evidence, path) {
            Ok(Took::It) => moved.moved.push(path.clone()),
            Ok(Took::Nothing) => {}
            Ok(Took::Later(parent, name)) => directories.push((path, parent, name)),
            Err(error) => moved.failed.push(format!("{path}: {error}")),
        }
    }
    // What is in them has been moved by now; the innermost goes first.
    for (path, parent, name) in directories.into_iter().rev() {
        match unlinkat(&parent, &name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => moved.moved.push(path.clone()),
            Err(error) => moved.failed.push(format!("{path}: {error}")),
        }
    }
    for path in paths {
        let visible = match shows_through(reach, path) {
            Ok(false) => continue,
            Ok(true) => "still visible: it was there before".to_owned(),
            Err(error) => error.to_string(),
        };
        let told = format!("{path}: ");
        if !moved.failed.iter().any(|failed| failed.starts_with(&told)) {
            moved.moved.retain(|moved| moved != path);
            moved.failed.push(told + &visible);
        }
    }
    Ok(moved)
}

/// Moves the source of a step, a file of AIR's own, into the evidence of `incident`; whether it was
/// there.
pub(crate) fn seize(state: &Path, incident: &IncidentId, source: &Path) -> io::Result<bool> {
    let sources = evidence(state, incident)?.join("steps");
    private_directory(&sources)?;
    let Some(name) = source.file_name() else { return Ok(false) };
    match fs::rename(source, sources.join(name)) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The directory of what was taken out of reach.
fn evidence(state: &Path, incident: &IncidentId) -> io::Result<PathBuf> {
    let name = incident.as_str();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.starts_with('.') || !name.bytes().all(plain) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("incident `{name}`")));
    }
    let evidence = state.join("evidence").join(name);
    private_directory(&evidence)?;
    Ok(evidence)
}

/// What became of one path.
enum Took {
    /// It was moved.
    It,
    /// It was not there.
    Nothing,
    /// A directory that cannot be moved to another file system: it goes when it is empty.
    Later(OwnedFd, OsString),
}

/// Whether the agent still sees something at a path, now that nothing of it is in the roots: what the
/// layer does not hide is the user's, and stays.
fn shows_through(reach: Reach<'_>, path: &str) -> io::Result<bool> {
    let Some(lower) = reach.lower else { return Ok(false) };
    let Some((WORKSPACE, below)) = reach.view.place(reach.roots, Path::new(path)) else {
        return Ok(false);
    };
    let below = Path::new(OsStr::from_bytes(&below));
    let Some(upper) = reach.roots.first() else { return Ok(false) };
    let mut upper = Some(beneath::root(&upper.host)?);
    let mut lower = beneath::root(lower)?;
    let mut names = below.iter().peekable();
    while let Some(name) = names.next() {
        let hides = match upper.as_ref().map(|upper| statat(upper, name, AtFlags::SYMLINK_NOFOLLOW))
        {
            None | Some(Err(Errno::NOENT)) => false,
            Some(found) => FileType::from_raw_mode(found?.st_mode) != FileType::Directory,
        };
        if hides {
            return Ok(false);
        }
        let Some(found) = as_it_is(&lower, name)? else { return Ok(false) };
        let kind = match statat(&lower, &found, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(false),
            found => FileType::from_raw_mode(found?.st_mode),
        };
        if names.peek().is_none() {
            return Ok(true);
        }
        if kind != FileType::Directory {
            return Ok(false);
        }
        upper = match upper.map(|upper| beneath::directory(&upper, name.as_bytes())) {
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => None,
            upper => upper.transpose()?,
        };
        if let Some(upper) = &upper
            && is_opaque(upper)?
        {
            return Ok(false);
        }
        lower = beneath::directory(&lower, found.as_bytes())?;
    }
    Ok(false)
}

/// Whether a directory of the layer hides all that is below it.
fn is_opaque(directory: &OwnedFd) -> io::Result<bool> {
    let mut value = [0; 8];
    match fgetxattr(directory, "user.overlay.opaque", &mut value) {
        Ok(length) => Ok(value.get(..length) == Some(b"y")),
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::RANGE) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Moves one path.
fn one(reach: Reach<'_>, evidence: &Path, path: &str) -> io::Result<Took> {
    let place = reach.view.place(reach.roots, Path::new(path));
    let place = place.and_then(|(at, below)| Some((reach.roots.get(at)?, below)));
    let Some((root, below)) = place else {
        return Err(io::Error::other(reach.view.why_nowhere(Path::new(path))));
    };
    let (parent, name) = beneath::split(&below);
    if name.is_empty() {
        return Err(io::Error::other("a whole root cannot be moved"));
    }
    let parent_fd = match beneath::root(&root.host).and_then(|fd| beneath::directory(&fd, parent)) {
        Ok(fd) => fd,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Took::Nothing),
        Err(error) => return Err(error),
    };
    let Some(name) = as_it_is(&parent_fd, OsStr::from_bytes(name))? else {
        return Ok(Took::Nothing);
    };
    let name = name.as_os_str();
    let kind = match statat(&parent_fd, name, AtFlags::SYMLINK_NOFOLLOW) {
        // A place that hides what is below it: what it hides would show again.
        Ok(stat) if is_whiteout(&stat) => return Ok(Took::Nothing),
        Ok(stat) => FileType::from_raw_mode(stat.st_mode),
        Err(rustix::io::Errno::NOENT) => return Ok(Took::Nothing),
        Err(error) => return Err(error.into()),
    };
    let label = root.agent.file_name().unwrap_or(OsStr::new("root"));
    let folder = evidence.join(label).join(OsStr::from_bytes(parent));
    private_directory(&folder)?;
    let mut target = folder.join(name);
    let mut number = 0_u32;
    // Evidence of an earlier move stays.
    while target.symlink_metadata().is_ok() {
        number += 1;
        let mut numbered = OsString::from(name);
        numbered.push(format!(".{number}"));
        target = folder.join(numbered);
    }
    match renameat(&parent_fd, name, CWD, &target) {
        Ok(()) => Ok(Took::It),
        Err(rustix::io::Errno::NOENT) => Ok(Took::Nothing),
        Err(rustix::io::Errno::XDEV) => {
            match kind {
                FileType::RegularFile => copy(&parent_fd, name, &target)?,
                FileType::Directory => return Ok(Took::Later(parent_fd, name.to_owned())),
                FileType::Symlink => {
                    let link = readlinkat(&parent_fd, name, Vec::new())?;
                    symlinkat(&link, CWD, &target)?;
                }
                // A pipe or a socket has no content to keep.
                _ => {}
            }
            unlinkat(&parent_fd, name, AtFlags::empty())?;
            Ok(Took::It)
        }
        Err(error) => Err(error.into()),
    }
}

/// The name as it is in `parent`. One with bytes that are no text is told with `U+FFFD` in their
/// place; an agent that picks such a name must not get away with it.
fn as_it_is(parent: &OwnedFd, told: &OsStr) -> io::Result<Option<OsString>> {
    let there = statat(parent, told, AtFlags::SYMLINK_NOFOLLOW).is_ok();
    if there || !told.to_string_lossy().contains(char::REPLACEMENT_CHARACTER) {
        return Ok(Some(told.to_owned()));
    }
    for entry in Dir::read_from(parent)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name.to_str().is_none() && name.to_string_lossy() == told.to_string_lossy() {
            return Ok(Some(name.to_owned()));
        }
    }
    Ok(None)
}

fn is_whiteout(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0
}

/// For a state directory on another file system.
fn copy(parent: &OwnedFd, name: &OsStr, target: &Path) -> io::Result<()> {
    let mut from = File::from(beneath::file(parent, name.as_bytes())?);
    let mut to = private_file(target)?;
    let copied = io::copy(&mut from, &mut to).and_then(|_| {
        let mode = rustix::fs::fstat(&from)?.st_mode;
        Ok(fchmod(&to, rustix::fs::Mode::from_raw_mode(mode))?)
    });
    if copied.is_err() {
        let _ = fs::remove_file(target);
    }
    copied
}
