//! Which tiers this machine has, found by trying them.

use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

use air_core::port::Tier;

use crate::{bwrap, config::SandboxConfig, protocol::Confinement, python::PythonHome};

/// Whether a tier is there, and if not, what makes it so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierReport {
    /// Which.
    pub tier: Tier,
    /// Whether it can be used now.
    pub available: bool,
    /// What was found.
    pub why: String,
    /// The command that makes it available.
    pub fix: Option<String>,
}

/// All tiers, strongest first.
pub fn detect(config: &SandboxConfig) -> Vec<TierReport> {
    vec![namespaces(), landlock(config), plain(config)]
}

fn namespaces() -> TierReport {
    let mut probe = Command::new("bwrap");
    probe.args(bwrap::base(&PythonHome::find(), None)).args(["--", "/usr/bin/true"]);
    let (available, why, fix) = match output(probe) {
        Ok(output) if output.status.success() => (true, "bubblewrap works".to_owned(), None),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().next().unwrap_or("bubblewrap failed").to_owned();
            (false, said, Some(namespace_fix()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let fix = "sudo apt-get install bubblewrap".to_owned();
            (false, "bubblewrap is not installed".to_owned(), Some(fix))
        }
        Err(error) => (false, format!("`bwrap`: {error}"), None),
    };
    TierReport { tier: Tier::T3, available, why, fix }
}

/// What most likely keeps user namespaces away.
fn namespace_fix() -> String {
    let setting = |path: &str| {
        let value = std::fs::read_to_string(Path::new("/proc/sys").join(path));
        value.map(|value| value.trim().to_owned()).unwrap_or_default()
    };
    if setting("kernel/apparmor_restrict_unprivileged_userns") == "1" {
        return "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0".to_owned();
    }
    if setting("kernel/unprivileged_userns_clone") == "0" {
        return "sudo sysctl -w kernel.unprivileged_userns_clone=1".to_owned();
    }
    if setting("user/max_user_namespaces") == "0" {
        return "sudo sysctl -w user.max_user_namespaces=15000".to_owned();
    }
    if Path::new("/.dockerenv").exists() {
        return "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined \
                --security-opt systempaths=unconfined"
            .to_owned();
    }
    "sudo sysctl -w user.max_user_namespaces=15000".to_owned()
}

fn landlock(config: &SandboxConfig) -> TierReport {
    let confinement =
        Confinement { readable: bwrap::SYSTEM.map(Into::into).to_vec(), writable: Vec::new() };
    let confinement = serde_json::to_string(&confinement).unwrap_or_default();
    let mut words = config.supervisor.iter();
    let mut probe = Command::new(words.next().cloned().unwrap_or_default());
    probe.args(words).arg("enter").arg(confinement).arg("/usr/bin/true");
    let (available, why, fix) = match output(probe) {
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
    TierReport { tier: Tier::T2, available, why, fix }
}

fn plain(config: &SandboxConfig) -> TierReport {
    let why = "checkpoints only: processes run with the user's rights";
    TierReport {
        tier: Tier::T1,
        available: config.unsandboxed,
        why: why.to_owned(),
        fix: (!config.unsandboxed).then(|| "--unsandboxed".to_owned()),
    }
}

fn output(mut probe: Command) -> std::io::Result<Output> {
    probe.stdin(Stdio::null()).output()
}
