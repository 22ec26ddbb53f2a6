//! Which tiers this machine has, found by trying them.

use std::{
    ffi::OsString,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{Mutex, PoisonError},
};

use air_core::port::Tier;

use crate::{
    bwrap,
    cgroup::Groups,
    config::{Overlay, SandboxConfig, Shape},
    fixes::Facts,
    protocol::Confinement,
    python::PythonHome,
    stage::{Ids, NOBODY, Stage},
};

/// Whether a tier is there, and if not, what makes it so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierReport {
    /// Which.
    pub tier: Tier,
    /// Whether it can be used now.
    pub available: bool,
    /// What was found.
    pub why: String,
    /// What holds less than it might, in words.
    pub note: Option<String>,
    /// The command that makes it available.
    pub fix: Option<String>,
    /// Whom the sandbox runs as outside, if not as AIR.
    pub(crate) ids: Option<Ids>,
}

/// Strongest first.
pub(crate) const TIERS: [Tier; 3] = [Tier::T3, Tier::T2, Tier::T1];

/// What a tier being there depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Surroundings {
    tier: Tier,
    shape: Shape,
    is_layered: bool,
    supervisor: Vec<OsString>,
    python: Vec<PathBuf>,
    /// File systems and owners of the directories that are bound.
    directories: Vec<Option<(u64, u32, u32)>>,
}

/// What was there: to find out takes a sandbox.
static FOUND: Mutex<Vec<(Surroundings, TierReport)>> = Mutex::new(Vec::new());

/// Tries one tier, once in a process for all workspaces like this one. If it is there no more, its
/// sandbox does not start.
pub(crate) fn find(config: &SandboxConfig, tier: Tier, python: &PythonHome) -> TierReport {
    let of = |path: &PathBuf| {
        let meta = path.metadata().ok()?;
        Some((meta.dev(), meta.uid(), meta.gid()))
    };
    let layer = config.overlay.as_ref().map(|overlay| &overlay.upper);
    let around = Surroundings {
        tier,
        shape: config.shape,
        is_layered: config.overlay.is_some(),
        supervisor: config.supervisor.clone(),
        python: python.directories.clone(),
        directories: [&config.workspace, &config.state].into_iter().chain(layer).map(of).collect(),
    };
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, known)) = found.iter().find(|(known, _)| *known == around) {
        return known.clone();
    }
    let report = probe(config, tier, python);
    // What makes one available may be done at any time; and a tier that contains nothing is cheap.
    if report.available && tier != Tier::T1 {
        found.push((around, report.clone()));
    }
    report
}

/// Tries one tier.
fn probe(config: &SandboxConfig, tier: Tier, python: &PythonHome) -> TierReport {
    match tier {
        Tier::T3 => namespaces(config, python),
        Tier::T2 => landlock(config),
        Tier::T1 => plain(config),
    }
}

/// All tiers, strongest first.
pub fn detect(config: &SandboxConfig) -> Vec<TierReport> {
    let python = PythonHome::find(config);
    let mut reports = TIERS.map(|tier| probe(config, tier, &python)).to_vec();
    // Made for a moment, which is the only way to know.
    let groups = Groups::make(config.limits.total_memory_bytes, config.limits.processes, false);
    let is_root = rustix::process::geteuid().is_root();
    for report in reports.iter_mut().filter(|report| report.available) {
        let mut notes: Vec<String> = report.note.take().into_iter().collect();
        if is_root && report.tier == Tier::T2 {
            notes.push(
                "processes run as root without capabilities: they can change modes and times \
                        of system files"
                    .to_owned(),
            );
        }
        if is_root && report.ids.is_none() {
            notes.push(if groups.limits_processes {
                "a control group limits processes, since the kernel does not limit root's"
                    .to_owned()
            } else {
                "processes are only counted, and ended when there are too many: the kernel does \
                 not limit root's, and no control group can be made"
                    .to_owned()
            });
        }
        if !groups.limits_memory {
            notes.push(
                "memory of all processes is only counted, and they are ended when it is too \
                        much: no control group can be made"
                    .to_owned(),
            );
        }
        report.note = (!notes.is_empty()).then(|| notes.join("; "));
    }
    reports
}

fn namespaces(config: &SandboxConfig, python: &PythonHome) -> TierReport {
    let found = |why: &str, ids, note| TierReport {
        tier: Tier::T3,
        available: true,
        why: why.to_owned(),
        note,
        fix: None,
        ids,
    };
    let mut unmapped = None;
    if rustix::process::geteuid().is_root() {
        match wanted_ids(config).and_then(|ids| try_bwrap(config, python, Some(ids)).map(|()| ids))
        {
            Ok(ids) => {
                let why = format!("bubblewrap works, as user {} outside", ids.user);
                return found(&why, Some(ids), None);
            }
            Err(failure) => unmapped = Some(failure.why),
        }
    }
    match try_bwrap(config, python, None) {
        Ok(()) => {
            let note = unmapped.map(|why| {
                format!("outside, the sandbox runs as root without capabilities: {why}")
            });
            found("bubblewrap works", None, note)
        }
        Err(Failure { why, fix }) => {
            TierReport { tier: Tier::T3, available: false, why, note: None, fix, ids: None }
        }
    }
}

