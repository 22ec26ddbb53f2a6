//! What AIR answers.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Answer {
    /// Of the protocol: 1.
    pub v: u32,
    /// Of the question.
    pub id: String,
    /// What the host shall do.
    pub decision: Decision,
    /// For the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_message: Option<String>,
    /// What takes the place of something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transform: Option<Transform>,
    /// What is to become of the agent.
    #[serde(default)]
    pub directive: Directive,
    /// The rules that led to it, with `@`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// How long AIR took, in microseconds.
    #[serde(default)]
    pub latency_us: u64,
}

/// What a host shall do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Go on. `input`, `pre_tool_call`: as it is; `idle`: the turn may end.
    #[default]
    Allow,
    /// `input`: the agent does not hear it. `pre_tool_call`, `approval`: the call does not run.
    /// `post_tool_call`: the agent sees the reason in the place of the result, or beside it.
    /// `idle`: the turn does not end; the reason is said to the agent.
    Deny,
    /// `pre_tool_call`: a person decides. Where the host has nobody to ask: deny.
    Ask,
    /// Go on with what [`Answer::transform`] holds.
    Transform,
}

/// What takes the place of something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Transform {
    /// Of what.
    pub target: Target,
    /// Canonical arguments, or the text of a result.
    pub value: Value,
}

/// What is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The arguments of the call.
    Args,
    /// The result of the call.
    Result,
}

/// What is to become of the agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Directive {
    /// Which of them.
    pub kind: DirectiveKind,
    /// The incident.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
    /// Tries that are left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tries_left: Option<u32>,
    /// Calls for the host to run through the agent's tools; only where it has
    /// [`IssueToolCall`](crate::Capability::IssueToolCall).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<TypedCall>,
}

/// What an agent has to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DirectiveKind {
    /// Its own task.
    #[default]
    None,
    /// Put right what [`Answer::reason`] says.
    Remediate,
    /// Nothing more: its task has ended.
    Terminate,
}

/// A call that AIR wants made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TypedCall {
    /// Canonical.
    pub name: String,
    /// Canonical.
    pub args: Map<String, Value>,
}

impl Answer {
    /// Leave to go on.
    pub fn allow(id: impl Into<String>) -> Self {
        Self {
            v: crate::VERSION,
            id: id.into(),
            decision: Decision::Allow,
            reason: None,
            user_message: None,
            transform: None,
            directive: Directive::default(),
            rules: Vec::new(),
            latency_us: 0,
        }
    }

    /// A refusal, with the reason for the agent.
    pub fn deny(id: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { decision: Decision::Deny, reason: Some(reason.into()), ..Self::allow(id) }
    }
}
