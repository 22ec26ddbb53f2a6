//! Rules as values. Their text is trusted: it comes from a person, or was validated when learned.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    condition::{CallTemplate, Condition},
    fact::Roots,
    id::{IncidentId, RuleName},
};

/// One rule, ready to be evaluated.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Unique in its rule set; without the leading `@`.
    pub name: RuleName,
    /// The tools that activate it.
    pub trigger: Trigger,
    /// Orders findings, and selects the fail policy.
    pub severity: Severity,
    /// `shadow`: it is evaluated and recorded, and does not act.
    pub shadow: bool,
    /// Free labels.
    pub tags: Vec<Arc<str>>,
    /// How it is decided without a judge.
    pub decision: Decision,
    /// What a judge or a person reads: the clause `check`, its lines joined by `\n`, unindented.
    pub check: Arc<str>,
    /// `instead`: a way forward. A guardrail tells it with the refusal; an AIR rule hands it to the
    /// guardrails that are learned from its incidents.
    pub instead: Option<Arc<str>>,
    /// What kind of rule it is, and what it does when it holds.
    pub kind: RuleKind,
    /// The rule as text, from `rule` to `end`: what is shown, stored and digested.
    pub source: Arc<str>,
    /// Plans and calls that it was learned from, to tell what it is about. Untrusted.
    pub examples: Vec<Arc<str>>,
}

/// How a rule is decided without a judge.
#[derive(Debug, Clone)]
pub enum Decision {
    /// `decide`: necessary and sufficient.
    Decide(Arc<dyn Condition>),
    /// `when` (necessary) and `evidence` (sufficient), either of which may be absent.
    Bounds {
        /// Definitely false: not checked.
        when: Option<Arc<dyn Condition>>,
        /// Definitely true: it holds.
        evidence: Option<Arc<dyn Condition>>,
    },
}

impl Decision {
    /// The facts that deciding may read.
    pub fn reads(&self) -> Roots {
        match self {
            Self::Decide(condition) => condition.reads(),
            Self::Bounds { when, evidence } => [when, evidence]
                .into_iter()
                .flatten()
                .fold(Roots::NONE, |roots, condition| roots.union(condition.reads())),
        }
    }

    /// The condition whose truth makes the rule hold, if there is one.
    pub fn sufficient(&self) -> Option<&Arc<dyn Condition>> {
        match self {
            Self::Decide(condition) => Some(condition),
            Self::Bounds { evidence, .. } => evidence.as_ref(),
        }
    }
}

/// AIR rule or guardrail.
#[derive(Debug, Clone)]
pub enum RuleKind {
    /// Judged after a step; opens an incident.
    Incident {
        /// `verify`: the state is restored, on fresh facts.
        verify: Option<Arc<dyn Condition>>,
        /// `respond`: what AIR does by itself, in order.
        respond: Vec<ResponseAction>,
        /// `remediate`: what the agent is told to do, lines joined by `\n`, unindented.
        remediate: Arc<str>,
    },
    /// Judged before a step.
    Guardrail {
        /// What a hit does.
        hit: Hit,
        /// `from incident ID`: what it was learned from.
        from: Option<IncidentId>,
    },
}

/// What a guardrail does when it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hit {
    /// The call passes, and the agent is told.
    Warn,
    /// The call is held for a person.
    Ask,
    /// The call is refused.
    Block,
}

/// One `respond` line.
#[derive(Debug, Clone)]
pub enum ResponseAction {
    /// End every process that the step left running. Contains.
    Kill,
    /// No network for the session from now on. Contains.
    Isolate,
    /// Move what the step created out of the agent's reach. Contains.
    Quarantine,
    /// Put the workspace back as it was before the step. Recovers.
    Rollback,
    /// Start the services of the sandbox again that do not run. Recovers.
    Restart,
    /// Mend the defect of the program that the step ran, where there is a certain way, and prove it by
    /// running the mended one. Recovers.
    Repair,
    /// One call through the agent's own toolbox, or several with `for`.
    Call {
        /// Canonical name of the tool.
        tool: Arc<str>,
        /// Its arguments.
        template: Arc<dyn CallTemplate>,
        /// `contain call`: contains instead of recovers.
        contains: bool,
    },
}

impl ResponseAction {
    /// Whether it contains; otherwise it recovers.
    pub fn contains(&self) -> bool {
        match self {
            Self::Kill | Self::Isolate | Self::Quarantine => true,
            Self::Rollback | Self::Restart | Self::Repair => false,
            Self::Call { contains, .. } => *contains,
        }
    }

    /// Its keyword.
    pub fn keyword(&self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Isolate => "isolate",
            Self::Quarantine => "quarantine",
            Self::Rollback => "rollback",
            Self::Restart => "restart",
            Self::Repair => "repair",
            Self::Call { .. } => "call",
        }
    }
}

/// How bad. Ordered.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth a note.
    Low,
    /// The default.
    #[default]
    Medium,
    /// Harm that lasts.
    High,
    /// Undetermined is treated as a hit.
    Critical,
}

impl Severity {
    /// Its keyword.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// The tools that activate a rule: names, in which `*` stands for any run of characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger(Vec<Arc<str>>);

impl Trigger {
    /// A trigger of these patterns.
    pub fn new<S: Into<Arc<str>>>(patterns: impl IntoIterator<Item = S>) -> Self {
        Self(patterns.into_iter().map(Into::into).collect())
    }

    /// Its patterns, as written.
    pub fn patterns(&self) -> &[Arc<str>] {
        &self.0
    }

    /// Whether a call to `tool` activates it.
    pub fn matches(&self, tool: &str) -> bool {
        self.0.iter().any(|pattern| glob(pattern, tool))
    }
}

/// Whether `text` matches `pattern`, in which `*` stands for any run of characters and everything
/// else for itself. Linear in `text` for each `*`.
pub fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    let mut rest = rest;
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else {
            return false;
        };
        rest = after;
    }
    rest.ends_with(last)
}
