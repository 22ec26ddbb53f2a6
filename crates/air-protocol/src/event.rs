//! What a host asks.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One question of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Event {
    /// Of the protocol: 1.
    pub v: u32,
    /// Identifies the question; a repetition has the same one.
    pub id: String,
    /// When it arose, RFC 3339, by the host's clock. Never relied upon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ts: Option<String>,
    /// Where in its loop the host is.
    pub point: Point,
    /// Who asks.
    pub host: Host,
    /// In which session.
    pub session: SessionRef,
    /// The directory in which the call runs. Absolute.
    pub cwd: String,
    /// `input`: what was said to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Input>,
    /// `pre_tool_call`, `post_tool_call`, `approval`: the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Tool>,
    /// `post_tool_call`, `background_end`: what came back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
    /// `post_model_call`: what the model wants to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// `idle`: how the agent wants to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
    /// The host's own payload, as it came; may be absent where it is large.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub native: Value,
}

/// A point of an agent's loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// The host has started or resumed a session: a sign of life.
    SessionStart,
    /// Something is said to the agent: a task, a further word, a notification.
    Input,
    /// A model has answered, and nothing of it has run.
    PostModelCall,
    /// A tool is about to run.
    PreToolCall,
    /// A tool came back, failed, or went on in the background.
    PostToolCall,
    /// What went on in the background has ended.
    BackgroundEnd,
    /// The host wants to know whether a call is permitted, where it would ask a person.
    Approval,
    /// A sub-agent begins (its id is in the session).
    AgentStart,
    /// The agent, or a sub-agent, wants to end its turn.
    Idle,
    /// The host has ended the session.
    SessionEnd,
    /// A sign of life or a notice that needs no decision.
    Notice,
}

/// Who asks, and what it can do with an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Host {
    /// Such as `claude-code`.
    pub name: String,
    /// Of the host, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How the question reached AIR: `hook-command`, `hook-http`, `plugin`, `sdk`, `gateway`.
    pub adapter: String,
    /// What it can do with an answer at this point.
    #[serde(default)]
    pub caps: Vec<Capability>,
    /// How often it lets itself be kept from ending a turn, where it has such a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continue_cap: Option<u32>,
}

/// A power of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// One call is refused, and the loop goes on.
    Deny,
    /// Arguments are replaced before a call runs.
    RewriteArgs,
    /// The result that the model sees is replaced.
    ReplaceResult,
    /// A text is put beside the result.
    Inject,
    /// The turn ends after a call.
    StopAtPost,
    /// The turn is kept from ending.
    ForceContinue,
    /// The turn ends when the agent wants to end it, and nothing keeps it going.
    StopAtIdle,
    /// AIR's own call runs through the agent's tools.
    IssueToolCall,
    /// A person is asked.
    Ask,
    /// What is said to the agent can be kept from it.
    DenyInput,
    /// The agent is interrupted where it would ask for permission.
    Interrupt,
    /// One that this version does not know.
    #[serde(other)]
    Unknown,
}

/// A session of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionRef {
    /// The host's id. The same after it was resumed.
    pub id: String,
    /// The prompt or turn within the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The sub-agent, where one asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The session to which this one belongs, where sub-agents have sessions of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// What was said to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Input {
    /// Its text.
    pub text: String,
    /// By whom.
    pub from: InputFrom,
}

/// Who speaks to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InputFrom {
    /// A person, or a program in the place of one.
    User,
    /// The host itself, such as a notice that a background command has ended.
    Host,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tool {
    /// The canonical name where there is one (see [`crate::tool`]), else the native name.
    pub name: String,
    /// The host's name for it.
    pub native: String,
    /// The host's id of the call. Absent where the host has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The arguments; canonical where the name is.
    pub args: Map<String, Value>,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolResult {
    /// How it ended.
    pub status: Status,
    /// What the agent sees of it.
    #[serde(default)]
    pub text: String,
    /// Bytes of the text that the adapter has left out, because it is too long.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
    /// The error, where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Of a command, where the host tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How long it took, where the host tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Of what goes on in the background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_id: Option<String>,
    /// The content of the file before, where the host tells and the call changed one: an undo record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It came back.
    Ok,
    /// It came back with an error.
    Error,
    /// It goes on in the background.
    Background,
    /// The host, or a person, refused it.
    Denied,
    /// It was cut off.
    Interrupted,
    /// The host does not tell.
    Unknown,
}

/// What a model wants to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Plan {
    /// Its words.
    pub text: String,
    /// Its calls, in order.
    #[serde(default)]
    pub calls: Vec<PlannedCall>,
}

/// A call within a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlannedCall {
    /// The host's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// As in [`Tool`].
    pub name: String,
    /// As in [`Tool`].
    pub args: Map<String, Value>,
}

/// How an agent wants to end its turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Idle {
    /// Whether it was kept from ending before in this turn.
    #[serde(default)]
    pub continued: bool,
    /// Its last words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What still runs in the background, as far as the host tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<String>,
}
