//! An expression as a tree, for whoever shows, changes or translates it instead of evaluating it.

use std::{fmt::Write as _, ops::Range};

use cel::{
    IdedExpr,
    common::ast::{EntryExpr, Expr, LiteralValue, operators},
};
use serde::Serialize;

use super::{
    ExprError,
    lower::{Lowerer, spans},
    parse, scan,
};

/// A part of an expression, and where it stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tree {
    /// Its bytes in the text, without brackets around it.
    #[serde(skip)]
    pub span: Range<usize>,
    /// What it is.
    #[serde(flatten)]
    pub node: Node,
}

/// What a part of an expression is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "node", rename_all = "snake_case")]
pub enum Node {
    /// A value that is written out.
    Literal {
        /// The value.
        value: serde_json::Value,
    },
    /// A fact or a variable.
    Name {
        /// Its name.
        name: String,
    },
    /// `of.name`.
    Field {
        /// Of what.
        of: Box<Tree>,
        /// The field.
        name: String,
    },
    /// `target.function(arguments)`, or without a target.
    Call {
        /// The function.
        function: String,
        /// What it is called on.
        target: Option<Box<Tree>>,
        /// Its arguments.
        arguments: Vec<Tree>,
    },
    /// An operator: `&&`, `||`, `!`, `==`, `in`, `?`, `[` and the like. `&&` and `||` have all the
    /// operands of a chain.
    Operator {
        /// As it is written.
        operator: &'static str,
        /// Its operands, in order.
        operands: Vec<Tree>,
    },
    /// A list.
    List {
        /// Its items.
        items: Vec<Tree>,
    },
    /// A map.
    Map {
        /// Its keys and values.
        entries: Vec<(Tree, Tree)>,
    },
}

/// Takes an expression apart. It is not checked.
///
/// # Errors
///
/// If it cannot be parsed.
pub fn tree(source: &str) -> Result<Tree, Vec<ExprError>> {
    let scan = scan::scan(source).map_err(|error| vec![error])?;
    let ast = parse::parse(source)?;
    let reader = Reader { spans: spans(source, &scan, &ast), pairs: &scan.pairs };
    Ok(reader.tree(&ast.root))
}

struct Reader<'a> {
    spans: Lowerer<'a>,
    pairs: &'a std::collections::BTreeMap<usize, usize>,
}

impl Reader<'_> {
    fn tree(&self, expr: &IdedExpr) -> Tree {
        let node = match &expr.expr {
            Expr::Literal(literal) => Node::Literal { value: value(literal) },
            Expr::Ident(name) => Node::Name { name: name.clone() },
            Expr::Select(select) => {
                Node::Field { of: Box::new(self.tree(&select.operand)), name: select.field.clone() }
            }
            Expr::List(list) => Node::List { items: self.all(&list.elements) },
            Expr::Map(map) => {
                let entries = map.entries.iter().filter_map(|entry| match &entry.expr {
                    EntryExpr::MapEntry(entry) => {
                        Some((self.tree(&entry.key), self.tree(&entry.value)))
                    }
                    EntryExpr::StructField(_) => None,
                });
                Node::Map { entries: entries.collect() }
            }
            Expr::Call(call) => match operator(&call.func_name) {
                Some(operator) => {
                    let mut operands = Vec::new();
                    for operand in self.all(&call.args) {
                        match operand.node {
                            // `(a && b) && c` is one chain.
                            Node::Operator { operator: inner, operands: inside }
                                if inner == operator && matches!(operator, "&&" | "||") =>
                            {
                                operands.extend(inside);
                            }
                            _ => operands.push(operand),
                        }
                    }
                    Node::Operator { operator, operands }
                }
                None => Node::Call {
                    function: call.func_name.clone(),
                    target: call.target.as_deref().map(|target| Box::new(self.tree(target))),
                    arguments: self.all(&call.args),
                },
            },
            Expr::Struct(_) | Expr::Unspecified | Expr::Comprehension(_) => {
                Node::Literal { value: serde_json::Value::Null }
            }
        };
        Tree { span: self.balanced(self.spans.span(expr)), node }
    }

    fn all(&self, exprs: &[IdedExpr]) -> Vec<Tree> {
        exprs.iter().map(|expr| self.tree(expr)).collect()
    }

    /// The bytes with both ends of each bracket that has one end among them.
    fn balanced(&self, (mut start, mut end): (usize, usize)) -> Range<usize> {
        loop {
            let before = (start, end);
            for (&open, &close) in self.pairs {
                if open < start && start < close && close <= end {
                    start = open;
                } else if start <= open && open < end && end < close {
                    end = close;
                }
            }
            if before == (start, end) {
                return start..end;
            }
        }
    }
}

