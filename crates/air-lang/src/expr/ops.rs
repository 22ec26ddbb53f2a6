//! Binary operators: their static types, and what they give on known values.

use std::{cmp::Ordering, sync::Arc};

use air_core::value::Value;

use super::{ir::Op, ty::Ty};

type Fault = (String, Option<String>);

/// The type of `left op right`, or what is wrong and what to write instead.
pub(super) fn result(op: Op, left: &Ty, right: &Ty) -> Result<Ty, Fault> {
    let (bare_left, bare_right) = (left.present(), right.present());
    match op {
        Op::Equal | Op::NotEqual => {
            if left.comparable(right) {
                return Ok(Ty::Bool);
            }
            let hint = match (left, right) {
                (Ty::Null, _) | (_, Ty::Null) => Some("it is never `null`".into()),
                (Ty::List(_), _) | (_, Ty::List(_)) => {
                    Some("ask for an item with `.exists(x, …)` or `in`".into())
                }
                _ => None,
            };
            Err((format!("`{}` cannot compare {left} with {right}", op.text()), hint))
        }
        Op::In => match bare_right {
            Ty::Dyn => Ok(Ty::Bool),
            Ty::List(item) if left.comparable(item) => Ok(Ty::Bool),
            Ty::Map if left.may_be(&Ty::String) => Ok(Ty::Bool),
            Ty::List(_) | Ty::Map => Err((format!("{left} cannot be in {bare_right}"), None)),
            Ty::String => Err((
                "`in` looks into a list or a map, this is a string".into(),
                Some("write `text.contains(\"part\")`".into()),
            )),
            other => Err((format!("`in` looks into a list or a map, this is {other}"), None)),
        },
        Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => {
            let ordered = |ty: &Ty| ty.is_number() || matches!(ty, Ty::Bool | Ty::String | Ty::Dyn);
            if ordered(bare_left) && ordered(bare_right) && bare_left.comparable(bare_right) {
                return Ok(Ty::Bool);
            }
            let hint = matches!((left, right), (Ty::List(_), _) | (_, Ty::List(_)))
                .then(|| "write `size(…)` for the number of its items".into());
            Err((format!("`{}` cannot compare {left} with {right}", op.text()), hint))
        }
        Op::Add | Op::Subtract | Op::Multiply | Op::Divide | Op::Remainder => {
            arithmetic_type(op, bare_left, bare_right)
        }
    }
}

fn arithmetic_type(op: Op, left: &Ty, right: &Ty) -> Result<Ty, Fault> {
    let takes = |ty: &Ty| match ty {
        Ty::Int | Ty::Dyn => true,
        Ty::Double => op != Op::Remainder,
        Ty::String | Ty::List(_) => op == Op::Add,
        _ => false,
    };
    let fault = format!("`{}` cannot take {left} and {right}", op.text());
    match (left, right) {
        (left, right) if !takes(left) || !takes(right) => Err((fault, None)),
        (Ty::List(left), Ty::List(right)) => Ok(Ty::list((**left).clone().join((**right).clone()))),
        (Ty::Dyn, other) | (other, Ty::Dyn) => Ok(other.clone()),
        (left, right) if left == right => Ok(left.clone()),
        (Ty::String, _) | (_, Ty::String) => {
            Err((fault, Some("write `string(…)` around the number".into())))
        }
        (left, right) if left.is_number() && right.is_number() => {
            Err((fault, Some("write `double(…)` around the int".into())))
        }
        _ => Err((fault, None)),
    }
}

/// What a value is, in messages.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Unknown(_) => "an unknown value",
        Value::Null => "`null`",
        Value::Bool(_) => "a bool",
        Value::Int(_) => "an int",
        Value::Double(_) => "a double",
        Value::String(_) => "a string",
        Value::List(_) => "a list",
        Value::Map(_) => "a map",
    }
}

/// Two known values that have no order in CEL.
#[derive(Debug)]
pub(super) struct Incomparable;

/// The order of two known values; a NaN is in none.
pub(super) fn order(left: &Value, right: &Value) -> Result<Option<Ordering>, Incomparable> {
    Ok(match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Double(left), Value::Double(right)) => left.partial_cmp(right),
        (Value::Int(left), Value::Double(right)) => int_order(*left, *right),
        (Value::Double(left), Value::Int(right)) => int_order(*right, *left).map(Ordering::reverse),
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        _ => return Err(Incomparable),
    })
}

/// Exact where a conversion of the int would round.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
fn int_order(left: i64, right: f64) -> Option<Ordering> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if right.is_nan() {
        return None;
    }
    if right >= LIMIT {
        return Some(Ordering::Less);
    }
    if right < -LIMIT {
        return Some(Ordering::Greater);
    }
    let whole = right.trunc();
    let order = left.cmp(&(whole as i64));
    Some(order.then_with(|| whole.partial_cmp(&right).unwrap_or(Ordering::Equal)))
}

/// Arithmetic on numbers, and `+` on texts; why not, where there is no result.
pub(super) fn arithmetic(op: Op, left: &Value, right: &Value) -> Result<Value, String> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => {
            let result = match op {
                Op::Add => left.checked_add(*right),
                Op::Subtract => left.checked_sub(*right),
                Op::Multiply => left.checked_mul(*right),
                _ if *right == 0 => return Err("division by zero".into()),
                Op::Divide => left.checked_div(*right),
                _ => left.checked_rem(*right),
            };
            result.map(Value::Int).ok_or_else(|| "an int overflows".into())
        }
        (Value::Double(left), Value::Double(right)) if op != Op::Remainder => {
            Ok(Value::Double(match op {
                Op::Add => left + right,
                Op::Subtract => left - right,
                Op::Multiply => left * right,
                _ => left / right,
            }))
        }
        (Value::String(left), Value::String(right)) if op == Op::Add => {
            Ok(Value::String(Arc::from(format!("{left}{right}"))))
        }
        _ => {
            let (left, right) = (kind(left), kind(right));
            Err(format!("`{}` cannot take {left} and {right}", op.text()))
        }
    }
}

/// A double as the position of an item.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked first")]
pub(super) fn position(at: f64) -> Option<usize> {
    (at.fract() == 0.0 && (0.0..1e15).contains(&at)).then_some(at as usize)
}
