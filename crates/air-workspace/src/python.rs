//! Which Python the agent gets: the one that `python3` means on the host.

use std::{
    env,
    ffi::{OsStr, OsString},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

use crate::config::SandboxConfig;

/// Links from one file to the next that are followed.
const LINKS: usize = 40;

/// An interpreter, and the `PATH` that it is started with.
type Asked = (PathBuf, OsString);

/// What was found: it takes the start of an interpreter to find out.
static FOUND: Mutex<Vec<(Asked, PythonHome)>> = Mutex::new(Vec::new());

/// An interpreter, and what it needs to be seen inside the sandbox.
#[derive(Debug, Clone)]
pub(crate) struct PythonHome {
    pub(crate) program: PathBuf,
    /// Directories outside of `/usr`.
    pub(crate) directories: Vec<PathBuf>,
}

impl PythonHome {
    /// The one that `PATH` leads to: that of the tools' own environment, or else the host's.
    ///
    /// It is started on the host to be asked, so none counts that an agent may have written.
    pub(crate) fn find(config: &SandboxConfig) -> Self {
        let own = config.environment.iter().rev().find(|(name, _)| name == "PATH");
        let path = own.map(|(_, path)| path.into()).or_else(|| env::var_os("PATH"));
        let Some((program, path)) = lookup(&path.unwrap_or_default(), &agents(config)) else {
            return Self { program: PathBuf::from("/usr/bin/python3"), directories: Vec::new() };
        };
        let asked = (program, path);
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = found.iter().find(|(known, _)| *known == asked) {
            return known.clone();
        }
        let home = Self::ask(&asked.0, &asked.1);
        // One that is not there may be installed.
        if home.program.exists() {
            found.push((asked, home.clone()));
        }
        home
    }

    /// Asks the interpreter itself, since it may be a shim that needs its own directories.
    fn ask(program: &Path, path: &OsStr) -> Self {
        let ask = "import os, sys; print(sys.executable, os.path.realpath(sys.executable), \
                   sys.prefix, sys.base_prefix, sep='\\n')";
        let answer = Command::new(program).args(["-I", "-c", ask]).env("PATH", path).output();
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

/// Directories that an agent may write to, or AIR keeps things of it in.
fn agents(config: &SandboxConfig) -> Vec<PathBuf> {
    let layer = config.overlay.iter().flat_map(|overlay| [&overlay.upper, &overlay.work]);
    let all = [&config.workspace, &config.state, &config.session_dir].into_iter().chain(layer);
    // One that is not there yet holds nothing.
    all.filter_map(|path| path.canonicalize().ok()).collect()
}

/// `python3` in the first directory of `path` that has one to be trusted, and what of `path` is not
/// below `agents`.
fn lookup(path: &OsStr, agents: &[PathBuf]) -> Option<Asked> {
    let entries = env::split_paths(path).filter(|entry| entry.is_absolute());
    let entries: Vec<PathBuf> = entries.filter(|entry| is_apart(entry, agents)).collect();
    let mut programs = entries.iter().map(|entry| entry.join("python3"));
    let program = programs.find(|program| is_trusted(program, agents))?;
    Some((program, env::join_paths(&entries).ok()?))
}

/// Whether a directory is there and not below one of `agents`.
fn is_apart(directory: &Path, agents: &[PathBuf]) -> bool {
    let real = directory.canonicalize();
    real.is_ok_and(|real| !agents.iter().any(|agent| real.starts_with(agent)))
}

/// Whether nobody but root and AIR's own user can write to a program, and no link on the way to it
/// lies below one of `agents`.
fn is_trusted(program: &Path, agents: &[PathBuf]) -> bool {
    let mut program = program.to_path_buf();
    for _ in 0..LINKS {
        let Some(parent) = program.parent().filter(|parent| is_apart(parent, agents)) else {
            return false;
        };
        let Ok(meta) = program.symlink_metadata() else { return false };
        if !meta.is_symlink() {
            let own = rustix::process::geteuid().as_raw();
            return meta.is_file()
                && meta.mode() & 0o111 != 0
                && meta.mode() & 0o022 == 0
                && [0, own].contains(&meta.uid());
        }
        let Ok(target) = program.read_link() else { return false };
        program = parent.join(target);
    }
    false
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    use super::*;

    fn write(directory: &Path, mode: u32, content: &str) {
        fs::create_dir_all(directory).unwrap();
        let program = directory.join("python3");
        fs::write(&program, content).unwrap();
        fs::set_permissions(program, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn no_python_of_the_agents_is_started_on_the_host() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let ran = at("ran");
        let script = format!("#!/bin/sh\n: > '{}'\n", ran.display());
        write(&at("ws/bin"), 0o755, &script);
        write(&at("state/bin"), 0o755, &script);
        write(&at("open"), 0o777, &script);
        write(&at("plain"), 0o644, &script);
        symlink(at("ws/bin"), at("linked")).unwrap();
        fs::create_dir(at("links")).unwrap();
        symlink(at("ws/bin/python3"), at("links/python3")).unwrap();
        // A link of the agent's to a program that it cannot write to.
        fs::create_dir_all(at("ws/venv/bin")).unwrap();
        symlink("/bin/sh", at("ws/venv/bin/python3")).unwrap();
        let mut config = SandboxConfig::new(at("ws"), at("state"), "s", Vec::new());
        let names = ["ws/bin", "state/bin", "open", "plain", "linked", "links", "ws/venv/bin"];
        for name in names {
            config.environment = vec![("PATH".to_owned(), at(name).to_str().unwrap().to_owned())];
            let home = PythonHome::find(&config);
            assert_eq!(home.program, Path::new("/usr/bin/python3"), "{name}");
            assert!(!ran.exists(), "{name}");
        }
        // Nor do those that are trusted find any of them.
        write(&at("own"), 0o755, &script);
        let path = env::join_paths([at("ws/bin"), "rel".into(), at("own")]).unwrap();
        let found = lookup(&path, &agents(&config)).unwrap();
        assert_eq!(found, (at("own/python3"), at("own").into()));
    }
}
