//! Which Python the agent gets: the one that `python3` means on the host.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::PathBuf,
    process::Command,
    sync::{Mutex, PoisonError},
};

/// What was found for a `PATH`: it takes the start of an interpreter to find out.
static FOUND: Mutex<Vec<(Option<OsString>, PythonHome)>> = Mutex::new(Vec::new());

/// An interpreter, and what it needs to be seen inside the sandbox.
#[derive(Debug, Clone)]
pub(crate) struct PythonHome {
    pub(crate) program: PathBuf,
    /// Directories outside of `/usr`.
    pub(crate) directories: Vec<PathBuf>,
}

impl PythonHome {
    /// The one that `PATH` leads to: that of the tools' own `environment`, or else the host's.
    pub(crate) fn find(environment: &[(String, String)]) -> Self {
        let own = environment.iter().rev().find(|(name, _)| name == "PATH");
        let path = own.map(|(_, path)| path.into()).or_else(|| env::var_os("PATH"));
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = found.iter().find(|(known, _)| *known == path) {
            return known.clone();
        }
        let asked = Self::ask(path.as_deref());
        // One that is not there may be installed.
        if asked.program.exists() {
            found.push((path, asked.clone()));
        }
        asked
    }

    /// Asks `python3` itself, since on `PATH` it may be a shim that needs its own directories.
    fn ask(path: Option<&OsStr>) -> Self {
        let ask = "import os, sys; print(sys.executable, os.path.realpath(sys.executable), \
                   sys.prefix, sys.base_prefix, sep='\\n')";
        let mut command = Command::new("python3");
        command.args(["-I", "-c", ask]);
        if let Some(path) = path {
            command.env("PATH", path);
        }
        let answer = command.output();
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
