//! The daemon as commands see it.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use air_hook::client::{self, Answer, Failed, Question};
use serde::de::DeserializeOwned;

use crate::{context::Context, error::CliError};

/// How long a command waits for the daemon.
const PATIENCE: Duration = Duration::from_secs(20);

/// The same, for what changes many files.
const LONG: Duration = Duration::from_mins(10);

/// The daemon of a state directory, whether it runs or not.
#[derive(Debug, Clone)]
pub struct Daemon {
    state: PathBuf,
}

impl Daemon {
    /// That of the settings in force.
    ///
    /// # Errors
    ///
    /// If there is no place for state.
    pub fn of(context: &Context<'_>) -> Result<Self, CliError> {
        Ok(Self { state: context.config.state_dir()?.to_path_buf() })
    }

    /// AIR's directory for all hosts.
    pub fn hosts(&self) -> PathBuf {
        self.state.join("hosts")
    }

    /// AIR's state directory.
    pub fn state(&self) -> &std::path::Path {
        &self.state
    }

    /// Reads something.
    ///
    /// # Errors
    ///
    /// If no daemon runs, or it refuses.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.ask("GET", path, b"")
    }

    /// Asks for something.
    ///
    /// # Errors
    ///
    /// If no daemon runs, or it refuses.
    pub fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &serde_json::Value,
    ) -> Result<T, CliError> {
        self.ask("POST", path, body.to_string().as_bytes())
    }

    /// As [`Self::post`], for what may take long.
    ///
    /// # Errors
    ///
    /// If no daemon runs, or it refuses.
    pub fn have_done<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &serde_json::Value,
    ) -> Result<T, CliError> {
        self.wait(LONG, "POST", path, body.to_string().as_bytes())
    }

    /// Whether one runs.
    pub fn runs(&self) -> bool {
        let question = Question { method: "GET", path: "/v1/health", body: b"" };
        client::ask(&self.state, question, Instant::now() + Duration::from_secs(2)).is_ok()
    }

    fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: &[u8],
    ) -> Result<T, CliError> {
        self.wait(PATIENCE, method, path, body)
    }

    fn wait<T: DeserializeOwned>(
        &self,
        patience: Duration,
        method: &str,
        path: &str,
        body: &[u8],
    ) -> Result<T, CliError> {
        let question = Question { method, path, body };
        let answered = client::ask(&self.state, question, Instant::now() + patience);
        let Answer { status, body } = answered.map_err(|failed| match failed {
            Failed::Away(why) => CliError::Usage {
                what: format!("no daemon runs: {why}"),
                hint:
                    "`airctl daemon start` starts it; agents with AIR's hooks do so by themselves"
                        .to_owned(),
            },
            Failed::Ended(why) | Failed::Asking(why) => CliError::Usage {
                what: format!("the daemon did not answer: {why}"),
                hint: "`airctl daemon restart` starts it anew".to_owned(),
            },
        })?;
        if status != 200 {
            return Err(CliError::Usage {
                what: String::from_utf8_lossy(&body).trim().to_owned(),
                hint: "`airctl daemon status` says how the daemon is".to_owned(),
            });
        }
        serde_json::from_slice(&body).map_err(|error| CliError::Usage {
            what: format!("the daemon's answer cannot be read: {error}"),
            hint: "it may be of another version: `airctl daemon restart`".to_owned(),
        })
    }
}

/// An id that may stand in a path.
///
/// # Errors
///
/// If it cannot be one.
pub fn plain_id(id: &str) -> Result<&str, CliError> {
    if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Ok(id);
    }
    Err(CliError::Usage {
        what: format!("`{id}` is no id"),
        hint: "ids are letters and digits, as the lists show them".to_owned(),
    })
}
