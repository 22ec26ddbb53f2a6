//! Evaluation: three-valued, deterministic, within a budget.
//!
//! One law holds throughout: with more known, an unknown may become true or false, and what was true
//! or false stays so. An error is an unknown whose reason is the error.

use std::sync::Arc;

use air_core::{
    fact::{Facts, Root},
    value::{List, Value},
};

use super::{
    ir::{Loop, Node, Op},
    ops,
};

/// Steps that one evaluation may take; one a node, and more for long texts and lists.
pub(super) const BUDGET: usize = 100_000;
/// Why the answer is unknown past it.
pub(super) const EXHAUSTED: &str = "condition exceeded its step budget";
/// Bytes of text that a search reads in one step.
pub(super) const BYTES_A_STEP: usize = 256;

#[derive(Debug)]
pub(super) struct Evaluator<'f> {
    pub(super) facts: &'f Facts,
    left: usize,
    granted: usize,
    pub(super) locals: Vec<Value>,
}

pub(super) fn unknown(why: impl Into<Arc<str>>) -> Value {
    Value::Unknown(why.into())
}

pub(super) fn mismatch(what: &str, value: &Value) -> Value {
    unknown(format!("{what} cannot take {}", ops::kind(value)))
}

/// The item at `place`, which was written as `at`.
fn item(list: &List, place: Option<usize>, at: impl std::fmt::Display) -> Value {
    let item = place.and_then(|place| list.items.get(place).cloned());
    item.unwrap_or_else(|| unknown(format!("the list has no item {at}")))
}

impl<'f> Evaluator<'f> {
    /// Takes at most [`BUDGET`] steps, and no more than `steps`.
    pub(super) fn new(facts: &'f Facts, steps: u64) -> Self {
        let left = usize::try_from(steps).unwrap_or(BUDGET).min(BUDGET);
        Self { facts, left, granted: left, locals: Vec::new() }
    }

    /// How many steps it has taken.
    pub(super) fn taken(&self) -> u64 {
        u64::try_from(self.granted - self.left).unwrap_or(u64::MAX)
    }

    pub(super) fn exhausted(&self) -> bool {
        self.left == 0
    }

    pub(super) fn spend(&mut self, steps: usize) -> bool {
        self.left = self.left.saturating_sub(steps);
        self.left > 0
    }

    pub(super) fn read(&mut self, text: &str) -> bool {
        self.spend(text.len() / BYTES_A_STEP)
    }

    pub(super) fn eval(&mut self, node: &Node) -> Value {
        if !self.spend(1) {
            return unknown(EXHAUSTED);
        }
        match node {
            Node::Const(value) => value.clone(),
            Node::Root(root) => self.root(*root),
            Node::Local(depth) => {
                self.locals.get(*depth).cloned().unwrap_or_else(|| unknown("no such variable"))
            }
            Node::Field { of, name, record } => match self.place(node) {
                // The node itself was counted already.
                Some((value, steps)) => {
                    let value = value.clone();
                    if self.spend(steps - 1) { value } else { unknown(EXHAUSTED) }
                }
                None => self.field(of, name, *record),
            },
            Node::Has { of, name, record } => self.has(of, name, *record),
            Node::Index(of, index) => self.index(of, index),
            Node::Not(operand) => match self.truth(operand) {
                Value::Bool(truth) => Value::Bool(!truth),
                other => other,
            },
            Node::Negate(operand) => match self.eval(operand) {
                Value::Int(number) => {
                    number.checked_neg().map_or_else(|| unknown("an int overflows"), Value::Int)
                }
                Value::Double(number) => Value::Double(-number),
                why @ Value::Unknown(_) => why,
                other => mismatch("`-`", &other),
            },
            Node::And(left, right) => self.junction(left, right, false),
            Node::Or(left, right) => self.junction(left, right, true),
            Node::If(condition, then, otherwise) => match self.truth(condition) {
                Value::Bool(true) => self.eval(then),
                Value::Bool(false) => self.eval(otherwise),
                other => other,
            },
            Node::Binary(op, left, right) => self.binary(*op, left, right),
            Node::List(items) => {
                Value::list(items.iter().map(|item| self.eval(item)).collect::<Vec<_>>())
            }
            Node::Map(entries) => self.map(entries),
            Node::Loop { kind, range, body, yields } => {
                self.comprehension(*kind, range, body.as_deref(), yields.as_deref())
            }
            Node::Call(function, arguments) => self.call(*function, arguments),
            Node::Matches(text, regex) => self.on_text(text, "`matches`", |this, text| {
                // A regular expression reads slower than a search.
                this.spend(text.len() / (BYTES_A_STEP / 8)).then(|| regex.is_match(text))
            }),
            Node::Glob { text, matcher, .. } => match self.eval(text) {
                Value::Null => Value::Bool(false),
                Value::String(text) if self.read(&text) => Value::Bool(matcher.is_match(&*text)),
                Value::String(_) => unknown(EXHAUSTED),
                why @ Value::Unknown(_) => why,
                other => mismatch("`glob`", &other),
            },
        }
    }

