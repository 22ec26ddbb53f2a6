//! Findings in the Static Analysis Results Interchange Format, SARIF 2.1.0.

use std::{collections::BTreeSet, fmt::Write as _};

use air_lang::{Code, Diagnostic, Position, Severity, positions};
use serde::Serialize;

use super::{Checked, Unreadable};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// What relative addresses are relative to: the directory in which the command ran.
const BASE: &str = "%SRCROOT%";
/// What each finding means, by headings that are codes.
const LINTS: &str = include_str!("../../../../../docs/lints.md");

#[derive(Serialize)]
pub(super) struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Tool,
    column_kind: &'static str,
    invocations: [Invocation; 1],
    artifacts: Vec<Artifact>,
    results: Vec<Finding>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    semantic_version: &'static str,
    rules: Vec<Rule>,
}

/// What kind of finding there is.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: &'static str,
    short_description: Message,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<Message>,
}

#[derive(Serialize)]
struct Message {
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    markdown: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_execution_notifications: Vec<Notification>,
}

#[derive(Serialize)]
struct Notification {
    level: &'static str,
    message: Message,
}

#[derive(Serialize)]
struct Artifact {
    location: Address,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Address {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_base_id: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Message,
    locations: [Location; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<Fix>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: Place,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    artifact_location: Address,
    region: Region,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: usize,
    start_column: usize,
    end_line: usize,
    end_column: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Fix {
    description: Message,
    artifact_changes: [Change; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Change {
    artifact_location: Address,
    replacements: Vec<Replacement>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Replacement {
    deleted_region: Region,
    inserted_content: Content,
}

#[derive(Serialize)]
struct Content {
    text: String,
}

/// The findings of all files, and what could not be looked at.
pub(super) fn log(checked: &[Checked], unreadable: &[Unreadable]) -> Log {
    let codes: BTreeSet<Code> =
        checked.iter().flat_map(|file| &file.found).map(|found| found.code).collect();
    let codes: Vec<Code> = codes.into_iter().collect();
    let results = checked
        .iter()
        .enumerate()
        .flat_map(|(index, file)| findings(file, index, &codes))
        .collect();
    let notification =
        |path: &Unreadable| Notification { level: "error", message: plain(path.message.clone()) };
    let run = Run {
        tool: Tool {
            driver: Driver {
                name: "airctl",
                semantic_version: env!("CARGO_PKG_VERSION"),
                rules: codes.iter().map(|code| rule(*code)).collect(),
            },
        },
        column_kind: "unicodeCodePoints",
        invocations: [Invocation {
            execution_successful: unreadable.is_empty(),
            tool_execution_notifications: unreadable.iter().map(notification).collect(),
        }],
        artifacts: checked
            .iter()
            .map(|it| Artifact { location: address(&it.name, None) })
            .collect(),
        results,
    };
    Log { schema: SCHEMA, version: "2.1.0", runs: [run] }
}

fn plain(text: String) -> Message {
    Message { text, markdown: None }
}

fn rule(code: Code) -> Rule {
    let heading = format!("\n## {code}\n");
    let section = LINTS
        .split_once(&heading)
        .map(|(_, rest)| rest.split_once("\n## ").map_or(rest, |(section, _)| section).trim());
    let first = section.and_then(|it| it.split_once("\n\n").map(|(first, _)| first));
    // It begins with how bad it is, which each result says itself.
    let first = first.map(|it| it.split_once(".* ").map_or(it, |(_, rest)| rest));
    let short = first.unwrap_or(code.as_str()).split_whitespace().collect::<Vec<_>>().join(" ");
    Rule {
        id: code.as_str(),
        help: section.map(|it| Message { text: short.clone(), markdown: Some(it) }),
        short_description: plain(short),
    }
}

fn findings(file: &Checked, index: usize, codes: &[Code]) -> Vec<Finding> {
    let edits = file.found.iter().flat_map(|found| &found.fix).map(|edit| &edit.span);
    let places = positions(&file.parsed.text(), edits);
    let found = file.found.iter().map(|found| Finding {
        rule_id: found.code.as_str(),
        rule_index: codes.binary_search(&found.code).unwrap_or_default(),
        level: match found.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        },
        message: plain(match &found.hint {
            Some(hint) => format!("{}\n{hint}", found.message),
            None => found.message.clone(),
        }),
        locations: [Location {
            physical_location: Place {
                artifact_location: address(&file.name, Some(index)),
                region: region(found.start, found.end),
            },
        }],
        fixes: fixes(file, index, found, &places),
    });
    found.collect()
}

fn fixes(
    file: &Checked,
    index: usize,
    found: &Diagnostic,
    places: &[(usize, Position)],
) -> Vec<Fix> {
    if found.fix.is_empty() {
        return Vec::new();
    }
    let place = |at: usize| {
        let found = places.binary_search_by_key(&at, |(place, _)| *place).ok();
        found.and_then(|found| places.get(found)).map(|(_, position)| *position)
    };
    let replacement = |edit: &air_lang::Edit| {
        Some(Replacement {
            deleted_region: region(place(edit.span.start)?, place(edit.span.end)?),
            inserted_content: Content { text: edit.text.to_string() },
        })
    };
    vec![Fix {
        description: plain(found.hint.clone().unwrap_or_else(|| found.message.clone())),
        artifact_changes: [Change {
            artifact_location: address(&file.name, Some(index)),
            replacements: found.fix.iter().filter_map(replacement).collect(),
        }],
    }]
}

fn region(start: Position, end: Position) -> Region {
    Region {
        start_line: start.line,
        start_column: start.column,
        end_line: end.line,
        end_column: end.column,
    }
}

/// The address of a file that the user named `name`.
fn address(name: &str, index: Option<usize>) -> Address {
    let name = name.trim_start_matches("./");
    let mut uri = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    if name.starts_with('/') {
        return Address { uri: format!("file://{uri}"), uri_base_id: None, index };
    }
    Address { uri, uri_base_id: Some(BASE), index }
}
