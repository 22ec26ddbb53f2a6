//! What a rule's own words mean in a plan.
//!
//! The rule is asked about made-up calls that do just one thing to what has just these labels. Where it
//! holds, a plan that says the same announces what the rule would find.

use std::{collections::BTreeSet, sync::Arc};

use air_core::{
    code::{Activity, CodeFacts, Defect, Flow, Operation},
    condition::Condition,
    fact::{Facts, PathLabels, Root},
    place::{Place, PlaceKind},
};
use air_lang::expr::{self, Moment};

use crate::candidate::quoted;

/// Labels of one rule that are tried.
const MOST_LABELS: usize = 24;
/// The path that has the labels.
const MADE_UP: &str = "/made-up";
const PAGE: &str = "https://host.example/page";
const PEER: &str = "host.example:4444";
/// Programs that never end or take all there is, by their defects: words say it in one way.
const EXHAUSTION: [&str; 4] = ["endless-loop", "fork-bomb", "memory-bomb", "disk-filler"];

/// Labels of one path, and of no other.
#[derive(Debug)]
struct Only(Vec<Arc<str>>);

impl PathLabels for Only {
    fn labels(&self, path: &str) -> Vec<Arc<str>> {
        if path == MADE_UP { self.0.clone() } else { Vec::new() }
    }
}

/// A made-up call, by the labels of what it is done to.
type Make<'m> = &'m dyn Fn(&[&str]) -> CodeFacts;

/// Conditions on intents, of which one suffices.
pub(crate) fn of_rule(parts: &[String]) -> BTreeSet<String> {
    parts
        .iter()
        .flat_map(|part| Probe::new(part).map(|it| it.terms()).unwrap_or_default())
        .collect()
}

/// A part of a rule that is asked.
struct Probe {
    condition: Arc<dyn Condition>,
    /// Words in it that may be labels, or kinds of defects.
    spoken: Vec<String>,
}

