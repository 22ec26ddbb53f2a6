//! How large a value is, in bytes, as far as the source says.

use super::{
    flow::count,
    tree::{Id, Question, Tree},
};

/// What the smallest object takes.
pub(super) const OBJECT: f64 = 56.0;
/// What a generator takes, whatever it would give.
const GENERATOR: f64 = 200.0;
/// Values are made of values are made of values.
const MOST_DEPTH: usize = 12;

/// Functions that give a text or bytes.
const GIVES: [&str; 14] = [
    "recv",
    "recvfrom",
    "input",
    "read",
    "encode",
    "join",
    "dumps",
    "urandom",
    "decode",
    "readline",
    "token_bytes",
    "bytes",
    "bytearray",
    "str",
];

/// Functions that go through all that they are given.
const WHOLE: [&str; 8] =
    ["join", "list", "tuple", "set", "sorted", "bytes", "bytearray", "frozenset"];

impl Tree<'_, '_> {
    /// The size of what `id` is.
    pub(super) fn size(&self, id: Id) -> f64 {
        self.size_in(id, MOST_DEPTH)
    }

    fn largest(&self, ids: impl IntoIterator<Item = Id>, depth: usize) -> f64 {
        ids.into_iter().take(6).map(|id| self.size_in(id, depth)).fold(0.0, f64::max)
    }

    fn size_in(&self, id: Id, depth: usize) -> f64 {
        let size = |depth| {
            self.once(Question::Size, id, depth, || self.nested(|| self.size_of(id, depth)))
        };
        depth.checked_sub(1).and_then(size).unwrap_or(1.0)
    }

    fn size_of(&self, id: Id, depth: usize) -> f64 {
        let sum = |ids: Vec<Id>| -> f64 { ids.into_iter().map(|id| self.size_in(id, depth)).sum() };
        match self.kind(id) {
            "string" => self.text_size(id, depth),
            "integer" | "float" => count(self.text(id).len()),
            "identifier" | "attribute" => self.named_size(id, depth),
            "binary_operator" => {
                let (Some(left), Some(right)) = (self.child(id, "left"), self.child(id, "right"))
                else {
                    return 8.0;
                };
                let operator =
                    self.child(id, "operator").map_or("", |operator| self.text(operator));
                if let Some(number) = self.amount(id) {
                    return self.digits(id, number);
                }
                match operator {
                    "*" => match (self.amount(left), self.amount(right)) {
                        (None, Some(times)) if self.is_sequence(left) => {
                            self.size_in(left, depth) * times.max(0.0)
                        }
                        (Some(times), None) if self.is_sequence(right) => {
                            self.size_in(right, depth) * times.max(0.0)
                        }
                        _ => self.size_in(left, depth).max(self.size_in(right, depth)),
                    },
                    "+" | "|" => self.size_in(left, depth) + self.size_in(right, depth),
                    "/" => 17.0,
                    _ => self.size_in(left, depth),
                }
            }
            "list"
            | "tuple"
            | "set"
            | "dictionary"
            | "pair"
            | "expression_list"
            | "concatenated_string"
            | "parenthesized_expression"
            | "await"
            | "list_splat"
            | "dictionary_splat" => sum(self.below(id).collect()),
            "list_comprehension" | "set_comprehension" | "dictionary_comprehension" => {
                self.spread(id, depth)
            }
            "generator_expression" => GENERATOR,
            "conditional_expression" | "boolean_operator" => self.largest(self.below(id), depth),
            "subscript" => self.part_size(id, depth),
            "call" => self.call_size(id, depth),
            _ => 1.0,
        }
    }

    /// Whether `id` is a text or a list, as far as its parts tell.
    fn is_sequence(&self, id: Id) -> bool {
        let numeric = ["int", "float", "len", "ord", "round", "abs", "sum"];
        let reached = self.reach_while(id, |at| {
            self.kind(at) != "call" || !numeric.contains(&self.callee(at).as_str())
        });
        reached.into_iter().any(|at| match self.kind(at) {
            "string" | "list" | "tuple" | "list_comprehension" => true,
            "call" => {
                let callee = self.callee(at);
                let last = callee.rsplit('.').next().unwrap_or_default();
                GIVES.contains(&last)
            }
            _ => false,
        })
    }

