//! Looking through all objects: counting, checking, removing.

use std::{
    collections::HashSet,
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    time::SystemTime,
};

use super::{
    StoreError,
    disk::{Disk, SPARED, read_object},
};
use crate::tree::Digest;

/// What a store holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Objects.
    pub objects: u64,
    /// On disk, in bytes. Blocks shared with other files count.
    pub bytes: u64,
    /// What it may take, in bytes.
    pub budget: u64,
}

/// What [`super::Store::collect`] removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    /// Objects.
    pub objects: u64,
    /// On disk, in bytes.
    pub bytes: u64,
}

/// What [`super::Store::verify`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Objects that are what their names say.
    pub intact: u64,
    /// Contents that are lost.
    pub damaged: Vec<Digest>,
    /// Contents of which nothing is known, and why.
    pub unreadable: Vec<(Digest, String)>,
}

/// A file that is an object by its name.
pub(super) struct Object {
    pub(super) digest: Digest,
    pub(super) path: PathBuf,
    pub(super) is_packed: bool,
}

impl Disk {
    pub(super) fn folders(&self) -> io::Result<Vec<PathBuf>> {
        let mut folders = Vec::new();
        for item in fs::read_dir(&self.objects)? {
            let item = item?;
            if item.file_name().len() == 2 {
                folders.push(item.path());
            }
        }
        Ok(folders)
    }

    pub(super) fn count(&self) -> io::Result<Usage> {
        let mut usage = Usage { budget: self.budget.bytes, ..Usage::default() };
        for folder in self.folders()? {
            for object in objects(&folder)? {
                // It may have been compressed meanwhile.
                let Some(found) = metadata(&object.path)? else { continue };
                usage.objects += 1;
                usage.bytes += found.blocks() * 512;
            }
        }
        Ok(usage)
    }

    pub(super) fn usage(&self) -> Result<Usage, StoreError> {
        let usage = self.count()?;
        self.used().store(usage.bytes, Ordering::Relaxed);
        Ok(usage)
    }

    pub(super) fn collect(&self, live: &HashSet<Digest>) -> Result<Collected, StoreError> {
        self.clear_workshops()?;
        let mut collected = Collected::default();
        for folder in self.folders()? {
            let _exclusive = self.gate.exclusive()?;
            for object in objects(&folder)? {
                if live.contains(&object.digest) {
                    continue;
                }
                let Some(found) = metadata(&object.path)? else { continue };
                let age = SystemTime::now().duration_since(found.modified()?);
                // One from the future as well: the clock was set.
                if age.is_ok_and(|age| age > SPARED)
                    && let Some(bytes) = self.remove(&object.path)?
                {
                    collected.objects += 1;
                    collected.bytes += bytes;
                }
            }
        }
        self.usage()?;
        Ok(collected)
    }

    pub(super) fn erase(&self, digest: &Digest) -> Result<bool, StoreError> {
        let _exclusive = self.gate.exclusive()?;
        let mut was_held = false;
        for path in [self.raw(digest), self.packed(digest)] {
            was_held |= self.remove(&path)?.is_some();
        }
        let damaged = self.objects.join("damaged").join(digest.to_string());
        for path in [damaged.with_extension("zst"), damaged] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        if was_held && let Some(folder) = self.raw(digest).parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(was_held)
    }

    pub(super) fn verify(&self) -> Result<Verified, StoreError> {
        let mut verified = Verified::default();
        for folder in self.folders()? {
            for object in objects(&folder)? {
                match self.check(&object) {
                    Ok(Some(true)) => verified.intact += 1,
                    Ok(Some(false)) => verified.damaged.push(object.digest),
                    Ok(None) => {}
                    Err(error) => verified.unreadable.push((object.digest, error.to_string())),
                }
            }
        }
        Ok(verified)
    }

    /// Whether an object is intact; it is set aside if not. `None` if it is gone.
    pub(super) fn check(&self, object: &Object) -> Result<Option<bool>, StoreError> {
        let file = match File::open(&object.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let is_intact = read_object(file, object.is_packed, &object.digest, &mut io::sink())?;
        if !is_intact {
            self.set_aside(&object.path)?;
        }
        Ok(Some(is_intact))
    }
}

/// The objects in one folder.
pub(super) fn objects(folder: &Path) -> io::Result<Vec<Object>> {
    let mut objects = Vec::new();
    for item in fs::read_dir(folder)? {
        let path = item?.path();
        let is_packed = path.extension().is_some_and(|extension| extension == "zst");
        let name = |path: &Path| Some(path.file_stem()?.to_str()?.to_owned());
        let digest = name(folder).zip(name(&path)).and_then(|(a, b)| parse(&(a + &b)));
        if let Some(digest) = digest.filter(|_| is_packed || path.extension().is_none()) {
            objects.push(Object { digest, path, is_packed });
        }
    }
    Ok(objects)
}

pub(super) fn metadata(path: &Path) -> io::Result<Option<fs::Metadata>> {
    match path.symlink_metadata() {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn parse(hex: &str) -> Option<Digest> {
    let mut bytes = [0; 32];
    if hex.len() != 64 {
        return None;
    }
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()?;
    }
    Some(Digest(bytes))
}
