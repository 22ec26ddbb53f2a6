//! What expressions are worth.

use std::rc::Rc;

use air_core::place::{Place, PlaceKind};

use super::{
    ast::{Clause, Comprehension, Expr, Index, Kind, Piece},
    interpret::Interpreter,
    lookup::VARIABLES,
    text,
    value::{Dict, Function, GAP, Sources, Text, Value, What},
};
use crate::owner;

/// So many items of a list are gone through one by one.
pub(super) const MOST_ITEMS: usize = 32;
/// Longer texts that are made of others are not listed: a loop can make very many.
const LONGEST_DERIVED: usize = 4096;
/// Longer lists are known in part.
const LONGEST_LIST: usize = 4096;

impl Interpreter<'_, '_> {
    pub(super) fn eval(&mut self, expr: &Expr) -> Value {
        if !self.work(1) {
            return Value::unknown();
        }
        if self.depth == 0 {
            self.out.incomplete_at(expr.line, "nested too deeply");
            return Value::unknown();
        }
        self.depth -= 1;
        let value = self.eval_kind(expr);
        self.depth += 1;
        value
    }

    fn eval_kind(&mut self, expr: &Expr) -> Value {
        match &expr.kind {
            Kind::Name(name) => self.lookup(name),
            Kind::Text { text, bytes } => {
                self.out.string(text);
                literal(text, *bytes)
            }
            Kind::Format(pieces) => self.format(pieces),
            Kind::Number(number) => Value::new(What::Number(*number)),
            Kind::Bool(is) => Value::new(What::Bool(*is)),
            Kind::None => Value::new(What::None),
            Kind::Plain | Kind::Deep => Value::unknown(),
            Kind::Attribute(object, name) => {
                let object = self.eval(object);
                self.attribute(&object, name, expr.line)
            }
            Kind::Subscript(object, index) => self.subscripted(object, index, expr.line),
            Kind::Call(callee, arguments) => self.call(expr, callee, arguments),
            Kind::Sum(operands) => self.sum(operands),
            Kind::Binary(operator, left, right) => {
                let (left, right) = (self.eval(left), self.eval(right));
                self.binary(operator, &left, &right)
            }
            Kind::Either(options) => {
                let options: Vec<Value> = options
                    .iter()
                    .map(|option| (matches!(option.kind, Kind::Test(_)), self.eval(option)))
                    .filter_map(|(test, value)| (!test).then_some(value))
                    .collect();
                Value::any(options)
            }
            Kind::Test(parts) => {
                for part in parts {
                    self.eval(part);
                }
                Value::unknown()
            }
            Kind::List(items) => self.list(items),
            Kind::Dict(items) => self.dictionary(items),
            Kind::Comprehension(comprehension) => self.comprehension(comprehension),
            Kind::Lambda(definition) => {
                let defaults = self.defaults(definition);
                self.heap.functions.push(Function {
                    definition: Rc::clone(definition),
                    scope: self.scope,
                    defaults,
                    class: None,
                    called: false,
                });
                Value::new(What::Function(self.heap.functions.len() - 1))
            }
            Kind::Of(parts) => {
                let mut from = Sources::default();
                for part in parts {
                    let value = self.eval(part);
                    from.add(&self.heap.sources(&value));
                }
                Value::computed(from)
            }
            Kind::Yield(value) => {
                let value = self.eval(value);
                // What a generator gives are its items, one by one.
                self.give(value.clone());
                Value::computed(value.from)
            }
            Kind::Star(inner) => self.eval(inner),
            Kind::Walrus(target, value) => {
                let value = self.eval(value);
                self.assign(target, value.clone());
                value
            }
        }
    }

    fn format(&mut self, pieces: &[Piece]) -> Value {
        let mut whole = Text::new("");
        let mut from = Sources::default();
        for piece in pieces {
            match piece {
                Piece::Text(text) => {
                    self.out.string(text);
                    whole = whole.then(&Text::new(Rc::clone(text)));
                }
                Piece::Value(value) => {
                    let value = self.eval(value);
                    from.add(&self.heap.sources(&value));
                    whole = whole.then(&value.as_text());
                }
            }
            self.work(whole.text.len() / 64);
        }
        if whole.known {
            self.derived(&whole.text);
        }
        Value { what: What::Text(whole), from }
    }

