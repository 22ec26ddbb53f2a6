//! Long lists of files in a few lines: what is remarkable stays, the rest is counted by directory.

use std::{collections::BTreeMap, sync::Arc};

use air_core::value::{List, Value};

/// Shorter lists stay as they are.
const SHORT: usize = 60;
/// Directories that are told apart.
const MOST_GROUPS: usize = 40;
/// The deepest directory by which files are counted, in names of its path.
const DEEPEST: usize = 6;
/// Names that are given of each directory.
const EXAMPLES: usize = 3;

/// The fact `effects` with its files and reads condensed, and without what is known to be absent.
pub(super) fn condense(effects: &Value) -> Value {
    let Value::Map(fields) = effects else { return effects.clone() };
    Value::record(fields.iter().map(|(name, value)| {
        let value = match (name.as_ref(), value) {
            ("files" | "reads", Value::List(list)) if list.items.len() > SHORT => files(list),
            (_, Value::List(list)) => {
                Value::list_with(list.items.iter().map(telling), list.incomplete.as_deref())
            }
            (_, value) => value.clone(),
        };
        (name.as_ref(), value)
    }))
}

fn files(list: &List) -> Value {
    let (remarkable, plain): (Vec<&Value>, Vec<&Value>) =
        list.items.iter().partition(|file| is_remarkable(file));
    let mut depth = DEEPEST;
    let mut groups = grouped(&plain, depth);
    while groups.len() > MOST_GROUPS && depth > 0 {
        depth -= 1;
        groups = grouped(&plain, depth);
    }
    let groups = groups.into_iter().map(|((change, directory), files)| {
        let count = i64::try_from(files.len()).unwrap_or(i64::MAX);
        let examples = files.iter().take(EXAMPLES).map(|path| Value::string(Arc::clone(path)));
        Value::record([
            ("change", change.map_or(Value::Null, Value::string)),
            ("files below", Value::from(directory.as_str())),
            ("count", Value::Int(count)),
            ("examples", Value::list(examples)),
        ])
    });
    let items = remarkable.into_iter().map(telling).chain(groups);
    Value::list_with(items, list.incomplete.as_deref())
}

/// Paths by what became of them and by directory.
type Groups = BTreeMap<(Option<Arc<str>>, String), Vec<Arc<str>>>;

/// A record without what is known to be absent.
fn telling(item: &Value) -> Value {
    let Value::Map(fields) = item else { return item.clone() };
    let fields = fields.iter().filter(|(_, value)| match value {
        Value::Null => false,
        Value::List(list) => !list.items.is_empty() || list.incomplete.is_some(),
        _ => true,
    });
    Value::record(fields.map(|(name, value)| (name.as_ref(), value.clone())))
}

/// Plain paths by what became of them and by directory.
fn grouped(files: &[&Value], depth: usize) -> Groups {
    let mut groups = Groups::new();
    for file in files {
        let path = text(file, "path").unwrap_or_default();
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let directory: Vec<&str> = parent.split('/').take(depth + 1).collect();
        let key = (text(file, "change"), format!("{}/", directory.join("/")));
        groups.entry(key).or_default().push(path);
    }
    groups
}

/// Whether more is known of it than its path and size.
fn is_remarkable(file: &Value) -> bool {
    let Value::Map(fields) = file else { return true };
    let says = |name: &str| match fields.get(name) {
        None | Some(Value::Null) => false,
        Some(Value::List(list)) => !list.items.is_empty() || list.incomplete.is_some(),
        Some(_) => true,
    };
    let irreversible = text(file, "reversibility").is_some_and(|known| *known == *"irreversible");
    irreversible || ["labels", "origin", "moved", "marks"].into_iter().any(says)
}

fn text(record: &Value, field: &str) -> Option<Arc<str>> {
    let Value::Map(fields) = record else { return None };
    match fields.get(field) {
        Some(Value::String(text)) => Some(Arc::clone(text)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use air_core::value::Value;

    use super::condense;
    use crate::judge::render::render;

    fn file(path: &str, labels: &[&str]) -> Value {
        Value::record([
            ("path", Value::from(path)),
            ("change", Value::from("created")),
            ("labels", Value::strings(labels.iter().copied())),
            ("origin", Value::Null),
        ])
    }

    #[test]
    fn thousands_of_plain_files_are_counted_and_a_labelled_one_stays() {
        let mut files: Vec<Value> = (0..3000)
            .map(|n| file(&format!("/workspace/lib/p{}/d{}/{n}.js", n % 300, n % 7), &[]))
            .collect();
        files.push(file("/workspace/README", &[]));
        files.insert(1500, file("/home/agent/.netrc", &["credential"]));
        let rendered = render(&condense(&Value::record([("files", Value::list(files))])));
        assert!(!rendered.lossy);
        insta::assert_snapshot!(rendered.text, @r#"
        files:
          - {change: "created", labels: ["credential"], path: "/home/agent/.netrc"}
          - {change: "created", count: 1, examples: ["/workspace/README"], files below: "/workspace/"}
          - {change: "created", count: 3000, examples: ["/workspace/lib/p0/d0/0.js", "/workspace/lib/p1/d1/1.js", "/workspace/lib/p2/d2/2.js"], files below: "/workspace/lib/"}
        "#);
    }

    #[test]
    fn few_files_stay_as_they_are() {
        let few = Value::record([("files", Value::list((0..60).map(|_| file("/a", &["x"]))))]);
        let shown = render(&condense(&few)).text;
        assert_eq!(shown.matches("path: \"/a\"").count(), 60);
        assert!(!shown.contains("origin"), "{shown}");
    }
}
