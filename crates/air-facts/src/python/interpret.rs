//! Goes through a source in the order in which it runs: names, branches, and how much work it may be.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    rc::Rc,
};

use air_core::{
    code::{Activity, Operation},
    place::{Held, Place, PlaceKind},
};

use super::{
    ast::{self, Source},
    call::Given,
    defect,
    lower::Lowering,
    sites::sites,
    table,
    value::{Heap, Sources, Text, Value, What},
};
use crate::{collect::Collector, syntax};

/// Steps that any source may take, and further ones for each of its bytes.
const BASE_WORK: usize = 50_000;
const WORK_A_BYTE: usize = 8;
/// Expressions, statements and calls within each other, in a source that is in no other.
const MOST_DEPTH: usize = 96;

/// What is known at one point of the source.
pub(super) struct Interpreter<'c, 'a> {
    pub(super) out: &'c mut Collector<'a>,
    pub(super) heap: Heap,
    pub(super) source: Source,
    /// Where names are bound now.
    pub(super) scope: usize,
    /// The names of the whole source.
    pub(super) module: usize,
    /// Bindings that were replaced since the innermost branch began.
    pub(super) trail: Vec<(usize, Rc<str>, Option<Value>)>,
    /// Calls that are noted already, by place, name and arguments.
    noted: HashSet<u64>,
    pub(super) depth: usize,
    /// Functions that are being gone through.
    pub(super) active: Vec<usize>,
    /// What each of them was given.
    pub(super) arguments: Vec<Given>,
    /// What the functions return, innermost last.
    pub(super) returned: Vec<Option<Value>>,
    pub(super) loops: usize,
    /// Conditions that what is gone through is under.
    pub(super) conditions: usize,
    /// Calls that lie too deep, to be gone through once more at the end: what is called, with what,
    /// on which line.
    pub(super) deferred: Vec<(usize, Given, u32)>,
    /// Modules of which every name was imported.
    pub(super) wildcards: Vec<Rc<str>>,
    /// The directory that the source went to.
    pub(super) directory: Option<String>,
    /// What standard input comes from, where the source has changed it.
    pub(super) input: Sources,
    /// Where standard output goes, where the source has changed it.
    pub(super) output: Option<Place>,
    /// Calls that were not gone through yet, in each source by where they end, with their lines.
    pub(super) sites: Vec<(Source, HashMap<usize, u32>)>,
    /// The source may have ended before, and what it has bound since.
    pub(super) may_end: bool,
    late: HashSet<Rc<str>>,
    /// What is read is of an earlier step, where it was looked at.
    restoring: bool,
    pub(super) stopped: bool,
}

impl<'c, 'a> Interpreter<'c, 'a> {
    pub(super) fn new(source: &str, out: &'c mut Collector<'a>) -> Self {
        let depth = MOST_DEPTH >> out.nesting().min(4);
        out.allow(BASE_WORK + WORK_A_BYTE * source.len());
        let mut heap = Heap::default();
        let module = heap.scope(None);
        Self {
            out,
            heap,
            source: Rc::from(source),
            scope: module,
            module,
            trail: Vec::new(),
            noted: HashSet::new(),
            depth,
            active: Vec::new(),
            arguments: Vec::new(),
            returned: Vec::new(),
            loops: 0,
            conditions: 0,
            deferred: Vec::new(),
            wildcards: Vec::new(),
            directory: None,
            input: Sources::default(),
            output: None,
            sites: Vec::new(),
            may_end: false,
            late: HashSet::new(),
            restoring: false,
            stopped: false,
        }
    }

    /// Goes through the source, and then through what it defines and does not call.
    pub(super) fn run(mut self) {
        let source = Rc::clone(&self.source);
        let last = self.read(&source);
        if self.out.nesting() == 0 {
            // An interpreter that waits for the next step shows it.
            let line = u32::try_from(source.trim_end().lines().count()).unwrap_or(u32::MAX);
            let from = self.heap.sources(&last);
            self.out.flow(from.places(), &Place::new(PlaceKind::Output, ""), line);
        }
        let mut next = 0;
        // Somebody else may call them, with whatever arguments.
        while next < self.heap.functions.len() && !self.stopped {
            if self.heap.functions.get(next).is_some_and(|function| !function.called) {
                self.perhaps(|this| this.call_unknown(next));
            }
            next += 1;
        }
        self.go_on();
        self.unfollowed();
        self.leave();
    }

