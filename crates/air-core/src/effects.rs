//! What a call changed, as observed and not as told. `air-workspace` fills it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{fact::PathLabels, place::host_labels, value::Value};

/// The difference between a checkpoint and now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effects {
    /// Files that differ.
    pub files: Observed<FileEffect>,
    /// Files that were read.
    #[serde(default = "unobserved")]
    pub reads: Observed<ReadEffect>,
    /// Processes that the call left running.
    pub processes: Observed<ProcessEffect>,
    /// Connections that the call attempted.
    pub connections: Observed<ConnectionEffect>,
    /// Services of the sandbox: programs that ran before the agent did.
    #[serde(default)]
    pub services: Observed<ServiceEffect>,
    /// What the output of the call repeats.
    #[serde(default = "unexamined")]
    pub output: Observed<OutputEffect>,
}

/// The output, in the records of versions that did not examine it.
fn unexamined() -> Observed<OutputEffect> {
    Observed::partial(Vec::new(), "the output was not examined")
}

/// Reads, in the records of versions that did not observe them.
fn unobserved() -> Observed<ReadEffect> {
    Observed::partial(Vec::new(), "reads were not observed")
}

/// A list, and why it may lack items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed<T> {
    /// What was observed.
    pub items: Vec<T>,
    /// Why items may be missing; `None` when all were observed.
    pub incomplete: Option<String>,
}

impl<T> Observed<T> {
    /// All there is.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items, incomplete: None }
    }

    /// Some of what there is, and why not all.
    pub fn partial(items: Vec<T>, reason: impl Into<String>) -> Self {
        Self { items, incomplete: Some(reason.into()) }
    }

    /// Whether there is nothing, for certain.
    pub fn is_none(&self) -> bool {
        self.items.is_empty() && self.incomplete.is_none()
    }

    fn value(&self, item: impl Fn(&T) -> Value) -> Value {
        Value::list_with(self.items.iter().map(item), self.incomplete.as_deref())
    }
}

impl<T> Default for Observed<T> {
    fn default() -> Self {
        Self::whole(Vec::new())
    }
}

/// How a file differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is there and was not.
    Created,
    /// Its content, mode, kind or link target is another.
    Modified,
    /// It was there and is not.
    Deleted,
}

impl Change {
    /// Its name in conditions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
        }
    }
}

/// One file, directory or link that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEffect {
    /// As the agent sees it, absolute; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// How it differs.
    pub change: Change,
    /// Bytes now; before, for one that was deleted.
    pub size: u64,
    /// Permission bits now; before, for one that was deleted.
    pub mode: u32,
    /// The file whose content it repeats, also encoded or in part, as the agent sees it.
    pub origin: Option<String>,
    /// Why `origin` is not known; with `None` there, it is known that there is none.
    #[serde(default)]
    pub origin_unknown: Option<String>,
    /// The other end of a rename: where a created one was, where a deleted one is.
    #[serde(default)]
    pub moved: Option<String>,
    /// In what a modified one differs: `kind`, `content`, `target`, `mode`, `owner`, `attributes`,
    /// `names`.
    #[serde(default)]
    pub aspects: Vec<String>,
    /// What is notable about the text that it gained, such as `program` or `shadowing-alias`; see
    /// [`crate::fact::ContentMarks`].
    #[serde(default)]
    pub marks: Vec<String>,
    /// Whether AIR can put it back as it was.
    pub reversible: bool,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadEffect {
    /// As the agent sees it, absolute.
    pub path: String,
}

/// A process that a call left running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessEffect {
    /// Its id inside the sandbox.
    pub pid: u32,
    /// Its command line.
    pub argv: Vec<String>,
}

/// A program that runs in the sandbox beside the agent, such as a database, and is not its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceEffect {
    /// Its name in the settings.
    pub name: String,
    /// Whether it ran before the call.
    pub ran: bool,
    /// Whether it runs now.
    pub runs: bool,
}

