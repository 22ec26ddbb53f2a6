//! Which reply follows which request.

use std::{collections::HashSet, fmt, sync::Arc, time::Duration};

use air_wire::Dialect;
use regex::Regex;

use super::{reply::Reply, seen::Seen};

pub(super) type Replies = Arc<dyn Fn(&Seen) -> Reply + Send + Sync>;

/// What a model says to what. The first rule that fits replies; then, where the request offers tools,
/// the next turn; then whatever is said otherwise, which is the text `OK`.
#[derive(Clone)]
pub struct Script {
    rules: Vec<Rule>,
    turns: Vec<Replies>,
    turns_need_tools: bool,
    otherwise: Replies,
    pub(super) latency: Duration,
    pub(super) key: Option<String>,
}

#[derive(Clone)]
struct Rule {
    when: When,
    once: bool,
    replies: Replies,
}

impl Default for Script {
    fn default() -> Self {
        Self::by(|_| Reply::text("OK"))
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rules, turns) = (self.rules.len(), self.turns.len());
        f.debug_struct("Script")
            .field("rules", &rules)
            .field("turns", &turns)
            .finish_non_exhaustive()
    }
}

impl Script {
    /// A script in which a function decides, from all that it sees.
    pub fn by(replies: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self {
            rules: Vec::new(),
            turns: Vec::new(),
            turns_need_tools: true,
            otherwise: Arc::new(replies),
            latency: Duration::ZERO,
            key: None,
        }
    }

    /// Replies so to every request that fits.
    #[must_use]
    pub fn rule(self, when: When, reply: Reply) -> Self {
        self.rule_by(when, move |_| reply.clone())
    }

    /// Replies so to every request that fits, decided by a function.
    #[must_use]
    pub fn rule_by(
        self,
        when: When,
        replies: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        self.with_rule(when, false, Arc::new(replies))
    }

    /// Replies so to the first request that fits.
    #[must_use]
    pub fn once(self, when: When, reply: Reply) -> Self {
        self.with_rule(when, true, Arc::new(move |_| reply.clone()))
    }

    pub(super) fn with_rule(mut self, when: When, once: bool, replies: Replies) -> Self {
        self.rules.push(Rule { when, once, replies });
        self
    }

    /// The reply to the next request that no rule fits, if it offers tools.
    #[must_use]
    pub fn turn(self, reply: Reply) -> Self {
        self.with_turn(Arc::new(move |_| reply.clone()))
    }

    pub(super) fn with_turn(mut self, replies: Replies) -> Self {
        self.turns.push(replies);
        self
    }

    /// Turns reply to requests without tools as well.
    #[must_use]
    pub fn turns_without_tools(mut self) -> Self {
        self.turns_need_tools = false;
        self
    }

    /// The reply where neither rule nor turn is left.
    #[must_use]
    pub fn otherwise(self, reply: Reply) -> Self {
        self.with_otherwise(Arc::new(move |_| reply.clone()))
    }

    pub(super) fn with_otherwise(mut self, replies: Replies) -> Self {
        self.otherwise = replies;
        self
    }

    /// Every reply takes so long more.
    #[must_use]
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// Requests without this key are refused with status 401.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    pub(super) fn choose(&self, progress: &mut Progress, seen: &Seen) -> Replies {
        for (at, rule) in self.rules.iter().enumerate() {
            if !(rule.once && progress.used.contains(&at)) && rule.when.fits(seen) {
                progress.used.insert(at);
                return Arc::clone(&rule.replies);
            }
        }
        if (!self.turns_need_tools || !seen.request.tools.is_empty())
            && let Some(turn) = self.turns.get(progress.turn)
        {
            progress.turn += 1;
            return Arc::clone(turn);
        }
        Arc::clone(&self.otherwise)
    }
}

/// How far a script has come.
#[derive(Debug, Default)]
pub(super) struct Progress {
    used: HashSet<usize>,
    turn: usize,
}

/// What a text must hold.
#[derive(Debug, Clone)]
pub enum Pattern {
    /// This text.
    Contains(String),
    /// Something that this matches.
    Matches(Regex),
}

impl Pattern {
    fn fits(&self, text: &str) -> bool {
        match self {
            Self::Contains(part) => text.contains(part),
            Self::Matches(regex) => regex.is_match(text),
        }
    }
}

impl From<&str> for Pattern {
    fn from(part: &str) -> Self {
        Self::Contains(part.to_owned())
    }
}

impl From<Regex> for Pattern {
    fn from(regex: Regex) -> Self {
        Self::Matches(regex)
    }
}

/// Which requests a rule replies to: those that fit all that is said here.
#[derive(Debug, Clone, Default)]
pub struct When {
    dialect: Option<Dialect>,
    model: Option<Pattern>,
    instructions: Option<Pattern>,
    last: Option<Pattern>,
    text: Option<Pattern>,
    body: Option<Pattern>,
    tool: Option<String>,
    schema: Option<String>,
}

impl When {
    /// Every request.
    pub fn any() -> Self {
        Self::default()
    }

    /// Requests of a dialect.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// The model's name.
    #[must_use]
    pub fn model(mut self, pattern: impl Into<Pattern>) -> Self {
        self.model = Some(pattern.into());
        self
    }

    /// The instructions.
    #[must_use]
    pub fn instructions(mut self, pattern: impl Into<Pattern>) -> Self {
        self.instructions = Some(pattern.into());
        self
    }

    /// The last turn.
    #[must_use]
    pub fn last(mut self, pattern: impl Into<Pattern>) -> Self {
        self.last = Some(pattern.into());
        self
    }

    /// Instructions and conversation.
    #[must_use]
    pub fn text(mut self, pattern: impl Into<Pattern>) -> Self {
        self.text = Some(pattern.into());
        self
    }

    /// The body, as JSON without spaces.
    #[must_use]
    pub fn body(mut self, pattern: impl Into<Pattern>) -> Self {
        self.body = Some(pattern.into());
        self
    }

    /// A tool is offered.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        self.tool = Some(name.into());
        self
    }

    /// A schema of this name is asked for.
    #[must_use]
    pub fn schema(mut self, name: impl Into<String>) -> Self {
        self.schema = Some(name.into());
        self
    }

    fn fits(&self, seen: &Seen) -> bool {
        let request = &seen.request;
        let pattern = |pattern: &Option<Pattern>, text: &dyn Fn() -> String| {
            pattern.as_ref().is_none_or(|pattern| pattern.fits(&text()))
        };
        self.dialect.is_none_or(|dialect| dialect == seen.dialect)
            && self.tool.as_ref().is_none_or(|tool| seen.offers(tool))
            && self.schema.as_ref().is_none_or(|schema| seen.schema() == Some(schema))
            && pattern(&self.model, &|| request.model.clone())
            && pattern(&self.instructions, &|| request.system.clone())
            && pattern(&self.last, &|| seen.last())
            && pattern(&self.text, &|| seen.text())
            && pattern(&self.body, &|| seen.body.to_string())
    }
}
