//! Calls: of what the source defines, and of what it does not.

use std::{collections::HashMap, rc::Rc};

use super::{
    ast::{Argument, Expr, Kind, Takes},
    interpret::Interpreter,
    table,
    value::{Instance, Sources, Value, What},
};
use crate::collect::{cap, computed};

/// Calls within calls are followed this deep.
const MOST_CALLS: usize = 10;

/// Functions that end the program.
const ENDS: [&str; 5] = ["sys.exit", "exit", "quit", "os._exit", "os.abort"];

/// What a call passes.
#[derive(Debug, Clone, Default)]
pub(super) struct Given {
    pub(super) positional: Vec<Value>,
    pub(super) named: Vec<(Rc<str>, Value)>,
    /// There may be more, which comes from there.
    pub(super) rest: Option<Sources>,
}

impl Given {
    pub(super) fn of(positional: Vec<Value>) -> Self {
        Self { positional, ..Self::default() }
    }

    pub(super) fn rest(&mut self, from: &Sources) {
        self.rest.get_or_insert_default().add(from);
    }

    pub(super) fn then(mut self, more: Self) -> Self {
        self.positional.extend(more.positional);
        self.named.extend(more.named);
        if let Some(from) = more.rest {
            self.rest(&from);
        }
        self
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Value> {
        self.positional.iter().chain(self.named.iter().map(|(_, value)| value))
    }

    pub(super) fn named(&self, name: &str) -> Option<&Value> {
        // What is given last counts: it is nearest to the call.
        self.named.iter().rev().find(|(known, _)| **known == *name).map(|(_, value)| value)
    }
}

/// The call that is being read, for what is noted of it.
#[derive(Debug, Clone)]
pub(super) struct Site {
    pub(super) line: u32,
    pub(super) at: usize,
    /// The arguments as they are noted.
    pub(super) shown: Vec<String>,
    /// The name as it is written.
    pub(super) name: String,
}

impl Interpreter<'_, '_> {
    pub(super) fn call(&mut self, expr: &Expr, callee: &Expr, arguments: &[Argument]) -> Value {
        self.follow(expr.at.end);
        let function = self.eval(callee);
        let given = self.given(arguments);
        let name = self.chain(callee);
        // Lists that are spread move what follows them.
        let spread = arguments.iter().any(|argument| matches!(argument, Argument::List(_)));
        let mut positional = given.positional.iter().filter(|_| !spread);
        let mut shown = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let value = match argument {
                Argument::Positional(_) => positional.next(),
                Argument::Named(name, _) => given.named(name),
                Argument::List(_) | Argument::Dict(_) => None,
            };
            shown.push(self.argument(argument, value));
        }
        let site = Site {
            line: expr.line,
            at: expr.at.start,
            shown,
            name: name.unwrap_or_else(|| computed(self.shown(callee))),
        };
        let nameless = matches!(callee.kind, Kind::Call(..) | Kind::Subscript(..));
        let unknown = function.each().iter().any(|function| match &function.what {
            What::Unknown => true,
            What::Made(by) => &**by != "type",
            _ => false,
        });
        if nameless && unknown {
            let shown = cap(self.shown(callee));
            self.out.incomplete_at(expr.line, format!("`{shown}` is computed and then called"));
            self.note(site.at, &computed(&shown), site.shown.clone(), site.line);
            let from = self.all_sources(&function, &given);
            return Value::computed(from);
        }
        self.invoke(&function, given, &site)
    }

    /// Calls it without noting anything of the call itself.
    pub(super) fn apply(&mut self, callee: &Value, given: Given, line: u32) -> Value {
        let shown = given.values().map(|value| match value.known() {
            Some(text) => text.to_owned(),
            None => computed("…"),
        });
        let shown = shown.collect();
        let site = Site { line, at: line as usize, shown, name: String::new() };
        self.invoke(callee, given, &site)
    }

