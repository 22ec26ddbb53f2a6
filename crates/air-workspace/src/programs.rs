//! What the programs of services are, as far as an agent may have a hand in it. One that was changed
//! is not started again: it would run beside the agent as nobody's.

use std::{
    collections::BTreeMap,
    io::{self, Read, Seek},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Component, Path, PathBuf},
};

use air_checkpoint::{Root, beneath, store};
use rustix::fs::{AtFlags, FileType, readlinkat, statat};

use crate::{
    config::Service,
    layers::{Layers, WORKSPACE},
    source,
    view::View,
};

/// In the session's directory: what the programs were when its first sandbox was started.
const FILE: &str = "programs.json";
/// Links that are followed, and scripts whose interpreter is looked at.
const LINKS: usize = 40;
const SCRIPTS: usize = 4;
/// What a person can do about a service that is not started again.
const WAY_OUT: &str = "undo what the session did, or begin another session";
/// The longest first line of a script, in bytes.
const FIRST_LINE: u64 = 256;

/// What the way to a program consists of, one line a link or file below a watched root; an error if
/// that cannot be told.
type Way = Result<Vec<String>, String>;

/// Of each service.
pub(crate) type Ways = BTreeMap<String, Way>;

/// What the programs of services were when the session's first sandbox was started, and whether that
/// is only now.
pub(crate) fn at_first(session: &Path, now: impl FnOnce() -> Ways) -> io::Result<(Ways, bool)> {
    let file = session.join(FILE);
    match std::fs::read(&file) {
        // Of one that cannot be read, nothing is known, and so nothing is started again.
        Ok(kept) => Ok((serde_json::from_slice(&kept).unwrap_or_default(), false)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let ways = now();
            let draft = session.join(format!("{FILE}.new"));
            std::fs::write(&draft, serde_json::to_vec(&ways)?)?;
            std::fs::rename(draft, file)?;
            Ok((ways, true))
        }
        Err(error) => Err(error),
    }
}

/// Why a service is not to be started, if so.
pub(crate) fn objection(first: Option<&Way>, now: &Way) -> Option<String> {
    match (first, now) {
        (Some(Ok(first)), Ok(now)) if first == now => None,
        (Some(Ok(_)), Ok(_)) => Some(format!("its program was changed; {WAY_OUT}")),
        (Some(Err(why)), _) | (Some(Ok(_)), Err(why)) => {
            Some(format!("whether its program was changed is not known: {why}; {WAY_OUT}"))
        }
        (None, _) => Some(format!("what its program was is not known; {WAY_OUT}")),
    }
}

/// What the programs of `services` are now.
pub(crate) fn ways(services: &[Service], layers: &Layers, view: &View) -> Ways {
    let look = Look { layers, view };
    services.iter().map(|service| (service.name.clone(), look.service(service))).collect()
}

struct Look<'a> {
    layers: &'a Layers,
    view: &'a View,
}

impl Look<'_> {
    fn service(&self, service: &Service) -> Way {
        let mut told = Vec::new();
        let Some((program, arguments)) = service.argv.split_first() else { return Ok(told) };
        self.follow(Path::new(program), &mut told, 0)?;
        // Scripts, programs that others start, configuration: each may decide what runs.
        for argument in arguments {
            // It is started in `/`. An argument that names nothing is no file.
            let path = Path::new("/").join(argument);
            let mut file = Vec::new();
            if self.follow(&path, &mut file, 0).is_ok() {
                told.append(&mut file);
            }
        }
        Ok(told)
    }

    /// Tells the way to the file at `path`, and to what it is run by.
    fn follow(&self, path: &Path, told: &mut Vec<String>, scripts: usize) -> Result<(), String> {
        let failed = |error: io::Error| format!("`{}`: {error}", path.display());
        let real = self.resolve(path, told).map_err(failed)?;
        let Some((root, lower, below)) = self.place(&real) else { return Ok(()) };
        let mut file = source::layered(root, lower, &below).map_err(failed)?;
        let digest = store::digest(&mut file).map_err(failed)?;
        told.push(format!("{} {digest}", real.display()));
        file.rewind().map_err(failed)?;
        let mut line = Vec::new();
        file.take(FIRST_LINE).read_to_end(&mut line).map_err(failed)?;
        let Some(line) = line.strip_prefix(b"#!").filter(|_| scripts < SCRIPTS) else {
            return Ok(());
        };
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line).into_owned();
        let Some(program) = line.split_whitespace().next() else { return Ok(()) };
        self.follow(Path::new(program), told, scripts + 1)
    }

    fn place(&self, path: &Path) -> Option<(&Root, Option<&Root>, Vec<u8>)> {
        let (at, below) = self.view.place(self.layers.roots(), path)?;
        let lower = self.layers.workspace();
        let lower = lower.filter(|_| at == WORKSPACE && self.layers.is_layered());
        Some((self.layers.roots().get(at)?, lower, below))
    }

    /// Where a path leads by the links on its way, which are told where an agent may change them.
    fn resolve(&self, path: &Path, told: &mut Vec<String>) -> io::Result<PathBuf> {
        let mut rest: Vec<PathBuf> = parts(&self.view.meant(&path.to_string_lossy()));
        let (mut real, mut links) = (PathBuf::from("/"), 0);
        while let Some(part) = rest.pop() {
            if part.as_os_str() == ".." {
                real.pop();
                continue;
            }
            let next = real.join(&part);
            let Some(target) = self.link(&next)? else {
                real = next;
                continue;
            };
            links += 1;
            if links > LINKS {
                return Err(io::Error::other("too many links"));
            }
            if self.place(&next).is_some() {
                told.push(format!("{} -> {}", next.display(), target.display()));
            }
            if target.is_absolute() {
                real = PathBuf::from("/");
            }
            rest.extend(parts(&target));
        }
        Ok(real)
    }

    /// Where the link at `path` leads, if it is one.
    fn link(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let Some((root, lower, below)) = self.place(path) else {
            let host = self.view.outside(path);
            return Ok(host.and_then(|host| host.read_link().ok()));
        };
        let (parent, name) = beneath::split(&below);
        if name.is_empty() {
            return Ok(None);
        }
        let at = |root: &Root| -> io::Result<Option<PathBuf>> {
            let parent = beneath::directory(&beneath::root(&root.host)?, parent)?;
            let name = std::ffi::OsStr::from_bytes(name);
            let kind = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode;
            if FileType::from_raw_mode(kind) != FileType::Symlink {
                return Ok(None);
            }
            let target = readlinkat(&parent, name, Vec::new())?.into_bytes();
            Ok(Some(std::ffi::OsString::from_vec(target).into()))
        };
        match (at(root), lower) {
            (Err(error), Some(lower)) if error.kind() == io::ErrorKind::NotFound => at(lower),
            (found, _) => found,
        }
    }
}

/// The names of a path, the first one last.
fn parts(path: &Path) -> Vec<PathBuf> {
    let names = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    names.rev().map(|part| PathBuf::from(part.as_os_str())).collect()
}
