//! The words that open a clause.

/// The first word of a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Keyword {
    /// `rule @name`
    Rule,
    /// `trigger TOOL, …`
    Trigger,
    /// `severity LEVEL`
    Severity,
    /// `tags TAG, …`
    Tags,
    /// `when EXPR`
    When,
    /// `evidence EXPR`
    Evidence,
    /// `decide EXPR`
    Decide,
    /// `verify EXPR`
    Verify,
    /// `from incident ID`
    From,
    /// `shadow`
    Shadow,
    /// `check`, then text
    Check,
    /// `remediate`, then text
    Remediate,
    /// `instead`, then text
    Instead,
    /// `respond`, then one action a line
    Respond,
    /// `block`
    Block,
    /// `ask`
    Ask,
    /// `warn`
    Warn,
    /// `end`
    End,
}

/// What a clause holds beside its keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An argument on the same line.
    Argument,
    /// An expression, which may go on over deeper lines.
    Condition,
    /// Deeper lines of text.
    Text,
    /// Deeper lines of actions.
    Actions,
    /// Nothing.
    Alone,
}

impl Keyword {
    /// All keywords, in the order in which a rule usually has them.
    pub const ALL: [Self; 18] = [
        Self::Rule,
        Self::Trigger,
        Self::Severity,
        Self::Shadow,
        Self::Tags,
        Self::When,
        Self::Evidence,
        Self::Decide,
        Self::Check,
        Self::Verify,
        Self::Respond,
        Self::Remediate,
        Self::Block,
        Self::Ask,
        Self::Warn,
        Self::Instead,
        Self::From,
        Self::End,
    ];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Trigger => "trigger",
            Self::Severity => "severity",
            Self::Shadow => "shadow",
            Self::Tags => "tags",
            Self::When => "when",
            Self::Evidence => "evidence",
            Self::Decide => "decide",
            Self::Verify => "verify",
            Self::From => "from",
            Self::Check => "check",
            Self::Remediate => "remediate",
            Self::Instead => "instead",
            Self::Respond => "respond",
            Self::Block => "block",
            Self::Ask => "ask",
            Self::Warn => "warn",
            Self::End => "end",
        }
    }

    pub(crate) fn shape(self) -> Shape {
        match self {
            Self::Rule | Self::Trigger | Self::Severity | Self::Tags | Self::From => {
                Shape::Argument
            }
            Self::When | Self::Evidence | Self::Decide | Self::Verify => Shape::Condition,
            Self::Check | Self::Remediate | Self::Instead => Shape::Text,
            Self::Respond => Shape::Actions,
            Self::Block | Self::Ask | Self::Warn | Self::Shadow | Self::End => Shape::Alone,
        }
    }

    pub(crate) fn exact(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|keyword| keyword.as_str() == word)
    }

    /// The keyword that `word` was probably meant to be.
    pub(crate) fn guess(word: &str) -> Option<Self> {
        let word = normal(word);
        nearest(&word, Self::ALL, |keyword| keyword.as_str())
    }

    /// The keyword that `word` was meant to be, where it can be no other.
    pub(crate) fn only_guess(word: &str) -> Option<Self> {
        let word = normal(word);
        only_near(&word, Self::ALL, |keyword| keyword.as_str())
    }

    /// Whether `word` is this keyword but for case and punctuation.
    pub(crate) fn is_meant_by(self, word: &str) -> bool {
        normal(word) == self.as_str()
    }
}

fn normal(word: &str) -> String {
    // No keyword is longer, and a megabyte of one word is not worth comparing.
    let word: String = word.chars().take(24).collect();
    word.trim_matches(|c: char| c.is_ascii_punctuation()).to_lowercase()
}

/// The candidate nearest to `word`, if one is near: about one slip in three letters.
pub(crate) fn nearest<'n, T: Copy>(
    word: &str,
    candidates: impl IntoIterator<Item = T>,
    name: impl Fn(T) -> &'n str,
) -> Option<T> {
    near(word, candidates, name).into_iter().min_by_key(|(distance, _)| *distance).map(|it| it.1)
}

/// The candidate that is `word` itself, or else the only one that is near.
pub(crate) fn only_near<'n, T: Copy>(
    word: &str,
    candidates: impl IntoIterator<Item = T>,
    name: impl Fn(T) -> &'n str,
) -> Option<T> {
    let near = near(word, candidates, name);
    let exact = near.iter().find(|(distance, _)| *distance == 0);
    match (exact, near.as_slice()) {
        (Some((_, found)), _) | (None, [(_, found)]) => Some(*found),
        _ => None,
    }
}

/// The candidates that are near to `word`, each with its distance.
fn near<'n, T: Copy>(
    word: &str,
    candidates: impl IntoIterator<Item = T>,
    name: impl Fn(T) -> &'n str,
) -> Vec<(usize, T)> {
    let length = word.chars().take(64).count();
    if length > 24 {
        return Vec::new();
    }
    let near = candidates.into_iter().filter_map(|candidate| {
        let name = name(candidate);
        let most = (length.min(name.len()) / 3).max(1);
        // The difference in length is the least distance, and costs nothing to know.
        let near = name.len().abs_diff(length) <= most;
        let distance = near.then(|| strsim::osa_distance(word, name))?;
        (distance <= most).then_some((distance, candidate))
    });
    near.collect()
}