    pub(super) fn invoke(&mut self, callee: &Value, given: Given, site: &Site) -> Value {
        if !self.work(1) {
            return Value::unknown();
        }
        match &callee.what {
            What::Any(options) => {
                let options = Rc::clone(options);
                let values = options.iter().map(|option| self.invoke(option, given.clone(), site));
                let values: Vec<Value> = values.collect();
                Value::any(values)
            }
            What::Name(name) => {
                let name = Rc::clone(name);
                if ENDS.contains(&&*name) {
                    self.end();
                }
                self.note_call(site, &name);
                self.library(&name, &callee.from, &given, site)
            }
            What::Function(id) => {
                self.note_call(site, &site.name);
                self.function(*id, given, site.line)
            }
            What::Class(id) => {
                self.note_call(site, &site.name);
                let instance = self.instance(*id);
                let init = self.attribute(&instance, &Rc::from("__init__"), site.line);
                if matches!(init.what, What::Partial(_)) {
                    self.apply(&init, given, site.line);
                    instance
                } else {
                    let from = self.all_sources(callee, &given);
                    self.fill(&instance, &given);
                    instance.with(&from)
                }
            }
            What::Instance(_) => {
                let call = self.attribute(callee, &Rc::from("__call__"), site.line);
                if let What::Partial(_) = call.what {
                    self.invoke(&call, given, site)
                } else {
                    self.note_call(site, &site.name);
                    Value::computed(self.all_sources(callee, &given))
                }
            }
            What::Partial(id) => {
                let Some(partial) = self.heap.partials.get(*id) else { return Value::unknown() };
                let (callee, whole) = (partial.callee.clone(), partial.given.clone().then(given));
                self.invoke(&callee, whole, site)
            }
            What::Hidden(why) => {
                self.out.incomplete_at(site.line, &**why);
                self.note_call(site, &site.name);
                Value::computed(self.all_sources(callee, &given))
            }
            What::Method(method) => {
                let method = Rc::clone(method);
                if let What::Instance(id) = method.0.what
                    && matches!(&*method.1, "feed" | "parse" | "parseString")
                {
                    self.fed(&method.0, id, &given, site);
                }
                self.method(&method.0, &method.1, &given, site)
            }
            _ => {
                self.note_call(site, &site.name);
                let from = self.all_sources(callee, &given);
                self.hand_on_all(&given, site.line);
                Value::computed(from)
            }
        }
    }

    /// A parser of a library calls the methods of its subclass with what it is given.
    fn fed(&mut self, parser: &Value, id: usize, given: &Given, site: &Site) {
        const HANDLERS: [&str; 7] = [
            "handle_data",
            "handle_starttag",
            "handle_startendtag",
            "handle_comment",
            "characters",
            "startElement",
            "data",
        ];
        let from = self.all_sources(&Value::unknown(), given);
        let class = self.heap.instances.get(id).map(|instance| instance.class);
        for name in HANDLERS.map(Rc::from) {
            let Some(class) = class else { return };
            if let Some(handler) = self.class_attribute(class, &name, 0) {
                let parts = vec![Value::computed(from.clone()), Value::computed(from.clone())];
                let count = if name.ends_with("tag") { 2 } else { 1 };
                let parts = parts.into_iter().take(count);
                let given = Given::of(std::iter::once(parser.clone()).chain(parts).collect());
                self.apply(&handler, given, site.line);
            }
        }
    }

    pub(super) fn note_call(&mut self, site: &Site, name: &str) {
        if !name.is_empty() {
            self.note(site.at, name, site.shown.clone(), site.line);
        }
    }

    /// Where the callee and all arguments come from.
    pub(super) fn all_sources(&self, callee: &Value, given: &Given) -> Sources {
        let mut from = self.heap.sources(callee);
        for value in given.values() {
            from.add(&self.heap.sources(value));
        }
        if let Some(rest) = &given.rest {
            from.add(rest);
        }
        from
    }

    /// The chain of names that is written; calls and subscripts in it are seen through.
    fn chain(&self, expr: &Expr) -> Option<String> {
        let mut parts: Vec<&str> = Vec::new();
        let mut inner = expr;
        loop {
            match &inner.kind {
                Kind::Name(name) => {
                    parts.push(name);
                    break;
                }
                Kind::Attribute(object, name) => {
                    parts.push(name);
                    inner = object;
                }
                Kind::Call(callee, _) if !parts.is_empty() => inner = callee,
                Kind::Subscript(object, _) if !parts.is_empty() => inner = object,
                Kind::Text { .. } | Kind::Format(_) if !parts.is_empty() => {
                    parts.push("str");
                    break;
                }
                Kind::Lambda(_) => {
                    parts.push("lambda");
                    break;
                }
                _ if parts.is_empty() => return None,
                _ => {
                    let head = computed(self.shown(inner));
                    parts.reverse();
                    return Some(format!("{head}.{}", parts.join(".")));
                }
            }
        }
        parts.reverse();
        Some(parts.join("."))
    }

    /// An argument as it is noted: its text where it is known, otherwise its source.
    fn argument(&self, argument: &Argument, value: Option<&Value>) -> String {
        let expr = match argument {
            Argument::Positional(expr) | Argument::Named(_, expr) => expr,
            Argument::List(expr) => return computed(&format!("*{}", self.shown(expr))),
            Argument::Dict(expr) => return computed(&format!("**{}", self.shown(expr))),
        };
        match (&expr.kind, value.and_then(Value::known)) {
            (Kind::Number(_) | Kind::Bool(_) | Kind::None | Kind::Plain, _) => {
                self.shown(expr).to_owned()
            }
            (_, Some(text)) => text.to_owned(),
            _ => computed(self.shown(expr)),
        }
    }

    // --- what the source defines

