//! From syntax tree to compiled form: names, types, and where the mistakes are.

use std::sync::Arc;

use air_core::{
    fact::{Root, Roots},
    value::Value,
};
use cel::{
    IdedExpr,
    common::ast::{CallExpr, EntryExpr, Expr, LiteralValue, MapExpr, SelectExpr, operators},
};

use super::{
    ExprError, Moment,
    ir::{Node, Op},
    ops,
    parse::Ast,
    scan::Scan,
    ty::Ty,
};

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Lowered {
    pub(super) node: Node,
    pub(super) ty: Ty,
    pub(super) span: Span,
    pub(super) reads: Roots,
}

pub(super) type Span = (usize, usize);
pub(super) type Typed = (Node, Ty);

/// Checks and compiles a syntax tree; `variable` is in scope with its type.
pub(super) fn lower(
    source: &str,
    scan: &Scan,
    ast: &Ast,
    moment: Moment,
    variable: Option<(&str, Ty)>,
) -> Result<Lowered, Vec<ExprError>> {
    let variables = variable.map(|(name, ty)| (name.to_owned(), ty)).into_iter().collect();
    let (errors, reads) = (Vec::new(), Roots::NONE);
    let mut lowerer = Lowerer { source, scan, ast, moment, variables, errors, reads };
    let (node, ty) = lowerer.expr(&ast.root);
    if lowerer.errors.is_empty() {
        let span = lowerer.span(&ast.root);
        return Ok(Lowered { node, ty, span, reads: lowerer.reads });
    }
    lowerer.errors.sort_by_key(|error| (error.start, error.end));
    Err(lowerer.errors)
}

/// Tells where the parts of a syntax tree are.
pub(super) fn spans<'a>(source: &'a str, scan: &'a Scan, ast: &'a Ast) -> Lowerer<'a> {
    let (variables, errors) = (Vec::new(), Vec::new());
    Lowerer { source, scan, ast, moment: Moment::After, variables, errors, reads: Roots::NONE }
}

/// Stands for what has an error; of any type, so that one mistake gives one error.
pub(super) fn broken() -> Typed {
    (Node::Const(Value::Null), Ty::Dyn)
}

pub(super) struct Lowerer<'a> {
    pub(super) source: &'a str,
    scan: &'a Scan,
    ast: &'a Ast,
    moment: Moment,
    pub(super) variables: Vec<(String, Ty)>,
    errors: Vec<ExprError>,
    reads: Roots,
}