struct Failure {
    why: String,
    fix: Option<String>,
}

/// Whoever the workspace belongs to; nobody in the place of root.
fn wanted_ids(config: &SandboxConfig) -> Result<Ids, Failure> {
    let meta = config.workspace.metadata();
    let meta = meta.map_err(|error| Failure { why: format!("workspace: {error}"), fix: None })?;
    let other = |id| if id == 0 { NOBODY } else { id };
    Ok(Ids { user: other(meta.uid()), group: other(meta.gid()) })
}

/// Starts a sandbox around the directories that there are.
fn try_bwrap(config: &SandboxConfig, python: &PythonHome, ids: Option<Ids>) -> Result<(), Failure> {
    let mut stage = Stage::new(ids);
    let is_staged = ids.is_some() || config.overlay.is_some();
    let mut words = config.supervisor.iter();
    let program = words.next().cloned().unwrap_or_default();
    let mut place = |name: &str, path: &Path, mapped| {
        if is_staged { stage.add(name, path, mapped) } else { path.to_path_buf() }
    };
    let program = place("supervisor", Path::new(&program), false);
    let mut workspace = place("workspace", &config.workspace, true);
    if config.state.exists() {
        place("state", &config.state, true);
    }
    if let Some(Overlay { upper, work }) = &config.overlay {
        workspace = stage
            .overlay("workspace", upper, work)
            .map_err(|error| Failure { why: error.to_string(), fix: None })?;
    }
    let mut probe = Command::new("bwrap");
    probe
        .args(bwrap::base(config.shape, python, None))
        .arg("--ro-bind")
        .args([program.as_path(), Path::new(bwrap::SUPERVISOR)])
        .arg("--bind")
        .args([workspace.as_path(), Path::new(bwrap::WORKSPACE)])
        .args(["--", bwrap::SUPERVISOR])
        .args(words)
        .arg("check");
    if stage.is_needed() {
        probe = stage
            .command(&config.supervisor, &probe)
            .map_err(|error| Failure { why: error.to_string(), fix: None })?;
    }
    let facts = Facts::read();
    if !facts.has_bubblewrap {
        let why = "bubblewrap is not installed".to_owned();
        return Err(Failure { why, fix: Some(facts.install("bubblewrap")) });
    }
    match output(probe) {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let why = said.lines().next().unwrap_or("bubblewrap failed").to_owned();
            Err(Failure { why, fix: Some(facts.namespaces()) })
        }
        Err(error) => Err(Failure { why: format!("supervisor: {error}"), fix: None }),
    }
}

fn landlock(config: &SandboxConfig) -> TierReport {
    let confinement =
        Confinement { readable: bwrap::SYSTEM.map(Into::into).to_vec(), ..Confinement::default() };
    let confinement = serde_json::to_string(&confinement).unwrap_or_default();
    let mut words = config.supervisor.iter();
    let mut probe = Command::new(words.next().cloned().unwrap_or_default());
    probe.args(words).arg("enter").arg(confinement).arg("/usr/bin/true");
    let (available, why, fix) = match output(probe) {
        _ if config.overlay.is_some() => {
            (false, "an overlay of the workspace needs T3".to_owned(), None)
        }
        Ok(output) if output.status.success() => {
            (true, "Landlock and seccomp work".to_owned(), None)
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().next().unwrap_or("the probe failed").to_owned();
            let fix = "boot with `lsm=landlock,...` on Linux 5.13 or later; in Docker, a seccomp \
                       profile that allows `landlock_create_ruleset`";
            (false, said, Some(fix.to_owned()))
        }
        Err(error) => (false, format!("supervisor: {error}"), None),
    };
    TierReport { tier: Tier::T2, available, why, note: None, fix, ids: None }
}

fn plain(config: &SandboxConfig) -> TierReport {
    let why = "checkpoints only: processes run with the user's rights";
    TierReport {
        tier: Tier::T1,
        available: config.unsandboxed && config.overlay.is_none(),
        why: why.to_owned(),
        note: None,
        fix: (!config.unsandboxed).then(|| "--unsandboxed".to_owned()),
        ids: None,
    }
}

fn output(mut probe: Command) -> std::io::Result<Output> {
    probe.stdin(Stdio::null()).output()
}
