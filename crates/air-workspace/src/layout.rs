//! Checks and prepares the directories of a session, and chooses its tier.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::{self, File},
    io,
    os::unix::fs::{MetadataExt, symlink},
    path::{Component, Path, PathBuf},
};

use air_checkpoint::{Root, store::private_directory};
use air_core::port::Tier;

use crate::{
    bwrap,
    config::{OpenError, SandboxConfig, Service, Shape},
    python::PythonHome,
    stage::Ids,
    supervisor,
    tier::{TIERS, find},
};

/// The strongest tier that is there and will do.
pub(crate) fn choose(
    config: &SandboxConfig,
    python: &PythonHome,
) -> Result<(Tier, Option<Ids>), OpenError> {
    let wanted = match (config.minimum, config.unsandboxed) {
        (Some(Tier::T1) | None, false) => Tier::T2,
        (Some(minimum), _) => minimum,
        (None, true) => Tier::T1,
    };
    // Nowhere else does what tools send come to an end of AIR's.
    let wanted = if config.outside.is_some() { Tier::T3 } else { wanted };
    let fits =
        |tier: &Tier| *tier >= wanted && config.maximum.is_none_or(|maximum| *tier <= maximum);
    let mut missing = Vec::new();
    for tier in TIERS.into_iter().filter(fits) {
        // Weaker ones are not tried where it is there: each takes a sandbox.
        let report = find(config, tier, python);
        if report.available {
            return Ok((report.tier, report.ids));
        }
        missing.push(report);
    }
    let join = |parts: Vec<String>| parts.join("; or ");
    Err(OpenError::Tier {
        wanted,
        why: join(
            missing.iter().map(|report| format!("{}: {}", report.tier, report.why)).collect(),
        ),
        fix: join(missing.into_iter().filter_map(|report| report.fix).collect()),
    })
}

/// Whether a directory can be watched beside a host. AIR's own may be within the host's reach, and not in
/// what is watched.
pub(crate) fn check_beside(config: &SandboxConfig) -> Result<(), OpenError> {
    let (workspace, state) = (&config.workspace, &config.state);
    let system = ["/", "/proc", "/sys", "/dev", "/tmp", "/run", "/var", "/etc", "/usr"];
    let (shown, own) = (workspace.display(), state.display());
    if system.iter().any(|path| workspace == Path::new(path)) {
        return Err(OpenError::Layout(format!("`{shown}` is no project's directory")));
    }
    if state.starts_with(workspace) || workspace.starts_with(state) {
        return Err(OpenError::Layout(format!("`{shown}` holds AIR's directory `{own}`")));
    }
    Ok(())
}

pub(crate) fn check_layout(config: &SandboxConfig, python: &PythonHome) -> Result<(), OpenError> {
    let workspace = &config.workspace;
    let system: Vec<&Path> =
        bwrap::SYSTEM.iter().map(Path::new).chain(["/".as_ref(), "/proc".as_ref()]).collect();
    let wrong = |what: String| Err(OpenError::Layout(what));
    if system.contains(&workspace.as_path()) {
        return wrong(format!("`{}` cannot be a workspace", workspace.display()));
    }
    let own = [&config.state, &config.session_dir];
    for path in own {
        let seen = system.iter().filter(|directory| **directory != Path::new("/"));
        let mut seen = seen.copied().chain(python.directories.iter().map(PathBuf::as_path));
        if path.starts_with(workspace) || seen.any(|directory| path.starts_with(directory)) {
            return wrong(format!("agents would see AIR's directory `{}`", path.display()));
        }
        if workspace.starts_with(path) {
            let (workspace, path) = (workspace.display(), path.display());
            return wrong(format!("workspace `{workspace}` is inside AIR's directory `{path}`"));
        }
    }
    Ok(())
}

