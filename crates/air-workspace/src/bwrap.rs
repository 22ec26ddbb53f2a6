//! The command line of bubblewrap (0.8 and later).

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::{config::Shape, python::PythonHome, variables::carried, view};

pub(crate) const WORKSPACE: &str = "/workspace";
pub(crate) const HOME: &str = "/home/agent";
pub(crate) const TMP: &str = "/tmp";
pub(crate) const STEPS: &str = "/air/steps";
pub(crate) const DRIVER: &str = "/air/repl.py";
/// Links by which services are started, so that the kernel calls them by their names.
pub(crate) const SERVICES: &str = "/air/services";
pub(crate) const SUPERVISOR: &str = "/air/supervise";

/// What fits into `/dev/shm`, in bytes.
const SHARED_MEMORY: &str = "268435456";

/// System directories that every tool may read.
pub(crate) const SYSTEM: [&str; 7] = ["/usr", "/etc", "/bin", "/lib", "/lib64", "/lib32", "/sbin"];

/// What an unprivileged user cannot read. AIR may run as root, and then its children could.
pub(crate) const DENIED: [&str; 6] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/security/opasswd",
];

/// What uid 0 of a root file system may do beyond others: with its own files, and processes.
const OF_ROOT: [&str; 4] = ["CAP_KILL", "CAP_DAC_OVERRIDE", "CAP_CHOWN", "CAP_FOWNER"];

/// Namespaces and variables, and nothing of any file system.
fn namespaces(shape: Shape, python: &PythonHome) -> Line {
    let mut line = Line(Vec::new());
    line.add(["--unshare-all", "--die-with-parent", "--new-session", "--as-pid-1"]);
    line.add(["--cap-drop", "ALL"]);
    let (id, user, home) = match shape {
        Shape::Directory => ("1000", "agent", HOME),
        Shape::System => ("0", "root", view::ROOT_HOME),
    };
    if shape == Shape::System {
        for capability in OF_ROOT {
            line.add(["--cap-add", capability]);
        }
    }
    line.add(["--uid", id, "--gid", id, "--hostname", "sandbox"]);
    line.add(["--clearenv", "--setenv", "PATH", &python.search_path()]);
    line.add(["--setenv", "HOME", home, "--setenv", "TMPDIR", TMP]);
    line.add(["--setenv", "LANG", "C.UTF-8", "--setenv", "TERM", "dumb"]);
    line.add(["--setenv", "USER", user]);
    line
}

/// Namespaces, the system and nothing of the user. `denied` is a file without permissions.
pub(crate) fn base(shape: Shape, python: &PythonHome, denied: Option<&Path>) -> Vec<OsString> {
    let mut line = namespaces(shape, python);
    for directory in SYSTEM {
        match std::fs::read_link(directory) {
            Ok(target) => line.add([Path::new("--symlink"), &target, Path::new(directory)]),
            Err(_) => line.add(["--ro-bind-try", directory, directory]),
        }
    }
    for path in denied.iter().flat_map(|_| DENIED) {
        if let (Some(denied), true) = (denied, Path::new(path).is_file()) {
            line.add([Path::new("--ro-bind"), denied, Path::new(path)]);
        }
    }
    line.kernel();
    line.add(["--dir", "/run", "--dir", "/var", "--symlink", "/tmp", "/var/tmp"]);
    line.0
}

/// What of the host is seen where, and what is started.
pub(crate) struct Mounts<'a> {
    pub(crate) shape: Shape,
    pub(crate) workspace: PathBuf,
    /// What of the host is seen as it is in a root file system.
    pub(crate) system: &'a [PathBuf],
    pub(crate) home: PathBuf,
    pub(crate) tmp: PathBuf,
    pub(crate) steps: PathBuf,
    pub(crate) driver: PathBuf,
    pub(crate) services: PathBuf,
    pub(crate) supervisor: PathBuf,
    pub(crate) python: &'a PythonHome,
    /// Where the directories of `python` are taken from.
    pub(crate) python_sources: Vec<PathBuf>,
    /// What is seen read-only besides: from where, and where.
    pub(crate) binds: Vec<(PathBuf, PathBuf)>,
    pub(crate) environment: &'a [(String, String)],
    pub(crate) denied: Option<PathBuf>,
}

impl Mounts<'_> {
    /// All arguments up to the program.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut line = match self.shape {
            Shape::Directory => {
                let mut line = Line(base(self.shape, self.python, self.denied.as_deref()));
                line.bind("--bind", &self.tmp, TMP);
                line.bind("--bind", &self.home, HOME);
                line
            }
            Shape::System => {
                let mut line = namespaces(self.shape, self.python);
                line.bind("--bind", &self.workspace, "/");
                for directory in self.system {
                    line.bind("--ro-bind", directory, directory);
                }
                line.kernel();
                line.add(["--tmpfs", view::OWN]);
                line
            }
        };
        for (name, value) in carried(self.environment) {
            line.add(["--setenv", &name, value]);
        }
        for (from, directory) in self.python_sources.iter().zip(&self.python.directories) {
            line.bind("--ro-bind", from, directory);
        }
        line.bind("--ro-bind", &self.supervisor, SUPERVISOR);
        line.bind("--ro-bind", &self.driver, DRIVER);
        line.bind("--ro-bind", &self.steps, STEPS);
        line.bind("--ro-bind", &self.services, SERVICES);
        match self.shape {
            Shape::Directory => line.bind("--bind", &self.workspace, WORKSPACE),
            Shape::System => line.add(["--remount-ro", view::OWN]),
        }
        for (from, inside) in &self.binds {
            line.bind("--ro-bind", from, inside);
        }
        if self.shape == Shape::Directory {
            line.add(["--remount-ro", "/"]);
        }
        line.add(["--chdir", WORKSPACE, "--"]);
        line.0
    }
}

struct Line(Vec<OsString>);

impl Line {
    fn add<T: Into<OsString>>(&mut self, arguments: impl IntoIterator<Item = T>) {
        self.0.extend(arguments.into_iter().map(Into::into));
    }

    /// `/proc` and `/dev`.
    fn kernel(&mut self) {
        self.add(["--proc", "/proc", "--dev", "/dev"]);
        self.add(["--size", SHARED_MEMORY, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]);
        // The kernel lets uid 0 of the host write its settings even without capabilities, and AIR
        // may run as root: `core_pattern` would run a program outside.
        for path in ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"] {
            self.add(["--ro-bind-try", path, path]);
        }
    }

    fn bind(&mut self, how: &str, from: &Path, to: impl Into<PathBuf>) {
        self.add([how.into(), from.to_path_buf(), to.into()]);
    }
}
