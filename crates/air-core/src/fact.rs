//! The fact schema: which facts there are, when each can be seen, and of which type it is.
//!
//! A condition names the [`Root`]s that it reads; a driver collects those and no others. A root that
//! was never supplied is *needed*; one that was supplied as [`Value::Unknown`] was asked for in vain.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::value::Value;

/// A top-level fact. The discriminant is its place in a [`Roots`] set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Root {
    /// Canonical name of the tool.
    Tool,
    /// Final arguments of the call.
    Args,
    /// What the agent said before it acted.
    Plan,
    /// The task the session was given.
    Task,
    /// Name of the agent.
    Agent,
    /// Identifier of the session.
    Session,
    /// What the agent means to do, as far as the words of its plan tell.
    Intents,
    /// What the source code in the call does, as far as parsing tells.
    Code,
    /// The session's last steps.
    History,
    /// Where labelled content has gone in the session so far.
    Taint,
    /// What the tool returned.
    Output,
    /// What the tool reported as an error.
    Error,
    /// How long the call took, in milliseconds.
    DurationMs,
    /// What the call changed.
    Effects,
    /// What the environment's inspection tool reports.
    State,
}

impl Root {
    /// All roots, in schema order.
    pub const ALL: [Self; 15] = [
        Self::Tool,
        Self::Args,
        Self::Plan,
        Self::Task,
        Self::Agent,
        Self::Session,
        Self::Intents,
        Self::Code,
        Self::History,
        Self::Taint,
        Self::Output,
        Self::Error,
        Self::DurationMs,
        Self::Effects,
        Self::State,
    ];

