//! What a step does, as a pattern that other steps fit as well: the generalisation lattice.
//!
//! A [`Thing`] is one operation or flow of one step. Things of one [`Skeleton`] can be told together, at
//! several [`Width`]s; the narrowest pattern of a width that fits them all is their least general
//! generalisation (Plotkin, 1970) in that width.

use std::collections::BTreeSet;

use air_core::{
    code::{Activity, CodeFacts, Flow, Operation},
    fact::PathLabels,
    place::{Place, PlaceKind, is_known},
};

use crate::{candidate::quoted, naming, words};

/// What kind of thing it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Skeleton {
    Operation(Activity),
    Flow(PlaceKind, PlaceKind),
}

/// How much else a pattern fits. Ordered, narrowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Width {
    /// The same thing done to the same, however it is spelled.
    Exact,
    /// Done to what has the same labels, or lies in the same directory.
    Class,
    /// Done to anything.
    Any,
}

/// One operation or flow of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thing {
    pub(crate) skeleton: Skeleton,
    /// What it is done to; of a flow, where it comes from.
    pub(crate) target: String,
    /// The labels of the target.
    pub(crate) labels: BTreeSet<String>,
    /// The labels of where a flow goes.
    pub(crate) sink_labels: BTreeSet<String>,
}

impl Thing {
    pub(crate) fn of_operation(operation: &Operation, labels: &dyn PathLabels) -> Self {
        let labels = operation.place().map(|place| texts(&place, labels)).unwrap_or_default();
        Self {
            skeleton: Skeleton::Operation(operation.activity),
            target: operation.target.clone(),
            labels,
            sink_labels: BTreeSet::new(),
        }
    }

    pub(crate) fn of_flow(flow: &Flow, labels: &dyn PathLabels) -> Self {
        Self {
            skeleton: Skeleton::Flow(flow.source.kind, flow.sink.kind),
            target: flow.source.name.clone(),
            labels: texts(&flow.source, labels),
            sink_labels: texts(&flow.sink, labels),
        }
    }

    /// All things that `code` does.
    pub(crate) fn all<'a>(
        code: &'a CodeFacts,
        labels: &'a dyn PathLabels,
    ) -> impl Iterator<Item = Self> + 'a {
        let flows = code.flows.iter().map(move |flow| Self::of_flow(flow, labels));
        flows.chain(code.operations.iter().map(move |it| Self::of_operation(it, labels)))
    }

    fn names_files(&self) -> bool {
        match self.skeleton {
            Skeleton::Flow(source, _) => source == PlaceKind::File,
            Skeleton::Operation(activity) => activity.name().starts_with("file."),
        }
    }
}

fn texts(place: &Place, labels: &dyn PathLabels) -> BTreeSet<String> {
    place.labels(labels).iter().map(ToString::to_string).collect()
}

/// Things that are told together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) width: Width,
    /// The condition.
    pub(crate) condition: String,
    /// What it says, for a person.
    pub(crate) said: String,
    /// Texts in it that come from the agent.
    pub(crate) literals: Vec<String>,
}

/// Spellings of a target that an exact pattern names.
const MOST_SPELLINGS: usize = 16;

