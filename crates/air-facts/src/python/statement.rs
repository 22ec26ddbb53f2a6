//! Statements, in the order in which they run.

use std::rc::Rc;

use air_core::place::{Place, PlaceKind, climbs};

use super::{
    ast::{self, Action, Argument, Expr, Kind, Statement},
    call::Given,
    defects,
    interpret::Interpreter,
    lookup::canonical,
    table,
    value::{Class, Function, Value, What},
};

/// Loops within loops are gone through twice up to this depth, then once.
const TWICE: usize = 2;

impl Interpreter<'_, '_> {
    pub(super) fn block(&mut self, statements: &[Statement]) {
        if self.depth == 0 {
            if let Some(first) = statements.first() {
                self.out.incomplete_at(first.line, "nested too deeply");
            }
            return;
        }
        self.depth -= 1;
        for statement in statements {
            if !self.work(1) {
                break;
            }
            self.statement(statement);
        }
        self.depth += 1;
    }

    #[expect(clippy::too_many_lines, reason = "a few lines for each kind")]
    fn statement(&mut self, statement: &Statement) {
        let line = statement.line;
        match &statement.kind {
            Action::Value(value) => {
                self.eval(value);
            }
            Action::Raise(value) => {
                self.end();
                let value = self.eval(value);
                // What an error says of the environment is seldom a value of it.
                let from = self.heap.sources(&value);
                let told = from.places().iter().filter(|it| it.kind != PlaceKind::Environment);
                let told: Vec<Place> = told.cloned().collect();
                self.out.flow(&told, &Place::new(PlaceKind::Output, ""), line);
            }
            Action::Assign(target, value) => {
                let value = self.eval(value);
                self.assign(target, value);
            }
            Action::Augment(target, operator, value) => {
                let value = self.eval(value);
                let before = self.eval(target);
                if let (What::List(id), "+") = (&before.what, &**operator) {
                    let more = self.items(&value);
                    let from = self.heap.sources(&value);
                    if let Some(list) = self.heap.lists.get_mut(*id) {
                        list.open |= more.is_none();
                        list.items.extend(more.unwrap_or_default());
                        list.from.add(&from);
                    }
                    return;
                }
                let after = self.binary(operator, &before, &value);
                self.assign(target, after);
            }
            Action::Import(path, alias) => {
                self.import(path, line);
                let head = path.split('.').next().unwrap_or(path);
                let (name, to) = match alias {
                    Some(alias) => (Rc::clone(alias), Rc::clone(path)),
                    None => (Rc::from(head), Rc::from(head)),
                };
                self.bind(&name, Value::name(canonical("builtins", &to)));
            }
            Action::ImportFrom(path, item, alias) => {
                self.import(path, line);
                let whole: Rc<str> = if path.ends_with('.') {
                    format!("{path}{item}").into()
                } else {
                    canonical(path, item)
                };
                let name = alias.as_ref().unwrap_or(item);
                self.bind(name, Value::name(whole));
            }
            Action::ImportAll(path) => {
                self.import(path, line);
                let why = format!("`from {path} import *` hides where names come from");
                self.out.incomplete_at(line, why);
                self.wildcards.push(Rc::clone(path));
            }
            Action::Function(definition) => self.define(definition),
            Action::Class(definition) => self.class(definition),
            Action::Inside(name) => {
                // What leaves it does not come here.
                let value = self.lookup(name);
                let leaves = |value: &&Value| !climbs(&value.as_text().text);
                let left: Vec<Value> = value.each().iter().filter(leaves).cloned().collect();
                if left.len() < value.each().len() {
                    self.bind(name, Value { what: What::Any(left.into()), from: value.from });
                }
            }
            Action::Branches(ways) => self.branches(ways),
            Action::For(target, items, body) => {
                let items = self.eval(items);
                if let Some(defect) = defects::endless_for(&items, body, line) {
                    self.out.defect(&defect.kind, defect.line, &defect.why);
                }
                let (each, whole) = self.each_item(&items);
                self.loops += 1;
                let again = !whole && self.loops <= TWICE;
                let go = |this: &mut Self| {
                    for item in each.iter().chain(each.last().filter(|_| again)) {
                        this.assign(target, item.clone());
                        this.block(body);
                    }
                };
                if whole {
                    go(self);
                } else {
                    self.perhaps(go);
                }
                self.loops -= 1;
            }
            Action::While(test, body) => {
                self.eval(test);
                for defect in defects::of_loop(test, body, line) {
                    self.out.defect(&defect.kind, defect.line, &defect.why);
                }
                self.loops += 1;
                let times = if self.loops <= TWICE { 2 } else { 1 };
                let go = |this: &mut Self| (0..times).for_each(|_| this.block(body));
                match test.kind {
                    Kind::Bool(true) | Kind::Number(_) => go(self),
                    _ => self.perhaps(go),
                }
                self.loops -= 1;
            }
            Action::With(items, body) => {
                for (value, target) in items {
                    let value = self.eval(value);
                    if let Some(target) = target {
                        self.assign(target, value);
                    }
                }
                self.block(body);
            }
            Action::Return(value) => {
                let value = match value {
                    Some(value) => self.eval(value),
                    None => Value::new(What::None),
                };
                self.give(value);
            }
            Action::Delete(targets) => {
                // What the name stood for may still be reached under another.
                for target in targets.iter().filter(|target| !matches!(target.kind, Kind::Name(_)))
                {
                    self.eval(target);
                }
            }
            Action::Global(names) => {
                if let Some(scope) = self.heap.scopes.get_mut(self.scope) {
                    scope.global.extend(names.iter().cloned());
                }
            }
            Action::Block(body) => self.block(body),
            Action::Leave => {}
            Action::Exec(code) => {
                let code = self.eval(code);
                let exec = Value::name("exec");
                self.apply(&exec, Given::of(vec![code]), line);
            }
        }
    }