    pub(super) fn function(&mut self, id: usize, given: Given, line: u32) -> Value {
        let Some(function) = self.heap.functions.get(id) else { return Value::unknown() };
        let definition = Rc::clone(&function.definition);
        let again = self.active.contains(&id);
        if again || self.active.len() >= MOST_CALLS || self.depth < 8 {
            let covered = again && self.is_covered(id, &given);
            if !covered {
                self.defer(id, &given, line);
            }
            let mut from = Sources::default();
            given.values().for_each(|value| from.add(&self.heap.sources(value)));
            return Value::computed(from);
        }
        let Some(function) = self.heap.functions.get_mut(id) else { return Value::unknown() };
        function.called = true;
        let (outer_scope, defaults) = (function.scope, function.defaults.clone());
        let scope = self.heap.scope(Some(outer_scope));
        let passed = given.clone();
        self.parameters(&definition, &defaults, given, scope);
        let before = std::mem::replace(&mut self.scope, scope);
        let source = std::mem::replace(&mut self.source, Rc::clone(&definition.source));
        let loops = std::mem::take(&mut self.loops);
        self.active.push(id);
        self.arguments.push(passed);
        self.returned.push(None);
        self.block(&definition.body);
        let returned = self.returned.pop().flatten();
        self.active.pop();
        self.arguments.pop();
        self.loops = loops;
        self.source = source;
        self.scope = before;
        returned.unwrap_or_else(|| Value::new(What::None))
    }

    fn parameters(
        &mut self,
        definition: &super::ast::Function,
        defaults: &[Option<Value>],
        given: Given,
        scope: usize,
    ) {
        let Given { positional, mut named, rest } = given;
        let mut positional = positional.into_iter();
        let missing = || rest.clone().map_or_else(Value::unknown, Value::computed);
        for (index, parameter) in definition.parameters.iter().enumerate() {
            let value = match parameter.takes {
                Takes::Rest => {
                    let items: Vec<Value> = positional.by_ref().collect();
                    let from = rest.clone().unwrap_or_default();
                    self.heap.list(items, rest.is_some()).with(&from)
                }
                Takes::RestNamed => {
                    let items = named.drain(..).map(|(name, value)| (Value::text(name), value));
                    let items = items.collect();
                    let from = rest.clone().unwrap_or_default();
                    self.heap.dict(super::value::Dict { items, open: rest.is_some(), from })
                }
                Takes::One => {
                    let by_name = named.iter().position(|(name, _)| *name == parameter.name);
                    match by_name {
                        Some(at) => named.remove(at).1,
                        None => positional.next().unwrap_or_else(|| {
                            defaults.get(index).cloned().flatten().unwrap_or_else(missing)
                        }),
                    }
                }
            };
            self.bind_in(scope, &parameter.name, value);
        }
    }

    /// Goes through a function that nothing here calls, with arguments that nothing is known of.
    pub(super) fn call_unknown(&mut self, id: usize) {
        let Some(function) = self.heap.functions.get(id) else { return };
        let mut given = Given { rest: Some(Sources::default()), ..Given::default() };
        let line = function.definition.line;
        if let Some(class) = function.class
            && !self.is_decorated(id, "staticmethod")
        {
            let own = if self.is_decorated(id, "classmethod") {
                Value::new(What::Class(class))
            } else {
                self.shared_instance(class)
            };
            given.positional.push(own);
        }
        self.function(id, given, line);
    }

    /// One instance for all methods that nothing here calls, so that what one keeps another finds.
    fn shared_instance(&mut self, class: usize) -> Value {
        let known = self.heap.instances.iter().position(|instance| instance.class == class);
        match known {
            Some(id) => Value::new(What::Instance(id)),
            None => self.instance(class),
        }
    }

    pub(super) fn instance(&mut self, class: usize) -> Value {
        self.heap.instances.push(Instance { class, attributes: HashMap::new() });
        Value::new(What::Instance(self.heap.instances.len() - 1))
    }

    /// A data class keeps what it is given.
    fn fill(&mut self, instance: &Value, given: &Given) {
        let What::Instance(id) = instance.what else { return };
        for (name, value) in &given.named {
            if let Some(instance) = self.heap.instances.get_mut(id) {
                instance.attributes.insert(Rc::clone(name), value.clone());
            }
        }
    }

    // --- functions that are handed on

    /// Whoever gets a function may call it.
    pub(super) fn hand_on(&mut self, value: &Value, line: u32) {
        for value in value.each() {
            if let What::Hidden(why) = &value.what {
                self.out.incomplete_at(line, &**why);
            }
            if let What::Name(name) = &value.what
                && table::is_function(name)
            {
                let unknown = Given { rest: Some(Sources::default()), ..Given::default() };
                let shown = vec![computed("…")];
                let site = Site { line, at: line as usize, shown, name: String::new() };
                self.invoke(value, unknown, &site);
            }
        }
    }

    pub(super) fn hand_on_all(&mut self, given: &Given, line: u32) {
        for value in given.positional.iter().chain(given.named.iter().map(|(_, value)| value)) {
            self.hand_on(value, line);
        }
    }
}
