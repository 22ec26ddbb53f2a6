//! Native names of tools and their arguments, and canonical ones.

use air_protocol::{Event, TypedCall, tool};
use serde_json::{Map, Value};

use crate::{command, patch, payload::text_of};

/// A tool of a host.
#[derive(Debug)]
pub(crate) struct Row {
    /// The host's name.
    pub(crate) native: &'static str,
    /// Of [`tool`].
    pub(crate) canonical: &'static str,
    /// The host's names of arguments with the canonical ones, those that count most first.
    pub(crate) args: &'static [(&'static str, &'static str)],
}

pub(crate) const fn row(
    native: &'static str,
    canonical: &'static str,
    args: &'static [(&'static str, &'static str)],
) -> Row {
    Row { native, canonical, args }
}

/// Native names of one part of an edit, for a tool that makes several at once.
const EDITS: [(&str, &str); 5] = [
    ("old_string", "old"),
    ("new_string", "new"),
    ("oldString", "old"),
    ("newString", "new"),
    ("replace_all", "replace_all"),
];

/// The canonical name of a tool and its canonical arguments; names and arguments that have none stay.
pub(crate) fn canonical(
    rows: &[Row],
    native: &str,
    args: Map<String, Value>,
) -> (String, Map<String, Value>) {
    let Some(row) = rows.iter().find(|row| row.native == native) else {
        return (mcp(native).unwrap_or_else(|| native.to_owned()), args);
    };
    (row.canonical.to_owned(), canonical_args(row, args))
}

fn canonical_args(row: &Row, mut args: Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    for (native, canonical) in row.args {
        if out.contains_key(*canonical) {
            continue;
        }
        if let Some(value) = args.remove(*native) {
            out.insert((*canonical).to_owned(), canonical_value(canonical, value));
        }
    }
    for (name, value) in args {
        out.entry(name).or_insert(value);
    }
    derive(row, &mut out);
    out
}

fn canonical_value(name: &str, value: Value) -> Value {
    match (name, value) {
        ("command", Value::Array(words)) => Value::from(command::line(&words)),
        ("edits", Value::Array(edits)) => edits.into_iter().map(canonical_edit).collect(),
        (_, value) => text_of(&value).map_or(value, Value::from),
    }
}

fn canonical_edit(edit: Value) -> Value {
    let Value::Object(fields) = edit else { return edit };
    let renamed = fields.into_iter().map(|(name, value)| {
        let canonical = EDITS.iter().find(|(native, _)| *native == name).map(|(_, name)| *name);
        (canonical.map_or(name, str::to_owned), value)
    });
    Value::Object(renamed.collect())
}

/// What follows from other arguments: the files of a patch, several edits as one, the address within
/// a prompt.
fn derive(row: &Row, args: &mut Map<String, Value>) {
    if row.canonical == tool::EDIT {
        if let Some(Value::String(text)) = args.get("patch") {
            let paths = patch::paths(text);
            args.insert("paths".to_owned(), Value::from(paths));
        }
        if let Some(Value::Array(edits)) = args.get("edits") {
            let joined = |side: &str| {
                let texts = edits.iter().filter_map(|edit| edit.get(side).and_then(text_of));
                texts.collect::<Vec<_>>().join("\n")
            };
            let (old, new) = (joined("old"), joined("new"));
            args.insert("old".to_owned(), Value::from(old));
            args.insert("new".to_owned(), Value::from(new));
        }
    }
    if row.canonical == tool::FETCH && !args.contains_key("url") {
        let url = args.get("prompt").and_then(text_of).and_then(|prompt| first_url(&prompt));
        args.extend(url.map(|url| ("url".to_owned(), Value::from(url))));
    }
}

fn first_url(text: &str) -> Option<String> {
    let at = ["https://", "http://"].into_iter().filter_map(|scheme| text.find(scheme)).min()?;
    let url = text.get(at..)?.split([' ', '\n', '\t', '"', '\'', '<', '>', '`', ')']).next()?;
    Some(url.trim_end_matches(['.', ',', ';']).to_owned())
}

/// `mcp.SERVER.TOOL` of `mcp__SERVER__TOOL`.
fn mcp(native: &str) -> Option<String> {
    let (server, name) = native.strip_prefix("mcp__")?.split_once("__")?;
    Some(mcp_name(server, name))
}

pub(crate) fn mcp_name(server: &str, name: &str) -> String {
    format!("{}{server}.{name}", tool::MCP)
}

/// The call of `asked` with `wanted`, canonical, as native arguments over the `original` ones. None where
/// the tool cannot express it.
pub(crate) fn rewritten(
    rows: &[Row],
    asked: &Event,
    original: &Map<String, Value>,
    wanted: &Map<String, Value>,
) -> Option<Map<String, Value>> {
    let tool = asked.tool.as_ref()?;
    if !original.is_empty() || tool.args.is_empty() {
        return native_args(rows, &tool.native, original, wanted);
    }
    // The payload was too long to be kept: the canonical arguments have it all, but for what
    // follows from others.
    if ["patch", "edits"].iter().any(|name| tool.args.contains_key(*name)) {
        return None;
    }
    let mut all = tool.args.clone();
    all.extend(wanted.clone());
    native_args(rows, &tool.native, original, &all)
}

/// `wanted`, canonical, as arguments of the native tool, over those that were there. None where the
/// tool cannot express it.
fn native_args(
    rows: &[Row],
    native: &str,
    original: &Map<String, Value>,
    wanted: &Map<String, Value>,
) -> Option<Map<String, Value>> {
    let (_, before) = canonical(rows, native, original.clone());
    let row = rows.iter().find(|row| row.native == native);
    let mut out = original.clone();
    for (name, value) in wanted.iter().filter(|(name, value)| before.get(*name) != Some(value)) {
        let names = row.into_iter().flat_map(|row| row.args);
        let mut names = names.filter(|(_, canonical)| canonical == name).map(|(native, _)| *native);
        let first = names.next();
        let used = first.into_iter().chain(names).find(|native| original.contains_key(*native));
        if used.is_none() && before.contains_key(name) && !original.contains_key(name) {
            // It follows from others here: a new value for it would change nothing.
            return None;
        }
        let key = used.or(first).unwrap_or(name);
        out.insert(key.to_owned(), native_value(key, value, original.get(key)));
    }
    Some(out)
}

fn native_value(name: &str, value: &Value, original: Option<&Value>) -> Value {
    match (value, original) {
        (Value::String(line), Some(Value::Array(words))) if name != "edits" => {
            Value::from(command::words(line, words))
        }
        (Value::Array(edits), Some(Value::Array(before))) if name == "edits" => {
            let named = |canonical: &str| {
                let mut natives = EDITS.iter().filter(|(_, name)| *name == canonical);
                let there = |native: &str| before.iter().any(|edit| edit.get(native).is_some());
                natives.find(|(native, _)| there(native)).map(|(native, _)| (*native).to_owned())
            };
            let back = |edit: &Value| {
                let fields = edit.as_object().into_iter().flatten();
                let fields = fields.map(|(name, value)| {
                    (named(name).unwrap_or_else(|| name.clone()), value.clone())
                });
                Value::Object(fields.collect())
            };
            edits.iter().map(back).collect()
        }
        _ => value.clone(),
    }
}

/// A canonical call as the host's: the first tool that does it.
pub(crate) fn native_call(rows: &[Row], call: &TypedCall) -> Option<(String, Map<String, Value>)> {
    let row = rows.iter().find(|row| row.canonical == call.name || row.native == call.name)?;
    Some((row.native.to_owned(), native_args(rows, row.native, &Map::new(), &call.args)?))
}
