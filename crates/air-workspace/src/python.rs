//! Which Python the agent gets: the one that `python3` means on the host.

use std::{path::PathBuf, process::Command, sync::OnceLock};

/// An interpreter, and what it needs to be seen inside the sandbox.
#[derive(Debug, Clone)]
pub(crate) struct PythonHome {
    pub(crate) program: PathBuf,
    /// Directories outside of `/usr`.
    pub(crate) directories: Vec<PathBuf>,
}

impl PythonHome {
    /// The machine's, looked for once.
    pub(crate) fn find() -> Self {
        static FOUND: OnceLock<PythonHome> = OnceLock::new();
        FOUND.get_or_init(Self::look).clone()
    }

    /// Asks `python3` itself, since on `PATH` it may be a shim that needs its own directories.
    fn look() -> Self {
        let ask = "import os, sys; print(sys.executable, os.path.realpath(sys.executable), \
                   sys.prefix, sys.base_prefix, sep='\\n')";
        let answer = Command::new("python3").args(["-I", "-c", ask]).output();
        let answer = answer.map(|answer| answer.stdout).unwrap_or_default();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let mut lines = answer.lines().map(PathBuf::from);
        let program = lines.next().unwrap_or_else(|| PathBuf::from("/usr/bin/python3"));
        let real = lines.next().and_then(|real| Some(real.parent()?.parent()?.to_path_buf()));
        let mut directories: Vec<PathBuf> = real
            .into_iter()
            .chain(lines)
            .filter(|directory| directory.is_absolute() && directory.components().count() > 2)
            .filter(|directory| !directory.starts_with("/usr"))
            .collect();
        directories.sort();
        directories.dedup();
        Self { program, directories }
    }

    /// Where nothing is to be run.
    pub(crate) fn none() -> Self {
        Self { program: PathBuf::new(), directories: Vec::new() }
    }

    /// `PATH` inside.
    pub(crate) fn search_path(&self) -> String {
        let system = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        match self.program.parent() {
            Some(own) if !own.starts_with("/usr") => format!("{}:{system}", own.display()),
            _ => system.to_owned(),
        }
    }
}
