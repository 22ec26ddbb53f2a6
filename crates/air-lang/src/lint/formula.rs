//! The form of a condition: what it asks, apart from how it is written.
//!
//! Negations are pushed down to single tests, `&&` and `||` are flat and ordered, and loop variables
//! have no names. So two conditions that differ in writing only have equal forms.

use std::{fmt::Write as _, sync::Arc};

use cel::{
    IdedExpr,
    common::ast::{CallExpr, EntryExpr, Expr, LiteralValue, operators},
};

/// A condition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Formula {
    Const(bool),
    Test(Test),
    /// `exists`, or `all` when it is about every item.
    Loop {
        every: bool,
        range: Arc<str>,
        body: Box<Formula>,
    },
    And(Vec<Formula>),
    Or(Vec<Formula>),
}

/// One question about one term.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Test {
    /// What is asked about, such as `effects.files[].path`.
    pub(super) term: Arc<str>,
    pub(super) relation: Relation,
    /// Whether the answer has to be yes.
    pub(super) holds: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Relation {
    /// The term itself is true.
    Holds,
    /// It is one of these.
    Is(Vec<Literal>),
    /// It is a list that holds this.
    Has(Literal),
    Less(i64),
    LessEqual(i64),
    Contains(Arc<str>),
    StartsWith(Arc<str>),
    EndsWith(Arc<str>),
    Matches(Arc<str>),
    Glob(Arc<str>),
    Under(Arc<str>),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Text(Arc<str>),
    /// A number with a fraction, as text.
    Other(Arc<str>),
}

impl Formula {
    /// The form of a syntax tree.
    pub(super) fn of(tree: &IdedExpr) -> Self {
        Builder { variables: Vec::new() }.formula(tree, true)
    }

    /// All of `parts`.
    pub(super) fn and(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::joined(parts, true)
    }

    /// `&&` when `all`, else `||`: flat, ordered, each part once.
    fn joined(parts: impl IntoIterator<Item = Self>, all: bool) -> Self {
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Self::Const(truth) if truth == all => {}
                Self::Const(_) => return Self::Const(!all),
                Self::And(inner) if all => flat.extend(inner),
                Self::Or(inner) if !all => flat.extend(inner),
                other => flat.push(other),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        match flat.len() {
            0 => Self::Const(all),
            1 => flat.pop().unwrap_or(Self::Const(all)),
            _ if all => Self::And(flat),
            _ => Self::Or(flat),
        }
    }

    /// The opposite.
    pub(super) fn negated(&self) -> Self {
        match self {
            Self::Const(truth) => Self::Const(!truth),
            Self::Test(test) => Self::Test(Test { holds: !test.holds, ..test.clone() }),
            Self::Loop { every, range, body } => {
                let body = Box::new(body.negated());
                Self::Loop { every: !every, range: range.clone(), body }
            }
            Self::And(parts) => Self::joined(parts.iter().map(Self::negated), false),
            Self::Or(parts) => Self::joined(parts.iter().map(Self::negated), true),
        }
    }

    /// Its parts where it is `&&`, else itself.
    pub(super) fn conjuncts(&self) -> &[Self] {
        match self {
            Self::And(parts) => parts,
            other => std::slice::from_ref(other),
        }
    }

    /// Every test in it.
    pub(super) fn tests<'f>(&'f self, found: &mut Vec<&'f Test>) {
        match self {
            Self::Const(_) => {}
            Self::Test(test) => found.push(test),
            Self::Loop { body, .. } => body.tests(found),
            Self::And(parts) | Self::Or(parts) => {
                for part in parts {
                    part.tests(found);
                }
            }
        }
    }

    /// This form with tests replaced.
    pub(super) fn map(&self, replace: &impl Fn(&Test) -> Option<bool>) -> Self {
        match self {
            Self::Const(truth) => Self::Const(*truth),
            Self::Test(test) => replace(test).map_or_else(|| self.clone(), Self::Const),
            Self::Loop { every, range, body } => Self::Loop {
                every: *every,
                range: range.clone(),
                body: Box::new(body.map(replace)),
            },
            Self::And(parts) => Self::joined(parts.iter().map(|part| part.map(replace)), true),
            Self::Or(parts) => Self::joined(parts.iter().map(|part| part.map(replace)), false),
        }
    }
}