    /// A module that was written before is read; what is used of it is not followed.
    fn import(&mut self, path: &str, line: u32) {
        self.out.import(path);
        let file = path.trim_start_matches('.').replace('.', "/");
        for file in [format!("{file}.py"), format!("./{file}.py"), format!("{file}/__init__.py")] {
            let place = Self::file(&file);
            if self.out.held(&place).is_none() {
                continue;
            }
            let why = format!("`{file}` was written and is imported");
            self.out.incomplete_at(line, why);
            if let Ok(source) = self.out.file(&file) {
                self.out.nested(line, |out| super::collect(&source, out));
            }
        }
    }

    /// What the function returns, or gives as an item.
    pub(super) fn give(&mut self, value: Value) {
        if let Some(returned) = self.returned.last_mut() {
            *returned = Some(match returned.take() {
                Some(before) => before.or(value),
                None => value,
            });
        }
    }

    pub(super) fn defaults(&mut self, definition: &ast::Function) -> Vec<Option<Value>> {
        let parameters = definition.parameters.iter();
        parameters
            .map(|parameter| parameter.default.as_ref().map(|value| self.eval(value)))
            .collect()
    }

    fn define(&mut self, definition: &Rc<ast::Function>) {
        if let Some(defect) = defects::of_function(definition) {
            self.out.defect(&defect.kind, defect.line, &defect.why);
        }
        let defaults = self.defaults(definition);
        self.heap.functions.push(Function {
            definition: Rc::clone(definition),
            scope: self.scope,
            defaults,
            class: None,
            called: false,
        });
        let function = Value::new(What::Function(self.heap.functions.len() - 1));
        let decorated = self.decorated(function, &definition.decorators);
        self.bind(&definition.name, decorated);
    }

    /// A decorator that is defined here gives what it gives; any other gives the function.
    fn decorated(&mut self, value: Value, decorators: &[Expr]) -> Value {
        let mut value = value;
        for decorator in decorators.iter().rev() {
            let by = self.eval(decorator);
            value = match by.what {
                What::Function(_) | What::Class(_) | What::Partial(_) => {
                    let given = Given::of(vec![value.clone()]);
                    let made = self.apply(&by, given, decorator.line);
                    if matches!(made.what, What::Unknown | What::None) { value } else { made }
                }
                What::Name(ref name) if table::may_harm(name) => {
                    self.apply(&by, Given::of(vec![value]), decorator.line)
                }
                _ => value,
            };
        }
        value
    }

    fn class(&mut self, definition: &Rc<ast::Class>) {
        let bases = definition.bases.iter().map(|base| self.eval(base)).collect();
        let scope = self.heap.scope(Some(self.scope));
        let outer = std::mem::replace(&mut self.scope, scope);
        let first = self.heap.functions.len();
        self.block(&definition.body);
        self.scope = outer;
        self.heap.classes.push(Class { definition: Rc::clone(definition), scope, bases });
        let id = self.heap.classes.len() - 1;
        for function in self.heap.functions.iter_mut().skip(first) {
            if function.scope == scope {
                // The names of a class are not in sight of its functions.
                function.scope = outer;
                function.class = Some(id);
            }
        }
        let class = self.decorated(Value::new(What::Class(id)), &definition.decorators);
        self.bind(&definition.name, class);
    }

    pub(super) fn assign(&mut self, target: &Expr, value: Value) {
        match &target.kind {
            Kind::Name(name) => self.bind(name, value),
            // `a = b = value`.
            Kind::Either(targets) => {
                for target in targets {
                    self.assign(target, value.clone());
                }
            }
            Kind::List(targets) => self.unpack(targets, &value),
            Kind::Star(inner) => self.assign(inner, value),
            Kind::Attribute(object, name) => {
                let object = self.eval(object);
                self.set_attribute(&object, name, &value, target.line);
            }
            Kind::Subscript(object, index) => {
                let object = self.eval(object);
                let key = match &**index {
                    ast::Index::At(key) => self.eval(key),
                    ast::Index::Slice(parts) => {
                        parts.iter().flatten().for_each(|part| {
                            self.eval(part);
                        });
                        Value::unknown()
                    }
                };
                self.set_item(&object, &key, &value);
            }
            _ => {
                self.eval(target);
            }
        }
    }

