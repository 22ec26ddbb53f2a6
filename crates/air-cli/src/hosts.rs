//! Hosts of agents on this machine: where they keep their settings, and AIR's hooks in those.

pub mod canary;
pub mod change;
pub mod codex;
pub mod file;
pub mod ledger;
pub mod program;
pub mod report;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::{environment::Environment, error::CliError};

/// An agent that people use, and that AIR can sit in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Host {
    /// Claude Code
    ClaudeCode,
    /// Codex CLI
    Codex,
    /// GitHub Copilot CLI
    Copilot,
    /// Gemini CLI
    Gemini,
    /// OpenCode
    Opencode,
    /// Cursor
    Cursor,
}

/// Whose settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// This user's, in every project.
    User,
    /// This project's, of everybody who works on it.
    Project,
    /// This project's, of this user.
    Local,
}

impl Host {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::ClaudeCode, Self::Codex, Self::Copilot, Self::Gemini, Self::Opencode, Self::Cursor];

    /// Its name in AIR.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Cursor => "cursor",
        }
    }

    /// What it is called on the search path.
    pub fn programs(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode => &["claude"],
            Self::Codex => &["codex"],
            Self::Copilot => &["copilot"],
            Self::Gemini => &["gemini"],
            Self::Opencode => &["opencode"],
            Self::Cursor => &["cursor-agent", "cursor"],
        }
    }

    /// The file that AIR's hooks go into.
    ///
    /// # Errors
    ///
    /// If there is no home directory, or the host has no such settings.
    pub fn file(
        self,
        scope: Scope,
        environment: &Environment,
        project: &Path,
    ) -> Result<PathBuf, CliError> {
        let (user, inside) = match self {
            Self::ClaudeCode => ("settings.json", ".claude/settings.json"),
            Self::Codex => ("hooks.json", ".codex/hooks.json"),
            Self::Copilot => ("hooks/air.json", ".github/hooks/air.json"),
            Self::Gemini => ("settings.json", ".gemini/settings.json"),
            Self::Opencode => ("plugin/air.js", ".opencode/plugin/air.js"),
            Self::Cursor => ("hooks.json", ".cursor/hooks.json"),
        };
        match scope {
            Scope::User => Ok(self.home(environment)?.join(user)),
            Scope::Project => Ok(project.join(inside)),
            Scope::Local if self == Self::ClaudeCode => {
                Ok(project.join(".claude/settings.local.json"))
            }
            Scope::Local => Err(CliError::Usage {
                what: format!("{} has no settings of a user in a project", self.name()),
                hint: "use `--user` or `--project`".to_owned(),
            }),
        }
    }

    /// The directory of its user settings.
    ///
    /// # Errors
    ///
    /// If there is no home directory.
    pub fn home(self, environment: &Environment) -> Result<PathBuf, CliError> {
        let homes = &environment.hosts;
        let named = match self {
            Self::ClaudeCode => homes.claude.clone(),
            Self::Codex => homes.codex.clone(),
            Self::Copilot => homes.copilot.clone(),
            Self::Gemini => homes.gemini.as_ref().map(|home| home.join(".gemini")),
            Self::Opencode => environment.xdg_config_home.as_ref().map(|at| at.join("opencode")),
            Self::Cursor => None,
        };
        let usual = match self {
            Self::ClaudeCode => ".claude",
            Self::Codex => ".codex",
            Self::Copilot => ".copilot",
            Self::Gemini => ".gemini",
            Self::Opencode => ".config/opencode",
            Self::Cursor => ".cursor",
        };
        named.or_else(|| environment.home.as_ref().map(|home| home.join(usual))).ok_or_else(|| {
            CliError::Usage {
                what: format!("no place for the settings of {}", self.name()),
                hint: "set `HOME`, or use `--project`".to_owned(),
            }
        })
    }
}

impl Scope {
    /// The argument that asks for it; nothing where it is what is done anyway.
    pub fn flag(self) -> &'static str {
        match self {
            Self::User => "",
            Self::Project => " --project",
            Self::Local => " --local",
        }
    }
}
