//! What follows from the form of a condition alone: that it cannot be true, that one implies another.
//!
//! Both answers are *yes* or *not shown*. Work is bounded by [`Fuel`]; where it ends nothing is shown.

use std::{cmp::Ordering, collections::BTreeMap};

use globset::GlobBuilder;
use regex::Regex;

use super::formula::{Formula, Literal, Relation, Test};

/// Steps that are left.
#[derive(Debug)]
pub(super) struct Fuel(u32);

impl Fuel {
    pub(super) fn new(steps: u32) -> Self {
        Self(steps)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0 == 0
    }

    fn burn(&mut self) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 > 0
    }
}

/// Whether `formula` can never be true.
pub(super) fn impossible(formula: &Formula, fuel: &mut Fuel) -> bool {
    refuted(formula, &Known::default(), fuel)
}

/// Tests that are taken to hold, by their terms.
#[derive(Debug, Clone, Default)]
struct Known<'f>(BTreeMap<&'f str, Vec<&'f Test>>);

impl<'f> Known<'f> {
    /// Adds a test; false if it cannot hold together with the others.
    fn add(&mut self, test: &'f Test, fuel: &mut Fuel) -> bool {
        let tests = self.0.entry(&test.term).or_default();
        tests.push(test);
        !conflict(tests, fuel)
    }
}

fn refuted<'f>(formula: &'f Formula, known: &Known<'f>, fuel: &mut Fuel) -> bool {
    if !fuel.burn() {
        return false;
    }
    match formula {
        Formula::Const(truth) => !truth,
        Formula::Test(test) => !known.clone().add(test, fuel),
        Formula::Or(parts) => parts.iter().all(|part| refuted(part, known, fuel)),
        Formula::Loop { every, body, .. } => !every && refuted(body, known, fuel),
        Formula::And(parts) => {
            let mut known = known.clone();
            for part in parts {
                if let Formula::Test(test) = part
                    && !known.add(test, fuel)
                {
                    return true;
                }
            }
            let others = || parts.iter().filter(|part| !matches!(part, Formula::Test(_)));
            others().any(|part| refuted(part, &known, fuel)) || opposed(parts, fuel)
        }
    }
}

/// Whether an item is asked for that a loop over the same list excludes.
fn opposed(parts: &[Formula], fuel: &mut Fuel) -> bool {
    parts.iter().any(|part| {
        let Formula::Loop { every: false, range, body } = part else { return false };
        parts.iter().any(|other| match other {
            Formula::Loop { every: true, range: same, body: all } if same == range => {
                fuel.burn() && implies(body, &all.negated(), fuel)
            }
            _ => false,
        })
    })
}

/// Whether tests on one term, of which the last is new, exclude each other.
fn conflict(tests: &[&Test], fuel: &mut Fuel) -> bool {
    let Some((new, old)) = tests.split_last() else { return false };
    if wrong_case(new) {
        return true;
    }
    let excluded = |other: &&Test| {
        fuel.burn()
            && (other.relation == new.relation && other.holds != new.holds || disjoint(other, new))
    };
    if old.iter().any(excluded) {
        return true;
    }
    // Where only a few values are left, each is tried.
    let values = tests.iter().find_map(|test| match &test.relation {
        Relation::Is(values) if test.holds => Some(values),
        _ => None,
    });
    let Some(values) = values else { return false };
    let fits = |value: &Literal, test: &Test| answer(&test.relation, value) != Some(!test.holds);
    values.iter().all(|value| tests.iter().any(|test| fuel.burn() && !fits(value, test)))
}

/// Whether a text that was brought to one case is compared with the other.
fn wrong_case(test: &Test) -> bool {
    let wrong = |text: &str| {
        test.term.ends_with(".lowerAscii()") && text.contains(|c: char| c.is_ascii_uppercase())
            || test.term.ends_with(".upperAscii()")
                && text.contains(|c: char| c.is_ascii_lowercase())
    };
    test.holds
        && match &test.relation {
            Relation::Contains(text) | Relation::StartsWith(text) | Relation::EndsWith(text) => {
                wrong(text)
            }
            Relation::Is(values) => values.iter().all(|value| value.text().is_some_and(wrong)),
            _ => false,
        }
}

