//! What lies behind a dot or in brackets.

use std::rc::Rc;

use air_core::{
    code::Activity,
    place::{Place, PlaceKind},
};

use super::{
    call::Given,
    interpret::Interpreter,
    table,
    value::{MOST_VALUES, Partial, Sources, Text, Value, What},
};

/// Attributes that are the names of a module.
const NAMES: [&str; 3] = ["__globals__", "f_globals", "f_locals"];
/// Longer names are computed.
const LONGEST_NAME: usize = 160;
/// Modules that others have as an attribute: `shutil.os` is `os`.
const SEEN_THROUGH: [&str; 10] =
    ["os", "sys", "subprocess", "shutil", "socket", "builtins", "pathlib", "io", "posix", "urllib"];

/// Modules that every other may have.
const ANYWHERE: [&str; 6] = ["os", "sys", "subprocess", "shutil", "builtins", "posix"];
/// Modules with one of their own under such a name.
const OWN: [&str; 3] = ["asyncio", "anyio", "trio"];

impl Interpreter<'_, '_> {
    pub(super) fn attribute(&mut self, object: &Value, name: &Rc<str>, line: u32) -> Value {
        if NAMES.contains(&&**name) {
            return Value::new(What::Names(None)).with(&object.from);
        }
        if &**name == "__subclasses__" {
            self.out.incomplete_at(line, format!("`{name}` reaches what is not named"));
            return Value::computed(self.heap.sources(object));
        }
        match &object.what {
            What::Any(options) => {
                let options = Rc::clone(options);
                Value::any(options.iter().map(|option| self.attribute(option, name, line)))
            }
            // Calling this is calling it.
            What::Name(_) | What::Function(_) | What::Partial(_) | What::Method(_)
                if &**name == "__call__" =>
            {
                object.clone()
            }
            What::Name(module) | What::Made(module) => {
                if &**name == "__dict__" {
                    return Value::new(What::Names(Some(Rc::clone(module))));
                }
                if &**name == "__getattribute__" {
                    let getattr = Value::name("getattr");
                    return self.partial(getattr, Given::of(vec![object.clone()]));
                }
                if module.len() > LONGEST_NAME {
                    return Value::computed(object.from.clone());
                }
                let whole = canonical(module, name);
                if table::is_constant(&whole) {
                    let value = table::constant(&whole);
                    let number = value.strip_prefix('#').and_then(|number| number.parse().ok());
                    let value = number.map_or_else(
                        || Value::text(value),
                        |number| Value::new(What::Number(number)),
                    );
                    return value.with(&object.from);
                }
                Value::name(whole).with(&object.from)
            }
            // The source itself as a module.
            What::Names(None) if &**name != "get" && !is_of_dict(name) => {
                self.subscript(object, &Value::text(Rc::clone(name)), line)
            }
            What::Path(path) => Self::path_attribute(path, name).with(&object.from),
            What::Object(id) => {
                let same = ["stdout", "stderr", "stdin", "raw", "buffer", "sock", "file"];
                let response = self.heap.objects.get(*id).is_some_and(|object| {
                    matches!(&*object.class, "response" | "subprocess.Popen")
                });
                match &**name {
                    name if same.contains(&name) => object.clone(),
                    "text" | "content" | "body" | "output" if response => {
                        Value::computed(self.heap.sources(object))
                    }
                    "name" => self
                        .heap
                        .objects
                        .get(*id)
                        .and_then(|object| object.place.clone())
                        .map_or_else(Value::unknown, |place| {
                            Value::new(What::Text(written(&place.name)))
                        }),
                    "pid" => self.number_of(*id).with(&object.from),
                    "__class__" | "status_code" | "returncode" | "closed" | "ok" => {
                        Value::unknown()
                    }
                    _ => method_of(object, name),
                }
            }
            What::Instance(id) => {
                let known = self.heap.instances.get(*id);
                if let Some(value) = known.and_then(|known| known.attributes.get(name)) {
                    return value.clone();
                }
                let class = known.map(|known| known.class);
                if &**name == "__class__" {
                    return class
                        .map_or_else(Value::unknown, |class| Value::new(What::Class(class)));
                }
                match class.and_then(|class| self.class_attribute(class, name, 0)) {
                    Some(value) => self.of_instance(object, value, line),
                    None => method_of(object, name),
                }
            }
            What::Class(id) => match self.class_attribute(*id, name, 0) {
                Some(value) => self.of_class(object, value),
                None => method_of(object, name),
            },
            What::Method(method) => {
                let from = self.heap.sources(&method.0);
                method_of(&Value::computed(from), name)
            }
            _ => method_of(object, name),
        }
    }

