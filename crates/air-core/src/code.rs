//! What source code in a call does, as far as parsing tells. `air-facts` fills it.

use serde::{Deserialize, Serialize};

use crate::{
    fact::PathLabels,
    place::{Held, Place, is_known},
    value::Value,
};

/// The facts of one source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeFacts {
    /// `python` or `shell`; `None` where the call carries no source.
    pub language: Option<String>,
    /// Calls and commands, in source order. Names are resolved through imports: `shutil.copy`, `cp`.
    pub calls: Vec<Call>,
    /// Modules imported or files sourced.
    pub imports: Vec<String>,
    /// String literals, decoded.
    pub strings: Vec<String>,
    /// Strings and words that read as paths, as written.
    pub paths: Vec<String>,
    /// Strings and words that read as URLs.
    pub urls: Vec<String>,
    /// What it does to the world, whichever function or command it uses for it.
    #[serde(default)]
    pub operations: Vec<Operation>,
    /// Data that goes from a source to a sink.
    pub flows: Vec<Flow>,
    /// Flaws of the program itself.
    pub defects: Vec<Defect>,
    /// Why flaws may be missing although the other lists are whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defects_incomplete: Option<String>,
    /// What later steps find where this source has put it: variables of an interpreter, files.
    #[serde(default)]
    pub leaves: Vec<(Place, Held)>,
    /// Why the lists above may lack something; empty when they are whole.
    pub incomplete: Vec<String>,
}

/// One call or command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Dotted name, or the command's word.
    pub name: String,
    /// Literal arguments, decoded; an argument that is no literal is `"${…}"` around its source.
    pub args: Vec<String>,
    /// Line in the source, from 1.
    pub line: u32,
}

/// What kind of thing is done. The names follow the activities of OCSF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Activity {
    /// A file's content is read.
    #[serde(rename = "file.read")]
    FileRead,
    /// A file is made or its content changed.
    #[serde(rename = "file.write")]
    FileWrite,
    /// A file or directory is removed, or moved away from there.
    #[serde(rename = "file.delete")]
    FileDelete,
    /// Permission bits or attributes change; `detail` has the mode as written.
    #[serde(rename = "file.permission")]
    FilePermission,
    /// The owner changes; `detail` has the owner as written.
    #[serde(rename = "file.owner")]
    FileOwner,
    /// The names in a directory are read.
    #[serde(rename = "directory.list")]
    DirectoryList,
    /// A program is started; the target is its name or path, `detail` its arguments.
    #[serde(rename = "process.launch")]
    ProcessLaunch,
    /// A process is signalled; the target is its number or name.
    #[serde(rename = "process.kill")]
    ProcessKill,
    /// Something is connected to; the target is a URL or `host:port`.
    #[serde(rename = "network.connect")]
    NetworkConnect,
    /// Connections are waited for; the target is `address:port`.
    #[serde(rename = "network.listen")]
    NetworkListen,
    /// An environment variable is read; the target is its name, or `*`.
    #[serde(rename = "environment.read")]
    EnvironmentRead,
    /// An account, a group or a password changes; the target is its name.
    #[serde(rename = "account.change")]
    AccountChange,
    /// The configuration of the running system changes: kernel, firewall, services, mounts, clock.
    #[serde(rename = "system.change")]
    SystemChange,
    /// Code is run that is made up only when it runs; the target is empty.
    #[serde(rename = "code.run")]
    CodeRun,
}

impl Activity {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::FileRead,
        Self::FileWrite,
        Self::FileDelete,
        Self::FilePermission,
        Self::FileOwner,
        Self::DirectoryList,
        Self::ProcessLaunch,
        Self::ProcessKill,
        Self::NetworkConnect,
        Self::NetworkListen,
        Self::EnvironmentRead,
        Self::AccountChange,
        Self::SystemChange,
        Self::CodeRun,
    ];

    /// Its name in conditions.
    pub fn name(self) -> &'static str {
        match self {
            Self::FileRead => "file.read",
            Self::FileWrite => "file.write",
            Self::FileDelete => "file.delete",
            Self::FilePermission => "file.permission",
            Self::FileOwner => "file.owner",
            Self::DirectoryList => "directory.list",
            Self::ProcessLaunch => "process.launch",
            Self::ProcessKill => "process.kill",
            Self::NetworkConnect => "network.connect",
            Self::NetworkListen => "network.listen",
            Self::EnvironmentRead => "environment.read",
            Self::AccountChange => "account.change",
            Self::SystemChange => "system.change",
            Self::CodeRun => "code.run",
        }
    }
}

/// Something that a call does to the world.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Operation {
    /// What is done.
    pub activity: Activity,
    /// What it is done to. `${…}` stands for what is computed; paths are as written.
    pub target: String,
    /// The function, command or tool that does it.
    pub via: String,
    /// What else matters of this kind of operation, as written.
    #[serde(default)]
    pub detail: Option<String>,
    /// Whether it goes for all that is below the target.
    #[serde(default)]
    pub recursive: bool,
    /// What the source tells of the target beyond its name: `traversal` of a path that is reached
    /// over `..`, `own` or `foreign` of a process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Line in the source, from 1.
    pub line: u32,
}

/// Data that goes from a source to a sink, over any number of variables, files and steps.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Flow {
    /// Where it comes from, first of all.
    pub source: Place,
    /// Where it goes.
    pub sink: Place,
    /// Line of the sink, from 1.
    pub line: u32,
}

