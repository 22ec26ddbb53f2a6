//! Conditions that could be the guardrail's, widest first, and their text.

use std::fmt::Write as _;

use air_core::{code::CodeFacts, redact::holds_secret, step::ToolCall};
use serde_json::Value;

use crate::{
    cause::{self, Part, Parts},
    form::Form,
    naming,
};

/// Longer texts are cut where only people read them. In characters.
const MAX_SHOWN: usize = 80;
/// Arguments that hold source.
const SOURCES: [&str; 4] = ["code", "command", "script", "source"];

/// What can be said of the call, widest first. `ways` caused the incident: one suffices, all parts of
/// it together.
pub(crate) fn forms(call: &ToolCall, code: &CodeFacts, ways: &[Parts]) -> Vec<Form> {
    let mut all = Vec::new();
    let fallback = [cause::anything(code)];
    // What is missing from code that was not read whole may have been the cause.
    let usable = code.incomplete.is_empty() && fallback.iter().all(|parts| !parts.is_empty());
    let ways = if ways.is_empty() && usable { &fallback[..] } else { ways };
    if !ways.is_empty() {
        all.extend([calls(ways, loose), calls(ways, strict)]);
    } else if code.language.is_none()
        && let Some(path) = cause::path(&call.arguments)
    {
        all.push(path_is(call, path));
    }
    all.extend(exact(call));
    all
}

fn form(condition: String, said: &str, is_secret: bool) -> Form {
    let mut form = Form::new(condition, said.to_owned());
    form.is_secret = is_secret;
    form
}

fn calls(ways: &[Parts], condition: fn(&Part) -> String) -> Form {
    let joined = |parts: &Parts| parts.iter().map(condition).collect::<Vec<_>>().join(" && ");
    let said = |parts: &Parts| parts.iter().map(shown_part).collect::<Vec<_>>().join(", and ");
    let texts = ways.iter().flatten().flat_map(|part| &part.literal);
    form(
        ways.iter().map(joined).collect::<Vec<_>>().join(" || "),
        &format!("calls {}", ways.iter().map(said).collect::<Vec<_>>().join(",\n  or ")),
        texts.map(String::as_str).any(is_secret),
    )
}

/// The name, and the arguments that matter.
fn loose(part: &Part) -> String {
    let texts = part.telling.iter().fold(String::new(), |mut all, text| {
        let _ = write!(all, " && {} in c.args", quoted(text));
        all
    });
    format!("code.calls.exists(c, c.name == {}{texts})", quoted(&part.name))
}

/// The name, and every argument that is known.
fn strict(part: &Part) -> String {
    if part.whole {
        let args = part.literal.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ");
        return format!(
            "code.calls.exists(c, c.name == {} && c.args == [{args}])",
            quoted(&part.name)
        );
    }
    loose(&Part { telling: part.literal.clone(), ..part.clone() })
}

fn path_is(call: &ToolCall, path: &str) -> Form {
    let name = if call.arguments.contains_key("path") { "path" } else { "file_path" };
    let whole = naming::absolute(path);
    let mut condition = format!("args.{name} == {}", quoted(path));
    if whole != path {
        let _ = write!(condition, " || args.{name} == {}", quoted(&whole));
    }
    form(condition, &format!("calls `{}` on `{}`", call.tool, shown(path)), is_secret(path))
}

/// The call itself: its source, or else its arguments.
fn exact(call: &ToolCall) -> Option<Form> {
    let source = |name: &&&str| call.arguments.get(**name).is_some_and(Value::is_string);
    let source = SOURCES.iter().find(source).copied();
    let told =
        call.arguments.iter().filter(|(name, _)| source.is_none_or(|it| it == name.as_str()));
    let mut terms = Vec::new();
    let mut secret = false;
    for (name, value) in told {
        let value = match value {
            Value::String(text) => {
                secret |= is_secret(text) || is_secret(&format!("{name}={text}"));
                quoted(text)
            }
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => continue,
        };
        terms.push(format!("args[{}] == {value}", quoted(name)));
    }
    if let (Some(name), [term]) = (source, terms.as_mut_slice())
        && let Some(text) = call.arguments.get(name).and_then(Value::as_str)
    {
        *term = format!("args.{name} == {}", quoted(text));
    }
    let what = source.unwrap_or("arguments");
    let said = format!("calls `{}` with exactly the {what}", call.tool);
    (!terms.is_empty()).then(|| form(terms.join(" && "), &said, secret))
}

fn shown_part(part: &Part) -> String {
    let on = part.telling.iter().map(|text| format!("`{}`", shown(text)));
    let on = on.collect::<Vec<_>>().join(" and ");
    let name = shown(&part.name);
    if on.is_empty() { format!("`{name}`") } else { format!("`{name}` on {on}") }
}

/// As much as a person needs, on one line: a text from the agent must not read as anything else.
pub(crate) fn shown(text: &str) -> String {
    let plain = |c: char| if c.is_control() || c == '`' { ' ' } else { c };
    let mut shown: String = text.chars().map(plain).take(MAX_SHOWN).collect();
    if text.chars().nth(MAX_SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// `text` on lines of its own that are deeper than a clause.
pub(crate) fn wrapped(text: &str) -> String {
    const WIDTH: usize = 96;
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let full = lines.last().is_some_and(|line| line.len() + word.len() > WIDTH);
        if full {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n  ")
}

/// A CEL string. Only printable ASCII stands for itself, so that it stays on its line and no two
/// texts look the same.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' '..='~' => out.push(c),
            // Writing to a string does not fail.
            c if u32::from(c) <= 0xffff => _ = write!(out, "\\u{:04x}", u32::from(c)),
            c => _ = write!(out, "\\U{:08x}", u32::from(c)),
        }
    }
    out.push('"');
    out
}

/// Whether it looks like a secret, also in the spelling `password = "x"`.
pub(crate) fn is_secret(text: &str) -> bool {
    let mut glued = String::with_capacity(text.len());
    let mut after = false;
    for c in text.chars() {
        let blank = matches!(c, ' ' | '\t' | '"' | '\'');
        if matches!(c, '=' | ':') {
            let end = glued.trim_end_matches([' ', '\t', '"', '\'']).len();
            glued.truncate(end);
            after = true;
        } else if blank && after {
            continue;
        } else {
            after = false;
        }
        glued.push(c);
    }
    text.contains("-----BEGIN") || holds_secret(text) || holds_secret(&glued)
}