    fn sum(&mut self, operands: &[Expr]) -> Value {
        let mut literals = Vec::new();
        let mut sum: Option<Value> = None;
        let mut operands = operands.iter().peekable();
        while let Some(operand) = operands.next() {
            let value = match &operand.kind {
                Kind::Text { text, bytes } => {
                    // Literals side by side are one, at once: there can be very many.
                    let mut run = String::from(&**text);
                    while let Some(Expr { kind: Kind::Text { text, .. }, .. }) = operands.peek() {
                        run.push_str(text);
                        operands.next();
                    }
                    self.work(run.len() / 64);
                    let run: Rc<str> = run.into();
                    literals.push(Rc::clone(&run));
                    literal(&run, *bytes)
                }
                _ => self.eval(operand),
            };
            sum = Some(match sum {
                None => value,
                Some(before) => self.plus(&before, &value),
            });
        }
        let sum = sum.unwrap_or_else(Value::unknown);
        match &sum.what {
            What::Text(text) if !literals.is_empty() && text.text.len() <= LONGEST_DERIVED => {
                for piece in text.text.split(GAP).filter(|piece| !piece.is_empty()) {
                    self.out.string(piece);
                }
            }
            _ => literals.iter().for_each(|literal| self.out.string(literal)),
        }
        sum
    }

    /// Notes a text that is made of others.
    pub(super) fn derived(&mut self, text: &str) {
        if text.len() <= LONGEST_DERIVED {
            self.out.string(text);
        }
    }

    pub(super) fn plus(&mut self, left: &Value, right: &Value) -> Value {
        let from = self.heap.sources(left).and(&self.heap.sources(right));
        let size = |value: &Value| match &value.what {
            What::Text(text) => text.text.len() / 64,
            _ => 0,
        };
        self.work(size(left) + size(right));
        match (&left.what, &right.what) {
            (What::Number(a), What::Number(b)) => {
                let what = a.checked_add(*b).map_or(What::Unknown, What::Number);
                Value { what, from }
            }
            (What::List(a), _) => {
                let more = self.items(right);
                let Some(list) = self.heap.lists.get(*a) else { return Value::computed(from) };
                let mut items = list.items.clone();
                let open = list.open || more.is_none();
                items.extend(more.unwrap_or_default());
                items.truncate(LONGEST_LIST);
                self.work(items.len());
                self.heap.list(items, open).with(&from)
            }
            (What::Text(a), What::Text(b)) => Value { what: What::Text(a.then(b)), from },
            (What::Any(_), What::Text(_)) | (What::Text(_), What::Any(_)) => {
                let mut sums = Vec::new();
                for a in left.each() {
                    for b in right.each() {
                        let both = self.plus(a, b);
                        sums.push(both);
                    }
                }
                Value::any(sums).with(&from)
            }
            (What::Text(text), _) => Value { what: What::Text(text.then(&Text::gap())), from },
            (_, What::Text(text)) => Value { what: What::Text(Text::gap().then(text)), from },
            _ => Value::computed(from),
        }
    }

    pub(super) fn binary(&mut self, operator: &str, left: &Value, right: &Value) -> Value {
        let from = self.heap.sources(left).and(&self.heap.sources(right));
        let what = match (operator, &left.what, &right.what) {
            ("+", ..) => return self.plus(left, right),
            ("/", What::Number(_), _) | ("/", _, What::Number(_)) => What::Unknown,
            ("/", What::Any(options), _) => {
                let options: Vec<Value> =
                    options.iter().map(|left| self.binary("/", left, right)).collect();
                return Value::any(options).with(&from);
            }
            ("/", What::Path(_) | What::Text(_), _) | ("/", _, What::Path(_) | What::Text(_)) => {
                What::Path(text::joined(&left.as_text(), &right.as_text()))
            }
            ("%", What::Text(text), _) if text.text.len() <= 1 << 14 => {
                let items = match right.what {
                    What::List(_) => self.items(right),
                    What::Dict(_) => None,
                    _ => Some(vec![right.clone()]),
                };
                What::Text(text::percent(text, items.as_deref()))
            }
            ("*", What::Text(text), _) | ("*", _, What::Text(text)) => {
                let times = left.number().or_else(|| right.number());
                match times.and_then(|times| usize::try_from(times).ok()) {
                    Some(times) if times.saturating_mul(text.text.len()) <= 1 << 14 => {
                        What::Text(text.with(text.text.repeat(times)))
                    }
                    _ => What::Text(Text::gap()),
                }
            }
            ("*", What::List(_), _) => left.what.clone(),
            (_, What::Number(a), What::Number(b)) => {
                text::arithmetic(operator, *a, *b).map_or(What::Unknown, What::Number)
            }
            ("|", What::Dict(_), What::Dict(_)) => {
                return left.clone().or(right.clone());
            }
            ("%", What::Text(_), _) => What::Text(Text::gap()),
            _ => What::Unknown,
        };
        Value { what, from }
    }