    /// The name in a condition.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Args => "args",
            Self::Plan => "plan",
            Self::Task => "task",
            Self::Agent => "agent",
            Self::Session => "session",
            Self::Intents => "intents",
            Self::Code => "code",
            Self::History => "history",
            Self::Taint => "taint",
            Self::Output => "output",
            Self::Error => "error",
            Self::DurationMs => "duration_ms",
            Self::Effects => "effects",
            Self::State => "state",
        }
    }

    /// The root of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|root| root.name() == name)
    }

    /// Whether a guardrail, which is decided before the call, can see it.
    pub fn seen_before(self) -> bool {
        !matches!(self, Self::Output | Self::Error | Self::DurationMs | Self::Effects)
    }

    /// Whether it comes with the step itself, so that having it costs nothing.
    pub fn is_at_hand(self) -> bool {
        Roots::AT_HAND.contains(self)
    }

    /// The type of its value.
    pub fn ty(self) -> Type {
        match self {
            Self::Tool | Self::Plan | Self::Task | Self::Agent | Self::Session | Self::Output => {
                Type::String
            }
            Self::Error => Type::Nullable(&Type::String),
            Self::Args => Type::Map,
            Self::DurationMs => Type::Int,
            Self::Intents => INTENTS,
            Self::Code => Type::Record(&CODE),
            Self::History => PAST_STEPS,
            Self::Taint => TAINTS,
            Self::Effects => Type::Record(&EFFECTS),
            Self::State => Type::Any,
        }
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of [`Root`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Roots(u16);

impl Roots {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// What a response can change: these facts are collected anew after it. All others are past
    /// events and stay what they were.
    pub const FRESH: Self = Self(1 << Root::Effects as u8 | 1 << Root::State as u8);

    /// What comes with the step itself.
    pub const AT_HAND: Self = Self::NONE
        .with(Root::Tool)
        .with(Root::Args)
        .with(Root::Plan)
        .with(Root::Task)
        .with(Root::Agent)
        .with(Root::Session)
        .with(Root::Output)
        .with(Root::Error)
        .with(Root::DurationMs);

    /// This set with `root` in it.
    #[must_use]
    pub const fn with(self, root: Root) -> Self {
        Self(self.0 | 1 << root as u8)
    }

    /// What is in either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is here and not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// What is in both.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether `root` is in it.
    pub const fn contains(self, root: Root) -> bool {
        self.0 & 1 << root as u8 != 0
    }

    /// Whether nothing is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its members, in schema order.
    pub fn iter(self) -> impl Iterator<Item = Root> {
        Root::ALL.into_iter().filter(move |&root| self.contains(root))
    }
}

impl FromIterator<Root> for Roots {
    fn from_iter<I: IntoIterator<Item = Root>>(roots: I) -> Self {
        roots.into_iter().fold(Self::NONE, Self::with)
    }
}

/// The type of a fact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Type {
    /// A truth value.
    Bool,
    /// A whole number.
    Int,
    /// Text.
    String,
    /// `null`, or a value of the type within.
    Nullable(&'static Type),
    /// A list of values of one type.
    List(&'static Type),
    /// A record with exactly these fields.
    Record(&'static Record),
    /// Free-form names and values, such as a tool's arguments.
    Map,
    /// Anything; checked only when it is evaluated.
    Any,
}

/// A record type of the schema.
#[derive(Debug, PartialEq)]
pub struct Record {
    /// Its name in messages.
    pub name: &'static str,
    /// Its fields.
    pub fields: &'static [(&'static str, Type)],
}

impl Record {
    /// The type of the field of that name.
    pub fn field(&self, name: &str) -> Option<Type> {
        self.fields.iter().find(|(field, _)| *field == name).map(|(_, ty)| *ty)
    }
}

const TEXTS: Type = Type::List(&Type::String);
const PAST_STEPS: Type = Type::List(&Type::Record(&HISTORY));
const INTENTS: Type = Type::List(&Type::Record(&INTENT));
const TAINTS: Type = Type::List(&Type::Record(&TAINT));

/// The record `code`.
pub static CODE: Record = Record {
    name: "code",
    fields: &[
        ("language", Type::Nullable(&Type::String)),
        ("calls", Type::List(&Type::Record(&CALL))),
        ("imports", TEXTS),
        ("strings", TEXTS),
        ("paths", TEXTS),
        ("urls", TEXTS),
        ("operations", Type::List(&Type::Record(&OPERATION))),
        ("flows", Type::List(&Type::Record(&FLOW))),
        ("defects", Type::List(&Type::Record(&DEFECT))),
        ("complete", Type::Bool),
    ],
};
/// An item of `code.calls`.
pub static CALL: Record = Record {
    name: "call",
    fields: &[("name", Type::String), ("args", TEXTS), ("line", Type::Int)],
};
/// An item of `code.flows`.
pub static FLOW: Record = Record {
    name: "flow",
    fields: &[
        ("source", Type::String),
        ("source_kind", Type::String),
        ("labels", TEXTS),
        ("sink", Type::String),
        ("sink_kind", Type::String),
        ("sink_labels", TEXTS),
        ("line", Type::Int),
    ],
};
/// An item of `code.operations`.
pub static OPERATION: Record = Record {
    name: "operation",
    fields: &[
        ("activity", Type::String),
        ("target", Type::String),
        ("labels", TEXTS),
        ("via", Type::String),
        ("detail", Type::Nullable(&Type::String)),
        ("recursive", Type::Bool),
        ("line", Type::Int),
    ],
};
/// An item of `intents`.
pub static INTENT: Record = Record {
    name: "intent",
    fields: &[("activity", Type::String), ("labels", TEXTS), ("words", Type::String)],
};
/// An item of `code.defects`.
pub static DEFECT: Record = Record {
    name: "defect",
    fields: &[("kind", Type::String), ("line", Type::Int), ("why", Type::String)],
};
/// An item of `history`.
pub static HISTORY: Record = Record {
    name: "past step",
    fields: &[
        ("tool", Type::String),
        ("args", Type::Map),
        ("plan", Type::String),
        ("output", Type::String),
        ("effects", Type::Record(&EFFECTS)),
    ],
};
/// An item of `taint`.
pub static TAINT: Record = Record {
    name: "taint",
    fields: &[
        ("origin", Type::String),
        ("origin_kind", Type::String),
        ("labels", TEXTS),
        ("place", Type::String),
        ("place_kind", Type::String),
    ],
};
/// The record `effects`.
pub static EFFECTS: Record = Record {
    name: "effects",
    fields: &[
        ("files", Type::List(&Type::Record(&FILE))),
        ("reads", Type::List(&Type::Record(&READ))),
        ("processes", Type::List(&Type::Record(&PROCESS))),
        ("connections", Type::List(&Type::Record(&CONNECTION))),
        ("services", Type::List(&Type::Record(&SERVICE))),
        ("output", Type::List(&Type::Record(&OUTPUT))),
        ("reversibility", Type::String),
    ],
};
/// An item of `effects.files`.
pub static FILE: Record = Record {
    name: "file effect",
    fields: &[
        ("path", Type::String),
        ("change", Type::String),
        ("size", Type::Int),
        ("mode", Type::Int),
        ("labels", TEXTS),
        ("origin", Type::Nullable(&Type::String)),
        ("moved", Type::Nullable(&Type::String)),
        ("aspects", TEXTS),
        ("marks", TEXTS),
        ("reversibility", Type::String),
    ],
};
/// An item of `effects.reads`.
pub static READ: Record =
    Record { name: "read effect", fields: &[("path", Type::String), ("labels", TEXTS)] };
/// An item of `effects.processes`.
pub static PROCESS: Record = Record {
    name: "process effect",
    fields: &[("pid", Type::Int), ("argv", TEXTS), ("reversibility", Type::String)],
};
/// An item of `effects.connections`.
pub static CONNECTION: Record = Record {
    name: "connection effect",
    fields: &[
        ("host", Type::String),
        ("port", Type::Int),
        ("direction", Type::String),
        ("bytes_sent", Type::Int),
        ("payload_origin", Type::Nullable(&Type::String)),
        ("delivered", Type::Bool),
        ("labels", TEXTS),
        ("transport", Type::String),
        ("protocol", Type::Nullable(&Type::String)),
        ("bytes_received", Type::Int),
        ("turns", Type::Int),
        ("reversibility", Type::String),
    ],
};
/// An item of `effects.services`.
pub static SERVICE: Record = Record {
    name: "service effect",
    fields: &[("name", Type::String), ("ran", Type::Bool), ("runs", Type::Bool)],
};
/// An item of `effects.output`.
pub static OUTPUT: Record = Record {
    name: "output effect",
    fields: &[("origin", Type::String), ("kind", Type::String), ("labels", TEXTS)],
};

/// Labels of paths, such as `credential` or `system`.
pub trait PathLabels: Send + Sync + fmt::Debug {
    /// The labels of `path`, which is absolute or relative to the workspace. Empty: none.
    fn labels(&self, path: &str) -> Vec<Arc<str>>;

    /// Whether the content there is worth recognising elsewhere.
    fn is_sensitive(&self, path: &str) -> bool {
        !self.labels(path).is_empty()
    }
}

/// What is notable about text that a file gained.
pub trait ContentMarks: Send + Sync + fmt::Debug {
    /// Marks of what `now` has and `before` had not, for the file at `path`, as the agent sees it.
    /// Both are its first [`MARKED_BYTES`] at most. Empty: nothing notable.
    fn marks(&self, path: &str, before: &[u8], now: &[u8]) -> Vec<Arc<str>>;
}

/// How much of a file is looked at for [`ContentMarks`], in bytes.
pub const MARKED_BYTES: usize = 256 << 10;

/// No content has a mark.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMarks;

impl ContentMarks for NoMarks {
    fn marks(&self, _path: &str, _before: &[u8], _now: &[u8]) -> Vec<Arc<str>> {
        Vec::new()
    }
}

/// No path has a label.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLabels;

impl PathLabels for NoLabels {
    fn labels(&self, _path: &str) -> Vec<Arc<str>> {
        Vec::new()
    }
}

/// The facts collected about one step so far.
#[derive(Debug, Clone)]
pub struct Facts {
    roots: BTreeMap<Root, Value>,
    labels: Arc<dyn PathLabels>,
}

impl Facts {
    /// No facts yet.
    pub fn new(labels: Arc<dyn PathLabels>) -> Self {
        Self { roots: BTreeMap::new(), labels }
    }

    /// Supplies one fact, in place of what was known of it.
    pub fn set(&mut self, root: Root, value: Value) {
        self.roots.insert(root, value);
    }

    /// Supplies one fact.
    #[must_use]
    pub fn with(mut self, root: Root, value: Value) -> Self {
        self.set(root, value);
        self
    }

    /// The fact, or `None` while nobody has supplied it.
    pub fn get(&self, root: Root) -> Option<&Value> {
        self.roots.get(&root)
    }

    /// What has been supplied.
    pub fn supplied(&self) -> Roots {
        self.roots.keys().copied().collect()
    }

    /// The label table for `labels(path)`.
    pub fn labels(&self) -> &dyn PathLabels {
        &*self.labels
    }
}