/// What an output repeats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputEffect {
    /// The file or directory, as the agent sees it; for what came from the network, the host.
    pub origin: String,
    /// `content` of a file; `listing`: the names in a directory; `network`: what a host answered.
    pub kind: String,
    /// Why it is not known whether the output repeats it, for what may be from the network.
    #[serde(default)]
    pub unknown: Option<String>,
}

/// A connection that a call attempted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionEffect {
    /// Name or address of the other side.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// `out`; `local`, to something that runs beside it inside; or `listen`.
    pub direction: String,
    /// Bytes that the program sent, as far as they were counted.
    pub bytes_sent: u64,
    /// The file whose content was sent.
    pub payload_origin: Option<String>,
    /// Why `payload_origin` is not known; with `None` there, it is known that there is none.
    #[serde(default)]
    pub origin_unknown: Option<String>,
    /// Whether they reached the other side. A sandbox takes what is sent and passes nothing on.
    #[serde(default)]
    pub delivered: bool,
    /// `tcp` or `udp`; empty where it is not known.
    #[serde(default)]
    pub transport: String,
    /// `http`, `tls`, `dns`, or `other`; `None`: nothing was sent, or it is not known.
    #[serde(default)]
    pub protocol: Option<String>,
    /// Bytes that the other side answered, as far as they were counted.
    #[serde(default)]
    pub bytes_received: u64,
    /// How often the program sent again after it had received something: a conversation.
    #[serde(default)]
    pub turns: u32,
}

/// Whether effects can be taken back (OWASP AISVS). Ordered, worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reversibility {
    /// Nothing changed.
    ReadOnly,
    /// AIR can put everything back.
    Reversible,
    /// Another action can make up for it.
    Compensable,
    /// It cannot be taken back.
    Irreversible,
}

impl Reversibility {
    /// Its name in conditions.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Reversible => "reversible",
            Self::Compensable => "compensable",
            Self::Irreversible => "irreversible",
        }
    }
}

impl Effects {
    /// The worst of its effects.
    pub fn reversibility(&self) -> Reversibility {
        let files = self.files.items.iter().map(FileEffect::reversibility);
        let processes = self.processes.items.iter().map(ProcessEffect::reversibility);
        let connections = self.connections.items.iter().map(ConnectionEffect::reversibility);
        let all = files.chain(processes).chain(connections);
        all.max().unwrap_or(Reversibility::ReadOnly)
    }

    /// Whether the call is known to have done no more than read: nothing changed, runs, was connected to or
    /// is repeated in its output.
    pub fn are_none(&self) -> bool {
        self.files.is_none()
            && self.processes.is_none()
            && self.connections.is_none()
            && self.output.is_none()
            && self.services.incomplete.is_none()
            && self.services.items.iter().all(|service| service.ran == service.runs)
    }

    /// The fact `effects`.
    pub fn to_value(&self, labels: &dyn PathLabels) -> Value {
        Value::record([
            ("files", self.files.value(|file| file.to_value(labels))),
            ("reads", self.reads.value(|read| read.to_value(labels))),
            ("processes", self.processes.value(ProcessEffect::to_value)),
            ("connections", self.connections.value(ConnectionEffect::to_value)),
            ("services", self.services.value(ServiceEffect::to_value)),
            ("output", self.output.value(|output| output.to_value(labels))),
            ("reversibility", Value::from(self.reversibility().name())),
        ])
    }
}

impl FileEffect {
    /// Whether AIR can put it back.
    pub fn reversibility(&self) -> Reversibility {
        if self.reversible { Reversibility::Reversible } else { Reversibility::Irreversible }
    }

    fn to_value(&self, labels: &dyn PathLabels) -> Value {
        Value::record([
            ("path", Value::from(self.path.as_str())),
            ("change", Value::from(self.change.name())),
            ("size", Value::Int(i64::try_from(self.size).unwrap_or(i64::MAX))),
            ("mode", Value::Int(self.mode.into())),
            ("labels", Value::strings(labels.labels(&self.path))),
            ("origin", origin(self.origin.as_deref(), self.origin_unknown.as_deref())),
            ("moved", Value::optional(self.moved.as_deref())),
            ("aspects", Value::strings(self.aspects.iter().map(String::as_str))),
            ("marks", Value::strings(self.marks.iter().map(String::as_str))),
            ("reversibility", Value::from(self.reversibility().name())),
        ])
    }
}

