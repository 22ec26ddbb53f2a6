//! What of a harmful step's output goes back to the agent: never what leaked by it.

use std::{collections::BTreeSet, fmt::Write};

use crate::{
    code::{Activity, CodeFacts},
    effects::{Effects, OutputEffect},
    fact::PathLabels,
    id::RuleName,
    place::PlaceKind,
    redact::redact,
    step::Observation,
};

/// Origins that a notice names.
const NAMED: usize = 8;

/// What a step that is an incident returns to the agent. `rules` are those that hold.
///
/// Where the output repeats what has a label, or the code leads such a thing there, or that cannot be
/// told, a notice takes its place: with the rules and the origins, never with contents. Otherwise the
/// output stays, without what looks like a secret.
pub fn observation(
    seen: &Observation,
    rules: &[RuleName],
    effects: &Effects,
    code: &CodeFacts,
    labels: &dyn PathLabels,
) -> Observation {
    let duration_ms = seen.duration_ms;
    if seen.output().trim().is_empty() {
        return seen.clone();
    }
    let Some(why) = reason(effects, code, labels) else {
        let error = seen.error.as_deref().map(redact);
        return Observation {
            content: redact(&seen.content),
            error,
            duration_ms,
            images: Vec::new(),
        };
    };
    let mut notice = "[output withheld".to_owned();
    for (at, rule) in rules.iter().enumerate() {
        // A string takes whatever is written to it.
        let _ = write!(notice, "{} @{rule}", if at == 0 { " by" } else { "," });
    }
    let _ = write!(notice, ": {}]", redact(&why));
    let error = seen.error.as_ref().map(|_| "the call failed; why is withheld".to_owned());
    Observation { content: notice, error, duration_ms, images: Vec::new() }
}

/// Why the output must not go back, if so.
fn reason(effects: &Effects, code: &CodeFacts, labels: &dyn PathLabels) -> Option<String> {
    let output = &effects.output;
    let repeated = |item: &&OutputEffect| !item.labels(labels).is_empty();
    let mut origins: BTreeSet<String> = output.items.iter().filter(repeated).map(shown).collect();
    let flows = code.flows.iter().filter(|flow| {
        flow.sink.kind == PlaceKind::Output && !flow.source.labels(labels).is_empty()
    });
    origins.extend(flows.map(|flow| flow.source.name.clone()));
    let listed = code.operations.iter().filter(|done| done.activity == Activity::DirectoryList);
    let listed = listed.filter(|done| done.place().is_some_and(|at| !at.labels(labels).is_empty()));
    origins.extend(listed.map(|done| format!("{} (its names)", done.target)));
    if origins.is_empty() {
        let unknown = output.items.iter().find_map(|item| item.unknown.as_ref());
        let why = output.incomplete.as_ref().or(unknown)?;
        return Some(format!("whether it repeats what must stay inside is not known: {why}"));
    }
    let more = origins.len().saturating_sub(NAMED);
    let mut text = origins.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    Some(format!("it comes from {text}"))
}

fn shown(item: &OutputEffect) -> String {
    match item.kind.as_str() {
        "listing" => format!("{} (its names)", item.origin),
        _ => item.origin.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        code::{Flow, Operation},
        effects::Observed,
        place::Place,
    };

    #[derive(Debug)]
    struct Etc;

    impl PathLabels for Etc {
        fn labels(&self, path: &str) -> Vec<Arc<str>> {
            if path.starts_with("/etc/") { vec!["system".into()] } else { Vec::new() }
        }
    }

    fn item(origin: &str, kind: &str, unknown: Option<&str>) -> OutputEffect {
        let unknown = unknown.map(str::to_owned);
        OutputEffect { origin: origin.into(), kind: kind.into(), unknown }
    }

    fn passed(output: Observed<OutputEffect>, flow: Option<&str>) -> Observation {
        let effects = Effects { output, ..Effects::default() };
        let flows = flow.into_iter().map(|source| Flow {
            source: Place::new(PlaceKind::File, source),
            sink: Place::new(PlaceKind::Output, "stdout"),
            line: 1,
        });
        let code = CodeFacts { flows: flows.collect(), ..CodeFacts::default() };
        let seen = Observation {
            content: "leak, password=hunter2".to_owned(),
            error: Some("leak as well".to_owned()),
            duration_ms: 3,
            ..Observation::default()
        };
        observation(&seen, &["a".into(), "b".into()], &effects, &code, &Etc)
    }

    #[test]
    fn only_what_certainly_leaks_nothing_goes_back() {
        let whole = |items| Observed::whole(items);
        let table = [
            (whole(vec![]), None, None),
            (whole(vec![item("/workspace/notes", "content", None)]), None, None),
            (whole(vec![]), Some("/workspace/notes"), None),
            (whole(vec![item("/etc/passwd", "content", None)]), None, Some("/etc/passwd")),
            (whole(vec![item("/etc", "listing", None)]), None, Some("/etc (its names)")),
            (whole(vec![item("203.0.113.9", "network", None)]), None, Some("203.0.113.9")),
            (whole(vec![]), Some("/etc/shadow"), Some("/etc/shadow")),
            (Observed::partial(vec![], "too long"), None, Some("too long")),
            (whole(vec![item("localhost", "", Some("encrypted"))]), None, Some("localhost")),
        ];
        for (output, flow, withheld) in table {
            let shown = format!("{output:?} {flow:?}");
            let passed = passed(output, flow);
            let text = passed.output();
            assert_eq!(text.contains("leak"), withheld.is_none(), "{shown}: {text}");
            assert!(!text.contains("hunter2"), "{text}");
            if let Some(why) = withheld {
                assert!(text.starts_with("[output withheld by @a, @b: "), "{text}");
                assert!(text.contains(why), "{text}");
            }
            assert_eq!(passed.duration_ms, 3);
        }
    }

    #[test]
    fn what_the_code_shows_of_the_system_is_withheld() {
        let listing = |target: &str| Operation {
            activity: Activity::DirectoryList,
            target: target.into(),
            via: "ls".to_owned(),
            detail: None,
            recursive: false,
            labels: Vec::new(),
            line: 1,
        };
        let shown = |kind, name: &str| Flow {
            source: Place::new(kind, name),
            sink: Place::new(PlaceKind::Output, "stdout"),
            line: 1,
        };
        let table = [
            (vec![listing("/etc/ssh")], vec![], true),
            (vec![listing("/workspace/src")], vec![], false),
            (vec![], vec![shown(PlaceKind::Machine, "screen")], true),
            (vec![], vec![shown(PlaceKind::Command, "date")], false),
            (vec![], vec![], false),
        ];
        for (operations, flows, withheld) in table {
            let code = CodeFacts { operations, flows, ..CodeFacts::default() };
            let seen = Observation { content: "ring".to_owned(), ..Observation::default() };
            let passed = observation(&seen, &["a".into()], &Effects::default(), &code, &Etc);
            assert_eq!(passed.content == "ring", !withheld, "{code:?}: {passed:?}");
        }
    }

    #[test]
    fn nothing_is_nothing() {
        let effects = Effects { output: Observed::partial(vec![], "lost"), ..Effects::default() };
        let seen = Observation::default();
        let passed = observation(&seen, &[], &effects, &CodeFacts::default(), &Etc);
        assert_eq!(passed, seen);
    }
}
