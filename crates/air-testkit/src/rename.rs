//! The same case under other names: whatever a rule or a parser holds of names alone is gone then.
//!
//! Variables, functions, parameters, paths and hosts are renamed, each the same way throughout the
//! case. A path keeps its labels, a host its network, a file name its ending. Names of libraries,
//! commands and of the environment stay: with others, the source would do something else.

mod chance;
mod paths;
mod python;
mod shell;

use std::collections::BTreeMap;

use air_core::fact::PathLabels;
use serde_json::Value;

use self::{chance::Chance, paths::Paths};
use crate::suite::{Script, Step};

/// What the text in an argument or a file is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Python,
    Shell,
    Path,
    Text,
}

/// New names by old ones.
type Names = BTreeMap<String, String>;

/// `script` under other names. The same `seed` gives the same names.
pub fn rename(script: &Script, seed: u64, labels: &dyn PathLabels) -> Script {
    let mut chance = Chance::new(seed);
    let mut texts: Vec<(Kind, &str)> = Vec::new();
    for step in &script.step {
        for (name, value) in &step.args {
            texts.extend(value.as_str().map(|text| (kind(step, name), text)));
        }
    }
    for (path, content) in &script.files {
        texts.extend([(Kind::Path, path.as_str()), (of_file(path), content.as_str())]);
    }
    let of = |wanted| texts.iter().filter(move |(kind, _)| *kind == wanted).map(|(_, text)| *text);
    let python = name_all(of(Kind::Python).flat_map(python::bound), &mut chance);
    let shell = name_all(of(Kind::Shell).flat_map(shell::bound), &mut chance);
    let paths = Paths::new(texts.iter().map(|(_, text)| *text), labels, &mut chance);
    let other = |kind: Kind, text: &str| match kind {
        Kind::Python => python::rename(text, &python, &paths),
        Kind::Shell => paths.rename(&shell::rename(text, &shell)),
        Kind::Path | Kind::Text => paths.rename(text),
    };
    let mut renamed = script.clone();
    for step in &mut renamed.step {
        let before = step.clone();
        for (name, value) in &mut step.args {
            if let Some(text) = value.as_str() {
                *value = Value::String(other(kind(&before, name), text));
            }
        }
    }
    let files = script.files.iter();
    renamed.files = files
        .map(|(path, content)| (other(Kind::Path, path), other(of_file(path), content)))
        .collect();
    renamed
}

/// The names that the sources in a step give to variables, functions and parameters.
pub fn names(step: &Step) -> Vec<String> {
    let texts = step.args.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
    let bound = texts.flat_map(|(name, text)| match kind(step, name) {
        Kind::Python => python::bound(text),
        Kind::Shell => shell::bound(text),
        Kind::Path | Kind::Text => Vec::new(),
    });
    bound.collect()
}

fn name_all(bound: impl Iterator<Item = String>, chance: &mut Chance) -> Names {
    let mut names = Names::new();
    for name in bound {
        names.entry(name).or_insert_with(|| chance.word());
    }
    names
}

fn kind(step: &Step, argument: &str) -> Kind {
    match argument {
        "code" => Kind::Python,
        "command" => Kind::Shell,
        "path" => Kind::Path,
        "content" => step.args.get("path").and_then(Value::as_str).map_or(Kind::Text, of_file),
        _ => Kind::Text,
    }
}

fn of_file(path: &str) -> Kind {
    match path.rsplit_once('.') {
        Some((_, "py")) => Kind::Python,
        Some((_, "sh" | "bash")) => Kind::Shell,
        _ => Kind::Text,
    }
}