    /// What lies at a place that is known all the way, and the steps that it takes to get there.
    pub(super) fn place<'v>(&'v self, node: &'v Node) -> Option<(&'v Value, usize)> {
        match node {
            Node::Const(value) => Some((value, 1)),
            Node::Root(root) => Some((self.facts.get(*root)?, 1)),
            Node::Local(depth) => Some((self.locals.get(*depth)?, 1)),
            Node::Field { of, name, .. } => match self.place(of)? {
                (Value::Map(fields), steps) => Some((fields.get(name)?, steps + 1)),
                _ => None,
            },
            _ => None,
        }
    }

    /// What `ask` says of two texts that are known, without copies of them. It spends what asking in
    /// general does, which is `more` besides the nodes.
    pub(super) fn on_known_texts(
        &mut self,
        nodes: (&Node, &Node),
        more: impl FnOnce(&str, &str) -> usize,
        ask: impl FnOnce(&str, &str) -> Option<bool>,
    ) -> Option<Value> {
        let (first, second) = (self.place(nodes.0)?, self.place(nodes.1)?);
        let ((Value::String(first), some), (Value::String(second), others)) = (first, second)
        else {
            return None;
        };
        let steps = some + others + more(first, second);
        let answer = if steps < self.left { ask(first, second)? } else { false };
        Some(if self.spend(steps) { Value::Bool(answer) } else { unknown(EXHAUSTED) })
    }

    fn root(&self, root: Root) -> Value {
        self.facts
            .get(root)
            .cloned()
            .unwrap_or_else(|| unknown(format!("`{root}` was not observed")))
    }

    /// A bool or an unknown.
    fn truth(&mut self, node: &Node) -> Value {
        match self.eval(node) {
            value @ (Value::Bool(_) | Value::Unknown(_)) => value,
            other => unknown(format!("{} is neither true nor false", ops::kind(&other))),
        }
    }

    /// `&&` or `||`: the value `absorbing` decides from either side.
    fn junction(&mut self, left: &Node, right: &Node, absorbing: bool) -> Value {
        let left = self.truth(left);
        if left == Value::Bool(absorbing) {
            return left;
        }
        match (left, self.truth(right)) {
            (_, right) if right == Value::Bool(absorbing) => right,
            (why @ Value::Unknown(_), _) | (_, why) => why,
        }
    }

    fn field(&mut self, of: &Node, name: &Arc<str>, record: bool) -> Value {
        match self.eval(of) {
            Value::Map(fields) => fields.get(name).cloned().unwrap_or_else(|| {
                unknown(if record {
                    format!("`{name}` was not observed")
                } else {
                    format!("no such key `{name}`")
                })
            }),
            why @ Value::Unknown(_) => why,
            other => unknown(format!("{} has no field `{name}`", ops::kind(&other))),
        }
    }

    fn has(&mut self, of: &Node, name: &Arc<str>, record: bool) -> Value {
        match self.eval(of) {
            Value::Map(fields) => match fields.get(name) {
                Some(why @ Value::Unknown(_)) => why.clone(),
                Some(Value::Null) if record => Value::Bool(false),
                Some(_) => Value::Bool(true),
                None if record => unknown(format!("`{name}` was not observed")),
                None => Value::Bool(false),
            },
            why @ Value::Unknown(_) => why,
            other => unknown(format!("{} has no field `{name}`", ops::kind(&other))),
        }
    }

    fn index(&mut self, of: &Node, index: &Node) -> Value {
        let of = self.eval(of);
        match (of, self.eval(index)) {
            (why @ Value::Unknown(_), _) | (_, why @ Value::Unknown(_)) => why,
            // Which item is the first is not known while some may lack.
            (Value::List(List { incomplete: Some(why), .. }), Value::Int(_) | Value::Double(_)) => {
                Value::Unknown(why)
            }
            (Value::List(list), Value::Int(at)) => item(&list, usize::try_from(at).ok(), at),
            (Value::List(list), Value::Double(at)) => item(&list, ops::position(at), at),
            (Value::Map(fields), Value::String(name)) => {
                fields.get(&name).cloned().unwrap_or_else(|| unknown("no such key"))
            }
            (of, index) => {
                let (of, index) = (ops::kind(&of), ops::kind(&index));
                unknown(format!("{of} has no items by {index}"))
            }
        }
    }

    fn map(&mut self, entries: &[(Node, Node)]) -> Value {
        let mut fields = std::collections::BTreeMap::new();
        for (key, value) in entries {
            match self.eval(key) {
                Value::String(name) => {
                    let value = self.eval(value);
                    fields.insert(name, value);
                }
                why @ Value::Unknown(_) => return why,
                other => return mismatch("the key of a map", &other),
            }
        }
        Value::Map(Arc::new(fields))
    }

    fn binary(&mut self, op: Op, left: &Node, right: &Node) -> Value {
        if let Op::Equal | Op::NotEqual = op {
            let equal = |left: &str, right: &str| Some((left == right) == (op == Op::Equal));
            if let Some(answer) = self.on_known_texts((left, right), |_, _| 1, equal) {
                return answer;
            }
        }
        let left = self.eval(left);
        let right = self.eval(right);
        match op {
            Op::Equal => return self.equal(&left, &right, 0),
            Op::NotEqual => {
                return match self.equal(&left, &right, 0) {
                    Value::Bool(truth) => Value::Bool(!truth),
                    other => other,
                };
            }
            Op::In => return self.contained(&left, &right),
            _ => {}
        }
        match (&left, &right) {
            (why @ Value::Unknown(_), _) | (_, why @ Value::Unknown(_)) => return why.clone(),
            (Value::List(left), Value::List(right)) if op == Op::Add => {
                return self.joined(left, right);
            }
            (Value::String(left), Value::String(right))
                if !(self.read(left) && self.read(right)) =>
            {
                return unknown(EXHAUSTED);
            }
            _ => {}
        }
        if !matches!(op, Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual) {
            return ops::arithmetic(op, &left, &right).unwrap_or_else(unknown);
        }
        let Ok(order) = ops::order(&left, &right) else {
            let (left, right) = (ops::kind(&left), ops::kind(&right));
            return unknown(format!("`{}` cannot compare {left} with {right}", op.text()));
        };
        Value::Bool(order.is_some_and(|order| match op {
            Op::Less => order.is_lt(),
            Op::LessEqual => order.is_le(),
            Op::Greater => order.is_gt(),
            _ => order.is_ge(),
        }))
    }

    fn joined(&mut self, left: &List, right: &List) -> Value {
        if !self.spend(left.items.len() + right.items.len()) {
            return unknown(EXHAUSTED);
        }
        let items = left.items.iter().chain(&*right.items).cloned().collect();
        let incomplete = left.incomplete.clone().or_else(|| right.incomplete.clone());
        Value::List(List { items, incomplete })
    }

    fn comprehension(
        &mut self,
        kind: Loop,
        range: &Node,
        body: Option<&Node>,
        yields: Option<&Node>,
    ) -> Value {
        let list = match self.eval(range) {
            Value::List(list) => list,
            Value::Map(fields) => List {
                items: fields.keys().cloned().map(Value::String).collect(),
                incomplete: None,
            },
            why @ Value::Unknown(_) => return why,
            other => return mismatch("a loop", &other),
        };
        let (mut holding, mut doubt, mut kept) = (0_usize, None, Vec::new());
        for item in &*list.items {
            self.locals.push(item.clone());
            let truth = body.map_or(Value::Bool(true), |body| self.truth(body));
            if let (Value::Bool(true), Loop::Filter | Loop::Map) = (&truth, kind) {
                kept.push(yields.map_or_else(|| item.clone(), |yields| self.eval(yields)));
            }
            self.locals.pop();
            match truth {
                Value::Bool(true) => holding += 1,
                Value::Bool(false) if kind == Loop::All => return Value::Bool(false),
                Value::Unknown(why) => doubt = doubt.or(Some(why)),
                _ => {}
            }
            match kind {
                Loop::Exists if holding > 0 => return Value::Bool(true),
                Loop::ExistsOne if holding > 1 => return Value::Bool(false),
                _ if self.exhausted() => return unknown(EXHAUSTED),
                _ => {}
            }
        }
        let doubt = doubt.or(list.incomplete);
        match (kind, doubt) {
            (Loop::Filter | Loop::Map, incomplete) => {
                Value::List(List { items: kept.into(), incomplete })
            }
            (_, Some(why)) => Value::Unknown(why),
            (Loop::All, None) => Value::Bool(true),
            (Loop::Exists, None) => Value::Bool(false),
            (Loop::ExistsOne, None) => Value::Bool(holding == 1),
        }
    }

    /// A predicate of one text; `None` from it when the budget is spent.
    fn on_text(
        &mut self,
        node: &Node,
        what: &str,
        predicate: impl FnOnce(&mut Self, &str) -> Option<bool>,
    ) -> Value {
        match self.eval(node) {
            Value::String(text) => {
                predicate(self, &text).map_or_else(|| unknown(EXHAUSTED), Value::Bool)
            }
            why @ Value::Unknown(_) => why,
            other => mismatch(what, &other),
        }
    }
}
