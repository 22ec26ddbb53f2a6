//! What an expression is computed from: through names, parameters and functions of the source,
//! whatever the order and the branches.

use std::collections::HashSet;

use super::tree::{Id, Question, Tree};

/// So many expressions are looked at for one question.
const MOST_REACHED: usize = 256;
/// So many calls of a function are looked at.
const MOST_CALLS: usize = 32;
/// Names stand for names stand for names.
const MOST_NAMES: usize = 8;

impl<'s> Tree<'s, '_> {
    /// The dotted name of what `id` is: imports are resolved, `name()` stands for what `name` makes.
    pub(crate) fn dotted(&self, id: Id) -> String {
        self.dotted_in(id, MOST_NAMES)
    }

    fn dotted_in(&self, id: Id, depth: usize) -> String {
        let text = self.short(id);
        let Some(depth) = depth.checked_sub(1).filter(|_| self.work(1)) else {
            return text.to_owned();
        };
        match self.kind(id) {
            "identifier" => {
                if let Some(import) = self.imports.get(text) {
                    return import.clone();
                }
                let mut given = self.given(self.scope(id), text);
                // What is put into it does not change what it is.
                given.retain(|value| self.kind(self.parent(*value)) != "argument_list");
                match given.as_slice() {
                    [only] if self.names_a_thing(*only) && *only != id => {
                        self.dotted_in(*only, depth)
                    }
                    _ => text.to_owned(),
                }
            }
            "attribute" => {
                let name = self.child(id, "attribute").map_or("", |name| self.text(name));
                if let Some([only]) = self.assigned.get(&(0, text)).map(Vec::as_slice)
                    && self.names_a_thing(*only)
                {
                    return self.dotted_in(*only, depth);
                }
                let object = self.child(id, "object");
                let object = object.map(|object| self.dotted_in(object, depth)).unwrap_or_default();
                format!("{object}.{name}")
            }
            "call" => {
                let callee = self.child(id, "function");
                let callee = callee.map(|callee| self.dotted_in(callee, depth)).unwrap_or_default();
                let first = self.argument(id, 0, "name").and_then(|first| self.literal(first));
                let second = self.argument(id, 1, "name").and_then(|second| self.literal(second));
                match (callee.as_str(), first, second) {
                    ("__import__" | "importlib.import_module", Some(module), _) => module,
                    ("getattr", _, Some(name)) => {
                        let object = self.argument(id, 0, "object");
                        let object = object.map(|object| self.dotted_in(object, depth));
                        format!("{}.{name}", object.unwrap_or_default())
                    }
                    _ => format!("{callee}()"),
                }
            }
            "parenthesized_expression" | "await" => {
                self.below(id).next().map(|inner| self.dotted_in(inner, depth)).unwrap_or_default()
            }
            "string" | "concatenated_string" => "str".to_owned(),
            _ => String::new(),
        }
    }

    fn names_a_thing(&self, id: Id) -> bool {
        matches!(self.kind(id), "call" | "attribute" | "identifier" | "await")
    }

    /// What is called, by its dotted name.
    pub(crate) fn callee(&self, call: Id) -> String {
        self.child(call, "function").map(|callee| self.dotted(callee)).unwrap_or_default()
    }

    /// All that `name` is given in the innermost scope that gives it something.
    pub(crate) fn given(&self, scope: usize, name: &'s str) -> Vec<Id> {
        let mut scope = scope;
        loop {
            if let Some(values) = self.assigned.get(&(scope, name)) {
                return values.clone();
            }
            let Some(function) = self.functions.get(scope) else { return Vec::new() };
            let parameter = function.parameters.iter().any(|(known, _)| *known == name);
            if scope == 0 || parameter {
                return Vec::new();
            }
            scope = function.outer;
        }
    }

    /// The function of which `name` is a parameter where `id` is, and its place.
    pub(crate) fn parameter(&self, id: Id) -> Option<(usize, usize)> {
        if self.kind(id) != "identifier" {
            return None;
        }
        let name = self.text(id);
        let mut scope = self.scope(id);
        while scope != 0 {
            let function = self.functions.get(scope)?;
            let place = function.parameters.iter().position(|(known, _)| *known == name);
            if let Some(place) = place {
                return Some((scope, place));
            }
            scope = function.outer;
        }
        None
    }

    /// What calls of the source pass for a parameter, and its default.
    pub(crate) fn passed(&self, function: usize, place: usize) -> Vec<Id> {
        let Some(function) = self.functions.get(function) else { return Vec::new() };
        let Some((name, default)) = function.parameters.get(place) else { return Vec::new() };
        let called = match function.class {
            Some(class) if function.name == "__init__" => class,
            _ => function.name,
        };
        let calls = self.calls.get(called).map(Vec::as_slice).unwrap_or_default();
        let passed =
            calls.iter().take(MOST_CALLS).filter_map(|call| self.argument(*call, place, name));
        passed.chain(*default).collect()
    }

    /// The functions of the source that this call may run.
    pub(crate) fn runs(&self, call: Id) -> Vec<usize> {
        let Some(callee) = self.child(call, "function") else { return Vec::new() };
        let last = match self.kind(callee) {
            "attribute" => self.child(callee, "attribute").unwrap_or(callee),
            _ => callee,
        };
        let named = self.defined(self.text(last));
        if !named.is_empty() || self.kind(callee) != "identifier" {
            return named;
        }
        let reached = self.reach_while(callee, |at| self.kind(at) != "lambda");
        let names = reached.into_iter().filter(|at| self.kind(*at) == "identifier");
        names.flat_map(|name| self.defined(self.text(name))).collect()
    }

    fn runs_by_name(&self, call: Id) -> Vec<usize> {
        let Some(callee) = self.child(call, "function") else { return Vec::new() };
        let last = self.text(callee).rsplit('.').next().unwrap_or_default();
        self.defined(last)
    }

    /// The functions of that name.
    pub(crate) fn defined(&self, name: &str) -> Vec<usize> {
        self.by_name.get(name).cloned().unwrap_or_default()
    }

    /// `id` and all that it is computed from.
    pub(crate) fn reach(&self, id: Id) -> Vec<Id> {
        self.reach_while(id, |_| true)
    }

    /// The same, without looking into what `into` denies.
    pub(crate) fn reach_while(&self, id: Id, into: impl Fn(Id) -> bool) -> Vec<Id> {
        let mut seen: HashSet<Id> = HashSet::new();
        let mut found = Vec::new();
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            if found.len() >= MOST_REACHED || !seen.insert(id) || !self.work(1) {
                continue;
            }
            found.push(id);
            if !into(id) {
                continue;
            }
            match self.kind(id) {
                "identifier" => {
                    stack.extend(self.given(self.scope(id), self.text(id)));
                    if let Some((function, place)) = self.parameter(id) {
                        stack.extend(self.passed(function, place));
                    }
                }
                "attribute" => {
                    stack.extend(self.assigned.get(&(0, self.short(id))).into_iter().flatten());
                    stack.extend(self.child(id, "object"));
                }
                "call" => {
                    let callee = self.child(id, "function");
                    let object = callee.and_then(|callee| self.child(callee, "object"));
                    stack.extend(object);
                    stack.extend(self.arguments(id).into_iter().map(|(_, value)| value));
                    for function in self.runs_by_name(id) {
                        let function = self.functions.get(function);
                        stack.extend(function.into_iter().flat_map(|made| &made.returns));
                    }
                }
                "conditional_expression" => {
                    let parts: Vec<Id> = self.below(id).collect();
                    stack.extend(parts.first());
                    stack.extend(parts.get(2));
                }
                "string" | "concatenated_string" => {
                    let pieces = self.within(id).filter(|at| self.kind(*at) == "interpolation");
                    stack.extend(pieces.filter_map(|piece| self.child(piece, "expression")));
                }
                "lambda" | "integer" | "float" | "true" | "false" | "none" => {}
                _ => stack.extend(self.below(id)),
            }
        }
        found
    }

    /// The text that `id` is, if it is a constant of the source.
    pub(crate) fn constant(&self, id: Id) -> Option<String> {
        self.constant_in(id, MOST_NAMES)
    }

    fn constant_in(&self, id: Id, depth: usize) -> Option<String> {
        let depth = depth.checked_sub(1).filter(|_| self.work(1))?;
        match self.kind(id) {
            "string" => self.literal(id).or_else(|| self.filled(id, depth)),
            "concatenated_string" => {
                self.below(id).map(|part| self.constant_in(part, depth)).collect()
            }
            "call" => self.joined(id, depth),
            "parenthesized_expression" => self.constant_in(self.below(id).next()?, depth),
            "identifier" => match self.given(self.scope(id), self.text(id)).as_slice() {
                [only] => self.constant_in(*only, depth),
                [] => {
                    let (function, place) = self.parameter(id)?;
                    match self.passed(function, place).as_slice() {
                        [only] => self.constant_in(*only, depth),
                        _ => None,
                    }
                }
                _ => None,
            },
            "attribute" => match self.assigned.get(&(0, self.short(id)))?.as_slice() {
                [only] => self.constant_in(*only, depth),
                _ => None,
            },
            "binary_operator" => {
                let operator = self.child(id, "operator").map(|operator| self.text(operator));
                if operator != Some("+") {
                    return None;
                }
                let left = self.constant_in(self.child(id, "left")?, depth)?;
                Some(left + &self.constant_in(self.child(id, "right")?, depth)?)
            }
            _ => None,
        }
    }

    /// A text with values in it that are constants.
    fn filled(&self, id: Id, depth: usize) -> Option<String> {
        let mut whole = String::new();
        for part in self.below(id) {
            match self.kind(part) {
                "string_content" => {
                    let text = self.text(part).replace("{{", "{").replace("}}", "}");
                    whole.push_str(&text);
                }
                "interpolation" => {
                    whole.push_str(&self.constant_in(self.child(part, "expression")?, depth)?);
                }
                _ => {}
            }
        }
        Some(whole)
    }

    /// `".".join([text] * 4)`.
    fn joined(&self, call: Id, depth: usize) -> Option<String> {
        let callee = self.child(call, "function")?;
        let name = self.text(self.child(callee, "attribute")?);
        let object = self.child(callee, "object")?;
        if matches!(name, "strip" | "format" | "encode" | "decode")
            && self.arguments(call).is_empty()
        {
            return self.constant_in(object, depth);
        }
        if name != "join" {
            return None;
        }
        let between = self.constant_in(object, depth)?;
        let mut list = self.argument(call, 0, "iterable")?;
        let mut times = 1;
        if self.kind(list) == "binary_operator" {
            let right = self.amount_in(self.child(list, "right")?, depth)?;
            times = (1..=64).find(|times| count(*times) >= right)?;
            list = self.child(list, "left")?;
        }
        let items = self.below(list).filter(|_| matches!(self.kind(list), "list" | "tuple"));
        let items: Option<Vec<String>> = items.map(|item| self.constant_in(item, depth)).collect();
        let items = items.filter(|items| !items.is_empty())?;
        Some(vec![items.join(&between); times].join(&between))
    }

    /// The number that `id` is, if every value that it may have is known: the largest of them.
    pub(crate) fn amount(&self, id: Id) -> Option<f64> {
        self.amount_in(id, MOST_NAMES)
    }

    fn amount_in(&self, id: Id, depth: usize) -> Option<f64> {
        let depth = depth.checked_sub(1).filter(|_| self.work(1))?;
        self.once(Question::Amount, id, depth, || self.amount_of(id, depth))
    }

    fn amount_of(&self, id: Id, depth: usize) -> Option<f64> {
        let largest = |ids: Vec<Id>| {
            let all: Option<Vec<f64>> =
                ids.into_iter().take(4).map(|id| self.amount_in(id, depth)).collect();
            all.filter(|all| !all.is_empty()).map(|all| all.into_iter().fold(f64::MIN, f64::max))
        };
        match self.kind(id) {
            "integer" | "float" => self.number(id),
            "parenthesized_expression" => self.amount_in(self.below(id).next()?, depth),
            "identifier" => {
                let mut values = self.given(self.scope(id), self.text(id));
                // What is counted up begins with what is written.
                values.retain(|value| self.kind(self.parent(*value)) != "augmented_assignment");
                if let (true, Some((function, place))) = (values.is_empty(), self.parameter(id)) {
                    values = self.passed(function, place);
                }
                largest(values)
            }
            "attribute" => largest(self.assigned.get(&(0, self.short(id)))?.clone()),
            "binary_operator" => {
                let operator = self.child(id, "operator").map(|operator| self.text(operator))?;
                let left = self.amount_in(self.child(id, "left")?, depth)?;
                let right = self.amount_in(self.child(id, "right")?, depth)?;
                match operator {
                    "+" => Some(left + right),
                    "-" => Some(left - right),
                    "*" => Some(left * right),
                    "/" | "//" => Some(left / right),
                    "**" => Some(left.powf(right)),
                    "<<" => Some(left * right.exp2()),
                    _ => None,
                }
            }
            "call" => self.amount_of_call(id, depth),
            "unary_operator" => {
                let inner = self.amount_in(self.child(id, "argument")?, depth)?;
                Some(if self.text(id).starts_with('-') { -inner } else { inner })
            }
            _ => None,
        }
    }

    fn amount_of_call(&self, call: Id, depth: usize) -> Option<f64> {
        let first = self.argument(call, 0, "x")?;
        match self.callee(call).as_str() {
            "int" => self.amount_in(first, depth).map(f64::trunc),
            "float" | "abs" | "round" => self.amount_in(first, depth),
            "len" => self.constant(first).map(|text| count(text.chars().count())),
            "ord" => self.reach(first).into_iter().find_map(|at| {
                let letter = self.literal(at)?.chars().next()?;
                Some(f64::from(u32::from(letter)))
            }),
            "pow" | "math.pow" => {
                let power = self.amount_in(self.argument(call, 1, "exp")?, depth)?;
                Some(self.amount_in(first, depth)?.powf(power))
            }
            "math.sqrt" => self.amount_in(first, depth).map(f64::sqrt),
            "math.log" => self.amount_in(first, depth).map(f64::ln),
            "math.sin" => self.amount_in(first, depth).map(f64::sin),
            "math.cos" => self.amount_in(first, depth).map(f64::cos),
            "math.exp" => self.amount_in(first, depth).map(f64::exp),
            _ => None,
        }
    }

    /// The functions and classes around `id`, innermost first, by name.
    pub(crate) fn around(&self, id: Id) -> Vec<&'s str> {
        let mut names = Vec::new();
        let mut scope = self.scope(id);
        while let Some(function) = self.functions.get(scope).filter(|_| scope != 0) {
            names.push(function.name);
            names.extend(function.class);
            scope = function.outer;
        }
        names
    }
}

/// As a number to count with.
pub(crate) fn count(items: usize) -> f64 {
    u32::try_from(items).map_or(f64::MAX, f64::from)
}
