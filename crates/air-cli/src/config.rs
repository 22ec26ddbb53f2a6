//! Settings, in layers: built-in defaults, the user's `air.toml`, the project's `air.toml`, the
//! environment, flags. A later layer replaces what an earlier one said, key by key. Of models, a project's
//! file can only tighten what the user's says.

mod file;
mod models;
mod project;
#[cfg(test)]
mod tests;

use std::{
    env, fs, io,
    num::NonZeroU32,
    path::{Path, PathBuf},
    sync::Arc,
};

use air_core::policy::FailPolicy;
use air_facts::LabelTable;

use crate::{environment::Environment, toml_file::TomlError};

pub(crate) use models::provider;
pub use models::{JudgeMode, ModelSettings, RespondBy, SynthesisBy};

/// Name of a settings file.
pub const FILE_NAME: &str = "air.toml";

/// The settings in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Rule files, directories of them, and patterns with `*` in the last component. Absolute.
    pub rules: Vec<PathBuf>,
    /// Where state is kept; `None` where there is no home directory and nothing was said.
    pub state: Option<PathBuf>,
    /// The user's label table. Absolute.
    pub labels: Option<PathBuf>,
    /// Tools that the host has beside AIR's own; `*` stands for any run of characters.
    pub tools: Vec<Arc<str>>,
    /// What one call may use.
    pub limits: Limits,
    /// What an undetermined answer does.
    pub policy: FailPolicy,
    /// Whether guardrails are learned from incidents.
    pub learn: bool,
    /// Whether tools work on a layer above the workspace.
    pub layered: bool,
    /// Whether the workspace is a whole root file system.
    pub system: bool,
    /// Variables of all calls.
    pub environment: Vec<(String, String)>,
    /// Programs that run beside the agent.
    pub services: Vec<air::Service>,
    /// Language models.
    pub models: ModelSettings,
    /// The settings files that were read, in order.
    pub files: Vec<PathBuf>,
}

/// What one call may use. `None` is the sandbox's own default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Wall time, in seconds.
    pub timeout_s: Option<NonZeroU32>,
    /// Output that is kept, in KiB.
    pub output_kib: Option<NonZeroU32>,
    /// Memory, in MiB.
    pub memory_mib: Option<NonZeroU32>,
    /// Processes at a time.
    pub processes: Option<NonZeroU32>,
    /// Size of one file, in MiB.
    pub file_mib: Option<NonZeroU32>,
    /// What the contents of all checkpoints may take on disk.
    pub store_mib: Option<NonZeroU32>,
}

/// What the command line says about settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--config`: read in place of the project's file.
    pub config: Option<PathBuf>,
    /// `--state`.
    pub state: Option<PathBuf>,
}

/// The settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A settings file is wrong.
    #[error(transparent)]
    Invalid(#[from] TomlError),
    /// A label table is wrong.
    #[error("`{}`: {source}", path.display())]
    Labels {
        /// The table.
        path: PathBuf,
        /// Where and why.
        source: air_facts::LabelError,
    },
    /// Nothing says where state is to be kept.
    #[error("no place for state: set `--state`, `AIR_STATE` or `HOME`")]
    NoState,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            state: None,
            labels: None,
            tools: Vec::new(),
            limits: Limits::default(),
            policy: FailPolicy::default(),
            learn: true,
            layered: true,
            system: false,
            environment: Vec::new(),
            services: Vec::new(),
            models: ModelSettings::default(),
            files: Vec::new(),
        }
    }
}

impl Config {
    /// The settings for a command that is run in `cwd`, which is absolute.
    ///
    /// # Errors
    ///
    /// If a settings file that is there, or that was named, cannot be used. A rejected file is never
    /// passed over: what it says may be a safety setting.
    pub fn load(
        environment: &Environment,
        overrides: &Overrides,
        cwd: &Path,
    ) -> Result<Self, ConfigError> {
        let mut config = Self { state: environment.default_state(), ..Self::default() };
        if let Some(user) = environment.user_config() {
            config.read_if_there(&user, true)?;
        }
        match &overrides.config {
            Some(named) => config.read(&cwd.join(named), true)?,
            None => {
                for directory in cwd.ancestors() {
                    if config.read_if_there(&directory.join(FILE_NAME), false)? {
                        break;
                    }
                }
            }
        }
        if let Some(rules) = &environment.air_rules {
            let paths = env::split_paths(rules).filter(|path| !path.as_os_str().is_empty());
            config.rules = paths.map(|path| cwd.join(path)).collect();
        }
        for state in [&environment.air_state, &overrides.state].into_iter().flatten() {
            config.state = Some(cwd.join(state));
        }
        Ok(config)
    }

    /// Where state is kept.
    ///
    /// # Errors
    ///
    /// If nothing says where.
    pub fn state_dir(&self) -> Result<&Path, ConfigError> {
        self.state.as_deref().ok_or(ConfigError::NoState)
    }

    /// The label table that ships with AIR, with the user's entries.
    ///
    /// # Errors
    ///
    /// If the user's table cannot be used.
    pub fn label_table(&self) -> Result<LabelTable, ConfigError> {
        let (table, path) = match &self.labels {
            None => (LabelTable::built_in(), Path::new("built-in labels")),
            Some(path) => (LabelTable::with_user(&read(path)?), path.as_path()),
        };
        table.map_err(|source| ConfigError::Labels { path: path.to_owned(), source })
    }

    fn read_if_there(&mut self, path: &Path, own: bool) -> Result<bool, ConfigError> {
        // Anything but a clear no is read, so that a file that cannot be is reported.
        if !path.try_exists().unwrap_or(true) || self.files.iter().any(|known| known == path) {
            return Ok(false);
        }
        self.read(path, own).map(|()| true)
    }

    /// `own`: the user named it, or it lies where no agent works.
    fn read(&mut self, path: &Path, own: bool) -> Result<(), ConfigError> {
        let text = read(path)?;
        let name = path.display().to_string();
        let layer = file::parse(&text, &name)?;
        if !own {
            project::check(&layer, &self.models, &text, &name)?;
        }
        layer.apply(self, path.parent().unwrap_or(Path::new("/")));
        self.files.push(path.to_owned());
        Ok(())
    }
}

fn read(path: &Path) -> Result<String, ConfigError> {
    fs::read_to_string(path)
        .map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })
}