    /// Parses `source` and goes through it in the current scope.
    pub(super) fn read(&mut self, source: &Source) -> Value {
        let language = tree_sitter_python::LANGUAGE.into();
        let Some(tree) = syntax::parse(&language, source, self.out) else {
            return Value::unknown();
        };
        let root = tree.root_node();
        if root.has_error() {
            syntax::faults(root, self.out);
        }
        let mut lowering = Lowering::new(source, &tree, self.depth);
        let body = lowering.block(root);
        if let Some(line) = lowering.too_deep {
            self.out.incomplete_at(line, "nested too deeply");
        }
        drop(lowering);
        self.sites.push((Rc::clone(source), sites(root)));
        if !self.restoring {
            defect::look(source, root, self.out);
        }
        drop(tree);
        let outer = std::mem::replace(&mut self.source, Rc::clone(source));
        let last = self.program(&body);
        self.source = outer;
        last
    }

    /// What the last statement is worth, if it is an expression.
    fn program(&mut self, body: &[ast::Statement]) -> Value {
        let Some((last, before)) = body.split_last() else { return Value::unknown() };
        self.block(before);
        if let ast::Action::Value(value) = &last.kind {
            self.eval(value)
        } else {
            self.block(std::slice::from_ref(last));
            Value::new(What::None)
        }
    }

    /// Counts a step; `false` when there have been too many.
    pub(super) fn work(&mut self, steps: usize) -> bool {
        if self.stopped {
            return false;
        }
        if !self.out.spend(steps) {
            self.stopped = true;
            self.out.incomplete("source takes too many steps to read");
        }
        !self.stopped
    }

    /// What the expression is in the source.
    pub(super) fn shown(&self, expr: &ast::Expr) -> &str {
        self.source.get(expr.at.clone()).unwrap_or_default()
    }

    // --- names

    pub(super) fn lookup(&mut self, name: &Rc<str>) -> Value {
        let mut scope = Some(self.scope);
        while let Some(here) = scope.and_then(|scope| self.heap.scopes.get(scope)) {
            if let Some(value) = here.names.get(name) {
                return value.clone();
            }
            scope = here.outer;
        }
        let place = Place::new(PlaceKind::Variable, &**name);
        if let Some(held) = self.out.held(&place) {
            let value = self.restore(&held);
            if let Some(scope) = self.heap.scopes.get_mut(self.module) {
                scope.names.insert(Rc::clone(name), value.clone());
            }
            return value;
        }
        for module in &self.wildcards {
            let whole = format!("{module}.{name}");
            if table::knows(&whole) {
                return Value::name(whole);
            }
        }
        match &**name {
            "__builtins__" | "builtins" => Value::name("builtins"),
            "__name__" => Value::text("__main__"),
            _ => Value::name(Rc::clone(name)),
        }
    }

    /// The scope that holds `name` when it is bound here.
    fn home(&self, name: &Rc<str>) -> usize {
        let here = self.heap.scopes.get(self.scope);
        let global = here.is_some_and(|scope| scope.global.contains(name));
        if !global {
            return self.scope;
        }
        let mut scope = here.and_then(|scope| scope.outer);
        while let Some((id, outer)) = scope.and_then(|id| Some((id, self.heap.scopes.get(id)?))) {
            if outer.names.contains_key(name) {
                return id;
            }
            scope = outer.outer;
        }
        self.module
    }

    pub(super) fn bind(&mut self, name: &Rc<str>, value: Value) {
        let home = self.home(name);
        self.bind_in(home, name, value);
    }

    pub(super) fn bind_in(&mut self, scope: usize, name: &Rc<str>, value: Value) {
        let Some(names) = self.heap.scopes.get_mut(scope) else { return };
        if self.may_end && scope == self.module {
            self.late.insert(Rc::clone(name));
        }
        let before = names.names.insert(Rc::clone(name), value);
        self.trail.push((scope, Rc::clone(name), before));
    }

    // --- facts

    /// Notes a call, once for each place, name and arguments.
    pub(super) fn note(&mut self, at: usize, name: &str, args: Vec<String>, line: u32) {
        let mut hasher = DefaultHasher::new();
        (at, name, &args).hash(&mut hasher);
        if self.noted.insert(hasher.finish()) {
            self.out.call(name, args, line);
        }
    }

