//! Equality and membership, three-valued.

use air_core::value::{List, Value};

use super::{
    eval::{EXHAUSTED, Evaluator, mismatch, unknown},
    ops,
};

/// Values nest no deeper than this when they are compared.
const MAX_VALUE_DEPTH: usize = 128;

impl Evaluator<'_> {
    /// A bool or an unknown.
    pub(super) fn equal(&mut self, left: &Value, right: &Value, depth: usize) -> Value {
        if !self.spend(1) {
            return unknown(EXHAUSTED);
        }
        if depth > MAX_VALUE_DEPTH {
            return unknown("the values nest too deep to compare");
        }
        match (left, right) {
            (why @ Value::Unknown(_), _) | (_, why @ Value::Unknown(_)) => why.clone(),
            (Value::Null, Value::Null) => Value::Bool(true),
            (Value::List(left), Value::List(right)) => self.equal_lists(left, right, depth),
            (Value::Map(left), Value::Map(right)) => {
                if left.len() != right.len() || left.keys().ne(right.keys()) {
                    return Value::Bool(false);
                }
                let pairs = left.values().zip(right.values());
                self.all(pairs, depth)
            }
            (left, right) => match ops::order(left, right) {
                Ok(order) => Value::Bool(order.is_some_and(std::cmp::Ordering::is_eq)),
                Err(ops::Incomparable) => Value::Bool(false),
            },
        }
    }

    fn equal_lists(&mut self, left: &List, right: &List, depth: usize) -> Value {
        let (short, long) = match (&left.incomplete, &right.incomplete) {
            (None, None) if left.items.len() != right.items.len() => return Value::Bool(false),
            (None, None) => return self.all(left.items.iter().zip(&*right.items), depth),
            (Some(why), None) => ((left, why), right),
            (None, Some(why)) => ((right, why), left),
            (Some(why), Some(_)) => return Value::Unknown(why.clone()),
        };
        // What was observed is part of the list, so more than there is on the other side, or an item
        // that is not there, makes them differ for certain.
        let ((short, why), mut differ) = (short, short.0.items.len() > long.items.len());
        for item in &*short.items {
            if differ || self.exhausted() {
                break;
            }
            differ = long
                .items
                .iter()
                .all(|other| self.equal(item, other, depth + 1) == Value::Bool(false));
        }
        if differ { Value::Bool(false) } else { Value::Unknown(why.clone()) }
    }

    fn all<'v>(
        &mut self,
        pairs: impl Iterator<Item = (&'v Value, &'v Value)>,
        depth: usize,
    ) -> Value {
        let mut result = Value::Bool(true);
        for (left, right) in pairs {
            match self.equal(left, right, depth + 1) {
                Value::Bool(true) => {}
                Value::Bool(false) => return Value::Bool(false),
                why => {
                    if self.exhausted() {
                        return why;
                    }
                    if result == Value::Bool(true) {
                        result = why;
                    }
                }
            }
        }
        result
    }

    pub(super) fn contained(&mut self, item: &Value, within: &Value) -> Value {
        match within {
            Value::List(list) => {
                let mut doubt = None;
                for other in &*list.items {
                    match self.equal(item, other, 0) {
                        Value::Bool(true) => return Value::Bool(true),
                        Value::Bool(false) => {}
                        why => doubt = doubt.or(Some(why)),
                    }
                    if self.exhausted() {
                        break;
                    }
                }
                let incomplete = || list.incomplete.clone().map(Value::Unknown);
                doubt.or_else(incomplete).unwrap_or(Value::Bool(false))
            }
            why @ Value::Unknown(_) => why.clone(),
            Value::Map(fields) => match item {
                Value::String(name) => match fields.get(name) {
                    Some(why @ Value::Unknown(_)) => why.clone(),
                    found => Value::Bool(found.is_some()),
                },
                why @ Value::Unknown(_) => why.clone(),
                _ => Value::Bool(false),
            },
            other => mismatch("`in`", other),
        }
    }
}
