//! Paths as the agent means them: where its calls begin, what belongs to a watched root, and what it
//! sees beside these.

use std::{
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use air_checkpoint::{Place, Root};
use air_core::port::Tier;

use crate::{
    bwrap,
    config::{SandboxConfig, Shape},
    origin::{absolute, is_visible},
    python::PythonHome,
};

/// The home in a root file system.
pub(crate) const ROOT_HOME: &str = "/root";
/// What AIR itself needs inside.
pub(crate) const OWN: &str = "/air";

/// Directories of programs and libraries, which are those of the host in any root file system.
const PROGRAMS: [&str; 7] = [
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/etc/alternatives",
];
/// Where Python may be installed.
const LOCAL: &str = "/usr/local";
/// What programs read, and a root file system may have of its own.
const SHARED: &str = "/usr/share";
/// Links to directories of programs and libraries.
pub(crate) const SHORT: [&str; 5] = ["bin", "sbin", "lib", "lib32", "lib64"];

/// What tools see.
#[derive(Debug, Clone)]
pub(crate) struct View {
    shape: Shape,
    tier: Tier,
    /// Where calls begin.
    cwd: Arc<RwLock<PathBuf>>,
    home: PathBuf,
    /// The host's directory that is the root.
    tree: PathBuf,
    /// What of the host is seen under its own name in a root file system.
    pub(crate) system: Vec<PathBuf>,
    python: Vec<PathBuf>,
    binds: Vec<(PathBuf, PathBuf)>,
}

impl View {
    pub(crate) fn of(
        config: &SandboxConfig,
        tier: Tier,
        python: &PythonHome,
        roots: &[Root],
    ) -> Self {
        let agent = |at: usize| roots.get(at).map(|root| root.agent.clone()).unwrap_or_default();
        let (cwd, home) = match config.shape {
            Shape::Directory if config.beside.is_some() => {
                (agent(0), config.beside.clone().unwrap_or_default())
            }
            Shape::Directory => (agent(0), agent(1)),
            Shape::System => (bwrap::WORKSPACE.into(), ROOT_HOME.into()),
        };
        let system = match config.shape {
            Shape::Directory => Vec::new(),
            Shape::System => system(&config.workspace, python),
        };
        Self {
            shape: config.shape,
            tier,
            cwd: Arc::new(RwLock::new(cwd)),
            home,
            tree: config.workspace.clone(),
            system,
            python: python.directories.clone(),
            binds: config.binds.clone(),
        }
    }

    /// Where the next calls begin.
    pub(crate) fn cwd(&self) -> PathBuf {
        self.cwd.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The next calls begin there.
    pub(crate) fn enter(&self, directory: &Path) {
        *self.cwd.write().unwrap_or_else(PoisonError::into_inner) = directory.to_path_buf();
    }

    /// A path as the agent means it, absolute and without `.` and `..`.
    pub(crate) fn meant(&self, path: &str) -> PathBuf {
        let cwd = self.cwd.read().unwrap_or_else(PoisonError::into_inner);
        self.direct(absolute(&cwd, &self.home, path))
    }

    /// The place of an absolute path in a watched root, if it is in one.
    pub(crate) fn place(&self, roots: &[Root], path: &Path) -> Option<Place> {
        if self.is_covered(path) {
            return None;
        }
        // One root may lie below another.
        let root = roots.iter().enumerate().filter(|(_, root)| path.starts_with(&root.agent));
        let (at, root) = root.max_by_key(|(_, root)| root.agent.as_os_str().len())?;
        let below = path.strip_prefix(&root.agent).ok()?;
        Some((at, below.as_os_str().as_bytes().to_vec()))
    }

    /// The file of the host that a tool reads at an absolute path that is in no watched root.
    pub(crate) fn outside(&self, path: &Path) -> Option<PathBuf> {
        if let Some((host, below)) = self.bound(path) {
            return Some(joined(host, below));
        }
        let is_seen = match self.shape {
            Shape::Directory => self.tier == Tier::T1 || is_visible(path, &self.python),
            Shape::System => {
                self.system.iter().chain(&self.python).any(|seen| path.starts_with(seen))
            }
        };
        is_seen.then(|| path.to_path_buf())
    }

    /// As [`Self::outside`], without a link in it that leads elsewhere on the host than inside.
    pub(crate) fn beside(&self, path: &Path) -> Option<PathBuf> {
        let real = self.outside(path)?.canonicalize().ok()?;
        let is_same = match self.bound(path) {
            Some((host, below)) => real == joined(&host.canonicalize().ok()?, below),
            None => self.outside(&real).as_ref() == Some(&real),
        };
        is_same.then_some(real)
    }

    /// What of the host is bound on a path or above it, and what follows.
    fn bound<'a>(&'a self, path: &'a Path) -> Option<(&'a Path, &'a Path)> {
        let bound = self.binds.iter().filter_map(|(host, inside)| {
            Some((inside, host.as_path(), path.strip_prefix(inside).ok()?))
        });
        let innermost = bound.max_by_key(|(inside, ..)| inside.as_os_str().len());
        innermost.map(|(_, host, below)| (host, below))
    }

    /// Why a path has no place.
    pub(crate) fn why_nowhere(&self, path: &Path) -> &'static str {
        if self.is_covered(path) {
            "it is the host's, and read-only"
        } else {
            "it is outside of what AIR may change"
        }
    }

    /// Whether something else is seen at a path than what the watched roots have there.
    fn is_covered(&self, path: &Path) -> bool {
        let bound = self.binds.iter().map(|(_, inside)| inside);
        if bound.into_iter().any(|inside| path.starts_with(inside)) {
            return true;
        }
        self.shape == Shape::System
            && (self.system.iter().chain(&self.python).any(|seen| path.starts_with(seen))
                || ["/proc", "/dev", OWN].iter().any(|own| path.starts_with(own)))
    }

    /// `/bin/sh` of a root file system as `/usr/bin/sh`, where the one is a link to the other.
    fn direct(&self, path: PathBuf) -> PathBuf {
        if self.shape == Shape::Directory {
            return path;
        }
        let mut parts = path.components();
        let (root, first) = (parts.next(), parts.next());
        let (Some(Component::RootDir), Some(Component::Normal(first))) = (root, first) else {
            return path;
        };
        let below = parts.as_path();
        if below.as_os_str().is_empty() || !SHORT.iter().any(|short| first == *short) {
            return path;
        }
        match self.tree.join(first).read_link() {
            Ok(target) if target == usr(first) || Path::new("/").join(usr(first)) == target => {
                Path::new("/").join(target).join(below)
            }
            _ => path,
        }
    }
}

/// To join an empty path would ask for a directory.
fn joined(host: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { host.to_path_buf() } else { host.join(below) }
}

/// What a short link leads to.
pub(crate) fn usr(name: impl AsRef<Path>) -> PathBuf {
    Path::new("usr").join(name)
}

fn system(tree: &Path, python: &PythonHome) -> Vec<PathBuf> {
    let mut all = PROGRAMS.to_vec();
    if python.program.starts_with(LOCAL) {
        all.push(LOCAL);
    }
    let own = tree.join(SHARED.trim_start_matches('/'));
    if own.read_dir().is_ok_and(|mut entries| entries.next().is_none()) || !own.exists() {
        all.push(SHARED);
    }
    let all = all.into_iter().map(PathBuf::from);
    all.filter(|path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir())).collect()
}