    pub(super) fn operation(&mut self, activity: Activity, target: &str, via: &str, line: u32) {
        self.operation_with(activity, target, via, None, false, line);
    }

    pub(super) fn operation_with(
        &mut self,
        activity: Activity,
        target: &str,
        via: &str,
        detail: Option<String>,
        recursive: bool,
        line: u32,
    ) {
        self.labelled(activity, target, via, detail, recursive, &[], line);
    }

    /// An operation of which more is known than its target says.
    #[expect(clippy::too_many_arguments, reason = "the parts of an operation")]
    pub(super) fn labelled(
        &mut self,
        activity: Activity,
        target: &str,
        via: &str,
        detail: Option<String>,
        recursive: bool,
        labels: &[&str],
        line: u32,
    ) {
        let (target, via) = (target.to_owned(), via.to_owned());
        let labels = labels.iter().map(|&label| label.to_owned()).collect();
        self.out.operation(Operation { activity, target, via, detail, recursive, labels, line });
    }

    /// A path as it is meant from the directory that the source went to.
    pub(super) fn located(&self, path: &Text) -> Rc<str> {
        let text = path.text.strip_prefix("file://").unwrap_or(&path.text);
        match &self.directory {
            Some(directory) if !text.starts_with(['/', '~', '$']) => {
                format!("{}/{}", directory.trim_end_matches('/'), text.trim_start_matches("./"))
                    .into()
            }
            _ if text.len() < path.text.len() => Rc::from(text),
            _ => Rc::clone(&path.text),
        }
    }

    // --- from step to step

    fn leave(&mut self) {
        let Some(scope) = self.heap.scopes.get(self.module) else { return };
        let mut names: Vec<(Rc<str>, Value)> =
            scope.names.iter().map(|(name, value)| (Rc::clone(name), value.clone())).collect();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        // What has a blank in its name is no variable.
        for (name, value) in names.into_iter().filter(|(name, _)| !name.contains(' ')) {
            let mut held = self.held(&value);
            held.perhaps |= self.late.contains(&name);
            self.out.leave(Place::new(PlaceKind::Variable, &*name), held);
        }
    }

    fn held(&self, value: &Value) -> Held {
        let mut held =
            Held { sources: self.heap.sources(value).places().to_vec(), ..Held::default() };
        let source = |source: &Source, at: &std::ops::Range<usize>| {
            source.get(at.clone()).map(str::to_owned)
        };
        match &value.what {
            What::Text(text) if text.known => held.text = Some(text.text.to_string()),
            What::Path(text) => {
                held.text = Some(text.text.to_string());
                held.names = vec!["pathlib.Path".to_owned()];
            }
            What::Name(name) => held.names = vec![name.to_string()],
            What::Any(values) => {
                let names = values.iter().filter_map(|value| match &value.what {
                    What::Name(name) => Some(name.to_string()),
                    _ => None,
                });
                held.names = names.collect();
            }
            What::Object(id) => {
                if let Some(object) = self.heap.objects.get(*id) {
                    held.names = vec![format!("{OBJECT}{}", object.class)];
                    let lasts = |place: &&Place| place.kind != PlaceKind::Code;
                    held.text = object.place.as_ref().filter(lasts).map(|place| {
                        let kind = if place.kind == PlaceKind::File { 'f' } else { 'n' };
                        format!("{kind}{}", place.name)
                    });
                }
            }
            What::Function(id) => {
                if let Some(function) = self.heap.functions.get(*id) {
                    held.text = source(&function.definition.source, &function.definition.at);
                    held.names = vec![SOURCE.to_owned()];
                }
            }
            What::Class(id) => {
                if let Some(class) = self.heap.classes.get(*id) {
                    held.text = source(&class.definition.source, &class.definition.at);
                    held.names = vec![SOURCE.to_owned()];
                }
            }
            What::Instance(id) => {
                let class = self.heap.instances.get(*id).map(|instance| instance.class);
                let class = class.and_then(|class| self.heap.classes.get(class));
                held.names = class
                    .map(|class| format!("{INSTANCE}{}", class.definition.name))
                    .into_iter()
                    .collect();
            }
            What::List(_) | What::Dict(_) => {
                if let Some(text) = self.written(value, 0) {
                    held.text = Some(text);
                    held.names = vec![SOURCE.to_owned()];
                }
            }
            _ => {}
        }
        held
    }