    fn list(&mut self, items: &[Expr]) -> Value {
        let mut values = Vec::new();
        let mut open = false;
        let mut from = Sources::default();
        for item in items {
            let value = self.eval(item);
            if matches!(item.kind, Kind::Star(_)) {
                if let Some(items) = self.items(&value) {
                    values.extend(items);
                } else {
                    open = true;
                    from.add(&self.heap.sources(&value));
                }
            } else {
                values.push(value);
            }
        }
        values.truncate(LONGEST_LIST);
        self.heap.list(values, open).with(&from)
    }

    fn dictionary(&mut self, items: &[(Option<Expr>, Expr)]) -> Value {
        let mut dict = Dict::default();
        for (key, value) in items {
            let key = key.as_ref().map(|key| self.eval(key));
            let value = self.eval(value);
            match (key, &value.what) {
                (Some(key), _) => dict.items.push((key, value)),
                (None, What::Dict(other)) => {
                    let other = self.heap.dicts.get(*other);
                    dict.open |= other.is_none_or(|other| other.open);
                    dict.items.extend(other.map(|other| other.items.clone()).unwrap_or_default());
                    dict.items.truncate(LONGEST_LIST);
                }
                (None, _) => {
                    dict.open = true;
                    dict.from.add(&self.heap.sources(&value));
                }
            }
        }
        self.heap.dict(dict)
    }

    fn comprehension(&mut self, comprehension: &Comprehension) -> Value {
        let inner = self.heap.scope(Some(self.scope));
        let outer = std::mem::replace(&mut self.scope, inner);
        let mut made = Vec::new();
        let whole = self.clauses(comprehension, &comprehension.clauses, &mut made);
        self.scope = outer;
        if comprehension.key.is_some() {
            return self.heap.dict(Dict { items: made, open: !whole, from: Sources::default() });
        }
        let items = made.into_iter().map(|(_, value)| value).collect();
        self.heap.list(items, !whole)
    }

    /// Whether all items are known.
    fn clauses(
        &mut self,
        comprehension: &Comprehension,
        clauses: &[Clause],
        made: &mut Vec<(Value, Value)>,
    ) -> bool {
        let Some((clause, rest)) = clauses.split_first() else {
            let key = comprehension.key.as_ref().map_or_else(Value::unknown, |key| self.eval(key));
            let value = self.eval(&comprehension.value);
            made.push((key, value));
            return made.len() < LONGEST_LIST;
        };
        match clause {
            Clause::If(test) => {
                self.eval(test);
                self.clauses(comprehension, rest, made);
                false
            }
            Clause::For(target, items) => {
                let items = self.eval(items);
                let (each, mut whole) = self.each_item(&items);
                for item in each {
                    self.assign(target, item);
                    whole &= self.clauses(comprehension, rest, made);
                }
                whole
            }
        }
    }

    /// The items of a list that is known as a whole.
    pub(super) fn items(&self, value: &Value) -> Option<Vec<Value>> {
        match &value.what {
            What::List(id) => {
                let list = self.heap.lists.get(*id).filter(|list| !list.open)?;
                Some(list.items.iter().map(|item| item.clone().with(&value.from)).collect())
            }
            What::Text(text) if text.known && text.text.len() <= 4 * MOST_ITEMS => {
                let letter = |letter: char| {
                    if text.bytes {
                        Value::new(What::Number(i64::from(u32::from(letter))))
                    } else {
                        Value::text(letter.to_string())
                    }
                };
                Some(text.text.chars().map(|c| letter(c).with(&value.from)).collect())
            }
            What::Dict(id) => {
                let dict = self.heap.dicts.get(*id).filter(|dict| !dict.open)?;
                Some(dict.items.iter().map(|(key, _)| key.clone()).collect())
            }
            _ => None,
        }
    }

