//! Static types of expressions.

use std::fmt;

use air_core::fact::{Record, Type};

/// The type of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ty {
    /// Known only when evaluated.
    Dyn,
    Null,
    Bool,
    Int,
    Double,
    String,
    Nullable(Box<Ty>),
    List(Box<Ty>),
    Map,
    Record(&'static Record),
}

impl Ty {
    pub(super) fn list(item: Ty) -> Self {
        Self::List(Box::new(item))
    }

    /// Whether some value of this type may be null.
    pub(super) fn may_be_null(&self) -> bool {
        matches!(self, Self::Dyn | Self::Null | Self::Nullable(_))
    }

    /// The type without null.
    pub(super) fn present(&self) -> &Ty {
        match self {
            Self::Nullable(inner) => inner,
            other => other,
        }
    }

    /// Whether a value of one could equal a value of the other.
    pub(super) fn comparable(&self, other: &Ty) -> bool {
        match (self, other) {
            (Self::Null, other) | (other, Self::Null) => other.may_be_null(),
            (Self::Nullable(inner), other) | (other, Self::Nullable(inner)) => {
                inner.comparable(other)
            }
            (Self::Dyn, _) | (_, Self::Dyn) => true,
            (Self::List(left), Self::List(right)) => left.comparable(right),
            (left, right) if left.is_number() && right.is_number() => true,
            (left, right) if left.has_fields() && right.has_fields() => true,
            (left, right) => left == right,
        }
    }

    /// Whether a value of this type may be a value of `wanted`.
    pub(super) fn may_be(&self, wanted: &Ty) -> bool {
        self.present() == &Self::Dyn || self.present() == wanted
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Double)
    }

    fn has_fields(&self) -> bool {
        matches!(self, Self::Map | Self::Record(_))
    }

    /// The type that covers both.
    pub(super) fn join(self, other: Ty) -> Ty {
        match (self, other) {
            (left, right) if left == right => left,
            (Self::Null, Self::Nullable(inner)) | (Self::Nullable(inner), Self::Null) => {
                Self::Nullable(inner)
            }
            (Self::Null, other) | (other, Self::Null) if other != Self::Dyn => {
                Self::Nullable(Box::new(other))
            }
            (Self::Nullable(inner), other) | (other, Self::Nullable(inner)) if *inner == other => {
                Self::Nullable(inner)
            }
            (Self::List(left), Self::List(right)) => Self::list(left.join(*right)),
            _ => Self::Dyn,
        }
    }
}

impl From<Type> for Ty {
    fn from(ty: Type) -> Self {
        match ty {
            Type::Bool => Self::Bool,
            Type::Int => Self::Int,
            Type::String => Self::String,
            Type::Nullable(inner) => Self::Nullable(Box::new((*inner).into())),
            Type::List(item) => Self::list((*item).into()),
            Type::Record(record) => Self::Record(record),
            Type::Map => Self::Map,
            Type::Any => Self::Dyn,
        }
    }
}

/// With its article, for messages.
impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => f.write_str("a value of any type"),
            Self::Null => f.write_str("`null`"),
            Self::Bool => f.write_str("a bool"),
            Self::Int => f.write_str("an int"),
            Self::Double => f.write_str("a double"),
            Self::String => f.write_str("a string"),
            Self::Nullable(inner) => write!(f, "{inner} or `null`"),
            Self::List(item) => match &**item {
                Self::Bool => f.write_str("a list of bools"),
                Self::Int => f.write_str("a list of ints"),
                Self::Double => f.write_str("a list of doubles"),
                Self::String => f.write_str("a list of strings"),
                Self::Record(record) => write!(f, "a list of `{}` records", record.name),
                _ => f.write_str("a list"),
            },
            Self::Map => f.write_str("a map"),
            Self::Record(record) => {
                let article =
                    if record.name.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
                write!(f, "{article} `{}` record", record.name)
            }
        }
    }
}