    /// All items of a comprehension.
    fn spread(&self, id: Id, depth: usize) -> f64 {
        if !self.kind(id).ends_with("comprehension") && self.kind(id) != "generator_expression" {
            return self.size_in(id, depth);
        }
        let each = self.child(id, "body").map_or(1.0, |body| self.size_in(body, depth));
        each * self.rounds_of(id, depth)
    }

    fn rounds_of(&self, comprehension: Id, depth: usize) -> f64 {
        let clauses = self.below(comprehension).filter(|part| self.kind(*part) == "for_in_clause");
        clauses
            .filter_map(|clause| self.child(clause, "right"))
            .map(|items| self.length_in(items, depth).unwrap_or(1.0))
            .product()
    }

    fn text_size(&self, id: Id, depth: usize) -> f64 {
        if let Some(text) = self.literal(id) {
            return count(text.len());
        }
        let mut size = 0.0;
        for part in self.below(id) {
            size += match self.kind(part) {
                "string_content" => count(self.text(part).len()),
                "interpolation" => {
                    self.child(part, "expression").map_or(1.0, |value| self.size_in(value, depth))
                }
                _ => 0.0,
            };
        }
        size
    }

    fn named_size(&self, id: Id, depth: usize) -> f64 {
        let name = self.short(id);
        let mut values = if self.kind(id) == "attribute" {
            self.assigned.get(&(0, name)).cloned().unwrap_or_default()
        } else {
            self.given(self.scope(id), name)
        };
        if values.is_empty()
            && let Some((function, place)) = self.parameter(id)
        {
            values = self.passed(function, place);
        }
        let (mut largest, mut added) = (0.0_f64, 0.0);
        for value in values.into_iter().take(6) {
            let above = self.kind(self.parent(value));
            let one = self.size_in(value, depth);
            match above {
                // One of them at a time.
                "for_statement" | "for_in_clause" => {
                    let length = self.length_in(value, depth).unwrap_or(1.0).max(1.0);
                    largest = largest.max((one / length).max(1.0));
                }
                "augmented_assignment" => added += one * self.loops(value),
                "argument_list" if self.puts(value) => added += one * self.loops(value),
                _ => largest = largest.max(one),
            }
        }
        (largest + added).max(1.0)
    }

    fn puts(&self, value: Id) -> bool {
        let call = self.parent(self.parent(value));
        let callee = self.child(call, "function").map(|callee| self.text(callee));
        callee.is_some_and(|callee| callee.contains('.'))
    }

    fn part_size(&self, id: Id, depth: usize) -> f64 {
        let (Some(object), Some(index)) = (self.child(id, "value"), self.child(id, "subscript"))
        else {
            return 1.0;
        };
        if self.kind(index) == "slice" {
            return self.size_in(object, depth);
        }
        let length = self.length_in(object, depth).unwrap_or(1.0).max(1.0);
        (self.size_in(object, depth) / length).max(1.0)
    }

