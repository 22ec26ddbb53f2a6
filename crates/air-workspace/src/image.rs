//! What a root file system needs to be one: directories that something is mounted on, and the links
//! by which programs and libraries are found.

use std::{
    ffi::OsStr,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Component, Path, PathBuf},
};

use air_checkpoint::beneath;
use rustix::{
    fs::{
        AtFlags, FileType, Gid, Mode, OFlags, Uid, chownat, fchmod, fchown, fstat, mkdirat, openat,
        statat, symlinkat,
    },
    io::Errno,
};

use crate::{
    bwrap,
    config::SandboxConfig,
    python::PythonHome,
    view::{self, View},
};

/// Makes what is missing, for whoever owns the root. No link is followed: what an agent put in the
/// place of a directory leads nowhere.
pub(crate) fn complete(config: &SandboxConfig, view: &View, python: &PythonHome) -> io::Result<()> {
    let image = Image::open(&config.workspace)?;
    let own = ["/proc", "/dev", view::OWN, bwrap::WORKSPACE].map(Path::new);
    let directories = own.into_iter().chain(view.system.iter().map(PathBuf::as_path));
    for path in directories.chain(python.directories.iter().map(PathBuf::as_path)) {
        image.directory(path, 0o755)?;
    }
    image.directory(Path::new(view::ROOT_HOME), 0o700)?;
    image.directory(Path::new(bwrap::TMP), 0o1777)?;
    for (host, inside) in &config.binds {
        let of_kernel = ["/proc", "/dev", view::OWN].iter().any(|own| inside.starts_with(own));
        if of_kernel {
            continue;
        }
        if host.is_dir() {
            image.directory(inside, 0o755)?;
        } else {
            image.file(inside)?;
        }
    }
    for short in view::SHORT {
        let target = view::usr(short);
        if view.system.contains(&Path::new("/").join(&target)) {
            image.link(short, &target)?;
        }
    }
    Ok(())
}

struct Image {
    root: OwnedFd,
    owner: Option<(Uid, Gid)>,
}

impl Image {
    fn open(root: &Path) -> io::Result<Self> {
        let root = beneath::root(root)?;
        let stat = fstat(&root)?;
        let owner = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        let owner = rustix::process::geteuid().is_root().then_some(owner);
        Ok(Self { root, owner })
    }

    fn directory(&self, path: &Path, mode: u32) -> io::Result<OwnedFd> {
        let mut current = self.root.try_clone()?;
        let mut names = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        });
        let mut next = names.next();
        while let Some(name) = next {
            next = names.next();
            let mode = if next.is_none() { mode } else { 0o755 };
            current = self.enter(&current, name, mode).map_err(|error| named(path, &error))?;
        }
        Ok(current)
    }

    fn enter(&self, parent: &OwnedFd, name: &OsStr, mode: u32) -> io::Result<OwnedFd> {
        match mkdirat(parent, name, Mode::RWXU) {
            Err(Errno::EXIST) => return beneath::directory(parent, name.as_bytes()),
            made => made?,
        }
        let made = beneath::directory(parent, name.as_bytes())?;
        self.give(&made)?;
        fchmod(&made, Mode::from_raw_mode(mode))?;
        Ok(made)
    }

    fn give(&self, made: &OwnedFd) -> io::Result<()> {
        if let Some((user, group)) = self.owner {
            fchown(made, Some(user), Some(group))?;
        }
        Ok(())
    }

    /// An empty file to bind another on.
    fn file(&self, path: &Path) -> io::Result<()> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(named(path, &io::ErrorKind::InvalidInput.into()));
        };
        let parent = self.directory(parent, 0o755)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        match openat(&parent, name, flags, Mode::from_raw_mode(0o644)) {
            Ok(made) => self.give(&made),
            Err(Errno::EXIST) => {
                let there = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
                let is_file = FileType::from_raw_mode(there.st_mode) == FileType::RegularFile;
                let no_file = || named(path, &io::Error::other("it is no file"));
                is_file.then_some(()).ok_or_else(no_file)
            }
            Err(error) => Err(named(path, &error.into())),
        }
    }

    /// A link where nothing is. What is there is the root file system's own.
    fn link(&self, name: &str, target: &Path) -> io::Result<()> {
        match symlinkat(target, &self.root, name) {
            Err(Errno::EXIST) => return Ok(()),
            made => made?,
        }
        if let Some((user, group)) = self.owner {
            chownat(&self.root, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
        }
        Ok(())
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    let why = format!("`{}` of the workspace, which is mounted on: {error}", path.display());
    io::Error::new(error.kind(), why)
}