impl Lowerer<'_> {
    pub(super) fn fail(&mut self, error: ExprError) -> Typed {
        self.errors.push(error);
        broken()
    }

    pub(super) fn expr(&mut self, expr: &IdedExpr) -> Typed {
        match &expr.expr {
            Expr::Literal(literal) => self.literal(expr, literal),
            Expr::Ident(name) => self.name(expr, name),
            Expr::Select(select) => self.select(expr, select, false),
            Expr::List(list) => {
                let (nodes, types): (Vec<_>, Vec<_>) =
                    list.elements.iter().map(|item| self.expr(item)).unzip();
                let item = types.into_iter().reduce(Ty::join).unwrap_or(Ty::Dyn);
                (Node::List(nodes), Ty::list(item))
            }
            Expr::Map(map) => self.map(map),
            Expr::Call(call) => match operator(&call.func_name) {
                Some(op) => self.binary(expr, op, call),
                None => self.operation(expr, call),
            },
            Expr::Struct(_) => self.unsupported(expr, "a message", "write a map, `{\"a\": 1}`"),
            Expr::Unspecified | Expr::Comprehension(_) => {
                self.fail(ExprError::new(self.span(expr), "the expression cannot be parsed"))
            }
        }
    }

    fn unsupported(&mut self, at: &IdedExpr, what: &str, hint: &str) -> Typed {
        let message = format!("{what} cannot be used in a condition");
        self.fail(ExprError::new(self.span(at), message).hint(hint))
    }

    fn literal(&mut self, at: &IdedExpr, literal: &LiteralValue) -> Typed {
        let (value, ty) = match literal {
            LiteralValue::Boolean(truth) => (Value::Bool(*truth.inner()), Ty::Bool),
            LiteralValue::Double(number) => (Value::Double(*number.inner()), Ty::Double),
            LiteralValue::Int(number) => (Value::Int(*number.inner()), Ty::Int),
            LiteralValue::Null => (Value::Null, Ty::Null),
            LiteralValue::String(text) => (Value::string(text.inner()), Ty::String),
            LiteralValue::UInt(_) => {
                return self.unsupported(at, "an unsigned int", "leave out the `u`");
            }
            LiteralValue::Bytes(_) => {
                return self.unsupported(
                    at,
                    "a bytes literal",
                    "leave out the `b`: texts are strings",
                );
            }
        };
        (Node::Const(value), ty)
    }

    fn name(&mut self, at: &IdedExpr, name: &str) -> Typed {
        if let Some(depth) = self.variables.iter().rposition(|(other, _)| other == name) {
            let ty = self.variables.get(depth).map_or(Ty::Dyn, |(_, ty)| ty.clone());
            return (Node::Local(depth), ty);
        }
        let span = self.span(at);
        if let Some(root) = Root::from_name(name) {
            if self.moment == Moment::Before && !root.seen_before() {
                let error = ExprError::new(span, format!("`{name}` is only known after the step"));
                let seen = quoted(Root::ALL.iter().filter(|root| root.seen_before()));
                return self
                    .fail(error.hint(format!("a guardrail is asked before it and sees {seen}")));
            }
            self.reads = self.reads.with(root);
            return (Node::Root(root), root.ty().into());
        }
        let variables = self.variables.iter().map(|(name, _)| name.clone());
        let roots = Root::ALL.into_iter().map(|root| root.name().to_owned());
        let known: Vec<String> = roots.chain(variables).collect();
        let error = ExprError::new(span, format!("there is no fact `{name}`"));
        let hint = match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the facts are {}", quoted(&known)),
        };
        self.fail(error.hint(hint))
    }

    /// `a.b`, or `has(a.b)`.
    pub(super) fn select(&mut self, at: &IdedExpr, select: &SelectExpr, has: bool) -> Typed {
        let (of, ty) = self.expr(&select.operand);
        let name: Arc<str> = select.field.as_str().into();
        let (of, record) = (Box::new(of), matches!(ty.present(), Ty::Record(_)));
        let field = match ty.present() {
            Ty::Dyn | Ty::Map => Ty::Dyn,
            Ty::Record(schema) => {
                let Some(field) = schema.field(&name) else {
                    let message = format!("{} has no field `{name}`", ty.present());
                    let fields = schema.fields.iter().map(|(field, _)| *field);
                    let error = ExprError::new(self.field_span(at, &name), message);
                    let hint = match nearest(&name, fields.clone()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("its fields are {}", quoted(fields)),
                    };
                    return self.fail(error.hint(hint));
                };
                field.into()
            }
            other => {
                let message = format!("{other} has no field `{name}`");
                let error = ExprError::new(self.field_span(at, &name), message);
                return self.fail(match other {
                    Ty::List(_) => error.hint("ask of its items with `.exists(x, …)`"),
                    _ => error,
                });
            }
        };
        if has {
            return (Node::Has { of, name, record }, Ty::Bool);
        }
        (Node::Field { of, name, record }, field)
    }

    fn map(&mut self, map: &MapExpr) -> Typed {
        let mut entries = Vec::new();
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else { continue };
            let (key, ty) = self.expr(&entry.key);
            if !matches!(ty, Ty::String | Ty::Dyn) {
                let message = format!("a key is a string, this is {ty}");
                self.fail(ExprError::new(self.span(&entry.key), message));
            }
            entries.push((key, self.expr(&entry.value).0));
        }
        (Node::Map(entries), Ty::Map)
    }

    fn binary(&mut self, at: &IdedExpr, op: Op, call: &CallExpr) -> Typed {
        let [left_at, right_at] = call.args.as_slice() else { return broken() };
        let (left, left_ty) = self.expr(left_at);
        let (right, right_ty) = self.expr(right_at);
        match ops::result(op, &left_ty, &right_ty) {
            Ok(ty) => (Node::Binary(op, Box::new(left), Box::new(right)), ty),
            Err((message, hint)) => {
                let error = ExprError::new(self.span(at), message);
                self.fail(match hint {
                    Some(hint) => error.hint(hint),
                    None => error,
                })
            }
        }
    }

    fn operation(&mut self, at: &IdedExpr, call: &CallExpr) -> Typed {
        match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::LOGICAL_AND, [left, right]) => {
                let (left, right) = (self.truth(left, "`&&`"), self.truth(right, "`&&`"));
                (Node::And(Box::new(left), Box::new(right)), Ty::Bool)
            }
            (operators::LOGICAL_OR, [left, right]) => {
                let (left, right) = (self.truth(left, "`||`"), self.truth(right, "`||`"));
                (Node::Or(Box::new(left), Box::new(right)), Ty::Bool)
            }
            (operators::LOGICAL_NOT, [operand]) => {
                (Node::Not(Box::new(self.truth(operand, "`!`"))), Ty::Bool)
            }
            (operators::CONDITIONAL, [condition, then, otherwise]) => {
                let condition = self.truth(condition, "`?`");
                let (then, ty) = self.expr(then);
                let (otherwise, other) = self.expr(otherwise);
                if !ty.comparable(&other) {
                    let message = format!("a choice between {ty} and {other} has no one type");
                    return self.fail(ExprError::new(self.span(at), message));
                }
                let (then, otherwise) = (Box::new(then), Box::new(otherwise));
                (Node::If(Box::new(condition), then, otherwise), ty.join(other))
            }
            (operators::NEGATE, [operand]) => {
                let (node, ty) = self.expr(operand);
                if !matches!(ty.present(), Ty::Int | Ty::Double | Ty::Dyn) {
                    let message = format!("`-` takes a number, this is {ty}");
                    return self.fail(ExprError::new(self.span(operand), message));
                }
                (Node::Negate(Box::new(node)), ty.present().clone())
            }
            (operators::INDEX, [of, index]) => self.index(at, of, index),
            _ => self.call(at, call),
        }
    }

    fn index(&mut self, at: &IdedExpr, of: &IdedExpr, index: &IdedExpr) -> Typed {
        if let (Expr::Literal(LiteralValue::String(text)), Expr::Ident(_) | Expr::Select(_)) =
            (&index.expr, &of.expr)
        {
            // `code["calls"]` is `code.calls`, checked alike.
            let field = text.inner().to_owned();
            let select = SelectExpr { operand: Box::new(of.clone()), field, test: false };
            return self.select(at, &select, false);
        }
        let (of_node, of_ty) = self.expr(of);
        let (index_node, index_ty) = self.expr(index);
        let (wanted, item) = match of_ty.present() {
            Ty::List(item) => (Ty::Int, (**item).clone()),
            Ty::Map | Ty::Record(_) => (Ty::String, Ty::Dyn),
            Ty::Dyn => (Ty::Dyn, Ty::Dyn),
            other => {
                let message = format!("{other} has no items");
                return self.fail(ExprError::new(self.span(of), message));
            }
        };
        if wanted != Ty::Dyn && !index_ty.may_be(&wanted) {
            let message = format!("the index of {of_ty} is {wanted}, this is {index_ty}");
            return self.fail(ExprError::new(self.span(index), message));
        }
        (Node::Index(Box::new(of_node), Box::new(index_node)), item)
    }

    /// An operand that must be true or false.
    pub(super) fn truth(&mut self, operand: &IdedExpr, by: &str) -> Node {
        let (node, ty) = self.expr(operand);
        if !matches!(ty, Ty::Bool | Ty::Dyn) {
            let message = format!("{by} takes a bool, this is {ty}");
            self.fail(ExprError::new(self.span(operand), message));
        }
        node
    }

    /// The bytes of an expression.
    pub(super) fn span(&self, expr: &IdedExpr) -> Span {
        let token = self.token(expr);
        let whole = |nodes: &[IdedExpr]| {
            let spans = nodes.iter().map(|node| self.span(node));
            spans.fold(token, |(start, end), span| (start.min(span.0), end.max(span.1)))
        };
        match &expr.expr {
            Expr::Select(select) => {
                (self.span(&select.operand).0, self.field_span(expr, &select.field).1)
            }
            Expr::Call(call) => match self.scan.pairs.get(&token.0) {
                Some(&end) if call.func_name == operators::INDEX => (whole(&call.args).0, end),
                Some(&end) => {
                    let start = call.target.as_deref().map(|target| self.span(target).0);
                    (start.unwrap_or_else(|| self.call_name(expr, &call.func_name).0), end)
                }
                None => whole(&call.args),
            },
            Expr::List(_) | Expr::Map(_) | Expr::Struct(_) => {
                (token.0, self.scan.pairs.get(&token.0).copied().unwrap_or(token.1))
            }
            _ => token,
        }
    }

    /// The bytes of a called function's name.
    pub(super) fn call_name(&self, expr: &IdedExpr, name: &str) -> Span {
        let open = self.token(expr).0;
        let end = self.source.get(..open).map_or(open, |before| before.trim_end().len());
        (end.saturating_sub(name.len()), end)
    }

    /// The bytes of a selected field's name.
    fn field_span(&self, expr: &IdedExpr, name: &str) -> Span {
        let dot = self.token(expr);
        let rest = self.source.get(dot.1..).unwrap_or_default();
        let start = dot.1 + (rest.len() - rest.trim_start().len());
        let quotes = if rest.trim_start().starts_with(['`', '"', '\'']) { 2 } else { 0 };
        (start, (start + name.len() + quotes).min(self.source.len()))
    }

    fn token(&self, expr: &IdedExpr) -> Span {
        let whole = (0, self.source.len());
        let Some((start, last)) = self.ast.info.offset_for(expr.id) else { return whole };
        let (start, mut end) = (start as usize, last as usize + 1);
        while end < self.source.len() && !self.source.is_char_boundary(end) {
            end += 1;
        }
        if start < end && end <= self.source.len() { (start, end) } else { whole }
    }
}

fn operator(name: &str) -> Option<Op> {
    Some(match name {
        operators::EQUALS => Op::Equal,
        operators::NOT_EQUALS => Op::NotEqual,
        operators::LESS => Op::Less,
        operators::LESS_EQUALS => Op::LessEqual,
        operators::GREATER => Op::Greater,
        operators::GREATER_EQUALS => Op::GreaterEqual,
        operators::ADD => Op::Add,
        operators::SUBSTRACT => Op::Subtract,
        operators::MULTIPLY => Op::Multiply,
        operators::DIVIDE => Op::Divide,
        operators::MODULO => Op::Remainder,
        operators::IN => Op::In,
        _ => return None,
    })
}

/// The name that was probably meant.
pub(super) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let limit = name.chars().count() / 3 + 1;
    known
        .map(|other| (strsim::damerau_levenshtein(name, other), other))
        .filter(|(distance, _)| *distance <= limit.min(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, other)| other)
}

pub(super) fn quoted<T: std::fmt::Display>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