    fn call_size(&self, id: Id, depth: usize) -> f64 {
        let callee = self.callee(id);
        let last = callee.rsplit('.').next().unwrap_or_default();
        let first = self.arguments(id).first().map(|(_, value)| *value);
        let object = self.child(id, "function").and_then(|callee| self.child(callee, "object"));
        let number = || first.and_then(|first| self.amount(first));
        match (last, first) {
            ("join", Some(first)) => return self.spread(first, depth),
            (
                "bytes" | "bytearray" | "urandom" | "token_bytes" | "zeros" | "ones" | "empty",
                Some(first),
            ) => {
                return number().unwrap_or_else(|| self.size_in(first, depth));
            }
            ("str" | "repr" | "format", Some(first)) if object.is_none() => {
                let shows = self.kind(first) == "call"
                    && matches!(
                        self.callee(first).as_str(),
                        "reversed" | "iter" | "map" | "filter" | "zip" | "enumerate"
                    );
                return match self.amount(first) {
                    Some(number) => self.digits(first, number),
                    None if shows => 45.0,
                    None => self.size_in(first, depth),
                };
            }
            ("hex", Some(_)) => {
                return number()
                    .map_or(4.0, |n| 2.0 + (n.max(1.0).ln() / 16_f64.ln()).floor() + 1.0);
            }
            ("oct", Some(_)) => {
                return number()
                    .map_or(5.0, |n| 2.0 + (n.max(1.0).ln() / 8_f64.ln()).floor() + 1.0);
            }
            ("bin", Some(_)) => {
                return number().map_or(9.0, |n| 2.0 + n.max(1.0).log2().floor() + 1.0);
            }
            ("chr", _) => return 1.0,
            ("range", _) => return OBJECT,
            ("repeat", Some(first)) => {
                let times = self.argument(id, 1, "times").and_then(|times| self.amount(times));
                return self.size_in(first, depth) * times.unwrap_or(1.0);
            }
            (last, Some(first)) if WHOLE.contains(&last) => {
                return self
                    .length_in(first, depth)
                    .map_or(0.0, |n| n * 8.0)
                    .max(self.spread(first, depth));
            }
            ("ljust" | "rjust" | "center" | "zfill", Some(first)) => {
                return self.amount(first).unwrap_or(1.0);
            }
            ("b64encode" | "dumps" | "copy" | "deepcopy", Some(first)) => {
                return self.size_in(first, depth);
            }
            ("hexlify", Some(first)) => return 2.0 * self.size_in(first, depth),
            _ => {}
        }
        let functions = self.runs(id);
        if !functions.is_empty() {
            let made = functions.iter().filter_map(|function| self.functions.get(*function));
            let mut largest = 1.0_f64;
            for function in made {
                let yields =
                    function.returns.iter().any(|value| self.kind(self.parent(*value)) == "yield");
                let size =
                    if yields { GENERATOR } else { self.largest(function.returns.clone(), depth) };
                largest = largest.max(size);
            }
            return largest;
        }
        let given: f64 =
            self.arguments(id).into_iter().map(|(_, value)| self.size_in(value, depth)).sum();
        match object {
            // A text in other letters.
            Some(object) if !self.imports.contains_key(self.text(object)) => {
                if matches!(last, "replace" | "expandtabs") {
                    self.size_in(object, depth) * given.max(1.0)
                } else {
                    self.size_in(object, depth)
                }
            }
            _ => given + OBJECT.min(given),
        }
    }

    /// How many letters the number `id` is written with.
    fn digits(&self, id: Id, number: f64) -> f64 {
        let whole = std::iter::once(id).chain(self.within(id));
        let mut fraction = false;
        for at in whole {
            fraction |= match self.kind(at) {
                "float" => true,
                "binary_operator" => {
                    self.child(at, "operator").is_some_and(|operator| self.text(operator) == "/")
                }
                "call" => {
                    matches!(self.callee(at).as_str(), "float")
                        || self.callee(at).starts_with("math.")
                }
                _ => false,
            };
        }
        let written = if fraction && number.fract() == 0.0 {
            format!("{number:.1}")
        } else {
            format!("{number}")
        };
        count(written.len())
    }

    /// How many items `id` has, if that is known.
    pub(super) fn length(&self, id: Id) -> Option<f64> {
        self.length_in(id, MOST_DEPTH)
    }

    fn length_in(&self, id: Id, depth: usize) -> Option<f64> {
        let depth = depth.checked_sub(1)?;
        self.once(Question::Length, id, depth, || {
            self.nested(|| self.length_of(id, depth)).flatten()
        })
    }

