//! Texts without which a condition cannot hold: what rules are indexed by.

use std::{fmt, sync::Arc};

use crate::{
    fact::{Facts, Root},
    value::Value,
};

/// Clauses past this are left out of a disjunction; fewer are weaker, never wrong.
const MAX_CLAUSES: usize = 8;
/// A clause with more alternatives than this excludes too little to be kept.
const MAX_NEEDS: usize = 256;

/// A place among the facts: a root, and the way down from it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FactPath {
    /// Where it begins.
    pub root: Root,
    /// The way down from there.
    pub steps: Vec<Step>,
}

/// One step down from a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    /// Into the field of that name. One that is absent is not known.
    Field(Arc<str>),
    /// The same, and where the field is absent there is nothing.
    Present(Arc<str>),
    /// To each item of a list, or to each name of a map.
    Items,
}

/// How much of what can be at a place was seen as text. Ordered from all to least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coverage {
    /// Nothing is there but the texts that were shown.
    Texts,
    /// Something that is no text is there as well.
    OtherKinds,
    /// Something there is unknown, or may lack.
    Doubtful,
}

impl FactPath {
    /// A root.
    pub fn new(root: Root) -> Self {
        Self { root, steps: Vec::new() }
    }

    /// One step further.
    #[must_use]
    pub fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// The first field below the root.
    pub fn field(&self) -> Option<&str> {
        match self.steps.first() {
            Some(Step::Field(name) | Step::Present(name)) => Some(name),
            Some(Step::Items) | None => None,
        }
    }

    /// Whether this place is `other` or below it.
    pub fn is_within(&self, other: &Self) -> bool {
        let same = |(left, right): (&Step, &Step)| match (left, right) {
            (
                Step::Field(left) | Step::Present(left),
                Step::Field(right) | Step::Present(right),
            ) => left == right,
            (left, right) => left == right,
        };
        self.root == other.root
            && self.steps.len() >= other.steps.len()
            && self.steps.iter().zip(&other.steps).all(same)
    }

    /// Shows each text there to `see`.
    pub fn texts(&self, facts: &Facts, see: &mut dyn FnMut(&str)) -> Coverage {
        match facts.get(self.root) {
            Some(value) => texts(value, &self.steps, see),
            None => Coverage::Doubtful,
        }
    }
}

/// As in a condition, with `[]` for each item.
impl fmt::Display for FactPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.root)?;
        self.steps.iter().try_for_each(|step| match step {
            Step::Field(name) | Step::Present(name) => write!(f, ".{name}"),
            Step::Items => f.write_str("[]"),
        })
    }
}

fn texts(value: &Value, steps: &[Step], see: &mut dyn FnMut(&str)) -> Coverage {
    let Some((step, rest)) = steps.split_first() else {
        return match value {
            Value::String(text) => {
                see(text);
                Coverage::Texts
            }
            Value::Unknown(_) => Coverage::Doubtful,
            _ => Coverage::OtherKinds,
        };
    };
    match (step, value) {
        (Step::Field(name) | Step::Present(name), Value::Map(fields)) => match fields.get(name) {
            Some(value) => texts(value, rest, see),
            None if matches!(step, Step::Present(_)) => Coverage::Texts,
            None => Coverage::Doubtful,
        },
        (Step::Items, Value::List(list)) => {
            let whole =
                if list.incomplete.is_some() { Coverage::Doubtful } else { Coverage::Texts };
            list.items.iter().fold(whole, |worst, item| worst.max(texts(item, rest, see)))
        }
        (Step::Items, Value::Map(fields)) if rest.is_empty() => {
            fields.keys().for_each(|name| see(name));
            Coverage::Texts
        }
        _ => Coverage::Doubtful,
    }
}

/// A text that must be at a place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Need {
    /// Where.
    pub place: FactPath,
    /// What.
    pub text: Needle,
}

/// What a text must be.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Needle {
    /// Exactly this.
    Equals(Arc<str>),
    /// This is somewhere within, in upper or lower case of ASCII. Never empty.
    Contains(Arc<str>),
}

impl Need {
    /// Whether the text is not there, for certain.
    pub fn is_unmet(&self, facts: &Facts) -> bool {
        let mut found = false;
        match &self.text {
            Needle::Equals(wanted) => {
                let mut see = |text: &str| found |= text == &**wanted;
                self.place.texts(facts, &mut see) <= Coverage::OtherKinds && !found
            }
            Needle::Contains(wanted) => {
                let wanted = wanted.to_ascii_lowercase();
                let mut see = |text: &str| found |= text.to_ascii_lowercase().contains(&wanted);
                self.place.texts(facts, &mut see) == Coverage::Texts && !found
            }
        }
    }
}

/// What must be there for a condition to hold, or for its answer to be unknown.
///
/// All clauses must be met; a clause is met by any of its needs. Where a clause is unmet for
/// certain, the condition is false, whatever else is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requirement {
    clauses: Vec<Vec<Need>>,
}

impl Requirement {
    /// Nothing is required.
    pub const NONE: Self = Self { clauses: Vec::new() };

    /// One of `needs`. Of none at all: it never holds.
    pub fn any_of(needs: impl IntoIterator<Item = Need>) -> Self {
        Self { clauses: vec![needs.into_iter().collect()] }
    }

    /// Its clauses: all must be met, each by any of its needs.
    pub fn clauses(&self) -> &[Vec<Need>] {
        &self.clauses
    }

    /// What is required where both are.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.clauses.extend(other.clauses);
        self
    }

    /// What is required where either is.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        let pairs = self.clauses.iter().flat_map(|left| {
            other.clauses.iter().map(move |right| left.iter().chain(right).cloned().collect())
        });
        let small = pairs.filter(|clause: &Vec<Need>| clause.len() <= MAX_NEEDS);
        Self { clauses: small.take(MAX_CLAUSES).collect() }
    }

    /// What is required of some item of the list at `range`, where this is required of an item.
    #[must_use]
    pub fn of_some_item(mut self, range: &FactPath) -> Self {
        let items = range.clone().then(Step::Items);
        // Only a look at the list itself tells that it is whole.
        self.clauses.retain(|clause| clause.iter().any(|need| need.place.is_within(&items)));
        self
    }

    /// The same where the condition is false if the field at `place` is absent.
    #[must_use]
    pub fn with_present(mut self, place: &FactPath) -> Self {
        let Some(last) = place.steps.len().checked_sub(1) else { return self };
        for need in self.clauses.iter_mut().flatten().filter(|need| need.place.is_within(place)) {
            if let Some(step) = need.place.steps.get_mut(last)
                && let Step::Field(name) = step
            {
                *step = Step::Present(Arc::clone(name));
            }
        }
        self
    }

    /// Whether a clause is unmet for certain: then the condition is false.
    pub fn is_unmet(&self, facts: &Facts) -> bool {
        self.clauses.iter().any(|clause| clause.iter().all(|need| need.is_unmet(facts)))
    }
}
