//! The conformance tests of the CEL specification: all that is known to differ is listed by name, and
//! what is listed does differ.
#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that fails may panic")]

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use air_core::{
    fact::{Facts, NoLabels, Root},
    value::Value,
};
use air_lang::expr::{Moment, compile_call};
use serde::Deserialize;
use serde_json::{Value as Json, json};

#[derive(Deserialize)]
struct File {
    name: String,
    sections: Vec<Section>,
}

#[derive(Deserialize)]
struct Section {
    name: String,
    tests: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    expr: String,
    #[serde(default)]
    bindings: BTreeMap<String, Typed>,
    value: Option<Typed>,
    error: Option<String>,
}

/// A value under the name of its kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Typed {
    Int(i64),
    Double(String),
    String(String),
    Bool(bool),
    Null,
    List(Vec<Typed>),
    Map(Vec<(Typed, Typed)>),
    /// What conditions have not.
    #[serde(alias = "uint", alias = "bytes", alias = "type", alias = "message")]
    Foreign(Json),
}

/// Why some tests are answered otherwise, or not at all.
#[derive(Deserialize)]
struct Difference {
    why: String,
    tests: Vec<String>,
}

impl Typed {
    /// As a fact, or why there is none.
    fn fact(&self) -> Result<Value, String> {
        Ok(match self {
            Self::Int(number) => Value::Int(*number),
            Self::Double(number) => Value::Double(double(number)),
            Self::String(text) => Value::from(text.as_str()),
            Self::Bool(truth) => Value::Bool(*truth),
            Self::Null => Value::Null,
            Self::List(items) => {
                Value::list(items.iter().map(Self::fact).collect::<Result<Vec<_>, _>>()?)
            }
            Self::Map(entries) => {
                let entry = |(name, value): &(Self, Self)| match name {
                    Self::String(name) => Ok((name.clone(), value.fact()?)),
                    other => Err(format!("no fact has {other:?} for a key")),
                };
                let entries = entries.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
                Value::record(entries.iter().map(|(name, value)| (name.as_str(), value.clone())))
            }
            Self::Foreign(value) => return Err(format!("no fact is {value}")),
        })
    }

    /// Whether `answer` is this, an int being no double.
    fn is(&self, answer: &Json) -> bool {
        match (self, answer) {
            (Self::Int(number), answer) => answer.as_i64() == Some(*number),
            (Self::Double(text), Json::Number(number)) if number.is_f64() => {
                number.as_f64().map(f64::to_bits) == Some(double(text).to_bits())
            }
            // What is not finite has no JSON.
            (Self::Double(number), Json::String(text)) => {
                !double(number).is_finite()
                    && double(text).to_string() == double(number).to_string()
            }
            (Self::String(text), Json::String(answer)) => text == answer,
            (Self::Bool(truth), Json::Bool(answer)) => truth == answer,
            (Self::Null, Json::Null) => true,
            (Self::List(items), Json::Array(answers)) => {
                items.len() == answers.len()
                    && items.iter().zip(answers).all(|(item, it)| item.is(it))
            }
            (Self::Map(entries), Json::Object(answers)) => {
                let same = |(name, value): &(Self, Self)| match name {
                    Self::String(name) => answers.get(name).is_some_and(|it| value.is(it)),
                    _ => false,
                };
                entries.len() == answers.len() && entries.iter().all(same)
            }
            _ => false,
        }
    }
}

fn double(text: &str) -> f64 {
    text.parse().unwrap()
}

/// What is wrong with the answer, if anything.
fn fault(case: &Case) -> Option<String> {
    match (&case.value, answer(case)) {
        (Some(expected), Ok(answer)) if expected.is(&answer) => None,
        (None, Err(_)) => None,
        (Some(_), Err(why)) => Some(why),
        (Some(expected), Ok(answer)) => Some(format!("{answer}, not {expected:?}")),
        (None, Ok(answer)) => Some(format!("{answer}, not the error {:?}", case.error)),
    }
}

/// The value of the expression, or why there is none.
fn answer(case: &Case) -> Result<Json, String> {
    let mut facts = Facts::new(Arc::new(NoLabels));
    // A condition has no variables but those of loops: one round over the value.
    let mut variable = None;
    for (name, value) in &case.bindings {
        if variable.replace((name.as_str(), "state")).is_some() {
            return Err("more than one variable".into());
        }
        facts.set(Root::State, Value::list([value.fact()?]));
    }
    let infinite = matches!(&case.value, Some(Typed::Double(text)) if !double(text).is_finite());
    let expr = if infinite { format!("string({})", case.expr) } else { case.expr.clone() };
    let template = json!({"it": format!("${{{expr}}}")}).to_string();
    let compiled = compile_call(&template, variable, Moment::After).map_err(|errors| {
        errors.iter().map(|error| error.message.clone()).collect::<Vec<_>>().join("; ")
    })?;
    let objects = compiled.expand(&facts).map_err(|why| format!("unknown: {why}"))?;
    Ok(objects[0]["it"].clone())
}

fn here() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cel")
}

#[test]
fn conditions_are_cel_but_for_what_is_listed() {
    let listed = fs::read_to_string(here().join("differences.json")).unwrap();
    let listed: Vec<Difference> = serde_json::from_str(&listed).unwrap();
    let mut differs = BTreeMap::new();
    for Difference { why, tests } in &listed {
        assert!(!why.is_empty(), "a difference has a reason");
        for test in tests {
            assert!(differs.insert(test.as_str(), why).is_none(), "`{test}` is listed twice");
        }
    }
    let (mut wrong, mut passed) = (Vec::new(), 0);
    let mut files: Vec<_> = fs::read_dir(here().join("data")).unwrap().flatten().collect();
    files.sort_by_key(fs::DirEntry::path);
    for file in files {
        let file: File = serde_json::from_str(&fs::read_to_string(file.path()).unwrap()).unwrap();
        for section in file.sections {
            for case in section.tests {
                let name = format!("{}/{}/{}", file.name, section.name, case.name);
                match (fault(&case), differs.remove(name.as_str())) {
                    (None, None) => passed += 1,
                    (Some(_), Some(_)) => {}
                    (None, Some(_)) => wrong.push(format!("{name}: is listed and passes")),
                    (Some(why), None) => wrong.push(format!("{name}: {:?} gave {why}", case.expr)),
                }
            }
        }
    }
    wrong.extend(differs.keys().map(|name| format!("{name}: is listed and does not exist")));
    assert!(wrong.is_empty(), "{passed} pass, but:\n{}", wrong.join("\n"));
    assert!(passed > 400, "only {passed} were tried");
}