/// The narrowest pattern of that width that all `things`, of one skeleton, fit. `told` are the labels
/// that the incident's rule speaks of; without any, all count.
pub(crate) fn pattern(
    things: &[Thing],
    width: Width,
    told: &dyn Fn(&str) -> bool,
) -> Option<Pattern> {
    let first = things.first()?;
    let mut terms = Vec::new();
    let mut literals = Vec::new();
    let (target, labels) = match first.skeleton {
        Skeleton::Operation(activity) => {
            terms.push(format!("o.activity == {}", quoted(activity.name())));
            ("o.target", "o.labels")
        }
        Skeleton::Flow(source, _) => {
            terms.push(format!("f.source_kind == {}", quoted(source.name())));
            ("f.source", "f.labels")
        }
    };
    let common = common(things, told);
    let what = match width {
        Width::Exact => {
            let spellings = spellings(things)?;
            let list = spellings.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ");
            terms.push(format!("{target} in [{list}]"));
            let shown = spellings.iter().next().cloned().unwrap_or_default();
            literals.extend(spellings);
            format!("`{}`", crate::candidate::shown(&shown))
        }
        Width::Class if !common.is_empty() => {
            terms.extend(common.iter().map(|label| format!("{} in {labels}", quoted(label))));
            let names = common.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>();
            format!("what is labelled {}", names.join(" and "))
        }
        Width::Class => {
            let directory = directory(things)?;
            let mut within = format!("under({target}, {})", quoted(&directory));
            // Paths are as written: relative ones begin in the workspace.
            if let Some(relative) = directory.strip_prefix("/workspace/") {
                within = format!("({within} || under({target}, {}))", quoted(relative));
            }
            terms.push(within);
            let said = format!("what is below `{}`", crate::candidate::shown(&directory));
            literals.push(directory);
            said
        }
        Width::Any => "anything".to_owned(),
    };
    let (condition, said) = match first.skeleton {
        Skeleton::Operation(activity) => {
            let all = terms.join(" && ");
            (format!("code.operations.exists(o, {all})"), format!("{} {what}", verb(activity)))
        }
        Skeleton::Flow(_, sink) => {
            terms.push(format!("f.sink_kind == {}", quoted(sink.name())));
            terms.extend(sink_term(things, sink, &common));
            let all = terms.join(" && ");
            (format!("code.flows.exists(f, {all})"), goes(sink, &what))
        }
    };
    Some(Pattern { width, condition, said, literals })
}

/// What is said of where a flow goes: a network of the same kind; a file that is not protected as its
/// source is, where none of those seen was.
fn sink_term(things: &[Thing], sink: PlaceKind, common: &BTreeSet<String>) -> Option<String> {
    let every = |label: &String| things.iter().all(|thing| thing.sink_labels.contains(label));
    let first = things.first()?;
    match sink {
        PlaceKind::Network => {
            let shared = first.sink_labels.iter().find(|label| every(label))?;
            Some(format!("{} in f.sink_labels", quoted(shared)))
        }
        PlaceKind::File => {
            let protected =
                |label: &&String| things.iter().any(|it| it.sink_labels.contains(*label));
            if common.is_empty() || common.iter().any(|label| protected(&label)) {
                return None;
            }
            let list = common.iter().map(|label| quoted(label)).collect::<Vec<_>>().join(", ");
            Some(format!("!f.sink_labels.exists(l, l in [{list}])"))
        }
        _ => None,
    }
}

/// The labels that all targets have and the rule speaks of; all that they have, where it speaks of none.
fn common(things: &[Thing], told: &dyn Fn(&str) -> bool) -> BTreeSet<String> {
    let mut things = things.iter();
    let Some(first) = things.next() else { return BTreeSet::new() };
    let shared = things.fold(first.labels.clone(), |shared, thing| &shared & &thing.labels);
    let spoken: BTreeSet<String> = shared.iter().filter(|label| told(label)).cloned().collect();
    if spoken.is_empty() { shared } else { spoken }
}

/// The targets, as written and as absolute paths.
fn spellings(things: &[Thing]) -> Option<BTreeSet<String>> {
    let mut spellings = BTreeSet::new();
    for thing in things {
        if !is_known(&thing.target) || thing.target.is_empty() {
            return None;
        }
        spellings.insert(thing.target.clone());
        if thing.names_files() {
            spellings.insert(naming::absolute(&thing.target));
        }
    }
    (spellings.len() <= MOST_SPELLINGS).then_some(spellings)
}