    fn unpack(&mut self, targets: &[Expr], value: &Value) {
        let starred = targets.iter().position(|target| matches!(target.kind, Kind::Star(_)));
        let mut items = self.items(value);
        if let (Some(at), Some(known)) = (starred, &mut items)
            && known.len() + 1 >= targets.len()
        {
            let after = targets.len() - at - 1;
            let rest: Vec<Value> = known.splice(at..known.len() - after, []).collect();
            let rest = self.heap.list(rest, false);
            known.insert(at, rest);
        }
        let items = items.filter(|items| items.len() == targets.len());
        let mut items = items.map(Vec::into_iter);
        let from = self.heap.sources(value);
        for target in targets {
            let item = items.as_mut().and_then(Iterator::next);
            self.assign(target, item.unwrap_or_else(|| Value::computed(from.clone())));
        }
    }

    pub(super) fn set_attribute(
        &mut self,
        object: &Value,
        name: &Rc<str>,
        value: &Value,
        line: u32,
    ) {
        if &**name == "__code__" {
            self.out.incomplete_at(line, "`__code__` is replaced");
        }
        let from = self.heap.sources(value);
        for object in object.each() {
            match &object.what {
                What::Instance(id) => {
                    let once = self.loops == 0 && self.active.len() < 2;
                    if let Some(instance) = self.heap.instances.get_mut(*id) {
                        let before = instance.attributes.remove(name);
                        let value = match before {
                            Some(before) if !once => before.or(value.clone()),
                            _ => value.clone(),
                        };
                        instance.attributes.insert(Rc::clone(name), value);
                    }
                }
                What::Class(id) => {
                    let scope = self.heap.classes.get(*id).map(|class| class.scope);
                    if let Some(scope) = scope {
                        self.bind_in(scope, name, value.clone());
                    }
                }
                What::Object(id) => {
                    if let Some(object) = self.heap.objects.get_mut(*id) {
                        object.from.add(&from);
                    }
                }
                _ => self.hand_on(value, line),
            }
        }
    }

    pub(super) fn set_item(&mut self, object: &Value, key: &Value, value: &Value) {
        let from = self.heap.sources(value);
        for object in object.each() {
            match &object.what {
                What::List(id) => {
                    let Some(list) = self.heap.lists.get_mut(*id) else { continue };
                    let at = key.number().and_then(|at| usize::try_from(at).ok());
                    if let Some(item) = at.and_then(|at| list.items.get_mut(at)) {
                        *item = value.clone();
                    } else {
                        list.open = true;
                        list.from.add(&from);
                    }
                }
                What::Dict(id) => {
                    let Some(dict) = self.heap.dicts.get_mut(*id) else { continue };
                    if matches!(key.what, What::Unknown) {
                        dict.open = true;
                    }
                    let size = dict.items.len();
                    let known = dict.items.iter_mut().find(|(known, _)| known.what == key.what);
                    match known.filter(|_| key.known().is_some()) {
                        Some((_, before)) => *before = value.clone(),
                        None if size < 256 => dict.items.push((key.clone(), value.clone())),
                        None => {
                            dict.open = true;
                            dict.from.add(&from);
                        }
                    }
                }
                What::Names(None) => match key.known() {
                    Some(name) => self.bind_in(self.module, &Rc::from(name), value.clone()),
                    None => self.out.incomplete("a variable is set under a computed name"),
                },
                What::Object(id) => {
                    if let Some(object) = self.heap.objects.get_mut(*id) {
                        object.from.add(&from);
                    }
                }
                _ => {}
            }
        }
    }

    pub(super) fn given(&mut self, arguments: &[Argument]) -> Given {
        let mut given = Given::default();
        for argument in arguments {
            match argument {
                Argument::Positional(value) => {
                    let value = self.eval(value);
                    given.positional.push(value);
                }
                Argument::Named(name, value) => {
                    let value = self.eval(value);
                    given.named.push((Rc::clone(name), value));
                }
                Argument::List(value) => {
                    let value = self.eval(value);
                    match self.items(&value) {
                        Some(items) => given.positional.extend(items),
                        None => given.rest(&self.heap.sources(&value)),
                    }
                }
                Argument::Dict(value) => {
                    let value = self.eval(value);
                    let dict = match &value.what {
                        What::Dict(id) => self.heap.dicts.get(*id),
                        _ => None,
                    };
                    let named = dict.map(|dict| dict.items.clone()).unwrap_or_default();
                    if dict.is_none_or(|dict| dict.open) {
                        given.rest(&self.heap.sources(&value));
                    }
                    for (key, value) in named {
                        if let Some(name) = key.known() {
                            given.named.push((Rc::from(name), value));
                        }
                    }
                }
            }
        }
        given
    }
}
