//! A condition, a line `---`, and facts as JSON: it is compiled, and evaluated within its budget.
//! Where a requirement is unmet it is false; with less known it is not answered otherwise.
#![no_main]

use std::sync::Arc;

use air_core::{
    fact::{Facts, PathLabels, Root},
    outcome::Outcome,
    value::Value,
};
use air_lang::expr::{Moment, compile, compile_call};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value as Json, json};

#[derive(Debug)]
struct Labels;

impl PathLabels for Labels {
    fn labels(&self, path: &str) -> Vec<Arc<str>> {
        if path.starts_with("/etc") { vec!["system".into()] } else { vec![] }
    }
}

/// JSON in which `{"?": why}` is unknown and `{"...": why, "items": […]}` an incomplete list.
fn value(json: &Json) -> Value {
    match json {
        Json::Object(fields) => {
            if let Some(why) = fields.get("?") {
                return Value::unknown(why.as_str().unwrap_or_default());
            }
            if let (Some(Json::String(why)), Some(Json::Array(items))) =
                (fields.get("..."), fields.get("items"))
            {
                return Value::list_with(items.iter().map(value), Some(why));
            }
            Value::record(fields.iter().map(|(name, field)| (name.as_str(), value(field))))
        }
        Json::Array(items) => Value::list(items.iter().map(value)),
        other => Value::from(other),
    }
}

fn facts(json: &Json) -> Facts {
    let mut facts = Facts::new(Arc::new(Labels));
    for (name, fact) in json.as_object().into_iter().flatten() {
        if let Some(root) = Root::from_name(name) {
            facts.set(root, value(fact));
        }
    }
    facts
}

fuzz_target!(|text: &str| {
    let (source, world) = text.split_once("\n---\n").unwrap_or((text, "{}"));
    let world: Json = serde_json::from_str(world).unwrap_or_default();
    let world = facts(&world);
    if let Ok(condition) = compile(source, Moment::After) {
        let answer = condition.evaluate(&world);
        if condition.requires().is_unmet(&world) {
            let exhausted = matches!(&answer, Outcome::Undetermined(why) if why.contains("budget"));
            assert!(exhausted || answer == Outcome::Unsatisfied, "{answer:?}");
        }
        // A root less is less known.
        for root in world.supplied().iter() {
            let mut less = world.clone();
            less.set(root, Value::unknown("forgotten"));
            let less = condition.evaluate(&less);
            let agrees = matches!(less, Outcome::Undetermined(_))
                || less == answer
                || matches!(&answer, Outcome::Undetermined(why) if why.contains("budget"));
            assert!(agrees, "{answer:?}, without `{root}` {less:?}");
        }
        for place in condition.paths() {
            assert!(condition.reads().contains(place.root), "{place}");
        }
    }
    let template = json!({ "it": format!("${{{source}}}"), "text": format!("a ${{{source}}}") });
    for variable in [None, Some(("x", source))] {
        if let Ok(template) = compile_call(&template.to_string(), variable, Moment::After) {
            drop(template.expand(&world));
        }
    }
});
