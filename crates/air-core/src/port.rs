//! What a driver must be given. Implementations live in other crates.
//!
//! Judges, tools, journal and workspace are asynchronous; deciding is not.

mod judge;
mod respond;
mod synthesis;
mod tool;

use std::{future::Future, pin::Pin};

use serde::{Deserialize, Serialize};

use crate::{
    code::{CodeFacts, Intent},
    effects::{Effects, Observed, OutputEffect},
    guardrail::Guardrail,
    id::{
        ActionId, ApprovalId, CheckpointId, GuardrailId, IncidentId, PayloadId, SessionId,
        Timestamp,
    },
    incident::IncidentEvent,
    place::{Held, Place},
    session::SessionEvent,
    step::{Arguments, ToolCall},
    value::Value,
};

pub use self::{
    judge::{Background, Judge, JudgeError, Spending, Spendings},
    respond::{Hands, HandsError, Order, Report, Responder, ResponderError},
    synthesis::{
        Brief, DraftError, Drafter, Harm, PastStep, Proposal, ShadowRecord, Synthesis,
        SynthesisError, SynthesisRequest, Synthesizer,
    },
    tool::{ReadOnly, ToolBox, ToolError, ToolInfo},
};

/// A boxed future, so that every port is object-safe.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A boxed cause.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Where tools act: checkpoint, effects, containment, restore.
pub trait Workspace: Send + Sync {
    /// How well it contains, written into every incident.
    fn tier(&self) -> Tier;

    /// Remembers the state as it is. Durable: it can be restored after a crash.
    fn checkpoint(&self) -> BoxFuture<'_, Result<CheckpointId, WorkspaceError>>;

    /// What differs between `since` and now. `mentioned` are paths that the call names: candidates
    /// for `origin`.
    fn effects<'a>(
        &'a self,
        since: &'a CheckpointId,
        mentioned: &'a [String],
    ) -> BoxFuture<'a, Result<Effects, WorkspaceError>>;

    /// The call that began at `by` has ended: what it left is what [`Self::effects`] has just seen. Of
    /// several that began there, the last counts.
    fn left<'a>(&'a self, _by: &'a CheckpointId) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// What the last call that began at `by` left, where that is known and it left anything.
    fn after<'a>(
        &'a self,
        _by: &'a CheckpointId,
    ) -> BoxFuture<'a, Result<Option<CheckpointId>, WorkspaceError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// What `path` may stand for, absolute: with links to directories on its way followed, and, where it
    /// is a link itself, what that leads to as well. Empty where that cannot be told, as where a directory
    /// on its way is not there.
    fn followed(&self, _path: &str) -> Vec<String> {
        Vec::new()
    }

    /// What `output`, the output and the error of the call after `since`, repeats of what was there
    /// before. Asked for after [`Self::effects`], with the same `mentioned`. `None`: what these say
    /// stands.
    fn output<'a>(
        &'a self,
        _since: &'a CheckpointId,
        _output: &'a str,
        _mentioned: &'a [String],
    ) -> BoxFuture<'a, Option<Observed<OutputEffect>>> {
        Box::pin(std::future::ready(None))
    }

    /// Freezes every process, cuts the network, and then takes down what tells later what happened
    /// since `since`. Nothing runs on until [`Self::kill`] or [`Self::rollback`]. Idempotent. What
    /// cannot be taken down is said in the evidence, and is no failure.
    fn preserve<'a>(
        &'a self,
        since: &'a CheckpointId,
    ) -> BoxFuture<'a, Result<Evidence, WorkspaceError>>;

    /// Ends every process that calls left running. Idempotent. Says what it ended.
    fn kill(&self) -> BoxFuture<'_, Result<String, WorkspaceError>>;

    /// Cuts the network for good. Idempotent. Says what it cut.
    fn isolate(&self) -> BoxFuture<'_, Result<String, WorkspaceError>>;

    /// Moves the files out of the agent's reach, into the evidence of `incident`. Idempotent: one
    /// that is gone was moved. Says what it moved.
    fn quarantine<'a>(
        &'a self,
        incident: &'a IncidentId,
        paths: &'a [String],
    ) -> BoxFuture<'a, Result<String, WorkspaceError>>;

    /// `path` as a tool means it, absolute and without `.` and `..`; by its text alone.
    fn absolute(&self, path: &str) -> String {
        crate::place::absolute("/workspace", "/home/agent", path)
    }

    /// The content of a file as a tool would read it now, for reading code that a call runs. Bounded.
    ///
    /// # Errors
    ///
    /// Why it cannot be told.
    fn source_file(&self, path: &str) -> Result<Vec<u8>, String> {
        Err(format!("{path} cannot be read here"))
    }

    /// Puts everything back as it was at `to`, with content and mode, and replaces the interpreter.
    /// Idempotent. Says what it restored.
    fn rollback<'a>(
        &'a self,
        to: &'a CheckpointId,
    ) -> BoxFuture<'a, Result<String, WorkspaceError>>;

    /// As [`Self::rollback`], of these paths alone, as the agent calls them: others work in the same place.
    fn rollback_of<'a>(
        &'a self,
        to: &'a CheckpointId,
        _paths: &'a [String],
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        self.rollback(to)
    }

    /// Starts the services of the sandbox again that do not run. Idempotent. Says which.
    fn restart(&self) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        Box::pin(std::future::ready(Ok("there are no services".to_owned())))
    }

    /// Hands what the session changed over to the user's files, where tools act on a layer above
    /// them. Never over what somebody else changed meanwhile: that is merged, or held back and named.
    /// Idempotent. What it changed; `None` where there is no layer, or nothing in it.
    fn publish(&self) -> BoxFuture<'_, Result<Option<Publication>, WorkspaceError>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// What tells later what happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// What was done and kept, for a person.
    pub summary: String,
    /// Names and contents. They may hold secrets.
    pub exhibits: Vec<(String, Vec<u8>)>,
}

