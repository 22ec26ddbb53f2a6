//! What makes a missing tier available, from what is known of the machine.

use std::{fs, path::Path};

/// An `AppArmor` profile that lets bubblewrap alone make user namespaces.
const PROFILE: &str = "sudo tee /etc/apparmor.d/bwrap >/dev/null <<'EOF'
abi <abi/4.0>,
include <tunables/global>
profile bwrap /usr/bin/bwrap flags=(unconfined) {
  userns,
}
EOF
sudo apparmor_parser -r /etc/apparmor.d/bwrap";

/// What decides which fix is the right one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) has_bubblewrap: bool,
    /// `/proc/sys/kernel/apparmor_restrict_unprivileged_userns`, of Ubuntu.
    pub(crate) apparmor_restricts: Option<String>,
    /// `/proc/sys/kernel/unprivileged_userns_clone`, of Debian.
    pub(crate) userns_clone: Option<String>,
    /// `/proc/sys/user/max_user_namespaces`.
    pub(crate) max_user_namespaces: Option<String>,
    /// Inside of Docker or Podman.
    pub(crate) in_container: bool,
    /// `ID` and `ID_LIKE` of `/etc/os-release`.
    pub(crate) distributions: Vec<String>,
}

impl Facts {
    /// Looks at this machine.
    pub(crate) fn read() -> Self {
        let setting = |path: &str| {
            let value = fs::read_to_string(Path::new("/proc/sys").join(path)).ok()?;
            Some(value.trim().to_owned())
        };
        let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self {
            has_bubblewrap: std::env::split_paths(&path).any(|dir| dir.join("bwrap").is_file()),
            apparmor_restricts: setting("kernel/apparmor_restrict_unprivileged_userns"),
            userns_clone: setting("kernel/unprivileged_userns_clone"),
            max_user_namespaces: setting("user/max_user_namespaces"),
            in_container: ["/.dockerenv", "/run/.containerenv"]
                .iter()
                .any(|mark| Path::new(mark).exists()),
            distributions: distributions(&release),
        }
    }

    /// What most likely keeps user namespaces away, and the command against it.
    pub(crate) fn namespaces(&self) -> String {
        let is = |setting: &Option<String>, value| setting.as_deref() == Some(value);
        if self.in_container {
            return "docker run --security-opt seccomp=unconfined --security-opt \
                    apparmor=unconfined --security-opt systempaths=unconfined"
                .to_owned();
        }
        if is(&self.max_user_namespaces, "0") {
            return "sudo sysctl -w user.max_user_namespaces=15000".to_owned();
        }
        if is(&self.userns_clone, "0") {
            return "sudo sysctl -w kernel.unprivileged_userns_clone=1".to_owned();
        }
        if is(&self.apparmor_restricts, "1") {
            return format!(
                "{PROFILE}\nor, for all programs: \
                 sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
            );
        }
        "a kernel with user namespaces (CONFIG_USER_NS)".to_owned()
    }

    /// The command that installs `package`.
    pub(crate) fn install(&self, package: &str) -> String {
        let managers = [
            (&["debian", "ubuntu"][..], "sudo apt-get install"),
            (&["fedora", "rhel", "centos"], "sudo dnf install"),
            (&["arch"], "sudo pacman -S"),
            (&["alpine"], "sudo apk add"),
            (&["suse", "opensuse"], "sudo zypper install"),
        ];
        let known = |names: &[&str]| self.distributions.iter().any(|own| names.contains(&&**own));
        match managers.iter().find(|(names, _)| known(names)) {
            Some((_, command)) => format!("{command} {package}"),
            None => format!("install `{package}` with the package manager of this machine"),
        }
    }
}

fn distributions(release: &str) -> Vec<String> {
    let value = |key: &str| release.lines().find_map(|line| line.strip_prefix(key));
    [value("ID="), value("ID_LIKE=")]
        .into_iter()
        .flatten()
        .flat_map(|value| value.trim_matches('"').split_whitespace())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(change: impl FnOnce(&mut Facts)) -> Facts {
        let mut facts = Facts { max_user_namespaces: Some("96000".into()), ..Facts::default() };
        change(&mut facts);
        facts
    }

    #[test]
    fn the_fix_is_the_one_of_the_machine() {
        let some = |value: &str| Some(value.to_owned());
        #[rustfmt::skip]
        let table = [
            (facts(|facts| facts.apparmor_restricts = some("1")), "/etc/apparmor.d/bwrap"),
            (facts(|facts| facts.apparmor_restricts = some("0")), "CONFIG_USER_NS"),
            (facts(|facts| facts.userns_clone = some("0")), "kernel.unprivileged_userns_clone=1"),
            (facts(|facts| facts.max_user_namespaces = some("0")), "user.max_user_namespaces=15000"),
            (facts(|facts| { facts.in_container = true; facts.apparmor_restricts = some("1"); }), "systempaths=unconfined"),
            (facts(|_| {}), "CONFIG_USER_NS"),
        ];
        for (facts, expected) in table {
            let fix = facts.namespaces();
            assert!(fix.contains(expected), "{facts:?}: {fix}");
        }
    }

    #[test]
    fn each_distribution_has_its_command() {
        #[rustfmt::skip]
        let table = [
            ("NAME=Debian\nID=debian\n", "sudo apt-get install bubblewrap"),
            ("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", "sudo apt-get install bubblewrap"),
            ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", "sudo dnf install bubblewrap"),
            ("ID=arch\n", "sudo pacman -S bubblewrap"),
            ("ID=alpine\nVERSION_ID=3.20\n", "sudo apk add bubblewrap"),
            ("", "install `bubblewrap` with the package manager of this machine"),
        ];
        for (release, expected) in table {
            let facts = facts(|facts| facts.distributions = distributions(release));
            assert_eq!(facts.install("bubblewrap"), expected, "{release:?}");
        }
    }
}
