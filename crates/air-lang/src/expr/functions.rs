//! What the functions give.

use std::borrow::Cow;

use air_core::value::Value;

use super::{
    calls,
    eval::{BYTES_A_STEP, EXHAUSTED, Evaluator, mismatch, unknown},
    ir::{Function, Node},
    path,
};

/// Steps that looking up the labels of a path takes.
const STEPS_A_LOOKUP: usize = 16;

impl Evaluator<'_> {
    pub(super) fn call(&mut self, function: Function, arguments: &[Node]) -> Value {
        if let [text, other] = arguments {
            let bytes = |text: &str, other: &str| (text.len() + other.len()) / BYTES_A_STEP;
            let ask = |text: &str, other: &str| match function {
                Function::Contains => Some(text.contains(other)),
                Function::StartsWith => Some(text.starts_with(other)),
                Function::EndsWith => Some(text.ends_with(other)),
                Function::Under => path::under(text, other),
                _ => None,
            };
            if let Some(answer) = self.on_known_texts((text, other), bytes, ask) {
                return answer;
            }
        }
        let mut values = arguments.iter().map(|argument| self.eval(argument)).collect::<Vec<_>>();
        if let Some(why) = values.iter().find(|value| matches!(value, Value::Unknown(_))) {
            return why.clone();
        }
        let texts = values.iter().filter_map(|value| match value {
            Value::String(text) => Some(text.len()),
            _ => None,
        });
        let bytes: usize = texts.sum();
        if !self.spend(bytes / BYTES_A_STEP) {
            return unknown(EXHAUSTED);
        }
        let second = if values.len() > 1 { values.pop() } else { None };
        let Some(first) = values.pop() else { return unknown("an argument lacks") };
        match second {
            None => self.of_one(function, &first),
            Some(second) => self.of_two(function, &first, &second),
        }
    }

    fn of_one(&mut self, function: Function, value: &Value) -> Value {
        match (function, value) {
            (Function::Size, Value::String(text)) => length(text.chars().count()),
            (Function::Size, Value::List(list)) => match &list.incomplete {
                Some(why) => Value::Unknown(why.clone()),
                None => length(list.items.len()),
            },
            (Function::Size, Value::Map(fields)) => length(fields.len()),
            (Function::LowerAscii, Value::String(text)) => Value::string(text.to_ascii_lowercase()),
            (Function::UpperAscii, Value::String(text)) => Value::string(text.to_ascii_uppercase()),
            (Function::Labels, Value::Null) => Value::list([]),
            (Function::Labels, Value::String(path)) => {
                // Each pattern of the table is tried.
                if !self.spend(STEPS_A_LOOKUP) {
                    return unknown(EXHAUSTED);
                }
                Value::strings(self.facts.labels().labels(path))
            }
            (Function::Int | Function::Double | Function::String, value) => {
                convert(function, value)
            }
            (_, value) => mismatch("the function", value),
        }
    }

    fn of_two(&mut self, function: Function, first: &Value, second: &Value) -> Value {
        // An absent path is nowhere.
        if let (Function::Under | Function::Glob, Value::Null) = (function, first) {
            return Value::Bool(false);
        }
        let (text, other) = match (first, second) {
            (Value::String(text), Value::String(other)) => (&**text, &**other),
            (Value::String(_), value) | (value, _) => return mismatch("the function", value),
        };
        match function {
            Function::Contains => Value::Bool(text.contains(other)),
            Function::StartsWith => Value::Bool(text.starts_with(other)),
            Function::EndsWith => Value::Bool(text.ends_with(other)),
            Function::Under => path::under(text, other).map_or_else(
                || unknown("the path climbs out of a directory that is not known"),
                Value::Bool,
            ),
            Function::Glob => {
                // Compiling costs far more than matching.
                if !self.spend(100 + other.len() * 4) {
                    return unknown(EXHAUSTED);
                }
                match calls::glob(other) {
                    Ok(glob) => Value::Bool(glob.is_match(text)),
                    Err(why) => unknown(format!("the glob is not valid: {why}")),
                }
            }
            _ => unknown("the function takes one argument"),
        }
    }
}

fn length(count: usize) -> Value {
    i64::try_from(count).map_or_else(|_| unknown("an int overflows"), Value::Int)
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
#[expect(clippy::cast_precision_loss, reason = "`double()` rounds, as CEL says")]
fn convert(function: Function, value: &Value) -> Value {
    let text: Cow<'_, str> = match (function, value) {
        (Function::Int, Value::Int(_))
        | (Function::Double, Value::Double(_))
        | (Function::String, Value::String(_)) => return value.clone(),
        (Function::Int, Value::Double(number)) => {
            return if number.abs() < 9.2e18 {
                Value::Int(number.trunc() as i64)
            } else {
                unknown("an int overflows")
            };
        }
        (Function::Double, Value::Int(number)) => return Value::Double(*number as f64),
        (Function::String, Value::Int(number)) => number.to_string().into(),
        (Function::String, Value::Double(number)) => number.to_string().into(),
        (Function::String, Value::Bool(truth)) => truth.to_string().into(),
        (Function::Int | Function::Double, Value::String(text)) => (&**text).into(),
        _ => return mismatch("a conversion", value),
    };
    match function {
        Function::Int => {
            text.parse().map_or_else(|_| unknown("the text is not an int"), Value::Int)
        }
        Function::Double => {
            text.parse().map_or_else(|_| unknown("the text is not a double"), Value::Double)
        }
        _ => Value::string(&*text),
    }
}
