//! What Codex is told to trust: `[hooks.state."<file>:<event>:<group>:<handler>"]` in its `config.toml`.
//!
//! Codex passes over a hook that is not trusted, without a word. It names the hash itself (`hooks/list` of
//! its server), over event, matcher, command, timeout and the rest of the handler; the name of a hook has
//! its place among the event's groups, so one that is put before it takes its trust away.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use toml_edit::{Document, Item};

use super::SettingsError;

/// One hook that is to be trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trusted {
    /// Codex's name of it.
    pub key: String,
    /// Codex's hash of it.
    pub hash: String,
}

/// What has been added to a file, so that exactly that can be taken away.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustReceipt {
    /// There was no file.
    pub file: bool,
    /// What was put at the end.
    pub block: String,
    /// The tables in it, one by one.
    pub tables: Vec<String>,
    /// What stood there before, by key: the old value and the new one, as written.
    pub replaced: Vec<(String, String, String)>,
}

/// `text` with these hooks trusted.
///
/// # Errors
///
/// If the text cannot be read, or says what is trusted in a way that cannot be added to.
pub fn install(
    text: Option<&str>,
    trusted: &[Trusted],
) -> Result<(String, TrustReceipt), SettingsError> {
    let mut out = text.unwrap_or_default().to_owned();
    let mut receipt = TrustReceipt { file: text.is_none(), ..TrustReceipt::default() };
    let newline = if out.contains("\r\n") { "\r\n" } else { "\n" };
    for Trusted { key, hash } in trusted {
        let value = quoted(hash);
        match known(&out, key)? {
            Known::Is(found) if found == *hash => {}
            Known::Is(_) | Known::Table => {
                let place = span(&out, key)?.ok_or_else(|| inline(&out, key))?;
                let old = out.get(place.clone()).unwrap_or_default().to_owned();
                out.replace_range(place, &value);
                receipt.replaced.push((key.clone(), old, value));
            }
            Known::No => receipt.tables.push(format!(
                "[hooks.state.{}]{newline}trusted_hash = {value}{newline}",
                quoted(key)
            )),
        }
    }
    if !receipt.tables.is_empty() {
        let mut block = String::new();
        if !out.is_empty() {
            if !out.ends_with('\n') {
                block.push_str(newline);
            }
            block.push_str(newline);
        }
        block.push_str(&receipt.tables.join(newline));
        out.push_str(&block);
        receipt.block = block;
    }
    for Trusted { key, hash } in trusted {
        let told = known(&out, key).map_err(|error| match error {
            SettingsError::Syntax { .. } => inline(&out, key),
            other => other,
        })?;
        if told != Known::Is(hash.clone()) {
            return Err(inline(&out, key));
        }
    }
    Ok((out, receipt))
}

/// `text` without what was added; what somebody has changed since stays. `None` where nothing is left of
/// a file that AIR made.
///
/// # Errors
///
/// If the text cannot be read.
pub fn uninstall(text: &str, receipt: &TrustReceipt) -> Result<Option<String>, SettingsError> {
    let mut out = text.to_owned();
    for (key, old, new) in &receipt.replaced {
        let place = span(&out, key)?.filter(|place| out.get(place.clone()) == Some(new));
        if let Some(place) = place {
            out.replace_range(place, old);
        }
    }
    if !receipt.block.is_empty() {
        match out.find(&receipt.block) {
            Some(at) => out.replace_range(at..at + receipt.block.len(), ""),
            None => {
                for table in &receipt.tables {
                    out = out.replacen(table, "", 1);
                }
            }
        }
    }
    parse(&out)?;
    Ok(if receipt.file && out.trim().is_empty() { None } else { Some(out) })
}

/// Whether `[features]` switches hooks off.
///
/// # Errors
///
/// If the text cannot be read.
pub fn switched_off(text: &str) -> Result<bool, SettingsError> {
    let document = parse(text)?;
    let features = document.as_table().get("features");
    let hooks = features.and_then(|features| features.get("hooks"));
    Ok(hooks.and_then(Item::as_bool) == Some(false))
}

#[derive(Debug, PartialEq, Eq)]
enum Known {
    No,
    /// It has other settings, without a hash.
    Table,
    Is(String),
}

fn known(text: &str, key: &str) -> Result<Known, SettingsError> {
    let document = parse(text)?;
    let entry = entry(&document, key);
    Ok(match entry.map(|entry| entry.get("trusted_hash").and_then(Item::as_str)) {
        None => Known::No,
        Some(None) => Known::Table,
        Some(Some(hash)) => Known::Is(hash.to_owned()),
    })
}

fn span(text: &str, key: &str) -> Result<Option<Range<usize>>, SettingsError> {
    let document = parse(text)?;
    Ok(entry(&document, key).and_then(|entry| entry.get("trusted_hash")?.span()))
}

fn entry<'d>(document: &'d Document<&str>, key: &str) -> Option<&'d Item> {
    document.as_table().get("hooks")?.get("state")?.get(key)
}

fn parse(text: &str) -> Result<Document<&str>, SettingsError> {
    Document::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let (line, column) = place(text, at);
        SettingsError::Syntax { line, column, what: error.message().replace('\n', ", ") }
    })
}

/// What is said where a table cannot be added.
fn inline(text: &str, key: &str) -> SettingsError {
    let (line, column) = place(text, text.find("hooks").unwrap_or(0));
    let what = format!(
        "the trust of `{key}` cannot be added to what is here: trust AIR's hooks in codex with `/hooks`"
    );
    SettingsError::Shape { line, column, what }
}

fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or_default();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}

fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string().trim().to_owned()
}
