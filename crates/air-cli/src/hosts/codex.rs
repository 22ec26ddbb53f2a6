//! Codex runs no hook that is not trusted, and says nothing. It is asked what it would have to trust.

use std::{path::Path, process::Command, time::Duration};

use air_hooks::settings::trust::Trusted;
use serde_json::{Value, json};

use super::program::talk;
use crate::error::CliError;

const WITHIN: Duration = Duration::from_secs(20);
/// Of the question that is waited for.
const ID: u64 = 2;

/// AIR's hooks in `file`, by Codex's own names and hashes, and whether it trusts them.
///
/// # Errors
///
/// If Codex cannot be asked.
pub fn hooks(
    program: &Path,
    home: &Path,
    project: &Path,
    file: &Path,
    shim: &str,
) -> Result<Vec<(Trusted, bool)>, CliError> {
    let questions = [
        json!({"id": 1, "method": "initialize", "params": {"clientInfo": {
            "name": "airctl", "version": env!("CARGO_PKG_VERSION")}}}),
        json!({"method": "initialized"}),
        json!({"id": ID, "method": "hooks/list", "params": {"cwds": [project]}}),
    ]
    .map(|question| question.to_string());
    let mut command = Command::new(program);
    command.arg("app-server").env("CODEX_HOME", home).current_dir(project);
    let answered = |said: &str| answer(said).is_some();
    let said = talk(&mut command, &questions, WITHIN, answered).unwrap_or_default();
    let found = answer(&said).and_then(|answer| listed(&answer, file, shim));
    found.ok_or_else(|| CliError::Usage {
        what: "codex did not say what it would have to trust".to_owned(),
        hint: "start codex and trust AIR's hooks there with `/hooks`".to_owned(),
    })
}

fn answer(said: &str) -> Option<Value> {
    let complete = said.rsplit_once('\n').map_or("", |(complete, _)| complete);
    let mut lines = complete.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.find(|line| line.get("id").and_then(Value::as_u64) == Some(ID))
}

fn listed(answer: &Value, file: &Path, shim: &str) -> Option<Vec<(Trusted, bool)>> {
    let mut found = Vec::new();
    for project in answer.get("result")?.get("data")?.as_array()? {
        for hook in project.get("hooks")?.as_array()? {
            let text = |name: &str| hook.get(name).and_then(Value::as_str);
            let here = text("sourcePath").is_some_and(|path| same(Path::new(path), file));
            if !here || !text("command").is_some_and(|line| line.contains(shim)) {
                continue;
            }
            let trusted =
                Trusted { key: text("key")?.to_owned(), hash: text("currentHash")?.to_owned() };
            found.push((trusted, matches!(text("trustStatus"), Some("trusted" | "managed"))));
        }
    }
    Some(found)
}

fn same(one: &Path, other: &Path) -> bool {
    one == other
        || one.canonicalize().ok().is_some_and(|one| other.canonicalize().ok() == Some(one))
}
