//! The variables of tools, on their way to them: no program of AIR's own is to heed one such as
//! `LD_PRELOAD`, on the host least of all. So they travel by other names.

use std::{os::unix::ffi::OsStrExt, process::Command};

/// Begins the name of a variable that is on its way.
const CARRIED: &str = "air.tool.";

/// Variables as a program of AIR's is given them.
pub(crate) fn carried(variables: &[(String, String)]) -> impl Iterator<Item = (String, &str)> {
    variables.iter().map(|(name, value)| (format!("{CARRIED}{name}"), value.as_str()))
}

/// Gives `command` those that this process carries, under their own names.
pub(crate) fn hand_over(command: &mut Command) -> &mut Command {
    for (carried, value) in std::env::vars_os() {
        let name = carried.as_bytes().strip_prefix(CARRIED.as_bytes());
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            command.env(std::ffi::OsStr::from_bytes(name), value).env_remove(&carried);
        }
    }
    command
}