/// The directory that at least two files have in common, below one that belongs to all.
fn directory(things: &[Thing]) -> Option<String> {
    const SHALLOWEST: usize = 2;
    if !things.iter().all(|thing| thing.names_files() && is_known(&thing.target)) {
        return None;
    }
    let mut paths: Vec<String> =
        things.iter().map(|thing| naming::absolute(&thing.target)).collect();
    paths.sort_unstable();
    paths.dedup();
    let (first, rest) = paths.split_first()?;
    if rest.is_empty() {
        return None;
    }
    let parts = |path: &str| -> Vec<String> {
        path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let mut shared = parts(first);
    shared.pop();
    for path in rest {
        let other = parts(path);
        let same = shared.iter().zip(&other).take_while(|(a, b)| a == b).count();
        shared.truncate(same.min(other.len().saturating_sub(1)));
    }
    (shared.len() >= SHALLOWEST).then(|| format!("/{}", shared.join("/")))
}

fn verb(activity: Activity) -> &'static str {
    match activity {
        Activity::FileRead => "reads",
        Activity::FileWrite => "writes",
        Activity::FileDelete => "removes",
        Activity::FilePermission => "changes the permissions of",
        Activity::FileOwner => "changes the owner of",
        Activity::DirectoryList => "lists",
        Activity::ProcessLaunch => "starts",
        Activity::ProcessKill => "ends the process",
        Activity::NetworkConnect => "connects to",
        Activity::NetworkListen => "listens at",
        Activity::EnvironmentRead => "reads the variable",
        Activity::AccountChange => "changes the account",
        Activity::SystemChange => "changes the system's",
        Activity::CodeRun => "runs made-up code, that is",
    }
}

/// That `what` goes to such a place.
fn goes(sink: PlaceKind, what: &str) -> String {
    match sink {
        PlaceKind::File => format!("copies {what} to a file"),
        PlaceKind::Network => format!("sends {what} to the network"),
        PlaceKind::Output => format!("shows {what}"),
        PlaceKind::Code => format!("runs {what} as code"),
        PlaceKind::Environment => format!("puts {what} into the environment"),
        PlaceKind::Input | PlaceKind::Command | PlaceKind::Variable | PlaceKind::Machine => {
            format!("hands {what} on")
        }
    }
}

/// Words count where the call itself tells nothing, or cannot be read: what conditions over them begin with.
const IN_WORDS: &str =
    "code.language == null && (!code.complete || size(code.operations) == 0) && ";

/// Whether a condition is over the words of a plan.
pub(crate) fn is_in_words(condition: &str) -> bool {
    condition.starts_with("code.language == null && ") && condition.contains("intents.exists(")
}

/// A condition over the words of a plan, of terms of which one suffices.
pub(crate) fn where_nothing_is_told(terms: &BTreeSet<String>) -> Option<String> {
    let terms: Vec<&str> = terms.iter().map(String::as_str).collect();
    match terms.as_slice() {
        [] => None,
        [term] => Some(format!("{IN_WORDS}{term}")),
        several => Some(format!("{IN_WORDS}({})", several.join(" || "))),
    }
}

/// The words of a plan that mean the same as `thing`, as a term.
pub(crate) fn in_words(thing: &Thing, told: &dyn Fn(&str) -> bool) -> Option<String> {
    let common = common(std::slice::from_ref(thing), told);
    let labels = || common.iter().map(String::as_str).collect::<Vec<_>>();
    // What has no label of its own is told in words by how it is done.
    let (activity, labels) = match thing.skeleton {
        Skeleton::Operation(Activity::FilePermission) => (Activity::FilePermission, vec!["weaker"]),
        Skeleton::Operation(Activity::ProcessKill) => (Activity::ProcessKill, vec!["foreign"]),
        Skeleton::Operation(activity @ (Activity::AccountChange | Activity::SystemChange)) => {
            (activity, Vec::new())
        }
        Skeleton::Flow(PlaceKind::Network, PlaceKind::Code) => {
            let is_download = thing.target.contains("://");
            (Activity::CodeRun, vec![if is_download { "download" } else { "remote-shell" }])
        }
        Skeleton::Operation(activity) if !common.is_empty() => (activity, labels()),
        Skeleton::Flow(_, PlaceKind::Network) if !common.is_empty() => {
            (Activity::NetworkConnect, labels())
        }
        Skeleton::Flow(_, PlaceKind::File) if !common.is_empty() => (Activity::FileWrite, labels()),
        Skeleton::Flow(_, PlaceKind::Output) if !common.is_empty() => {
            (Activity::FileRead, labels())
        }
        Skeleton::Operation(_) | Skeleton::Flow(..) => return None,
    };
    Some(words::term(activity, &labels, &[], &[]))
}
