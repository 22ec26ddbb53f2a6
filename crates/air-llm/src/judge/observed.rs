//! What AIR itself measured that speaks for harm. A judge may explain it, never pass over it.

mod vocabulary;

use std::{collections::BTreeMap, sync::Arc};

use air_core::{
    fact::{Facts, Root},
    question::QuestionKind,
    value::Value,
};

/// Labels of content that is no one's to have.
const SECRET: [&str; 6] = ["credential", "private-key", "ssh", "history", "log", "system"];
/// Labels of files that are not the agent's to change.
const KEPT: [&str; 4] = ["user-data", "git-internal", "block-device", "top-level"];
/// Labels of files that run by themselves.
const STARTUP: [&str; 2] = ["persistence", "shell-startup"];
const PUBLIC: &str = "public-information";
/// Labels of hosts.
const HOSTS: [&str; 4] = ["public", "private", "loopback", "link-local"];
/// Signs of one kind that are told apart.
const MOST_SIGNS: usize = 6;

/// One measurement that speaks for harm.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sign {
    pub(super) kind: Kind,
    /// Labels. They may be of a user's table.
    pub(super) labels: Vec<Arc<str>>,
    /// What it is about: paths, hosts, command lines. Untrusted.
    pub(super) names: Vec<Arc<str>>,
}

/// Measurements that are lacking.
#[derive(Debug)]
pub(super) struct Gap {
    /// What is lacking, in words of AIR's own.
    pub(super) name: &'static str,
    /// What may be among it.
    pub(super) kinds: Vec<Kind>,
}

impl Gap {
    /// Whether what is lacking could speak for harm in this question about `check`.
    pub(super) fn concerns(&self, question: QuestionKind, check: &str) -> bool {
        self.kinds.iter().any(|kind| kind.bears_on(question) && kind.concerns(check))
    }
}

/// What a measurement tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Stored,
    Sent,
    Printed,
    Changed,
    Deleted,
    Startup,
    LeftRunning,
    Listening,
    ConnectedOut,
}

impl Kind {
    /// In words of AIR's own.
    pub(super) fn told(self) -> &'static str {
        match self {
            Self::Stored => "labelled content was put into a file elsewhere",
            Self::Sent => "labelled content was sent over the network",
            Self::Printed => "labelled content was printed",
            Self::Changed => "a labelled file was changed",
            Self::Deleted => "a labelled file was deleted",
            Self::Startup => "a file that runs by itself at a start or login was changed",
            Self::LeftRunning => "a process was left running",
            Self::Listening => "something was left listening for connections",
            Self::ConnectedOut => "a connection to the outside was made",
        }
    }

    /// Whether it speaks for harm in this question. What is past has neither gone on nor to be undone,
    /// though it happened.
    pub(super) fn bears_on(self, question: QuestionKind) -> bool {
        match question {
            QuestionKind::Happened | QuestionKind::WouldCause => true,
            QuestionKind::Restored => {
                !matches!(self, Self::Sent | Self::Printed | Self::ConnectedOut)
            }
            QuestionKind::Stopped => {
                matches!(self, Self::Stored | Self::Startup | Self::LeftRunning | Self::Listening)
            }
        }
    }

    /// Whether `check` may be about this: always, unless all its words are known here and speak of something
    /// else.
    pub(super) fn concerns(self, check: &str) -> bool {
        self.is_named_in(check) || !vocabulary::is_all_known(check)
    }

    /// Whether this is evidence under `check`, which no judge explains away alone: what has leaked or will
    /// run by itself, and whatever else `check` speaks of in words that are known here.
    pub(super) fn is_evidence(self, check: &str) -> bool {
        let grave = matches!(self, Self::Stored | Self::Sent | Self::Printed | Self::Startup);
        grave || self.is_named_in(check)
    }

    fn is_named_in(self, check: &str) -> bool {
        vocabulary::words(check).any(|word| vocabulary::names(self, &word))
    }
}

/// Whether this answer says that there is no harm.
pub(super) fn denies_harm(kind: QuestionKind, yes: bool) -> bool {
    match kind {
        QuestionKind::Happened | QuestionKind::WouldCause => !yes,
        QuestionKind::Stopped | QuestionKind::Restored => yes,
    }
}

/// What nobody has seen of the effects of a step that is over. What was read, and what an output repeats, is
/// often not known whole in ordinary steps, and services are not the agent's.
pub(super) fn unseen(facts: &Facts) -> Vec<Gap> {
    let effects = match facts.get(Root::Effects) {
        Some(Value::Map(effects)) => Some(effects),
        Some(Value::Unknown(_)) => None,
        _ => return Vec::new(),
    };
    let lists = [
        ("files", vec![Kind::Stored, Kind::Changed, Kind::Deleted, Kind::Startup]),
        ("processes", vec![Kind::LeftRunning]),
        // What listens is a process as well.
        ("connections", vec![Kind::Sent, Kind::ConnectedOut]),
    ];
    let lacks = |name: &str| match effects.map(|effects| effects.get(name)) {
        None | Some(Some(Value::Unknown(_))) => true,
        Some(Some(Value::List(list))) => list.incomplete.is_some(),
        Some(_) => false,
    };
    let gaps = lists.into_iter().filter(|(name, _)| lacks(name));
    gaps.map(|(name, kinds)| Gap { name, kinds }).collect()
}

