//! What happens between AIR and the program that it starts a sandbox with: limits are entered,
//! directories staged, rights given up. A process of its own with one thread, replaced at the end.
//!
//! As root every directory that bubblewrap binds is staged by descriptor below a tmpfs that only
//! this process tree sees. So no path of it has to be one that the unprivileged user can reach, and
//! through mounts that map owners what the agent writes belongs on disk to whom the workspace
//! belongs.

mod mounts;

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::{ffi::OsStrExt, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
};

use rustix::{
    process::{Gid, Signal, Uid, getppid, set_parent_process_death_signal},
    thread::{
        CapabilitySet, CapabilitySets, set_capabilities, set_keep_capabilities, set_no_new_privs,
        set_thread_groups, set_thread_res_gid, set_thread_res_uid,
    },
};
use serde::{Deserialize, Serialize};

use crate::escape::{escape, unescape};

/// Where directories are staged; also what bubblewrap mounts its own root on, so it is there.
const BASE: &str = "/tmp";

/// What an overlay's own access to its layers needs, and mounting it.
const MOUNTING: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::MKNOD);

/// A user and a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ids {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

/// Ids that nobody has files of.
pub(crate) const NOBODY: u32 = 65_534;

/// What to do before a program.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Stage {
    /// AIR, without which this is not to go on.
    parent: u32,
    /// Files that take the pids of processes to be limited.
    groups: Vec<String>,
    /// Who to be. Only root can be another.
    ids: Option<Ids>,
    sources: Vec<Source>,
    overlay: Option<Layers>,
}

/// A file or directory of the host.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Source {
    /// Its name below [`BASE`].
    name: String,
    path: String,
    /// Whether its owner is seen as who the program runs as.
    mapped: bool,
}

/// An overlay over a source. Both directories lie in another source.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Layers {
    lower: String,
    parent: String,
    upper: String,
    work: String,
}

impl Stage {
    pub(crate) fn new(ids: Option<Ids>) -> Self {
        Self { parent: std::process::id(), ids, ..Self::default() }
    }

    /// Whether there is anything to do.
    pub(crate) fn is_needed(&self) -> bool {
        self.ids.is_some() || !self.groups.is_empty() || !self.sources.is_empty()
    }

    /// Limits the program by the group with this file of pids.
    pub(crate) fn enter(&mut self, group: &Path) {
        self.groups.push(escape(group.as_os_str().as_bytes()));
    }

    /// Stages a source, and says where.
    pub(crate) fn add(&mut self, name: &str, path: &Path, mapped: bool) -> PathBuf {
        let path = escape(path.as_os_str().as_bytes());
        self.sources.push(Source { name: name.to_owned(), path, mapped });
        Path::new(BASE).join(name)
    }

    /// Lays an overlay over the staged `lower`, and says where. `upper` and `work` are directories
    /// beside each other.
    pub(crate) fn overlay(
        &mut self,
        lower: &str,
        upper: &Path,
        work: &Path,
    ) -> io::Result<PathBuf> {
        let plain = |path: &Path| {
            let name = path.file_name()?.to_str()?;
            let plain =
                name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
            plain.then(|| name.to_owned())
        };
        let parent = upper.parent().filter(|parent| work.parent() == Some(parent));
        let (Some(parent), Some(upper), Some(work)) = (parent, plain(upper), plain(work)) else {
            let why =
                "the upper and work directories have to be beside each other, with plain names";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        };
        let name = "layers".to_owned();
        self.add(&name, parent, true);
        self.overlay = Some(Layers { lower: lower.to_owned(), parent: name, upper, work });
        Ok(Path::new(BASE).join(mounts::MERGED))
    }

    /// The command that does it and is then replaced by `program`: by its name and arguments alone.
    pub(crate) fn command(
        &self,
        supervisor: &[OsString],
        program: &Command,
    ) -> io::Result<Command> {
        let mut words = supervisor.iter();
        let mut command = Command::new(words.next().map_or(OsStr::new(""), OsString::as_os_str));
        command.args(words).arg("stage").arg(serde_json::to_string(self)?);
        command.arg(program.get_program()).args(program.get_args());
        Ok(command)
    }
}

/// Does what `settings` say, and replaces this process by `argv`.
pub(crate) fn run(settings: &str, argv: &[OsString]) -> Result<(), Box<dyn std::error::Error>> {
    let stage: Stage = serde_json::from_str(settings)?;
    let (program, arguments) = argv.split_first().ok_or("nothing to run")?;
    for group in &stage.groups {
        let file = PathBuf::from(OsString::from(OsStr::from_bytes(&unescape(group))));
        fs::write(&file, "0").map_err(|error| format!("`{}`: {error}", file.display()))?;
    }
    let me =
        Ids { user: rustix::process::getuid().as_raw(), group: rustix::process::getgid().as_raw() };
    if !stage.sources.is_empty() {
        mounts::stage(&stage, me)?;
        std::env::set_current_dir("/")?;
    }
    if let Some(ids) = stage.ids {
        become_user(ids, stage.overlay.is_some())
            .map_err(|error| format!("to become user {}: {error}", ids.user))?;
    }
    if let Some(layers) = &stage.overlay {
        mounts::overlay(layers)?;
    }
    set_no_new_privs(true)?;
    // Last: becoming another user takes it back.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let parent = getppid().map_or(0, |parent| parent.as_raw_nonzero().get());
    if u32::try_from(parent) != Ok(stage.parent) {
        return Err("AIR has ended".into());
    }
    let error = Command::new(program).args(arguments).exec();
    Err(format!("`{}`: {error}", program.display()).into())
}

/// Becomes another user, with `is_mounting` together with what the overlay needs: it acts as whoever
/// mounts it, and root has no files in layers whose owners are mapped. The program gets none of it.
fn become_user(ids: Ids, is_mounting: bool) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(ids.user), Gid::from_raw(ids.group));
    set_keep_capabilities(is_mounting)?;
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)?;
    if is_mounting {
        let all = MOUNTING;
        let sets =
            CapabilitySets { effective: all, permitted: all, inheritable: CapabilitySet::empty() };
        set_capabilities(None, sets)?;
    }
    Ok(())
}
