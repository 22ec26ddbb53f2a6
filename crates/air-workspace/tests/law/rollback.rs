//! What is observed, and rollback.

use std::collections::{BTreeMap, BTreeSet};

use air_core::{effects::Change, id::CheckpointId, port::Workspace};
use futures::executor::block_on;

use crate::{
    Bench, Played, Way, check,
    deeds::{Round, plain, rounds},
    is_there,
    seen::{Seen, differences, effects, outside, without_names},
    sees_all,
};

/// Calls in one workspace.
const CALLS: usize = 10;
const DEEDS: usize = 14;

/// What AIR observed, by the path that the agent uses.
type Observed = BTreeMap<String, BTreeSet<String>>;

fn observed(bench: &Bench, since: &CheckpointId, played: &Played) -> Result<Observed, String> {
    let seen = block_on(bench.workspace.effects(since, &[])).unwrap().files;
    if let Some(why) = seen.incomplete.filter(|_| sees_all()) {
        return Err(format!("not all was observed: {why}"));
    }
    let mut all = Observed::new();
    for file in seen.items {
        let is_in = |root: &String| {
            file.path
                .strip_prefix(root)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if !played.roots.values().any(is_in) {
            continue;
        }
        let words = match file.change {
            Change::Created => vec!["created".to_owned()],
            Change::Deleted => vec!["deleted".to_owned()],
            // What else differs of something that is another thing now says nothing.
            Change::Modified if file.aspects.iter().any(|word| word == "kind") => {
                vec!["kind".to_owned()]
            }
            Change::Modified => file.aspects,
        };
        if !file.reversible {
            return Err(format!("{} is said to be irreversible", file.path));
        }
        all.insert(file.path, words.into_iter().collect());
    }
    Ok(all)
}

fn expected(way: Way, played: &Played) -> Observed {
    let mut all = Observed::new();
    for (name, mut words) in effects(&played.before, &played.after) {
        if way == Way::Layered && name.starts_with(b"w") {
            // Which names a file has is not told of a layer.
            words.remove("names");
        }
        let root = &played.roots[&String::from_utf8_lossy(&name[..1]).into_owned()];
        let path = format!("{root}{}", String::from_utf8_lossy(&name[1..]));
        if !words.is_empty() {
            all.insert(path, words.into_iter().map(str::to_owned).collect());
        }
    }
    all
}

fn compare(bench: &Bench, since: &CheckpointId, played: &Played) -> Result<(), String> {
    let (expected, mut found) = (expected(bench.way, played), observed(bench, since, played)?);
    if bench.way == Way::Layered {
        for words in found.values_mut() {
            words.remove("names");
        }
        found.retain(|_, words| !words.is_empty());
    }
    let paths: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    let wrong: Vec<_> = paths
        .into_iter()
        .filter(|path| expected.get(*path) != found.get(*path))
        .map(|path| (path, expected.get(path), found.get(path)))
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(format!("happened, observed: {wrong:#?}")) }
}

fn law(way: Way, rounds: &[Round]) -> Result<(), String> {
    let bench = Bench::new(way);
    let mut checkpoints: Vec<(CheckpointId, Seen, Seen)> = Vec::new();
    let mut last: Option<Seen> = None;
    for round in rounds {
        let id = bench.checkpoint();
        let raw = outside(&bench.raw());
        let opens = !sees_all();
        let played = bench.play(&round.deeds, opens);
        if let Some(last) = &last {
            same(way, last, &played.before)?;
        }
        compare(&bench, &id, &played)?;
        checkpoints.push((id, played.before, raw));
        last = Some(played.after);
        if let Some(back) = round.back {
            let (id, then, raw) = &checkpoints[back % checkpoints.len()];
            let went = block_on(bench.workspace.rollback(id));
            went.map_err(|error| format!("rollback: {error}"))?;
            last = Some(then.clone());
            let wrong = differences(raw, &outside(&bench.raw()));
            if !wrong.is_empty() {
                return Err(format!("the directory is not as it was:\n{wrong}"));
            }
        }
    }
    same(way, &last.unwrap_or_default(), &bench.play(&[], false).after)
}

/// An overlay does not always say which names a file has; the layer is compared from outside.
fn same(way: Way, expected: &Seen, found: &Seen) -> Result<(), String> {
    let wrong = match way {
        Way::Layered => {
            differences(&without_names(expected.clone()), &without_names(found.clone()))
        }
        Way::Direct | Way::Landlock => differences(expected, found),
    };
    if wrong.is_empty() { Ok(()) } else { Err(format!("not as it was:\n{wrong}")) }
}

#[test]
fn what_is_observed_happened_and_rollback_restores_a_layer() {
    check(&[(Way::Layered, 25)], &rounds(CALLS, DEEDS), law);
}

#[test]
fn what_is_observed_happened_and_rollback_restores_the_directory() {
    check(&[(Way::Direct, 20), (Way::Landlock, 20)], &rounds(CALLS, DEEDS), law);
}

#[test]
fn what_is_written_to_memory_is_seen_at_every_name() {
    let round = |text: &str| Round { deeds: plain(text), back: None };
    for way in [Way::Direct, Way::Landlock] {
        if is_there(way) {
            let rounds = ["memory 10 0 913", "delete 10 0 0\nagain 0 0 7", "again 0 0 9"];
            law(way, &rounds.map(round)).unwrap();
        }
    }
}
