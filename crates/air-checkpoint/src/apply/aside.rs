//! What was swapped out: `displaced/<id>/<place>-<n>-<digest>`.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use rustix::io::Errno;

use super::{
    Applier,
    site::{Spot, set_mode},
};
use crate::{
    beneath,
    store::{digest, private_directory},
    tree::Digest,
};

const FOLDER: &str = "displaced";

pub(super) fn folder(directory: &Path) -> PathBuf {
    directory.join(FOLDER)
}

/// What all of it takes on disk, in bytes.
pub(super) fn bytes(directory: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    let mut pending = vec![folder(directory)];
    while let Some(folder) = pending.pop() {
        let listed = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            listed => listed?,
        };
        for item in listed {
            let item = item?;
            match item.metadata() {
                Ok(found) if found.is_dir() => pending.push(item.path()),
                Ok(found) => bytes += found.blocks() * 512,
                // It may have been forgotten meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(bytes)
}

/// Moves the file at `out` away; its path below AIR's directory. `None`: it is on another file
/// system, so its content is in the store and the file is gone.
pub(super) fn move_away(
    applier: &Applier<'_>,
    id: &str,
    index: usize,
    out: &Spot,
    known: Option<Digest>,
) -> io::Result<Option<String>> {
    let folder = applier.directory.join(FOLDER).join(id);
    private_directory(&folder)?;
    let target = beneath::root(&folder)?;
    let known_name = known.map_or_else(|| "unknown".to_owned(), |digest| digest.to_string());
    for n in 0_u32.. {
        let name = format!("{index}-{n}-{known_name}");
        let to = Spot { parent: target.try_clone()?, name: name.clone().into() };
        match out.rename(&to) {
            Ok(()) => return Ok(Some(format!("{FOLDER}/{id}/{name}"))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) if error.raw_os_error() == Some(Errno::XDEV.raw_os_error()) => break,
            Err(error) => return Err(error),
        }
    }
    let held = known.is_some_and(|digest| applier.store.holds(&digest));
    if !held {
        let file = out.open().or_else(|error| {
            if error.kind() != io::ErrorKind::PermissionDenied {
                return Err(error);
            }
            // It is ours by now, and its mode is written down.
            set_mode(&out.handle()?, 0o600)?;
            out.open()
        });
        applier.store.keep(&File::from(file?))?;
    }
    out.unlink()?;
    Ok(None)
}

/// Whether a file that was moved away holds something else by now.
pub(super) fn has_changed(directory: &Path, kept: &str) -> bool {
    let path = directory.join(kept);
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let Some((_, named)) = name.rsplit_once('-').filter(|(_, named)| *named != "unknown") else {
        return false;
    };
    let Ok(mut file) = File::open(&path) else { return false };
    digest(&mut file).is_ok_and(|digest| digest.to_string() != named)
}

/// All that was moved away in one go, each with the number of its place.
pub(super) fn list(directory: &Path, id: &str) -> Vec<(usize, String)> {
    let Ok(listed) = fs::read_dir(directory.join(FOLDER).join(id)) else { return Vec::new() };
    let names = listed.flatten().map(|item| item.file_name().to_string_lossy().into_owned());
    let mut all: Vec<(usize, String)> = names
        .filter_map(|name| {
            let (index, _) = name.split_once('-')?;
            Some((index.parse().ok()?, format!("{FOLDER}/{id}/{name}")))
        })
        .collect();
    all.sort();
    all
}

/// A file of this content that was moved away.
pub(super) fn find(directory: &Path, content: &Digest) -> Option<PathBuf> {
    let end = format!("-{content}");
    let folders = fs::read_dir(directory.join(FOLDER)).ok()?;
    folders.flatten().find_map(|folder| {
        let mut files = fs::read_dir(folder.path()).ok()?.flatten();
        let file = files.find(|file| file.file_name().to_string_lossy().ends_with(&end))?;
        Some(file.path())
    })
}

/// Removes all that was swapped out in one go.
pub(super) fn forget(directory: &Path, id: &str) -> io::Result<()> {
    match fs::remove_dir_all(directory.join(FOLDER).join(id)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
