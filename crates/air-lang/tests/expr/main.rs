//! Conditions: what they answer, what they refuse, and the law that more knowledge never contradicts.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test that fails may panic"
)]

mod errors;
mod evaluation;
mod laws;
mod requires;
mod template;

use std::sync::Arc;

use air_core::{
    fact::{Facts, PathLabels, Root},
    outcome::Outcome,
    value::Value,
};
use air_lang::expr::{Moment, compile};
use serde_json::json;

#[derive(Debug)]
struct Labels;

impl PathLabels for Labels {
    fn labels(&self, path: &str) -> Vec<Arc<str>> {
        if path.starts_with("/etc") { vec!["credential".into(), "system".into()] } else { vec![] }
    }
}

/// JSON in which `{"?": why}` is unknown and `{"...": why, "items": […]}` an incomplete list.
fn value(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Object(fields) => {
            if let Some(why) = fields.get("?") {
                return Value::unknown(why.as_str().unwrap());
            }
            if let Some(why) = fields.get("...") {
                let items = fields["items"].as_array().unwrap().iter().map(value);
                return Value::list_with(items, why.as_str());
            }
            Value::record(fields.iter().map(|(name, field)| (name.as_str(), value(field))))
        }
        serde_json::Value::Array(items) => Value::list(items.iter().map(value)),
        other => Value::from(other),
    }
}

fn facts(json: &serde_json::Value) -> Facts {
    let mut facts = Facts::new(Arc::new(Labels));
    for (name, fact) in json.as_object().unwrap() {
        facts.set(Root::from_name(name).unwrap(), value(fact));
    }
    facts
}

/// What the paper's copy of a sensitive file leaves behind.
fn copied() -> serde_json::Value {
    json!({
        "tool": "python_repl",
        "args": {"code": "shutil.copy('/etc/passwd', 'x')", "n": 3, "d": 1.5, "list": [1, 2, 3],
                 "gap": {"...": "cut off", "items": [1, 2]}, "dark": {"?": "not seen"}, "nil": null,
                 "map": {"a": 1}},
        "plan": "I copy the file",
        "code": {
            "language": "python", "imports": ["shutil"], "strings": [], "paths": ["/etc/passwd", "x"],
            "urls": [], "flows": [], "defects": [], "complete": true,
            "calls": [{"name": "shutil.copy", "args": ["/etc/passwd", "x"], "line": 1}],
        },
        "output": "done", "error": null, "duration_ms": 12,
        "effects": {
            "files": [
                {"path": "/workspace/x", "change": "created", "size": 10, "mode": 420, "labels": [],
                 "origin": "/etc/passwd"},
                {"path": "/workspace/y", "change": "deleted", "size": 0, "mode": 420, "labels": [],
                 "origin": null},
            ],
            "processes": {"...": "the watch ended early", "items": [{"pid": 7, "argv": ["sleep"]}]},
            "connections": [], "reversibility": "reversible",
        },
    })
}

fn outcome(source: &str, facts: &Facts) -> Outcome {
    compile(source, Moment::After)
        .unwrap_or_else(|errors| panic!("`{source}`: {errors:?}"))
        .evaluate(facts)
}

/// `true`, `false` or `unknown: why`.
fn answer(source: &str, facts: &Facts) -> String {
    match outcome(source, facts) {
        Outcome::Satisfied => "true".into(),
        Outcome::Unsatisfied => "false".into(),
        Outcome::Undetermined(why) => format!("unknown: {why}"),
    }
}
