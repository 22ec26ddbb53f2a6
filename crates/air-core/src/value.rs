//! Values that conditions see. Three-valued: a value may be unknown, a list may be incomplete.
//!
//! Everything here may come from an agent or from the outside world and is data, never instruction.

use std::{collections::BTreeMap, sync::Arc};

/// One fact, or a part of one. Cheap to clone.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Not known, and why. Never the same as [`Value::Null`], which is known to be absent.
    Unknown(Arc<str>),
    /// Known to be absent.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A floating-point number.
    Double(f64),
    /// Text. Untrusted unless its fact says otherwise.
    String(Arc<str>),
    /// A list that says whether it is whole.
    List(List),
    /// Names to values; a record of the fact schema, or free-form JSON.
    Map(Arc<BTreeMap<Arc<str>, Value>>),
}

/// A list, and whether all that belongs in it was observed.
///
/// Absence proves nothing in an incomplete list: `exists` over one that finds nothing is unknown.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// What was observed, in order.
    pub items: Arc<[Value]>,
    /// Why the list may lack items; `None` when it is whole.
    pub incomplete: Option<Arc<str>>,
}

impl Value {
    /// Text.
    pub fn string(text: impl Into<Arc<str>>) -> Self {
        Self::String(text.into())
    }

    /// Text, or [`Value::Null`] where there is none.
    pub fn optional(text: Option<&str>) -> Self {
        text.map_or(Self::Null, Self::string)
    }

    /// A list that is whole.
    pub fn list(items: impl IntoIterator<Item = Value>) -> Self {
        Self::List(List { items: items.into_iter().collect(), incomplete: None })
    }

    /// A list, incomplete for `reason` if there is one.
    pub fn list_with(items: impl IntoIterator<Item = Value>, reason: Option<&str>) -> Self {
        let incomplete = reason.map(Arc::from);
        Self::List(List { items: items.into_iter().collect(), incomplete })
    }

    /// A list of texts that is whole.
    pub fn strings<S: Into<Arc<str>>>(items: impl IntoIterator<Item = S>) -> Self {
        Self::list(items.into_iter().map(Self::string))
    }

    /// A record.
    pub fn record<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        Self::Map(Arc::new(fields.into_iter().map(|(name, value)| (name.into(), value)).collect()))
    }

    /// Unknown, for `reason`.
    pub fn unknown(reason: impl Into<Arc<str>>) -> Self {
        Self::Unknown(reason.into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::string(text)
    }
}

/// JSON as it stands; whole lists, and numbers past 64 bits as floating point.
impl From<&serde_json::Value> for Value {
    fn from(json: &serde_json::Value) -> Self {
        use serde_json::Value as Json;
        match json {
            Json::Null => Self::Null,
            Json::Bool(truth) => Self::Bool(*truth),
            Json::Number(number) => number
                .as_i64()
                .map_or_else(|| Self::Double(number.as_f64().unwrap_or(f64::NAN)), Self::Int),
            Json::String(text) => Self::string(text.as_str()),
            Json::Array(items) => Self::list(items.iter().map(Self::from)),
            Json::Object(fields) => {
                Self::record(fields.iter().map(|(name, value)| (name.as_str(), value.into())))
            }
        }
    }
}

#[cfg(test)]
mod tests;
