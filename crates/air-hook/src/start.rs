//! Starts the daemon where none is there.

use std::{
    env,
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    os::unix::{
        fs::{DirBuilderExt as _, OpenOptionsExt as _},
        process::CommandExt as _,
    },
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::{client::Failed, options::Options};

/// Leave to start the daemon, until it is dropped; `None` while another has it. Many hosts may begin at
/// once.
pub(crate) fn leave(options: &Options) -> Result<Option<File>, Failed> {
    let directory = options.state.join("hosts");
    let path = directory.join("starting");
    let away = |error: std::io::Error| Failed::Away(format!("`{}`: {error}", path.display()));
    DirBuilder::new().recursive(true).mode(0o700).create(&directory).map_err(away)?;
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = file.map_err(away)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(away(error)),
    }
}

/// Starts `airctl daemon run` on its own: it outlives the host. Several that are started at once end but for
/// one.
pub(crate) fn start(options: &Options) -> Result<Child, Failed> {
    let mut command = airctl(options);
    command
        .args(["daemon", "run", "--quiet"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    let started = command.spawn();
    started.map_err(|error| {
        let program = Path::new(command.get_program());
        Failed::Away(format!("{} could not be started: {error}", program.display()))
    })
}

/// `airctl`, the one beside this program, about the same state and away from the project, whose settings are
/// not for it. Of the host's environment it has what says where the user's own files are, and no rules.
pub(crate) fn airctl(options: &Options) -> Command {
    let own = env::current_exe().and_then(|path| path.canonicalize());
    let beside = own.ok().map(|own| own.with_file_name("airctl")).filter(|path| path.is_file());
    let mut command = Command::new(beside.unwrap_or_else(|| "airctl".into()));
    let kept = ["HOME", "PATH", "USER", "LANG", "XDG_DATA_HOME", "XDG_CONFIG_HOME"];
    command.env_clear();
    command.envs(kept.iter().filter_map(|name| Some((name, env::var_os(name)?))));
    command.current_dir("/").arg("--state").arg(&options.state);
    command
}
