//! The scripted agent: a task and the steps that it takes, as a TOML file.
//!
//! Whether its tools exist is not known here; the toolbox that runs it says so.

#[cfg(test)]
mod tests;

use std::{fs, io, path::Path};

use serde::Deserialize;
use toml::Spanned;

use crate::toml_file::{self, TomlError};

/// What a scripted agent does.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// The task that it was given.
    pub task: String,
    /// Its steps, in order. Never empty.
    pub steps: Vec<ScriptStep>,
}

/// One step of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptStep {
    /// What the agent says before it acts.
    pub plan: String,
    /// The tool that it calls.
    pub tool: String,
    /// With these arguments.
    pub arguments: serde_json::Map<String, serde_json::Value>,
    /// Line of the tool's name in the file, from 1.
    pub line: usize,
}

/// A script cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// It cannot be read.
    #[error("cannot read script `{file}`: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// It is no script.
    #[error(transparent)]
    Invalid(#[from] TomlError),
    /// It has no step.
    #[error("script `{0}` has no `[[step]]`")]
    Empty(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScript {
    task: Spanned<String>,
    #[serde(default)]
    step: Vec<RawStep>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    #[serde(default)]
    plan: String,
    tool: Spanned<String>,
    #[serde(default)]
    args: toml::Table,
}

impl Script {
    /// Reads a script file.
    ///
    /// # Errors
    ///
    /// See [`ScriptError`].
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        let file = path.display().to_string();
        match fs::read_to_string(path) {
            Ok(text) => Self::parse(&text, &file),
            Err(source) => Err(ScriptError::Unreadable { file, source }),
        }
    }

    /// Reads the text of a script; `file` names it in errors.
    ///
    /// # Errors
    ///
    /// If it is no script, or one without steps.
    pub fn parse(text: &str, file: &str) -> Result<Self, ScriptError> {
        let raw: RawScript = toml_file::from_str(text, file)?;
        let blank = |name: &str, value: &Spanned<String>| {
            let blank = value.get_ref().trim().is_empty();
            blank.then(|| toml_file::at(text, file, value.span(), format!("`{name}` is empty")))
        };
        if let Some(error) = blank("task", &raw.task) {
            return Err(error.into());
        }
        if raw.step.is_empty() {
            return Err(ScriptError::Empty(file.to_owned()));
        }
        let mut steps = Vec::with_capacity(raw.step.len());
        for step in raw.step {
            if let Some(error) = blank("tool", &step.tool) {
                return Err(error.into());
            }
            let line = toml_file::at(text, file, step.tool.span(), "").line;
            let arguments = step.args.into_iter().map(|(name, value)| (name, json(value)));
            steps.push(ScriptStep {
                plan: step.plan,
                tool: step.tool.into_inner(),
                arguments: arguments.collect(),
                line,
            });
        }
        Ok(Self { task: raw.task.into_inner(), steps })
    }
}

/// TOML as JSON, which tools take. Dates become text; JSON has no infinity, which becomes `null`.
fn json(value: toml::Value) -> serde_json::Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(truth) => truth.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(json).collect(),
        toml::Value::Table(fields) => {
            fields.into_iter().map(|(name, value)| (name, json(value))).collect()
        }
    }
}