/// What became of a session's changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publication {
    /// Paths that were changed, removed or made, as the agent calls them.
    pub changed: u64,
    /// Of them, those that somebody else had changed too, and where both changes were kept.
    pub merged: Vec<String>,
    /// Paths that were left as somebody else changed them, each with the reason and with where the
    /// agent's version is.
    pub held_back: Vec<String>,
}

/// How well a workspace contains. Ordered, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Tier {
    /// Checkpoints only; processes run with the user's rights.
    T1,
    /// Landlock and seccomp.
    T2,
    /// Namespaces, mounts of its own and seccomp.
    T3,
}

impl std::fmt::Display for Tier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::T1 => "T1",
            Self::T2 => "T2",
            Self::T3 => "T3",
        })
    }
}

/// The workspace could not do it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// No checkpoint of that name is held.
    #[error("checkpoint `{0}` is not held")]
    UnknownCheckpoint(CheckpointId),
    /// Some of it was done and some not.
    #[error("{0}")]
    Incomplete(String),
    /// It failed.
    #[error("workspace: {0}")]
    Failed(#[source] Cause),
}

/// Parses what a call carries as source code, and what a plan says in words. Pure.
pub trait CodeReader: Send + Sync {
    /// What the call does; without a language where it carries no source. What the source runs or
    /// builds upon is asked of `around`.
    fn read(&self, tool: &str, arguments: &Arguments, around: &dyn Surroundings) -> CodeFacts;

    /// What the words of a plan say that will be done.
    fn intents(&self, plan: &str) -> Vec<Intent>;
}

/// What a source meets when it runs: files, and what earlier steps left.
pub trait Surroundings: Send + Sync {
    /// The content of a file, by its path as the source writes it.
    ///
    /// # Errors
    ///
    /// Why it cannot be told.
    fn file(&self, path: &str) -> Result<Vec<u8>, String>;

    /// What earlier steps put there; nothing, as far as is known.
    fn held(&self, place: &Place) -> Option<Held>;

    /// Whether some of what earlier steps left is not known any more.
    fn forgets(&self) -> bool {
        false
    }
}

/// No earlier step, and no file that can be read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Alone;

impl Surroundings for Alone {
    fn file(&self, _path: &str) -> Result<Vec<u8>, String> {
        Err("files cannot be read here".to_owned())
    }

    fn held(&self, _place: &Place) -> Option<Held> {
        None
    }
}

/// Mends programs.
pub trait Repairer: Send + Sync {
    /// The call with those of its defects mended for which there is a certain way: one that changes
    /// nothing else of what the program does. `None` where there is none.
    fn repair(&self, call: &ToolCall, code: &CodeFacts) -> Option<Repaired>;
}

/// A call whose program is mended.
#[derive(Debug, Clone, PartialEq)]
pub struct Repaired {
    /// Its arguments.
    pub arguments: Arguments,
    /// What was mended, one a defect.
    pub said: Vec<String>,
}

/// Compiles rule text. Pure.
pub trait RuleReader: Send + Sync {
    /// The one rule in `text`.
    ///
    /// # Errors
    ///
    /// What is wrong with it, for a person.
    fn rule(&self, text: &str) -> Result<crate::rule::Rule, String>;
}