    fn length_of(&self, id: Id, depth: usize) -> Option<f64> {
        match self.kind(id) {
            "list" | "tuple" | "set" | "dictionary" => Some(count(self.below(id).count())),
            "string" => self.literal(id).map(|text| count(text.chars().count())),
            "parenthesized_expression" => self.length_in(self.below(id).next()?, depth),
            "binary_operator" => {
                let (left, right) = (self.child(id, "left")?, self.child(id, "right")?);
                match self.text(self.child(id, "operator")?) {
                    "*" => match (self.amount(left), self.amount(right)) {
                        (None, Some(times)) => Some(self.length_in(left, depth)? * times),
                        (Some(times), None) => Some(self.length_in(right, depth)? * times),
                        _ => None,
                    },
                    "+" => Some(self.length_in(left, depth)? + self.length_in(right, depth)?),
                    _ => None,
                }
            }
            "list_comprehension"
            | "generator_expression"
            | "set_comprehension"
            | "dictionary_comprehension" => Some(self.rounds_of(id, depth)),
            "call" => {
                let callee = self.callee(id);
                let all = self.arguments(id);
                let number = |at: usize| all.get(at).and_then(|(_, value)| self.amount(*value));
                match callee.rsplit('.').next().unwrap_or_default() {
                    "range" | "xrange" if all.len() == 1 => number(0),
                    "range" | "xrange" => {
                        let step = number(2).map_or(1.0, f64::abs).max(1.0);
                        Some((number(1)? - number(0)?).abs() / step)
                    }
                    "repeat" => number(1),
                    "enumerate" | "list" | "tuple" | "set" | "sorted" | "reversed" | "tqdm"
                    | "iter" => self.length_in(all.first()?.1, depth),
                    "split" | "encode" | "upper" | "lower" => None,
                    _ => {
                        let made = self.runs(id);
                        let returns =
                            made.iter().filter_map(|function| self.functions.get(*function));
                        let lengths = returns.flat_map(|function| function.returns.iter());
                        lengths
                            .take(8)
                            .filter_map(|value| self.length_in(*value, depth))
                            .reduce(f64::max)
                    }
                }
            }
            "identifier" | "attribute" => {
                let mut values = self.given(self.scope(id), self.text(id));
                if let (true, Some((function, place))) = (values.is_empty(), self.parameter(id)) {
                    values = self.passed(function, place);
                }
                let mut length = None;
                for value in values.into_iter().take(6) {
                    let more = match self.kind(self.parent(value)) {
                        "argument_list" if self.puts(value) => Some(self.loops(value)),
                        "for_statement" | "for_in_clause" => None,
                        _ => self.length_in(value, depth),
                    };
                    length = match (length, more) {
                        (Some(one), Some(more)) => Some(f64::max(one, more)),
                        (one, more) => one.or(more),
                    };
                }
                length
            }
            _ => None,
        }
    }

    /// How often `id` happens each time that its function runs, at least once.
    pub(super) fn loops(&self, id: Id) -> f64 {
        let scope = self.scope(id);
        let mut times = 1.0;
        for above in self.parents(id).take_while(|above| self.scope(*above) == scope) {
            times *= match self.kind(above) {
                "for_statement" => self
                    .child(above, "right")
                    .and_then(|items| self.length(items))
                    .unwrap_or(1.0)
                    .max(1.0),
                "while_statement" => self
                    .child(above, "condition")
                    .and_then(|test| self.bound(test))
                    .unwrap_or(1.0)
                    .max(1.0),
                "list_comprehension" | "generator_expression" => {
                    self.rounds_of(above, MOST_DEPTH).max(1.0)
                }
                _ => 1.0,
            };
        }
        times
    }

    /// `i < 1000`: so often.
    fn bound(&self, test: Id) -> Option<f64> {
        if self.kind(test) != "comparison_operator" {
            return None;
        }
        let numbers = self.below(test).filter_map(|side| self.amount(side));
        numbers.reduce(f64::max)
    }
}