impl ReadEffect {
    fn to_value(&self, labels: &dyn PathLabels) -> Value {
        Value::record([
            ("path", Value::from(self.path.as_str())),
            ("labels", Value::strings(labels.labels(&self.path))),
        ])
    }
}

fn origin(origin: Option<&str>, unknown: Option<&str>) -> Value {
    match (origin, unknown) {
        (None, Some(why)) => Value::unknown(why),
        (origin, _) => Value::optional(origin),
    }
}

impl ProcessEffect {
    /// Whether it can be ended: it always can.
    pub fn reversibility(&self) -> Reversibility {
        Reversibility::Reversible
    }

    fn to_value(&self) -> Value {
        let argv = self.argv.iter().map(String::as_str);
        Value::record([
            ("pid", Value::Int(self.pid.into())),
            ("argv", Value::strings(argv)),
            ("reversibility", Value::from(self.reversibility().name())),
        ])
    }
}

impl ServiceEffect {
    fn to_value(&self) -> Value {
        Value::record([
            ("name", Value::from(self.name.as_str())),
            ("ran", Value::from(self.ran)),
            ("runs", Value::from(self.runs)),
        ])
    }
}

impl OutputEffect {
    fn to_value(&self, labels: &dyn PathLabels) -> Value {
        let kind = match &self.unknown {
            Some(why) => Value::unknown(why.as_str()),
            None => Value::from(self.kind.as_str()),
        };
        Value::record([
            ("origin", Value::from(self.origin.as_str())),
            ("kind", kind),
            ("labels", Value::strings(self.labels(labels))),
        ])
    }

    /// Labels of a file, of a host, or of what lies in a directory.
    pub fn labels(&self, labels: &dyn PathLabels) -> Vec<Arc<str>> {
        match (self.kind.as_str(), &self.unknown) {
            ("network", _) | (_, Some(_)) => host_labels(&self.origin),
            ("listing", _) => {
                let mut all = labels.labels(&self.origin);
                let below = labels.labels(&format!("{}/entry", self.origin.trim_end_matches('/')));
                all.extend(
                    below.into_iter().filter(|label| !all.contains(label)).collect::<Vec<_>>(),
                );
                all
            }
            _ => labels.labels(&self.origin),
        }
    }
}

impl ConnectionEffect {
    /// What was delivered cannot be taken back. An attempt that led nowhere changed nothing, nor
    /// does what went to another process of the sandbox by itself.
    pub fn reversibility(&self) -> Reversibility {
        if self.delivered && self.bytes_sent > 0 && self.direction != "local" {
            Reversibility::Irreversible
        } else {
            Reversibility::ReadOnly
        }
    }

    fn to_value(&self) -> Value {
        Value::record([
            ("host", Value::from(self.host.as_str())),
            ("port", Value::Int(self.port.into())),
            ("direction", Value::from(self.direction.as_str())),
            ("bytes_sent", Value::Int(i64::try_from(self.bytes_sent).unwrap_or(i64::MAX))),
            (
                "payload_origin",
                origin(self.payload_origin.as_deref(), self.origin_unknown.as_deref()),
            ),
            ("delivered", Value::from(self.delivered)),
            ("labels", Value::strings(host_labels(&self.host))),
            ("transport", Value::from(self.transport.as_str())),
            ("protocol", Value::optional(self.protocol.as_deref())),
            ("bytes_received", Value::Int(i64::try_from(self.bytes_received).unwrap_or(i64::MAX))),
            ("turns", Value::Int(self.turns.into())),
            ("reversibility", Value::from(self.reversibility().name())),
        ])
    }
}