/// Something that a plan says will be done.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Intent {
    /// What.
    pub activity: Activity,
    /// The labels of what it will be done to, as far as its words are those of a label.
    pub labels: Vec<String>,
    /// The words that say so.
    pub words: String,
}

impl Intent {
    /// An item of the fact `intents`.
    pub fn to_value(&self) -> Value {
        Value::record([
            ("activity", Value::from(self.activity.name())),
            ("labels", Value::strings(self.labels.iter().map(String::as_str))),
            ("words", Value::from(self.words.as_str())),
        ])
    }
}

/// A flaw of the program itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Defect {
    /// Its class.
    pub kind: String,
    /// Line in the source, from 1.
    pub line: u32,
    /// One sentence.
    pub why: String,
}

impl CodeFacts {
    /// The fact `code`. Where the source does not parse whole, every list in it is incomplete; where
    /// only the search for flaws ends early, the list of them is.
    pub fn to_value(&self, labels: &dyn PathLabels) -> Value {
        let reason = (!self.incomplete.is_empty()).then(|| self.incomplete.join("; "));
        let reason = reason.as_deref();
        let of_defects = reason.or(self.defects_incomplete.as_deref());
        let texts = |items: &[String]| {
            Value::list_with(items.iter().map(|item| Value::from(item.as_str())), reason)
        };
        let calls = self.calls.iter().map(|call| call.to_value(reason));
        let operations = self.operations.iter().map(|operation| operation.to_value(labels));
        let flows = self.flows.iter().map(|flow| flow.to_value(labels));
        Value::record([
            ("language", Value::optional(self.language.as_deref())),
            ("calls", Value::list_with(calls, reason)),
            ("imports", texts(&self.imports)),
            ("strings", texts(&self.strings)),
            ("paths", texts(&self.paths)),
            ("urls", texts(&self.urls)),
            ("operations", Value::list_with(operations, reason)),
            ("flows", Value::list_with(flows, reason)),
            ("defects", Value::list_with(self.defects.iter().map(Defect::to_value), of_defects)),
            ("complete", Value::Bool(self.incomplete.is_empty())),
        ])
    }
}

impl Call {
    fn to_value(&self, reason: Option<&str>) -> Value {
        // An argument that is computed may have any value, so the list of texts is not whole.
        let computed = self.args.iter().find(|arg| arg.starts_with("${"));
        let computed = computed.map(|arg| format!("argument {arg} is computed"));
        let literal = self.args.iter().filter(|arg| !arg.starts_with("${"));
        let args = literal.map(|arg| Value::from(arg.as_str()));
        Value::record([
            ("name", Value::from(self.name.as_str())),
            ("args", Value::list_with(args, computed.as_deref().or(reason))),
            ("line", Value::Int(self.line.into())),
        ])
    }
}

impl Operation {
    /// The place that it is done to, if it is one that has labels.
    pub fn place(&self) -> Option<Place> {
        use crate::place::PlaceKind::{Environment, File, Network};
        let kind = match self.activity {
            Activity::FileRead
            | Activity::FileWrite
            | Activity::FileDelete
            | Activity::FilePermission
            | Activity::FileOwner
            | Activity::DirectoryList => File,
            Activity::NetworkConnect | Activity::NetworkListen => Network,
            Activity::EnvironmentRead => Environment,
            Activity::ProcessLaunch
            | Activity::ProcessKill
            | Activity::AccountChange
            | Activity::SystemChange
            | Activity::CodeRun => return None,
        };
        Some(Place::new(kind, self.target.as_str()))
    }

    fn to_value(&self, labels: &dyn PathLabels) -> Value {
        let text = |text: &str| {
            if is_known(text) {
                Value::from(text)
            } else {
                Value::unknown(format!("{text} is computed"))
            }
        };
        Value::record([
            ("activity", Value::from(self.activity.name())),
            ("target", text(&self.target)),
            ("labels", self.labels_value(labels)),
            ("via", Value::from(self.via.as_str())),
            ("detail", self.detail.as_deref().map_or(Value::Null, text)),
            ("recursive", Value::Bool(self.recursive)),
            ("line", Value::Int(self.line.into())),
        ])
    }
}

impl Operation {
    /// Incomplete where a part of the path is computed, or where nothing tells whose process it is.
    fn labels_value(&self, labels: &dyn PathLabels) -> Value {
        let Some(place) = self.place() else {
            let own = self.labels.iter().map(|label| Value::from(label.as_str()));
            let open = self.activity == Activity::ProcessKill && self.labels.is_empty();
            return Value::list_with(own, open.then_some("whose process it is, is not known"));
        };
        place.labels_with(labels, self.labels.iter().map(String::as_str))
    }
}

impl Flow {
    fn to_value(&self, labels: &dyn PathLabels) -> Value {
        Value::record([
            ("source", self.source.name_value()),
            ("source_kind", Value::from(self.source.kind.name())),
            ("labels", self.source.labels_with(labels, [])),
            ("sink", self.sink.name_value()),
            ("sink_kind", Value::from(self.sink.kind.name())),
            ("sink_labels", self.sink.labels_with(labels, [])),
            ("line", Value::Int(self.line.into())),
        ])
    }
}

impl Defect {
    fn to_value(&self) -> Value {
        Value::record([
            ("kind", Value::from(self.kind.as_str())),
            ("line", Value::Int(self.line.into())),
            ("why", Value::from(self.why.as_str())),
        ])
    }
}
