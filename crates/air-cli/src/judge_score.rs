//! How often a judge was right on known questions: kept beside the journals, and told with every run.

use std::{fs, io, path::PathBuf};

use air_llm::Score;

use crate::{config::Config, error::CliError};

/// The score of a model in short: `22 of 24 known questions right, 1 undetermined`.
pub fn told(score: &Score) -> String {
    let all = score.right + score.wrong + score.undetermined;
    let bias = match (score.always_yes, score.always_no) {
        (true, _) => "; it says yes to everything",
        (_, true) => "; it says no to everything",
        (false, false) => "",
    };
    let Score { right, wrong, undetermined, .. } = score;
    format!(
        "{right} of {all} known questions right, {wrong} wrong, {undetermined} undetermined{bias}"
    )
}

/// Keeps a score.
///
/// # Errors
///
/// If it cannot be written.
pub fn keep(config: &Config, score: &Score) -> Result<(), CliError> {
    let path = place(config, &score.model)?;
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(CliError::file("make", parent))?;
    }
    let json = serde_json::to_vec(score).map_err(io::Error::from)?;
    fs::write(&path, json).map_err(CliError::file("write", &path))
}

/// The last score of a model, in short, if one was kept.
pub fn known(config: &Config, model: &str) -> Option<String> {
    let json = fs::read(place(config, model).ok()?).ok()?;
    let score: Score = serde_json::from_slice(&json).ok()?;
    (score.model == model).then(|| told(&score))
}

fn place(config: &Config, model: &str) -> Result<PathBuf, CliError> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '_' };
    let name: String = model.chars().map(plain).collect();
    Ok(config.state_dir()?.join("judges").join(format!("{name}.json")))
}
