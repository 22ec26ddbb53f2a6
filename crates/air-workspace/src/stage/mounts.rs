//! Staged directories, and the overlay.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Error},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::Path,
};

use air_kernel::mount::{Mapped, map_owners, owner_namespace, unshare_mounts};
use rustix::{
    fs::{CWD, StatVfsMountFlags, statvfs},
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
        OpenTreeFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen,
        mount_change, move_mount, open_tree,
    },
};

use super::{BASE, Ids, Layers, Source, Stage};
use crate::escape::unescape;

/// The name of the overlay below [`BASE`].
pub(super) const MERGED: &str = "merged";

/// A source that is not yet in its place.
struct Tree {
    fd: OwnedFd,
    is_directory: bool,
}

/// Stages all sources in mount namespaces of this process's own.
pub(super) fn stage(stage: &Stage, me: Ids) -> io::Result<()> {
    let is_root = me.user == 0;
    unshare_mounts(!is_root).map_err(|error| said("a mount namespace", &error))?;
    if !is_root {
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{0} {0} 1\n", me.user))?;
        fs::write("/proc/self/gid_map", format!("{0} {0} 1\n", me.group))?;
    }
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    // All of them before one is hidden by what is mounted over it.
    let mut owners = Vec::new();
    let trees = stage.sources.iter().map(|source| open(source, stage.ids, &mut owners));
    let trees = trees.collect::<io::Result<Vec<Tree>>>()?;
    attach(&file_system("tmpfs", &[("mode", "0755")], &[])?, Path::new(BASE))?;
    for (source, tree) in stage.sources.iter().zip(trees) {
        let place = Path::new(BASE).join(&source.name);
        if tree.is_directory {
            fs::create_dir(&place)?;
        } else {
            fs::File::create(&place)?;
        }
        attach(&tree.fd, &place)?;
    }
    if stage.overlay.is_some() {
        fs::create_dir(Path::new(BASE).join(MERGED))?;
    }
    Ok(())
}

fn said(what: &str, error: &Error) -> Error {
    Error::new(error.kind(), format!("{what}: {error}"))
}

/// `owners` are namespaces of those that were mapped before.
fn open(source: &Source, ids: Option<Ids>, owners: &mut Vec<(Ids, OwnedFd)>) -> io::Result<Tree> {
    let path = unescape(&source.path);
    let path = Path::new(OsStr::from_bytes(&path));
    let named = |error: Error| said(&format!("`{}`", path.display()), &error);
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let fd = open_tree(CWD, path, flags).map_err(|error| named(error.into()))?;
    let meta = fs::File::from(fd.try_clone()?).metadata()?;
    let owner = Ids { user: meta.uid(), group: meta.gid() };
    if let Some(ids) = ids.filter(|ids| source.mapped && owner != *ids) {
        let mapped = namespace_of(owner, ids, owners).and_then(|space| map_owners(&fd, space));
        mapped.map_err(|error| named(said("its owner cannot be mapped", &error)))?;
    }
    Ok(Tree { fd, is_directory: meta.is_dir() })
}

fn namespace_of(
    owner: Ids,
    ids: Ids,
    owners: &mut Vec<(Ids, OwnedFd)>,
) -> io::Result<BorrowedFd<'_>> {
    let known = owners.iter().position(|(known, _)| *known == owner);
    if known.is_none() {
        let user = Mapped { disk: owner.user, seen: ids.user };
        let group = Mapped { disk: owner.group, seen: ids.group };
        owners.push((owner, owner_namespace(user, group)?));
    }
    let at = known.unwrap_or(owners.len().saturating_sub(1));
    let (_, namespace) = owners.get(at).ok_or(io::ErrorKind::NotFound)?;
    Ok(namespace.as_fd())
}

/// A new file system, attached nowhere.
fn file_system(kind: &str, options: &[(&str, &str)], set: &[&str]) -> io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        fsconfig_set_string(&context, *name, *value)?;
    }
    for name in set {
        fsconfig_set_flag(&context, *name)?;
    }
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

fn attach(tree: impl AsFd, place: &Path) -> io::Result<()> {
    move_mount(tree, "", CWD, place, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    Ok(())
}

/// Its names are those of staged directories: none has a letter that an option would mistake.
pub(super) fn overlay(layers: &Layers) -> io::Result<()> {
    let lower = format!("{BASE}/{}", layers.lower);
    let upper = format!("{BASE}/{}/{}", layers.parent, layers.upper);
    let work = format!("{BASE}/{}/{}", layers.parent, layers.work);
    let options = [("lowerdir", &*lower), ("upperdir", &*upper), ("workdir", &*work)];
    let made = file_system("overlay", &options, &["userxattr"]);
    let made = made.map_err(|error| said("the overlay of the workspace", &error))?;
    let place = Path::new(BASE).join(MERGED);
    attach(&made, &place)?;
    // Where the kernel cannot prepare the work directory it mounts all the same.
    if statvfs(&place)?.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(Error::other("the overlay of the workspace cannot be written"));
    }
    Ok(())
}
