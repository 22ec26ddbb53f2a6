//! Python source as a tree that outlives its parser: functions are read where they are called.

use std::{ops::Range, rc::Rc};

/// A source text that trees point into.
pub(super) type Source = Rc<str>;

/// An expression.
#[derive(Debug)]
pub(super) struct Expr {
    pub(super) kind: Kind,
    /// From 1.
    pub(super) line: u32,
    /// Its bytes in the source.
    pub(super) at: Range<usize>,
}

#[derive(Debug)]
pub(super) enum Kind {
    Name(Rc<str>),
    /// Text or bytes.
    Text {
        text: Rc<str>,
        bytes: bool,
    },
    /// An f-string, and literals side by side.
    Format(Vec<Piece>),
    Number(i64),
    Bool(bool),
    None,
    /// A number that is no small integer, `...`.
    Plain,
    Attribute(Box<Expr>, Rc<str>),
    Subscript(Box<Expr>, Box<Index>),
    Call(Box<Expr>, Vec<Argument>),
    /// Operands of `+`, flat: sums of literals can be long.
    Sum(Vec<Expr>),
    Binary(Rc<str>, Box<Expr>, Box<Expr>),
    /// One of these values: `or`, `and`, a conditional expression after its condition.
    Either(Vec<Expr>),
    /// What is compared or tested; the result says nothing of it.
    Test(Vec<Expr>),
    /// Square brackets, parentheses, braces.
    List(Vec<Expr>),
    Dict(Vec<(Option<Expr>, Expr)>),
    Comprehension(Box<Comprehension>),
    Lambda(Rc<Function>),
    /// A value that is computed from these.
    Of(Vec<Expr>),
    /// `yield`: what the function gives.
    Yield(Box<Expr>),
    Star(Box<Expr>),
    Walrus(Box<Expr>, Box<Expr>),
    /// Nested deeper than is read.
    Deep,
}

#[derive(Debug)]
pub(super) enum Piece {
    Text(Rc<str>),
    Value(Expr),
}

#[derive(Debug)]
pub(super) enum Index {
    At(Expr),
    /// From, to, step.
    Slice([Option<Expr>; 3]),
}

#[derive(Debug)]
pub(super) enum Argument {
    Positional(Expr),
    Named(Rc<str>, Expr),
    /// `*list`.
    List(Expr),
    /// `**dictionary`.
    Dict(Expr),
}

#[derive(Debug)]
pub(super) struct Comprehension {
    pub(super) clauses: Vec<Clause>,
    /// The key, where it makes a dictionary.
    pub(super) key: Option<Expr>,
    pub(super) value: Expr,
}

#[derive(Debug)]
pub(super) enum Clause {
    For(Expr, Expr),
    If(Expr),
}

/// A function, or a lambda, which returns its body.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: Rc<str>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Vec<Statement>,
    pub(super) decorators: Vec<Expr>,
    pub(super) source: Source,
    pub(super) at: Range<usize>,
    pub(super) line: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    One,
    Rest,
    RestNamed,
}

#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: Rc<str>,
    pub(super) default: Option<Expr>,
    pub(super) takes: Takes,
}

/// A class.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) name: Rc<str>,
    pub(super) bases: Vec<Expr>,
    pub(super) body: Vec<Statement>,
    pub(super) decorators: Vec<Expr>,
    pub(super) source: Source,
    pub(super) at: Range<usize>,
}

#[derive(Debug)]
pub(super) struct Statement {
    pub(super) kind: Action,
    pub(super) line: u32,
}

#[derive(Debug)]
pub(super) enum Action {
    Value(Expr),
    Assign(Expr, Expr),
    Augment(Expr, Rc<str>, Expr),
    /// Dotted path, and the name that it is given.
    Import(Rc<str>, Option<Rc<str>>),
    /// Module, item, alias.
    ImportFrom(Rc<str>, Rc<str>, Option<Rc<str>>),
    ImportAll(Rc<str>),
    Function(Rc<Function>),
    Class(Rc<Class>),
    /// The path of that name was found to be within its directory.
    Inside(Rc<str>),
    /// Exactly one of these happens, or none.
    Branches(Vec<Vec<Statement>>),
    For(Expr, Expr, Vec<Statement>),
    While(Expr, Vec<Statement>),
    With(Vec<(Expr, Option<Expr>)>, Vec<Statement>),
    Return(Option<Expr>),
    Delete(Vec<Expr>),
    Global(Vec<Rc<str>>),
    /// One after the other.
    Block(Vec<Statement>),
    /// Raises this, which shows it unless it is caught.
    Raise(Expr),
    /// Leaves the loop or the program.
    Leave,
    /// `exec "code"` of old.
    Exec(Expr),
}