    fn path_attribute(path: &Text, name: &Rc<str>) -> Value {
        let (before, last) = match path.text.trim_end_matches('/').rsplit_once('/') {
            Some(("", last)) => ("/", last),
            Some(parts) => parts,
            None => (".", &*path.text),
        };
        let (stem, suffix) = last.rsplit_once('.').unwrap_or((last, ""));
        match &**name {
            "parent" => Value::new(What::Path(written(before))),
            "name" => Value::new(What::Text(written(last))),
            "stem" => Value::new(What::Text(written(stem))),
            "suffix" => Value::new(What::Text(written(&format!(".{suffix}")))),
            // An entry of `os.scandir` says its path.
            "path" => Value::new(What::Path(path.clone())),
            "parents" | "parts" => Value::unknown(),
            _ => method_of(&Value::new(What::Path(path.clone())), name),
        }
    }

    /// What a class or one of its bases has under that name.
    pub(super) fn class_attribute(
        &mut self,
        class: usize,
        name: &Rc<str>,
        depth: usize,
    ) -> Option<Value> {
        let known = self.heap.classes.get(class)?;
        if let Some(value) = self.heap.scopes.get(known.scope)?.names.get(name) {
            return Some(value.clone());
        }
        if depth > 8 {
            return None;
        }
        for base in known.bases.clone() {
            for base in base.each() {
                let found = match &base.what {
                    What::Class(base) => self.class_attribute(*base, name, depth + 1),
                    _ => None,
                };
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// A function of a class is bound to the instance; a property is called.
    fn of_instance(&mut self, object: &Value, value: Value, line: u32) -> Value {
        let What::Function(id) = value.what else { return value };
        if self.is_decorated(id, "staticmethod") {
            return value;
        }
        let bound = self.partial(value, Given::of(vec![object.clone()]));
        if self.is_decorated(id, "property") || self.is_decorated(id, "cached_property") {
            return self.apply(&bound, Given::default(), line);
        }
        bound
    }

    fn of_class(&mut self, class: &Value, value: Value) -> Value {
        match value.what {
            What::Function(id) if self.is_decorated(id, "classmethod") => {
                self.partial(value, Given::of(vec![class.clone()]))
            }
            _ => value,
        }
    }

    pub(super) fn is_decorated(&self, function: usize, by: &str) -> bool {
        let function = self.heap.functions.get(function);
        function.is_some_and(|function| {
            let definition = &function.definition;
            definition.decorators.iter().any(|decorator| {
                let written = definition.source.get(decorator.at.clone()).unwrap_or_default();
                written == by || written.rsplit('.').next() == Some(by)
            })
        })
    }

    pub(super) fn partial(&mut self, callee: Value, given: Given) -> Value {
        // One of one is one.
        if let What::Partial(id) = callee.what
            && let Some(inner) = self.heap.partials.get(id)
        {
            let (inner_callee, inner) = (inner.callee.clone(), inner.given.clone());
            return self.partial(inner_callee, inner.then(given));
        }
        self.heap.partials.push(Partial { callee, given });
        Value::new(What::Partial(self.heap.partials.len() - 1))
    }

    pub(super) fn subscript(&mut self, object: &Value, key: &Value, line: u32) -> Value {
        if let What::Any(keys) = &key.what {
            let keys = Rc::clone(keys);
            return Value::any(keys.iter().map(|key| self.subscript(object, key, line)));
        }
        match &object.what {
            What::Any(options) => {
                let options = Rc::clone(options);
                Value::any(options.iter().map(|option| self.subscript(option, key, line)))
            }
            What::Names(module) => match (key.known(), module) {
                (Some(name), None) => self.lookup(&Rc::from(name)),
                (Some(name), Some(module)) => Value::name(canonical(module, name)),
                (None, _) => hidden("a variable is reached by a computed name"),
            },
            What::Name(name) if &**name == "sys.modules" => match key.known() {
                Some("__main__") => Value::new(What::Names(None)),
                Some(module) => Value::name(module),
                None => hidden("a module is reached by a computed name"),
            },
            What::Name(name) if &**name == "builtins" => match key.known() {
                Some(name) => Value::name(name),
                None => hidden("a variable is reached by a computed name"),
            },
            What::Name(name) if &**name == "sys.argv" => Value::unknown(),
            What::Name(name) if matches!(&**name, "os.environ" | "os.environb") => {
                self.variable(key, name, line)
            }
            What::Name(name) if &**name == "winreg" => Value::name(Rc::clone(name)),
            What::List(id) => {
                let Some(list) = self.heap.lists.get(*id) else { return Value::unknown() };
                let length = i64::try_from(list.items.len()).unwrap_or_default();
                let at = key.number().map(|at| if at < 0 { at + length } else { at });
                let at = at.filter(|at| !list.open || *at < length);
                match at.and_then(|at| usize::try_from(at).ok()) {
                    Some(at) => list
                        .items
                        .get(at)
                        .cloned()
                        .unwrap_or_else(|| Value::computed(list.from.clone()))
                        .with(&object.from),
                    None => some(&list.items, &list.from).with(&object.from),
                }
            }
            What::Dict(id) => {
                let Some(dict) = self.heap.dicts.get(*id) else { return Value::unknown() };
                // The last binding of a key counts.
                let known = dict.items.iter().rev().find(|(known, _)| known.what == key.what);
                let plain = !matches!(key.what, What::Unknown | What::Made(_));
                if let (Some((_, value)), true) = (known, plain) {
                    return value.clone();
                }
                let values: Vec<Value> =
                    dict.items.iter().map(|(_, value)| value.clone()).collect();
                let from = dict.from.clone();
                if key.known().is_some() && !dict.open {
                    return Value::computed(from);
                }
                some(&values, &from).with(&object.from)
            }
            What::Text(text) => {
                let letter = key.number().filter(|_| text.known).and_then(|at| {
                    let length = i64::try_from(text.text.chars().count()).ok()?;
                    let at = if at < 0 { at + length } else { at };
                    text.text.chars().nth(usize::try_from(at).ok()?)
                });
                match letter {
                    Some(letter) if text.bytes => {
                        Value::new(What::Number(u32::from(letter).into()))
                    }
                    Some(letter) => Value::text(letter.to_string()),
                    None => Value::unknown(),
                }
                .with(&object.from)
            }
            _ => Value::computed(self.heap.sources(object)),
        }
    }

    /// An environment variable is read.
    pub(super) fn variable(&mut self, name: &Value, via: &str, line: u32) -> Value {
        let names = Place::new(PlaceKind::Variable, VARIABLES);
        let any = self.heap.sources(name).places().contains(&names);
        let name = name.as_text();
        let target = match (name.known, any) {
            (true, _) => &*name.text,
            (false, true) => "*",
            (false, false) => super::value::GAP,
        };
        self.operation(Activity::EnvironmentRead, target, via, line);
        let mut from = vec![Place::new(PlaceKind::Environment, target)];
        if let Some(held) = self.out.held(&Place::new(PlaceKind::Environment, target)) {
            from.extend(held.sources);
        }
        Value::computed(Sources::all(from))
    }
}

/// Where the names of all environment variables come from.
pub(super) const VARIABLES: &str = "os.environ";

/// What is not found by reading; it matters once it is called.
fn hidden(why: &str) -> Value {
    Value::new(What::Hidden(Rc::from(why)))
}

fn is_of_dict(name: &str) -> bool {
    matches!(
        name,
        "pop" | "update" | "items" | "keys" | "values" | "copy" | "setdefault" | "__getitem__"
    )
}

fn method_of(object: &Value, name: &Rc<str>) -> Value {
    Value::new(What::Method(Rc::new((object.clone(), Rc::clone(name)))))
}

/// Any of many items.
fn some(items: &[Value], from: &Sources) -> Value {
    let mut all = from.clone();
    if items.len() <= MOST_VALUES {
        return Value::any(items.iter().cloned()).with(&all);
    }
    for item in items {
        all.add(&item.from);
    }
    Value::computed(all)
}

/// A text in which gaps stand as such.
pub(super) fn written(text: &str) -> Text {
    Text { text: Rc::from(text), known: air_core::place::is_known(text), bytes: false }
}

/// The name of `module.name`, where modules can be reached through others.
pub(super) fn canonical(module: &str, name: &str) -> Rc<str> {
    if matches!(module, "builtins" | "__builtins__") {
        return Rc::from(name);
    }
    // Modules have those that they use themselves, under any name.
    let plain = name.trim_start_matches('_');
    if ANYWHERE.contains(&plain) && !OWN.contains(&module) && module != plain {
        return Rc::from(plain);
    }
    if SEEN_THROUGH.contains(&name)
        && module != name
        && module != "asyncio"
        && table::is_module(module)
    {
        return Rc::from(name);
    }
    format!("{module}.{name}").into()
}
