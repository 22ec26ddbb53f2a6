//! What rules are drafted from, as files say it.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use air_lang::lint;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Args;
use crate::{context::Context, error::CliError, toml_file};

/// A longer file is refused, in bytes.
const MOST_BYTES: u64 = 4 << 20;

pub(super) struct Input {
    pub(super) agent: String,
    /// Tools as JSON.
    pub(super) tools: String,
    pub(super) examples: String,
    pub(super) categories: Vec<Category>,
    pub(super) lints: lint::Settings,
}

/// Incidents of one kind.
pub(super) struct Category {
    /// As the file says it.
    pub(super) title: String,
    /// Of the rule and its file.
    pub(super) name: String,
    pub(super) tasks: Vec<String>,
}

/// A line of JSONL.
#[derive(Deserialize)]
struct Line {
    category: String,
    task: String,
}

#[derive(Deserialize)]
struct Tool {
    name: Arc<str>,
}

impl Input {
    pub(super) fn read(args: &Args, context: &Context<'_>) -> Result<Self, CliError> {
        let file = |path: &Path| text(&context.cwd.join(path), path);
        let examples = file(&args.examples)?;
        let parsed = air_lang::parse(&examples);
        if parsed.has_errors() || parsed.rules().is_empty() {
            return Err(wrong(&args.examples, "it is no rule file without errors"));
        }
        let tools = match &args.tools {
            Some(path) => {
                let read: Result<Value, _> = serde_json::from_str(&file(path)?);
                read.map_err(|error| wrong(path, &error.to_string()))?
            }
            None => code_agent(),
        };
        let named: Result<Vec<Tool>, _> = serde_json::from_value(tools.clone());
        let named = named.map_err(|_| {
            let path = args.tools.as_deref().unwrap_or(Path::new("tools"));
            wrong(path, "it is no list of objects with a `name`")
        })?;
        let mut known = context.config.tools.clone();
        known.extend(named.into_iter().map(|tool| tool.name));
        let categories = categories(args, &file(&args.tasks)?)?;
        let pretty = serde_json::to_string_pretty(&tools);
        Ok(Self {
            agent: file(&args.agent)?,
            tools: pretty.map_err(|error| wrong(Path::new("tools"), &error.to_string()))?,
            examples,
            categories,
            lints: lint::Settings { tools: known },
        })
    }
}

/// The tools that every code agent has here.
fn code_agent() -> Value {
    let described = air_workspace::Tools::described().into_iter().map(|tool| {
        json!({ "name": tool.name, "description": tool.description, "schema": tool.parameters })
    });
    described.collect()
}

fn text(place: &Path, shown: &Path) -> Result<String, CliError> {
    let size = fs::metadata(place).map_err(CliError::file("read", shown))?.len();
    if size > MOST_BYTES {
        return Err(wrong(shown, &format!("it is larger than {} MiB", MOST_BYTES >> 20)));
    }
    fs::read_to_string(place).map_err(CliError::file("read", shown))
}

fn categories(args: &Args, text: &str) -> Result<Vec<Category>, CliError> {
    let path = &args.tasks;
    let mut by_title: BTreeMap<String, Vec<String>> = BTreeMap::new();
    if path.extension().is_some_and(|it| it == "jsonl") {
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let line: Line = serde_json::from_str(line)
                .map_err(|error| wrong(path, &format!("line {number}: {error}")))?;
            by_title.entry(line.category).or_default().push(line.task);
        }
    } else {
        by_title = toml_file::from_str(text, &path.display().to_string())
            .map_err(|error| wrong(path, &error.to_string()))?;
    }
    if let Some(unknown) = args.category.iter().find(|wanted| !by_title.contains_key(*wanted)) {
        return Err(wrong(path, &format!("it has no category `{unknown}`")));
    }
    by_title.retain(|title, _| args.category.is_empty() || args.category.contains(title));
    let mut found: Vec<Category> = Vec::new();
    for (title, tasks) in by_title {
        let name = name(&title);
        if name.is_empty() || found.iter().any(|it| it.name == name) {
            let what = "is not told apart from another one by letters and digits";
            return Err(wrong(path, &format!("category `{title}` {what}")));
        }
        if tasks.is_empty() {
            return Err(wrong(path, &format!("category `{title}` has no task")));
        }
        found.push(Category { title, name, tasks });
    }
    if found.is_empty() { Err(wrong(path, "it has no category")) } else { Ok(found) }
}

/// A category as the name of a rule and of a file.
fn name(title: &str) -> String {
    let mut name = String::new();
    for letter in title.chars().take(64) {
        if letter.is_ascii_alphanumeric() {
            name.push(letter.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
    }
    let name = name.trim_end_matches('_');
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        format!("c_{name}")
    } else {
        name.to_owned()
    }
}

fn wrong(path: &Path, why: &str) -> CliError {
    CliError::Usage {
        what: format!("`{}` cannot be used: {why}", path.display()),
        hint: "docs/rules-by-model.md shows what each file holds".to_owned(),
    }
}