/// Reports the environment's state without changing it.
pub trait Inspector: Send + Sync {
    /// The fact `state`; [`Value::Unknown`] where it cannot be told.
    fn inspect(&self) -> BoxFuture<'_, Value>;
}

/// The durable record. One writer; readers do not wait for it.
pub trait Journal: Send + Sync {
    /// Appends records to one stream, all or none.
    ///
    /// # Errors
    ///
    /// [`JournalError::Conflict`] if the stream does not hold exactly `expected` records.
    fn append<'a>(
        &'a self,
        stream: &'a Stream,
        expected: u64,
        records: &'a [Record],
        durability: Durability,
    ) -> BoxFuture<'a, Result<(), JournalError>>;

    /// All records of one stream, oldest first. An unknown stream is empty.
    fn read<'a>(&'a self, stream: &'a Stream) -> BoxFuture<'a, Result<Vec<Record>, JournalError>>;

    /// All streams, oldest first.
    fn streams(&self) -> BoxFuture<'_, Result<Vec<Stream>, JournalError>>;

    /// Keeps a payload beside the chain, erasable. The same content has the same id here, and
    /// another one elsewhere.
    fn put_payload<'a>(
        &'a self,
        content: &'a [u8],
    ) -> BoxFuture<'a, Result<PayloadId, JournalError>>;

    /// A payload; `None` if it was erased.
    fn payload<'a>(
        &'a self,
        id: &'a PayloadId,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, JournalError>>;
}

/// What an append waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// It survives a crash of this process.
    Process,
    /// It survives the loss of power.
    Power,
}

/// A sequence of records with one subject.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    /// A session's.
    Session(SessionId),
    /// An incident's.
    Incident(IncidentId),
}

/// One journaled event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When.
    pub at: Timestamp,
    /// What.
    pub event: Event,
}

/// What a record holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "about", content = "event", rename_all = "snake_case")]
pub enum Event {
    /// Something about a session.
    Session(SessionEvent),
    /// Something about an incident.
    Incident(IncidentEvent),
}

/// The journal could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Someone else appended first.
    #[error("stream holds {actual} records, expected {expected}")]
    Conflict {
        /// What the writer assumed.
        expected: u64,
        /// What the journal holds.
        actual: u64,
    },
    /// It cannot be used; the message says what to do.
    #[error("{0}")]
    Unusable(String),
    /// Storage failed.
    #[error("journal: {0}")]
    Storage(#[source] Cause),
}

/// Guardrails and their history.
pub trait GuardrailStore: Send + Sync {
    /// The last version of every guardrail, oldest guardrail first.
    fn current(&self) -> BoxFuture<'_, Result<Vec<Guardrail>, JournalError>>;

    /// All versions of one guardrail, oldest first.
    fn history<'a>(
        &'a self,
        id: &'a GuardrailId,
    ) -> BoxFuture<'a, Result<Vec<Guardrail>, JournalError>>;

    /// Adds a version; the same version again is the same version.
    ///
    /// # Errors
    ///
    /// [`JournalError::Conflict`] if its number does not follow the last one's.
    fn put<'a>(&'a self, guardrail: &'a Guardrail) -> BoxFuture<'a, Result<(), JournalError>>;

    /// Last versions that cannot be read: [`Self::current`] has the last one before that can be, or
    /// nothing of that guardrail.
    fn damaged(&self) -> BoxFuture<'_, Result<Vec<DamagedGuardrail>, JournalError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// A version of a guardrail that is held and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedGuardrail {
    /// The guardrail.
    pub id: GuardrailId,
    /// The version.
    pub version: u32,
    /// Why it cannot be read.
    pub why: String,
}

/// A person who can be asked.
pub trait Operator: Send + Sync {
    /// Whether to let a held call pass; `None` if nobody can be asked.
    fn approve<'a>(&'a self, question: &'a str) -> BoxFuture<'a, Option<bool>>;
}

/// The time of day, for whoever may ask.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// Mints identifiers.
pub trait Ids: Send + Sync {
    /// A session's: short and typeable.
    fn session(&self) -> SessionId;
    /// An incident's: short and typeable.
    fn incident(&self) -> IncidentId;
    /// Of a question to a person: short and typeable.
    fn approval(&self) -> ApprovalId;
}

/// Names an action of an incident: the same action, after a crash, has the same name.
pub fn action_id(incident: &IncidentId, number: u32) -> ActionId {
    ActionId::from(format!("{incident}.{number}").as_str())
}
