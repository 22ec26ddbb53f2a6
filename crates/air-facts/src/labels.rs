//! Which labels a path has: a table that ships with AIR, and what the user adds to it.

use std::{borrow::Cow, collections::BTreeMap, ops::Range, sync::Arc};

use air_core::fact::PathLabels;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;
use toml::Spanned;

/// The table that ships with AIR.
const BUILT_IN: &str = include_str!("../labels.toml");

/// Reading it tells nothing that is not known to everybody.
const PUBLIC: &str = "public-information";
/// What is never public, whatever lies around it.
const SECRET: [&str; 3] = ["credential", "history", "log"];

/// Labels by path pattern.
#[derive(Debug, Clone)]
pub struct LabelTable {
    entries: BTreeMap<String, Entry>,
}

/// One compiled entry.
#[derive(Debug, Clone)]
struct Entry {
    labels: Vec<Arc<str>>,
    /// Patterns without glob characters that are absolute: whole paths.
    known: Vec<String>,
    patterns: GlobSet,
    except: GlobSet,
    content: bool,
}

/// The text of a table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    entry: Vec<Raw>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: String,
    labels: Vec<String>,
    patterns: Vec<Spanned<String>>,
    #[serde(default)]
    except: Vec<Spanned<String>>,
    /// Whether copies of what is there are worth knowing.
    #[serde(default = "yes")]
    content: bool,
}

fn yes() -> bool {
    true
}

/// A label table cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct LabelError {
    /// Line in the table's text, from 1.
    pub line: usize,
    /// What is wrong there.
    pub why: String,
}

impl LabelTable {
    /// The table that ships with AIR.
    ///
    /// # Errors
    ///
    /// None in a build whose tests pass: the table is compiled in.
    pub fn built_in() -> Result<Self, LabelError> {
        let mut table = Self { entries: BTreeMap::new() };
        table.add(BUILT_IN)?;
        Ok(table)
    }

    /// The table that ships with AIR, and the user's entries. An entry with the name of one that is
    /// there takes its place.
    ///
    /// # Errors
    ///
    /// The first thing in `text` that is no table of labels.
    pub fn with_user(text: &str) -> Result<Self, LabelError> {
        let mut table = Self::built_in()?;
        table.add(text)?;
        Ok(table)
    }

    /// Whole paths that have labels. Files there are worth knowing by content.
    pub fn known_paths(&self) -> Vec<&str> {
        let entries = self.entries.values().filter(|entry| entry.content);
        let mut paths: Vec<&str> =
            entries.flat_map(|entry| &entry.known).map(String::as_str).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    fn add(&mut self, text: &str) -> Result<(), LabelError> {
        let table: Table = toml::from_str(text).map_err(|error| LabelError {
            line: line(text, &error.span().unwrap_or_default()),
            why: error.message().to_owned(),
        })?;
        for raw in table.entry {
            let entry = Entry {
                labels: raw.labels.iter().map(|label| Arc::from(label.as_str())).collect(),
                known: raw
                    .patterns
                    .iter()
                    .map(Spanned::get_ref)
                    .filter(|p| is_whole(p))
                    .cloned()
                    .collect(),
                patterns: compile(&raw.patterns, text)?,
                except: compile(&raw.except, text)?,
                content: raw.content,
            };
            self.entries.insert(raw.name, entry);
        }
        Ok(())
    }
}

impl PathLabels for LabelTable {
    fn labels(&self, path: &str) -> Vec<Arc<str>> {
        let mut labels: Vec<Arc<str>> =
            self.of(path).flat_map(|entry| entry.labels.iter().cloned()).collect();
        // What is secret by its name is so wherever it lies.
        if labels.iter().any(|label| SECRET.contains(&&**label)) {
            labels.retain(|label| &**label != PUBLIC);
        }
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    fn is_sensitive(&self, path: &str) -> bool {
        self.of(path).any(|entry| entry.content && !entry.labels.is_empty())
    }
}

impl LabelTable {
    /// The entries that `path` is in.
    fn of(&self, path: &str) -> impl Iterator<Item = &Entry> {
        let path = normalize(&from_home(path));
        // How far up the workspace is, is not known here: far enough, it is to be assumed.
        let outside = path.starts_with("../").then(|| path.trim_start_matches("../"));
        let outside = outside.map(|rest| format!("/{rest}"));
        self.entries.values().filter(move |entry| {
            let has = |path: &String| entry.patterns.is_match(path) && !entry.except.is_match(path);
            has(&path) || outside.as_ref().is_some_and(has)
        })
    }
}

fn line(text: &str, span: &Range<usize>) -> usize {
    text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1
}

fn is_whole(pattern: &str) -> bool {
    pattern.starts_with('/') && !pattern.contains(['*', '?', '[', '{', '\\'])
}

fn compile(patterns: &[Spanned<String>], text: &str) -> Result<GlobSet, LabelError> {
    let error = |pattern: &Spanned<String>, why: &globset::Error| LabelError {
        line: line(text, &pattern.span()),
        why: format!("pattern `{}`: {}", pattern.get_ref(), why.kind()),
    };
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        for whole in expand(pattern.get_ref()) {
            let glob = GlobBuilder::new(&whole).literal_separator(true).build();
            set.add(glob.map_err(|why| error(pattern, &why))?);
        }
    }
    set.build().map_err(|why| LabelError { line: 1, why: why.kind().to_string() })
}

/// The globs over whole paths that a pattern stands for. One that does not start at the root holds at
/// any depth, for a home directory may be anywhere; one for what is in a directory holds for it too.
fn expand(pattern: &str) -> Vec<String> {
    let anchored = if pattern.starts_with('/') || pattern.starts_with("**/") {
        pattern.to_owned()
    } else {
        format!("**/{}", pattern.strip_prefix("~/").unwrap_or(pattern))
    };
    let directory = anchored.strip_suffix("/**").map(str::to_owned);
    directory.into_iter().chain([anchored]).filter(|glob| !glob.is_empty()).collect()
}

/// `path` with the directory that `~` and `$HOME` stand for. Whose it is, is not known here: that of
/// some user.
fn from_home(path: &str) -> Cow<'_, str> {
    let rest = ["~", "${HOME}", "$HOME"].iter().find_map(|home| path.strip_prefix(home));
    match rest {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            Cow::Owned(format!("/home/user{rest}"))
        }
        Some(rest) if path.starts_with("~root") => Cow::Owned(rest.replacen("root", "/root", 1)),
        Some(rest) if path.starts_with('~') => Cow::Owned(format!("/home/{rest}")),
        _ => Cow::Borrowed(path),
    }
}

/// `path` without `.`, `..` and `//`, by its text alone.
fn normalize(path: &str) -> String {
    // Each is another name of the root.
    let path = ["/proc/self/root/", "/proc/1/root/"]
        .iter()
        .find_map(|root| path.starts_with(root).then(|| path.get(root.len() - 1..)).flatten())
        .unwrap_or(path);
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    let root = if rooted { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}