    /// A list or dictionary of known texts, as source.
    fn written(&self, value: &Value, depth: usize) -> Option<String> {
        if depth > 3 {
            return None;
        }
        let all = |items: &[Value]| -> Option<Vec<String>> {
            items.iter().take(256).map(|item| self.written(item, depth + 1)).collect()
        };
        match &value.what {
            What::List(id) => {
                let list = self.heap.lists.get(*id)?;
                // What is not known makes the list that is read from it open again.
                let more = if list.open { ", *__more__" } else { "" };
                Some(format!("[{}{more}]", all(&list.items)?.join(", ")))
            }
            What::Dict(id) => {
                let dict = self.heap.dicts.get(*id).filter(|dict| !dict.open)?;
                let pairs = dict.items.iter().take(256).map(|(key, value)| {
                    Some(format!(
                        "{}: {}",
                        self.written(key, 4 - 1)?,
                        self.written(value, depth + 1)?
                    ))
                });
                Some(format!("{{{}}}", pairs.collect::<Option<Vec<_>>>()?.join(", ")))
            }
            What::Text(text) => Some(format!("{:?}", text.text)),
            What::Name(name) => Some(name.to_string()),
            What::Number(_) | What::Bool(_) | What::None => Some(value.as_text().text.to_string()),
            _ => None,
        }
    }

    pub(super) fn restore(&mut self, held: &Held) -> Value {
        let from = Sources::all(held.sources.clone());
        let text = held.text.as_deref();
        let first = held.names.first().map(String::as_str).unwrap_or_default();
        if first == SOURCE {
            return self.restore_source(text.unwrap_or_default()).with(&from);
        }
        if let Some(class) = first.strip_prefix(OBJECT) {
            let place = text.and_then(|text| {
                let mut letters = text.chars();
                let kind = letters.next()?;
                let kind = if kind == 'f' { PlaceKind::File } else { PlaceKind::Network };
                Some(Place::new(kind, letters.as_str()))
            });
            return self.heap.object(class, place).with(&from);
        }
        if let Some(class) = first.strip_prefix(INSTANCE) {
            let made = self.lookup(&Rc::from(class));
            return match made.what {
                What::Class(class) => self.instance(class).with(&from),
                _ => Value::computed(from),
            };
        }
        if let (Some(text), "pathlib.Path") = (text, first) {
            let known = air_core::place::is_known(text);
            return Value {
                what: What::Path(Text { text: Rc::from(text), known, bytes: false }),
                from,
            };
        }
        let names = held.names.iter().map(|name| Value::name(name.as_str()));
        let texts = text.map(Value::text);
        Value::any(names.chain(texts)).with(&from)
    }

    /// What a definition of an earlier step makes.
    fn restore_source(&mut self, text: &str) -> Value {
        if self.depth == 0 {
            return Value::unknown();
        }
        let probe: Rc<str> = Rc::from("_");
        let outer = std::mem::replace(&mut self.scope, self.module);
        let before = self.heap.scopes.get(self.module).map(|scope| scope.names.clone());
        let listed = text.starts_with(['[', '{']);
        let source: Source = if listed { format!("_ = {text}").into() } else { text.into() };
        self.depth -= 1;
        let before_this = std::mem::replace(&mut self.restoring, true);
        self.read(&source);
        self.restoring = before_this;
        self.depth += 1;
        self.scope = outer;
        let Some(scope) = self.heap.scopes.get_mut(self.module) else { return Value::unknown() };
        let before = before.unwrap_or_default();
        let new = scope.names.iter().find(|(name, value)| before.get(*name) != Some(*value));
        let value = new.map(|(_, value)| value.clone());
        let value = value.or_else(|| scope.names.get(&probe).cloned());
        scope.names = before;
        value.unwrap_or_else(Value::unknown)
    }
}

/// How [`Held::names`] says that a variable holds what its text defines, a thing of a library, or an
/// instance of a class. None of them can be a name.
const SOURCE: &str = "def";
const OBJECT: &str = "object ";
const INSTANCE: &str = "instance ";