/// Whether two tests on one term cannot hold together, by beginnings, ends and order.
fn disjoint(one: &Test, other: &Test) -> bool {
    use Relation::{EndsWith, StartsWith};
    if one.holds && other.holds {
        match (&one.relation, &other.relation) {
            (StartsWith(a), StartsWith(b)) => {
                return !a.starts_with(&**b) && !b.starts_with(&**a);
            }
            (EndsWith(a), EndsWith(b)) => return !a.ends_with(&**b) && !b.ends_with(&**a),
            _ => {}
        }
    }
    // A bound below and one above, each with whether the value itself is excluded.
    let below = |test: &Test| match (&test.relation, test.holds) {
        (Relation::Less(value), false) => Some((*value, false)),
        (Relation::LessEqual(value), false) => Some((*value, true)),
        _ => None,
    };
    let above = |test: &Test| match (&test.relation, test.holds) {
        (Relation::Less(value), true) => Some((*value, true)),
        (Relation::LessEqual(value), true) => Some((*value, false)),
        _ => None,
    };
    let empty = |low: Option<(i64, bool)>, high: Option<(i64, bool)>| match (low, high) {
        (Some((low, open)), Some((high, closed))) => match low.cmp(&high) {
            Ordering::Greater => true,
            Ordering::Equal => open || closed,
            Ordering::Less => false,
        },
        _ => false,
    };
    empty(below(one), above(other)) || empty(below(other), above(one))
}

/// What `relation` answers about a value; none where it cannot be told.
fn answer(relation: &Relation, value: &Literal) -> Option<bool> {
    let text = value.text();
    Some(match relation {
        Relation::Is(values) if values.contains(value) => true,
        // An int and a number with a fraction may be equal all the same.
        Relation::Is(values) => {
            let told = |other: &Literal| {
                let both = |kind: fn(&Literal) -> bool| kind(value) && kind(other);
                both(|it| it.text().is_some()) || both(|it| int(it).is_some())
            };
            return values.iter().all(told).then_some(false);
        }
        Relation::Contains(part) => text?.contains(&**part),
        Relation::StartsWith(part) => text?.starts_with(&**part),
        Relation::EndsWith(part) => text?.ends_with(&**part),
        Relation::Matches(pattern) => Regex::new(pattern).ok()?.is_match(text?),
        Relation::Glob(pattern) => {
            let text = text?;
            let mut glob = GlobBuilder::new(pattern);
            let glob = glob.literal_separator(true).backslash_escape(true).build().ok()?;
            glob.compile_matcher().is_match(text)
        }
        Relation::Less(bound) => int(value)? < *bound,
        Relation::LessEqual(bound) => int(value)? <= *bound,
        Relation::Holds | Relation::Has(_) | Relation::Under(_) => return None,
    })
}

fn int(value: &Literal) -> Option<i64> {
    match value {
        Literal::Int(value) => Some(*value),
        _ => None,
    }
}

/// Whether `one` can be true only where `other` is.
pub(super) fn implies(one: &Formula, other: &Formula, fuel: &mut Fuel) -> bool {
    if !fuel.burn() {
        return false;
    }
    if one == other {
        return true;
    }
    match (one, other) {
        (Formula::Const(false), _) | (_, Formula::Const(true)) => true,
        (_, Formula::And(parts)) => parts.iter().all(|part| implies(one, part, fuel)),
        (Formula::Or(parts), _) => parts.iter().all(|part| implies(part, other, fuel)),
        (Formula::And(parts), Formula::Or(others)) => {
            others.iter().any(|it| implies(one, it, fuel))
                || parts.iter().any(|part| implies(part, other, fuel))
        }
        (_, Formula::Or(others)) => others.iter().any(|it| implies(one, it, fuel)),
        (Formula::And(parts), _) => parts.iter().any(|part| implies(part, other, fuel)),
        (Formula::Test(one), Formula::Test(other)) => test_implies(one, other),
        (
            Formula::Loop { every, range, body },
            Formula::Loop { every: same, range: list, body: wider },
        ) => every == same && range == list && implies(body, wider, fuel),
        _ => false,
    }
}

fn test_implies(one: &Test, other: &Test) -> bool {
    if one.term != other.term {
        return false;
    }
    match (&one.relation, &other.relation) {
        (Relation::Is(values), relation) if one.holds => {
            values.iter().all(|value| answer(relation, value) == Some(other.holds))
        }
        (Relation::StartsWith(a), Relation::StartsWith(b)) if one.holds && other.holds => {
            a.starts_with(&**b)
        }
        (Relation::EndsWith(a), Relation::EndsWith(b)) if one.holds && other.holds => {
            a.ends_with(&**b)
        }
        (
            Relation::Contains(a) | Relation::StartsWith(a) | Relation::EndsWith(a),
            Relation::Contains(b),
        ) if one.holds && other.holds => a.contains(&**b),
        // Excluded together is the same as one implying the opposite of the other.
        _ => disjoint(one, &Test { holds: !other.holds, ..other.clone() }),
    }
}