fn value(literal: &LiteralValue) -> serde_json::Value {
    match literal {
        LiteralValue::Boolean(truth) => (*truth.inner()).into(),
        LiteralValue::Int(number) => (*number.inner()).into(),
        LiteralValue::Double(number) => (*number.inner()).into(),
        LiteralValue::String(text) => text.inner().into(),
        LiteralValue::Null | LiteralValue::UInt(_) | LiteralValue::Bytes(_) => {
            serde_json::Value::Null
        }
    }
}

fn operator(name: &str) -> Option<&'static str> {
    Some(match name {
        operators::LOGICAL_AND => "&&",
        operators::LOGICAL_OR => "||",
        operators::LOGICAL_NOT => "!",
        operators::NEGATE | operators::SUBSTRACT => "-",
        operators::CONDITIONAL => "?",
        operators::INDEX => "[",
        operators::EQUALS => "==",
        operators::NOT_EQUALS => "!=",
        operators::LESS => "<",
        operators::LESS_EQUALS => "<=",
        operators::GREATER => ">",
        operators::GREATER_EQUALS => ">=",
        operators::ADD => "+",
        operators::MULTIPLY => "*",
        operators::DIVIDE => "/",
        operators::MODULO => "%",
        operators::IN => "in",
        _ => return None,
    })
}

impl Tree {
    /// The parts that it is made of.
    pub fn parts(&self) -> Vec<&Tree> {
        match &self.node {
            Node::Literal { .. } | Node::Name { .. } => Vec::new(),
            Node::Field { of, .. } => vec![of],
            Node::Call { target, arguments, .. } => {
                target.as_deref().into_iter().chain(arguments).collect()
            }
            Node::Operator { operands, .. } => operands.iter().collect(),
            Node::List { items } => items.iter().collect(),
            Node::Map { entries } => entries.iter().flat_map(|(key, value)| [key, value]).collect(),
        }
    }

    /// The operands of `operator` where it is the outermost one; otherwise the whole.
    pub fn chain(&self, operator: &str) -> &[Tree] {
        match &self.node {
            Node::Operator { operator: own, operands } if *own == operator => operands,
            _ => std::slice::from_ref(self),
        }
    }

    /// A text that is the same for expressions that differ only in layout, brackets, the order of a
    /// chain, or a double negation.
    pub fn canonical(&self) -> String {
        match &self.node {
            Node::Literal { value } => value.to_string(),
            Node::Name { name } => name.clone(),
            Node::Field { of, name } => format!("{}.{name}", of.canonical()),
            Node::Call { function, target, arguments } => {
                let target = target.as_ref().map(|target| format!("{}.", target.canonical()));
                let arguments: Vec<String> = arguments.iter().map(Self::canonical).collect();
                format!("{}{function}({})", target.unwrap_or_default(), arguments.join(", "))
            }
            Node::Operator { operator, operands } => canonical_operator(operator, operands),
            Node::List { items } => {
                let items: Vec<String> = items.iter().map(Self::canonical).collect();
                format!("[{}]", items.join(", "))
            }
            Node::Map { entries } => {
                entries.iter().fold(String::from("{"), |mut text, (k, v)| {
                    // Writing to a string does not fail.
                    let _ = write!(text, "{}: {}, ", k.canonical(), v.canonical());
                    text
                }) + "}"
            }
        }
    }
}

fn canonical_operator(operator: &str, operands: &[Tree]) -> String {
    let mut texts: Vec<String> = operands.iter().map(Tree::canonical).collect();
    if let ("!", [operand]) = (operator, operands) {
        let inner = |wanted: &str| match &operand.node {
            Node::Operator { operator, operands } if *operator == wanted => Some(operands),
            _ => None,
        };
        if let Some([doubly]) = inner("!").map(Vec::as_slice) {
            return doubly.canonical();
        }
        for (equal, other) in [("==", "!="), ("!=", "==")] {
            if let Some(operands) = inner(equal) {
                return canonical_operator(other, operands);
            }
        }
    }
    if matches!(operator, "&&" | "||" | "==" | "!=") {
        texts.sort_unstable();
        if matches!(operator, "&&" | "||") {
            texts.dedup();
        }
    }
    match texts.as_slice() {
        [one] if matches!(operator, "&&" | "||") => one.clone(),
        _ => format!("({operator} {})", texts.join(" ")),
    }
}