impl Probe {
    fn new(part: &str) -> Option<Self> {
        let condition = expr::compile(part, Moment::Before).ok()?;
        let is_name = |text: &&str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '-')
        };
        let mut spoken: Vec<String> = Vec::new();
        for word in part.split(['"', '\'']).filter(is_name) {
            if !spoken.iter().any(|known| known == word) && spoken.len() < MOST_LABELS {
                spoken.push(word.to_owned());
            }
        }
        Some(Self { condition, spoken })
    }

    fn holds(&self, make: Make<'_>, labels: &[&str]) -> bool {
        let only = Arc::new(Only(labels.iter().copied().map(Arc::from).collect()));
        let code = make(labels).to_value(&*only);
        self.condition.evaluate(&Facts::new(only).with(Root::Code, code)).is_satisfied()
    }

    fn terms(&self) -> Vec<String> {
        let file = || Place::new(PlaceKind::File, MADE_UP);
        let page = || Place::new(PlaceKind::Network, PAGE);
        let copy = || Place::new(PlaceKind::File, "copy");
        let output = || Place::new(PlaceKind::Output, "");
        let all = || Place::new(PlaceKind::Environment, "*");
        let peer = || Place::new(PlaceKind::Network, PEER);
        let code = || Place::new(PlaceKind::Code, "");
        let mut terms = Vec::new();
        for (activity, sink) in [
            (Activity::NetworkConnect, page()),
            (Activity::FileWrite, copy()),
            (Activity::FileRead, output()),
        ] {
            terms.extend(self.labelled(activity, &|_| flow(file(), sink.clone())));
            let known = [("whole-environment", all()), ("public", page())];
            for (label, source) in known {
                // What is sent is told by itself, not by where it was found.
                let is_told = label != "public" || activity != Activity::NetworkConnect;
                if is_told && self.holds(&|_| flow(source.clone(), sink.clone()), &[]) {
                    terms.push(term(activity, &[label], &[], &[]));
                }
            }
        }
        for (label, source) in [("remote-shell", peer()), ("download", page())] {
            if self.holds(&|_| flow(source.clone(), code()), &[]) {
                terms.push(term(Activity::CodeRun, &[label], &[], &[]));
            }
        }
        for activity in
            [Activity::FileRead, Activity::FileWrite, Activity::FileDelete, Activity::DirectoryList]
        {
            let make = |labels: &[&str]| operation(activity, MADE_UP, labels);
            // A file of the system that is written changes the system, in words.
            if activity == Activity::FileWrite && self.holds(&make, &["system"]) {
                terms.push(term(Activity::SystemChange, &["system"], &[], &[]));
            }
            terms.extend(self.labelled(activity, &make));
        }
        for (activity, label) in [
            (Activity::ProcessKill, Some("foreign")),
            (Activity::AccountChange, None),
            (Activity::SystemChange, None),
        ] {
            let labels: Vec<&str> = label.into_iter().collect();
            if self.holds(&|_| operation(activity, "1", &labels), &[]) {
                terms.push(term(activity, &labels, &[], &[]));
            }
        }
        terms.extend(self.defects());
        terms
    }

    /// What holds of an activity for some labels, without those that rule it out.
    fn labelled(&self, activity: Activity, make: Make<'_>) -> Option<String> {
        let spoken = || self.spoken.iter().map(String::as_str);
        if self.holds(make, &[]) {
            // Without labels, plans of other kinds would mean it as well.
            let is_told = !matches!(activity, Activity::FileRead | Activity::FileWrite);
            return is_told.then(|| term(activity, &[], &[], &[]));
        }
        let mut needed: Vec<&str> = Vec::new();
        let mut any: Vec<&str> = spoken().filter(|label| self.holds(make, &[label])).collect();
        if any.is_empty() {
            for first in spoken() {
                let with = |label: &&str| *label != first && self.holds(make, &[first, label]);
                let pairs: Vec<&str> = spoken().filter(with).collect();
                if pairs.len() > any.len() {
                    (needed, any) = (vec![first], pairs);
                }
            }
        }
        let mut example = needed.clone();
        example.push(any.first()?);
        let rules_out = |label: &&str| {
            let known = any.contains(label) || needed.contains(label);
            !known && !self.holds(make, &[example.as_slice(), &[label]].concat())
        };
        let never: Vec<&str> = spoken().filter(rules_out).collect();
        Some(term(activity, &needed, &any, &never))
    }

    fn defects(&self) -> Vec<String> {
        let spoken = self.spoken.iter().map(String::as_str);
        let kinds: Vec<&str> = spoken.filter(|kind| self.holds(&|_| defect(kind), &[])).collect();
        let (exhausting, others): (Vec<&str>, Vec<&str>) =
            kinds.into_iter().partition(|kind| EXHAUSTION.contains(kind));
        let mut terms = Vec::new();
        if !exhausting.is_empty() {
            terms.push(term(Activity::ProcessLaunch, &["exhaustion"], &[], &[]));
        }
        if !others.is_empty() {
            terms.push(term(Activity::CodeRun, &[], &others, &[]));
        }
        terms
    }
}

fn flow(source: Place, sink: Place) -> CodeFacts {
    CodeFacts { flows: vec![Flow { source, sink, line: 1 }], ..CodeFacts::default() }
}

fn operation(activity: Activity, target: &str, labels: &[&str]) -> CodeFacts {
    let operation = Operation {
        activity,
        target: target.to_owned(),
        via: String::new(),
        detail: None,
        recursive: false,
        labels: labels.iter().map(ToString::to_string).collect(),
        line: 1,
    };
    CodeFacts { operations: vec![operation], ..CodeFacts::default() }
}

fn defect(kind: &str) -> CodeFacts {
    let defect = Defect { kind: kind.to_owned(), line: 1, why: String::new() };
    CodeFacts { defects: vec![defect], ..CodeFacts::default() }
}

/// A condition on an intent: all labels that are needed, any of some, and none of others.
pub(crate) fn term(activity: Activity, needed: &[&str], any: &[&str], never: &[&str]) -> String {
    let mut all = vec![format!("i.activity == {}", quoted(activity.name()))];
    all.extend(needed.iter().map(|label| format!("{} in i.labels", quoted(label))));
    match any {
        [] => {}
        [label] => all.push(format!("{} in i.labels", quoted(label))),
        several => {
            let list = several.iter().map(|label| quoted(label)).collect::<Vec<_>>().join(", ");
            all.push(format!("i.labels.exists(l, l in [{list}])"));
        }
    }
    all.extend(never.iter().map(|label| format!("!({} in i.labels)", quoted(label))));
    format!("intents.exists(i, {})", all.join(" && "))
}
