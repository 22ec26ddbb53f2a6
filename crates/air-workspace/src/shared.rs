//! Files of the workspace that have names outside of it as well. To swap one would leave what the
//! agent wrote at the other names, so its content is put back in place.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Seek, sink},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
};

use air_checkpoint::{Entry, Kind, Place, apply::Change, beneath};
use air_kernel::lease::is_open_for_writing;
use rustix::fs::{Mode, OFlags, openat};

use crate::{
    effects::agent_path,
    layers::{Layers, WORKSPACE},
};

/// What became of them.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Whether the content of any was put back.
    pub(crate) has_changed: bool,
    /// Those whose other names still hold what the agent wrote, for a person.
    pub(crate) left: Vec<String>,
}

/// Puts back the contents that `changes` shall put back. What is there now is kept already.
pub(crate) fn put_back(layers: &Layers, changes: &[Change]) -> Shared {
    let mut shared = Shared::default();
    if layers.is_layered() {
        return shared;
    }
    let names = layers.timeline.tree().names_by_file();
    for change in changes.iter().filter(|change| change.place.0 == WORKSPACE) {
        let (Some(now), Some(then)) = (&change.from, &change.to) else { continue };
        let known = names.get(&(now.device, now.inode)).map_or(1, Vec::len);
        let is_written = now.kind == Kind::File
            && (now.device, now.inode) == (then.device, then.inode)
            && (now.digest != then.digest || now.digest.is_none() && now.size != then.size);
        if !is_written || u64::try_from(known).is_ok_and(|known| now.links <= known) {
            continue;
        }
        match write(layers, &change.place, now, then) {
            Ok(()) => shared.has_changed = true,
            Err(error) => shared.left.push(format!(
                "{}: it has a name outside of the workspace too, which still holds what was \
                 written ({error}): find it by its inode {} and put it back",
                agent_path(layers.roots(), &change.place),
                now.inode
            )),
        }
    }
    shared
}

fn write(layers: &Layers, place: &Place, now: &Entry, then: &Entry) -> io::Result<()> {
    let digest = then.digest.filter(|_| then.kept && now.kept);
    let digest = digest.ok_or_else(|| io::Error::other("its content was not kept"))?;
    let root = layers.roots().get(place.0).ok_or(io::ErrorKind::NotFound)?;
    let (parent, name) = beneath::split(&place.1);
    let directory = beneath::directory(&beneath::root(&root.host)?, parent)?;
    if is_open_for_writing(&beneath::file(&directory, name)?) == Some(true) {
        return Err(io::Error::other("another program has it open for writing: end it first"));
    }
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(openat(&directory, OsStr::from_bytes(name), flags, Mode::empty())?);
    let meta = file.metadata()?;
    let changed = meta.ctime().saturating_mul(1_000_000_000).saturating_add(meta.ctime_nsec());
    if (meta.dev(), meta.ino(), changed) != (now.device, now.inode, now.ctime_ns) {
        return Err(io::Error::other("it was changed since"));
    }
    // A content that is damaged is found at its end, and must not get there.
    layers.store().read(&digest, &mut sink())?;
    file.rewind()?;
    layers.store().read(&digest, &mut file)?;
    file.set_len(then.size)?;
    file.sync_all()
}
