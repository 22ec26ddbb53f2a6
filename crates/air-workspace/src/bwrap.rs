//! The command line of bubblewrap (0.8 and later).

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::python::PythonHome;

pub(crate) const WORKSPACE: &str = "/workspace";
pub(crate) const HOME: &str = "/home/agent";
pub(crate) const TMP: &str = "/tmp";
pub(crate) const STEPS: &str = "/air/steps";
pub(crate) const DRIVER: &str = "/air/repl.py";
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

/// Namespaces, the system and nothing of the user. `denied` is a file without permissions.
pub(crate) fn base(python: &PythonHome, denied: Option<&Path>) -> Vec<OsString> {
    let mut line = Line(Vec::new());
    line.add(["--unshare-all", "--die-with-parent", "--new-session", "--as-pid-1"]);
    line.add(["--cap-drop", "ALL", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox"]);
    line.add(["--clearenv", "--setenv", "PATH", &python.search_path()]);
    line.add(["--setenv", "HOME", HOME, "--setenv", "TMPDIR", TMP]);
    line.add(["--setenv", "LANG", "C.UTF-8", "--setenv", "TERM", "dumb"]);
    line.add(["--setenv", "USER", "agent"]);
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
    line.add(["--proc", "/proc", "--dev", "/dev", "--size", SHARED_MEMORY, "--tmpfs", "/dev/shm"]);
    line.add(["--remount-ro", "/dev", "--dir", "/run", "--dir", "/var"]);
    line.add(["--symlink", "/tmp", "/var/tmp"]);
    // The kernel lets uid 0 of the host write its settings even without capabilities, and AIR may
    // run as root: `core_pattern` would run a program outside.
    for path in ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"] {
        line.add(["--ro-bind-try", path, path]);
    }
    line.0
}

/// What of the host is seen where, and what is started.
pub(crate) struct Mounts<'a> {
    pub(crate) workspace: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) tmp: PathBuf,
    pub(crate) steps: PathBuf,
    pub(crate) driver: PathBuf,
    pub(crate) supervisor: PathBuf,
    pub(crate) python: &'a PythonHome,
    /// Where the directories of `python` are taken from.
    pub(crate) python_sources: Vec<PathBuf>,
    pub(crate) denied: Option<PathBuf>,
}

impl Mounts<'_> {
    /// All arguments up to the program.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut line = Line(base(self.python, self.denied.as_deref()));
        line.bind("--bind", &self.tmp, TMP);
        line.bind("--bind", &self.home, HOME);
        for (from, directory) in self.python_sources.iter().zip(&self.python.directories) {
            line.bind("--ro-bind", from, directory);
        }
        line.bind("--ro-bind", &self.supervisor, SUPERVISOR);
        line.bind("--ro-bind", &self.driver, DRIVER);
        line.bind("--ro-bind", &self.steps, STEPS);
        line.bind("--bind", &self.workspace, WORKSPACE);
        line.add(["--remount-ro", "/", "--chdir", WORKSPACE, "--"]);
        line.0
    }
}

struct Line(Vec<OsString>);

impl Line {
    fn add<T: Into<OsString>>(&mut self, arguments: impl IntoIterator<Item = T>) {
        self.0.extend(arguments.into_iter().map(Into::into));
    }

    fn bind(&mut self, how: &str, from: &Path, to: impl Into<PathBuf>) {
        self.add([how.into(), from.to_path_buf(), to.into()]);
    }
}