    /// What a loop over `value` goes through: each item, or one that stands for all that are left;
    /// and whether they are all known.
    pub(super) fn each_item(&mut self, value: &Value) -> (Vec<Value>, bool) {
        // What is empty where a function is gone through may be filled by another.
        let filled = |items: &Vec<Value>| !items.is_empty() || self.active.is_empty();
        if let Some(mut items) = self.items(value).filter(filled) {
            if items.len() <= 4 * MOST_ITEMS {
                return (items, true);
            }
            let rest = items.split_off(MOST_ITEMS);
            items.push(Value::any(rest));
            return (items, false);
        }
        let from = match &value.what {
            What::Name(name) if &**name == VARIABLES => {
                Sources::of(Place::new(PlaceKind::Variable, VARIABLES))
            }
            _ => self.heap.sources(value),
        };
        let known: Vec<Value> = match &value.what {
            What::List(id) => {
                self.heap.lists.get(*id).map(|list| list.items.clone()).unwrap_or_default()
            }
            What::Dict(id) => {
                let dict = self.heap.dicts.get(*id);
                dict.map(|dict| dict.items.iter().map(|(key, _)| key.clone()).collect())
                    .unwrap_or_default()
            }
            _ => Vec::new(),
        };
        let mut items: Vec<Value> = known.into_iter().take(MOST_ITEMS).collect();
        let rest = match &value.what {
            What::Object(id) if self.heap.objects.get(*id).is_some_and(|o| &*o.class == "glob") => {
                let place = self.heap.objects.get(*id).and_then(|object| object.place.clone());
                let text = place.map_or_else(Text::gap, |place| Text {
                    known: false,
                    text: place.name.replace(['*', '?'], GAP).into(),
                    bytes: false,
                });
                Value { what: What::Text(text), from: value.from.clone() }
            }
            What::Object(id)
                if self.heap.objects.get(*id).is_some_and(|o| &*o.class == "processes") =>
            {
                let place = Place::new(PlaceKind::Command, "*");
                let found = Sources::of(owner::foreign());
                self.heap.object("psutil.Process", Some(place)).with(&found)
            }
            _ => Value::computed(from),
        };
        items.push(rest);
        (items, false)
    }

    fn subscripted(&mut self, object: &Expr, index: &Index, line: u32) -> Value {
        let object = self.eval(object);
        match index {
            Index::At(key) => {
                let key = self.eval(key);
                self.subscript(&object, &key, line)
            }
            Index::Slice(parts) => {
                let mut bounds = [None, None, None];
                let mut known = true;
                for (bound, part) in bounds.iter_mut().zip(parts) {
                    if let Some(part) = part {
                        let value = self.eval(part);
                        *bound = value.number();
                        known &= bound.is_some() || matches!(value.what, What::None);
                    }
                }
                self.slice(&object, bounds, known)
            }
        }
    }

    fn slice(&mut self, object: &Value, bounds: [Option<i64>; 3], known: bool) -> Value {
        let from = self.heap.sources(object);
        match &object.what {
            What::Text(text) if known && text.known => {
                let letters: Vec<char> = text.text.chars().collect();
                let letters: String = text::slice(&letters, bounds).into_iter().collect();
                self.derived(&letters);
                Value { what: What::Text(text.with(letters)), from: object.from.clone() }
            }
            What::List(id) if known => {
                let list = self.heap.lists.get(*id);
                let open = list.is_none_or(|list| list.open);
                let items = list.map(|list| text::slice(&list.items, bounds)).unwrap_or_default();
                self.heap.list(items, open).with(&object.from)
            }
            What::List(_) => object.clone(),
            What::Any(options) => {
                let options: Vec<Value> =
                    options.iter().map(|option| self.slice(option, bounds, known)).collect();
                Value::any(options)
            }
            _ => Value::computed(from),
        }
    }
}

fn literal(text: &Rc<str>, bytes: bool) -> Value {
    // A letter that is written by its name is not known.
    Value::new(What::Text(Text { text: Rc::clone(text), known: !text.contains(GAP), bytes }))
}