impl Literal {
    fn of(literal: &LiteralValue) -> Self {
        match literal {
            LiteralValue::Null => Self::Null,
            LiteralValue::Boolean(truth) => Self::Bool(*truth.inner()),
            LiteralValue::Int(number) => Self::Int(*number.inner()),
            LiteralValue::String(text) => Self::Text(text.inner().into()),
            other => Self::Other(format!("{other:?}").into()),
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Loop variables in scope, each with the list that it runs over.
struct Builder {
    variables: Vec<(String, String)>,
}

impl Builder {
    fn formula(&mut self, expr: &IdedExpr, positive: bool) -> Formula {
        match &expr.expr {
            Expr::Literal(LiteralValue::Boolean(truth)) => {
                Formula::Const(*truth.inner() == positive)
            }
            Expr::Call(call) => self.call(expr, call, positive),
            _ => self.opaque(expr, positive),
        }
    }

    fn opaque(&mut self, expr: &IdedExpr, positive: bool) -> Formula {
        let term = self.term(expr);
        test(term, Relation::Holds, positive)
    }

    fn call(&mut self, expr: &IdedExpr, call: &CallExpr, positive: bool) -> Formula {
        let operands: Vec<&IdedExpr> =
            call.target.as_deref().into_iter().chain(&call.args).collect();
        match (call.func_name.as_str(), operands.as_slice()) {
            (operators::LOGICAL_NOT, [operand]) => self.formula(operand, !positive),
            (name @ (operators::LOGICAL_AND | operators::LOGICAL_OR), parts) => {
                let all = (name == operators::LOGICAL_AND) == positive;
                let parts: Vec<Formula> =
                    parts.iter().map(|part| self.formula(part, positive)).collect();
                Formula::joined(parts, all)
            }
            (operators::EQUALS, [left, right]) => self.equal(expr, left, right, positive),
            (operators::NOT_EQUALS, [left, right]) => self.equal(expr, left, right, !positive),
            (
                name @ (operators::LESS
                | operators::LESS_EQUALS
                | operators::GREATER
                | operators::GREATER_EQUALS),
                [left, right],
            ) => self.order(expr, name, (left, right), positive),
            (operators::IN, [item, list]) => self.within(expr, item, list, positive),
            (name @ ("exists" | "all"), [range, variable, body]) if call.target.is_some() => {
                let Expr::Ident(variable) = &variable.expr else {
                    return self.opaque(expr, positive);
                };
                let range: Arc<str> = self.term(range).into();
                self.variables.push((variable.clone(), range.to_string()));
                let body = self.formula(body, positive);
                self.variables.pop();
                Formula::Loop { every: (name == "all") == positive, range, body: Box::new(body) }
            }
            (name, [subject, argument]) => {
                let Some(text) = literal(argument).and_then(|it| it.text().map(Arc::from)) else {
                    return self.opaque(expr, positive);
                };
                let relation = match name {
                    "contains" => Relation::Contains(text),
                    "startsWith" => Relation::StartsWith(text),
                    "endsWith" => Relation::EndsWith(text),
                    "matches" => Relation::Matches(text),
                    "glob" => Relation::Glob(text),
                    "under" => Relation::Under(text),
                    _ => return self.opaque(expr, positive),
                };
                test(self.term(subject), relation, positive)
            }
            _ => self.opaque(expr, positive),
        }
    }

    fn equal(
        &mut self,
        expr: &IdedExpr,
        left: &IdedExpr,
        right: &IdedExpr,
        positive: bool,
    ) -> Formula {
        let (subject, value) = match (literal(left), literal(right)) {
            (None, Some(value)) => (left, value),
            (Some(value), None) => (right, value),
            (None, None) => {
                let (left, right) = (self.term(left), self.term(right));
                let (first, second) = if left <= right { (left, right) } else { (right, left) };
                return test(format!("{first} == {second}"), Relation::Holds, positive);
            }
            (Some(_), Some(_)) => return self.opaque(expr, positive),
        };
        if let Literal::Bool(truth) = value {
            return self.formula(subject, positive == truth);
        }
        test(self.term(subject), Relation::Is(vec![value]), positive)
    }

    fn order(
        &mut self,
        expr: &IdedExpr,
        name: &str,
        (left, right): (&IdedExpr, &IdedExpr),
        positive: bool,
    ) -> Formula {
        // `5 < x` is `!(x <= 5)`.
        let (subject, value, turned) = match (literal(left), literal(right)) {
            (None, Some(Literal::Int(value))) => (left, value, false),
            (Some(Literal::Int(value)), None) => (right, value, true),
            _ => return self.opaque(expr, positive),
        };
        let (strict, less) = match name {
            operators::LESS => (true, !turned),
            operators::LESS_EQUALS => (false, !turned),
            operators::GREATER => (true, turned),
            _ => (false, turned),
        };
        // `x > 5` is `!(x <= 5)`.
        let relation =
            if strict == less { Relation::Less(value) } else { Relation::LessEqual(value) };
        test(self.term(subject), relation, positive == less)
    }

    fn within(
        &mut self,
        expr: &IdedExpr,
        item: &IdedExpr,
        list: &IdedExpr,
        positive: bool,
    ) -> Formula {
        if let Expr::List(values) = &list.expr {
            let values: Option<Vec<Literal>> = values.elements.iter().map(literal).collect();
            let Some(mut values) = values.filter(|_| literal(item).is_none()) else {
                return self.opaque(expr, positive);
            };
            values.sort_unstable();
            values.dedup();
            return test(self.term(item), Relation::Is(values), positive);
        }
        match literal(item) {
            Some(item) => test(self.term(list), Relation::Has(item), positive),
            None => self.opaque(expr, positive),
        }
    }

    /// A term as text. Loop variables are named by their lists.
    fn term(&mut self, expr: &IdedExpr) -> String {
        match &expr.expr {
            Expr::Ident(name) => {
                match self.variables.iter().enumerate().rfind(|(_, (known, _))| known == name) {
                    Some((0, (_, range))) => format!("{range}[]"),
                    Some((depth, (_, range))) => format!("{range}[{depth}]"),
                    None => name.clone(),
                }
            }
            Expr::Select(select) => format!("{}.{}", self.term(&select.operand), select.field),
            Expr::Literal(value) => match Literal::of(value) {
                Literal::Text(text) => format!("{text:?}"),
                other => format!("{other:?}"),
            },
            Expr::List(list) => self.list("[", &list.elements, "]"),
            Expr::Map(map) => {
                let mut text = String::from("{");
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        let (key, value) = (self.term(&entry.key), self.term(&entry.value));
                        // Writing to a string does not fail.
                        let _ = write!(text, "{key}: {value}, ");
                    }
                }
                text + "}"
            }
            Expr::Call(call) => self.call_term(call),
            Expr::Unspecified | Expr::Comprehension(_) | Expr::Struct(_) => "?".to_owned(),
        }
    }

    fn call_term(&mut self, call: &CallExpr) -> String {
        let name = &call.func_name;
        if let (operators::INDEX, [of, index]) = (name.as_str(), call.args.as_slice()) {
            if let Some(Literal::Text(field)) = literal(index) {
                return format!("{}.{field}", self.term(of));
            }
            return format!("{}[{}]", self.term(of), self.term(index));
        }
        let Some(target) = &call.target else {
            return self.list(&format!("{name}("), &call.args, ")");
        };
        let target = self.term(target);
        let variable = call.args.first().map(|argument| &argument.expr);
        let (true, Some(Expr::Ident(variable))) =
            (["exists", "all", "exists_one", "filter", "map"].contains(&name.as_str()), variable)
        else {
            return self.list(&format!("{target}.{name}("), &call.args, ")");
        };
        self.variables.push((variable.clone(), target.clone()));
        let rest = call.args.get(1..).unwrap_or_default();
        let text = self.list(&format!("{target}.{name}("), rest, ")");
        self.variables.pop();
        text
    }

    fn list(&mut self, open: &str, items: &[IdedExpr], close: &str) -> String {
        let items: Vec<String> = items.iter().map(|item| self.term(item)).collect();
        format!("{open}{}{close}", items.join(", "))
    }
}

fn test(term: impl Into<Arc<str>>, relation: Relation, holds: bool) -> Formula {
    Formula::Test(Test { term: term.into(), relation, holds })
}

fn literal(expr: &IdedExpr) -> Option<Literal> {
    match &expr.expr {
        Expr::Literal(value) => Some(Literal::of(value)),
        _ => None,
    }
}
