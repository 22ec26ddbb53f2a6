//! The environment variables that matter, read once.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// What the environment says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`.
    pub xdg_config_home: Option<PathBuf>,
    /// `XDG_DATA_HOME`.
    pub xdg_data_home: Option<PathBuf>,
    /// `AIR_STATE`: where state is kept.
    pub air_state: Option<PathBuf>,
    /// `AIR_RULES`: rule files, separated as in `PATH`.
    pub air_rules: Option<OsString>,
    /// `PATH`.
    pub path: Option<OsString>,
    /// Where hosts of agents keep their settings, if not where they usually do.
    pub hosts: HostHomes,
}

/// Where hosts of agents keep their settings, if not where they usually do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostHomes {
    /// `CLAUDE_CONFIG_DIR`, in place of `~/.claude`.
    pub claude: Option<PathBuf>,
    /// `CODEX_HOME`, in place of `~/.codex`.
    pub codex: Option<PathBuf>,
    /// `COPILOT_HOME`, in place of `~/.copilot`.
    pub copilot: Option<PathBuf>,
    /// `GEMINI_CLI_HOME`, in place of the home directory.
    pub gemini: Option<PathBuf>,
}

impl Environment {
    /// The environment of this process. A variable that is empty counts as absent.
    pub fn of_process() -> Self {
        let var = |name| env::var_os(name).filter(|value| !value.is_empty());
        let path = |name| var(name).map(PathBuf::from);
        Self {
            home: path("HOME"),
            // The base directory specification: what is relative is to be ignored.
            xdg_config_home: path("XDG_CONFIG_HOME").filter(|path| path.is_absolute()),
            xdg_data_home: path("XDG_DATA_HOME").filter(|path| path.is_absolute()),
            air_state: path("AIR_STATE"),
            air_rules: var("AIR_RULES"),
            path: var("PATH"),
            hosts: HostHomes {
                claude: path("CLAUDE_CONFIG_DIR"),
                codex: path("CODEX_HOME"),
                copilot: path("COPILOT_HOME"),
                gemini: path("GEMINI_CLI_HOME"),
            },
        }
    }

    /// The user's own `air.toml`, whether it is there or not.
    pub fn user_config(&self) -> Option<PathBuf> {
        let directory = under(self.xdg_config_home.as_deref(), self.home.as_deref(), ".config")?;
        Some(directory.join("air").join("air.toml"))
    }

    /// Where state is kept unless something else is said.
    pub fn default_state(&self) -> Option<PathBuf> {
        let directory = under(self.xdg_data_home.as_deref(), self.home.as_deref(), ".local/share")?;
        Some(directory.join("air"))
    }
}

fn under(xdg: Option<&Path>, home: Option<&Path>, fallback: &str) -> Option<PathBuf> {
    xdg.map(Path::to_path_buf).or_else(|| home.map(|home| home.join(fallback)))
}