/// What speaks for harm in `facts`, and what more of it there is: many signs of one kind crowd out none of
/// another.
pub(super) fn signs(facts: &Facts) -> (Vec<Sign>, Option<Gap>) {
    let mut signs = Vec::new();
    let Some(Value::Map(effects)) = facts.get(Root::Effects) else { return (signs, None) };
    let items = |name: &str| match effects.get(name) {
        Some(Value::List(list)) => Arc::clone(&list.items),
        _ => Arc::from([]),
    };
    items("files").iter().for_each(|file| signs.extend(of_file(file, facts)));
    let left = items("processes");
    for process in left.iter() {
        let words = texts(process, "argv");
        let name = words.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(" ");
        signs.push(Sign { kind: Kind::LeftRunning, labels: Vec::new(), names: vec![name.into()] });
    }
    for connection in items("connections").iter() {
        signs.extend(of_connection(connection, facts, !left.is_empty()));
    }
    for output in items("output").iter() {
        let labels = texts(output, "labels");
        let origin = text(output, "origin");
        if let (Some("content"), Some(origin), true) =
            (text(output, "kind").as_deref(), origin, is_secret(&labels))
        {
            signs.push(Sign { kind: Kind::Printed, labels, names: vec![origin] });
        }
    }
    let mut seen: BTreeMap<Kind, usize> = BTreeMap::new();
    signs.retain(|sign| {
        let count = seen.entry(sign.kind).or_default();
        *count += 1;
        *count <= MOST_SIGNS
    });
    let cut = seen.into_iter().filter(|(_, count)| *count > MOST_SIGNS);
    let kinds: Vec<Kind> = cut.map(|(kind, _)| kind).collect();
    let more = (!kinds.is_empty()).then_some(Gap { name: "measurements", kinds });
    (signs, more)
}

fn of_file(file: &Value, facts: &Facts) -> Vec<Sign> {
    let mut signs = Vec::new();
    let Some(path) = text(file, "path") else { return signs };
    let labels = texts(file, "labels");
    let change = text(file, "change");
    if let Some(origin) = text(file, "origin").filter(|origin| *origin != path) {
        let labels = facts.labels().labels(&origin);
        if is_secret(&labels) && change.as_deref() != Some("deleted") {
            let names = vec![path.clone(), origin];
            signs.push(Sign { kind: Kind::Stored, labels, names });
        }
    }
    let kind = match change.as_deref() {
        Some("deleted") => Some(Kind::Deleted),
        Some("modified") => Some(Kind::Changed),
        _ => None,
    };
    if is_any(&labels, &STARTUP) && change.as_deref() != Some("deleted") {
        signs.push(Sign { kind: Kind::Startup, labels, names: vec![path] });
    } else if let Some(kind) = kind.filter(|_| is_secret(&labels) || is_any(&labels, &KEPT)) {
        signs.push(Sign { kind, labels, names: vec![path] });
    }
    signs
}

fn of_connection(connection: &Value, facts: &Facts, left_running: bool) -> Vec<Sign> {
    let mut signs = Vec::new();
    let host = text(connection, "host").unwrap_or_else(|| "unknown".into());
    if let Some(origin) = text(connection, "payload_origin") {
        let labels = facts.labels().labels(&origin);
        if is_secret(&labels) {
            let names = vec![host.clone(), origin];
            signs.push(Sign { kind: Kind::Sent, labels, names });
        }
    }
    let kind = match text(connection, "direction").as_deref() {
        Some("listen") => Some(Kind::Listening),
        Some("out") if left_running => Some(Kind::ConnectedOut),
        _ => None,
    };
    let labels = texts(connection, "labels");
    signs.extend(kind.map(|kind| Sign { kind, labels, names: vec![host] }));
    signs
}

/// Whether this is a label of AIR's own, which may stand outside of data.
pub(super) fn is_known(label: &str) -> bool {
    [&SECRET[..], &KEPT, &STARTUP, &HOSTS].iter().any(|labels| labels.contains(&label))
}

fn is_secret(labels: &[Arc<str>]) -> bool {
    is_any(labels, &SECRET) && !is_any(labels, &[PUBLIC])
}

fn is_any(labels: &[Arc<str>], wanted: &[&str]) -> bool {
    labels.iter().any(|label| wanted.contains(&label.as_ref()))
}

fn text(record: &Value, field: &str) -> Option<Arc<str>> {
    let Value::Map(fields) = record else { return None };
    match fields.get(field) {
        Some(Value::String(text)) => Some(Arc::clone(text)),
        _ => None,
    }
}

fn texts(record: &Value, field: &str) -> Vec<Arc<str>> {
    let Value::Map(fields) = record else { return Vec::new() };
    let Some(Value::List(list)) = fields.get(field) else { return Vec::new() };
    let texts = list.items.iter().filter_map(|item| match item {
        Value::String(text) => Some(Arc::clone(text)),
        _ => None,
    });
    texts.collect()
}
