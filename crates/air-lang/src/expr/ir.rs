//! The compiled form of an expression. Its depth is bounded by the scan of the text.

use std::sync::Arc;

use air_core::{fact::Root, value::Value};
use globset::GlobMatcher;
use regex::Regex;

#[derive(Debug)]
pub(super) enum Node {
    Const(Value),
    Root(Root),
    /// A loop variable, by its depth among those in scope.
    Local(usize),
    Field {
        of: Box<Node>,
        name: Arc<str>,
        record: bool,
    },
    Has {
        of: Box<Node>,
        name: Arc<str>,
        record: bool,
    },
    Index(Box<Node>, Box<Node>),
    Not(Box<Node>),
    Negate(Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    If(Box<Node>, Box<Node>, Box<Node>),
    Binary(Op, Box<Node>, Box<Node>),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    /// A loop over `range`. Only `map` has a `yields`, and there the body is its filter.
    Loop {
        kind: Loop,
        range: Box<Node>,
        body: Option<Box<Node>>,
        yields: Option<Box<Node>>,
    },
    Call(Function, Vec<Node>),
    Matches(Box<Node>, Regex),
    /// Whatever matches has `literal` in it.
    Glob {
        text: Box<Node>,
        matcher: GlobMatcher,
        literal: Arc<str>,
    },
}

impl Node {
    /// What it is computed from, the parts of a loop that see its variable aside.
    pub(super) fn operands(&self) -> Vec<&Node> {
        match self {
            Self::Const(_) | Self::Root(_) | Self::Local(_) => vec![],
            Self::Field { of: operand, .. }
            | Self::Has { of: operand, .. }
            | Self::Not(operand)
            | Self::Negate(operand)
            | Self::Matches(operand, _)
            | Self::Glob { text: operand, .. }
            | Self::Loop { range: operand, .. } => vec![operand],
            Self::Index(left, right)
            | Self::And(left, right)
            | Self::Or(left, right)
            | Self::Binary(_, left, right) => vec![left, right],
            Self::If(condition, then, otherwise) => vec![condition, then, otherwise],
            Self::List(items) | Self::Call(_, items) => items.iter().collect(),
            Self::Map(entries) => entries.iter().flat_map(|(key, value)| [key, value]).collect(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    In,
}

impl Op {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::In => "in",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loop {
    Exists,
    All,
    ExistsOne,
    Filter,
    Map,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Size,
    Contains,
    StartsWith,
    EndsWith,
    LowerAscii,
    UpperAscii,
    Int,
    Double,
    String,
    Labels,
    Under,
    Glob,
}