/// Whether the settings fit together, and tier `tier` has what they ask for.
pub(crate) fn check_settings(config: &SandboxConfig, tier: Tier) -> Result<(), OpenError> {
    let wrong = |what: String| Err(OpenError::Layout(what));
    let is_system = config.shape == Shape::System;
    let asks = is_system || !config.binds.is_empty() || !config.services.is_empty();
    if asks && tier != Tier::T3 {
        let what = "a root file system, services and files that are bound need tier T3";
        return wrong(format!("{what}, and {tier} is used"));
    }
    if is_system && config.overlay.is_some() {
        return wrong("a root file system has no layer above it: switch layers off".to_owned());
    }
    for (_, inside) in &config.binds {
        let shown = inside.display();
        let is_plain = inside.is_absolute()
            && inside.components().skip(1).all(|part| matches!(part, Component::Normal(_)));
        let watched = [bwrap::WORKSPACE, bwrap::HOME, bwrap::TMP];
        if !is_plain || inside == Path::new("/") {
            return wrong(format!("`{shown}` is no absolute path to bind on"));
        }
        if !is_system && watched.iter().any(|root| inside.starts_with(root)) {
            return wrong(format!("`{shown}` is the agent's own: bind it elsewhere"));
        }
    }
    let mut names = BTreeSet::new();
    for Service { name, argv } in &config.services {
        let is_name = Path::new(name).file_name() == Some(name.as_ref()) && !name.contains('\0');
        if !is_name || !names.insert(name) {
            return wrong(format!("service `{name}`: the name has to be a unique file name"));
        }
        if !argv.first().is_some_and(|program| program.starts_with('/')) {
            return wrong(format!("service `{name}`: name its program by its absolute path"));
        }
    }
    for (name, value) in &config.environment {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return wrong(format!("`{name}` cannot be a variable"));
        }
    }
    Ok(())
}

/// Makes the layers of an overlay. The upper one begins as the workspace's own directory is.
pub(crate) fn prepare_overlay(config: &mut SandboxConfig) -> io::Result<()> {
    let Some(overlay) = &mut config.overlay else { return Ok(()) };
    if overlay.upper.parent() != overlay.work.parent() {
        return Err(io::Error::other("the layers of an overlay must lie beside each other"));
    }
    private_directory(&overlay.work)?;
    if !overlay.upper.exists() {
        private_directory(&overlay.upper)?;
        let meta = config.workspace.metadata()?;
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&overlay.upper, Some(meta.uid()), Some(meta.gid()))?;
        }
        fs::set_permissions(&overlay.upper, meta.permissions())?;
    }
    for path in [&mut overlay.upper, &mut overlay.work] {
        *path = path.canonicalize()?;
    }
    Ok(())
}

/// What the session needs beside its roots; how many steps it has had.
pub(crate) fn prepare(config: &SandboxConfig) -> io::Result<u32> {
    let session = &config.session_dir;
    let steps = session.join("steps");
    private_directory(&steps)?;
    fs::write(session.join("repl.py"), supervisor::DRIVER)?;
    let denied = session.join("denied");
    if !denied.exists() {
        let file = File::create(&denied)?;
        rustix::fs::fchmod(&file, rustix::fs::Mode::empty())?;
    }
    let services = session.join("services");
    private_directory(&services)?;
    for service in &config.services {
        let link = services.join(&service.name);
        let program = service.argv.first().map_or(Path::new("/"), Path::new);
        if link.read_link().ok().as_deref() != Some(program) {
            // A link of other settings may be in its place.
            let _ = fs::remove_file(&link);
            symlink(program, &link)?;
        }
    }
    let names = fs::read_dir(&steps)?.flatten().map(|entry| entry.file_name());
    let numbers = names
        .filter_map(|name| name.to_str()?.strip_prefix("step")?.split('.').next()?.parse().ok());
    Ok(numbers.max().unwrap_or(0))
}

pub(crate) fn roots(config: &SandboxConfig, tier: Tier) -> Vec<Root> {
    if config.shape == Shape::System {
        return vec![Root { host: config.workspace.clone(), agent: "/".into() }];
    }
    if config.beside.is_some() {
        return vec![Root { host: config.workspace.clone(), agent: config.workspace.clone() }];
    }
    let (home, tmp) = (config.session_dir.join("home"), config.session_dir.join("tmp"));
    let inside = [bwrap::WORKSPACE, bwrap::HOME, bwrap::TMP];
    let first = config
        .overlay
        .as_ref()
        .map_or_else(|| config.workspace.clone(), |overlay| overlay.upper.clone());
    let hosts = [first, home, tmp];
    let renamed = if config.overlay.is_some() { Tier::T3 } else { tier };
    let pair = |(host, agent): (PathBuf, &str)| match renamed {
        Tier::T3 => Root { host, agent: agent.into() },
        Tier::T2 | Tier::T1 => Root { agent: host.clone(), host },
    };
    hosts.into_iter().zip(inside).map(pair).collect()
}

pub(crate) fn find_program(name: &OsString) -> io::Result<PathBuf> {
    let path = Path::new(name);
    if path.components().count() != 1 {
        return path.canonicalize();
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&search).map(|folder| folder.join(path));
    found.find(|path| path.is_file()).ok_or(io::ErrorKind::NotFound)?.canonicalize()
}
