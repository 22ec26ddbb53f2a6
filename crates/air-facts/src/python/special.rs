//! Built-in functions whose meaning no table says.

use std::rc::Rc;

use air_core::{
    code::Activity,
    place::{Place, PlaceKind},
};

use crate::decode;

use super::{
    ast::Source,
    call::Given,
    effects::Call,
    interpret::Interpreter,
    lookup::canonical,
    text,
    value::{GAP, Text, Value, What},
};

impl Interpreter<'_, '_> {
    #[expect(clippy::too_many_lines, reason = "a few lines for each function")]
    pub(super) fn special(&mut self, what: &str, call: &Call) -> Option<Value> {
        let given = call.given;
        let first = given.positional.first();
        let from = self.all_sources(&Value::unknown(), given);
        let (name, line) = (call.name, call.line);
        let source = |index: usize, parameter: &str| {
            given.named(parameter).or_else(|| given.positional.get(index)).cloned()
        };
        let text = |made: Text| Some(Value { what: What::Text(made), from: from.clone() });
        match what {
            "exec" => return Some(self.exec(source(0, "source"), call)),
            "import" => {
                let module = source(0, "name").unwrap_or_else(Value::unknown);
                let mut made = Vec::new();
                for module in module.each() {
                    if let Some(module) = module.known() {
                        self.out.import(module);
                        let head = match name {
                            "__import__" => module.split('.').next().unwrap_or(module),
                            _ => module,
                        };
                        made.push(Value::name(head));
                    } else {
                        let why = format!("`{name}` imports a computed module");
                        self.out.incomplete_at(line, why);
                    }
                }
                return Some(Value::any(made));
            }
            "yaml" => {
                let loader = source(1, "Loader").map(|loader| loader.what);
                let safe = matches!(&loader, Some(What::Name(name)) if name.contains("Safe"));
                if !safe {
                    self.makes_code(call);
                }
            }
            "inplace" => {
                let off = |value: &Value| matches!(value.what, What::None | What::Bool(false));
                if source(1, "inplace").is_some_and(|inplace| !off(&inplace)) {
                    for path in first.map(|files| self.paths(files)).unwrap_or_default() {
                        self.operation(Activity::FileWrite, &path, name, line);
                    }
                }
            }
            "getattr" => return Some(self.getattr(call)),
            "setattr" => {
                let [object, attribute, value] = given.positional.as_slice() else { return None };
                match attribute.known() {
                    Some(attribute) => {
                        self.set_attribute(object, &Rc::from(attribute), value, line);
                    }
                    None => self.hand_on(value, line),
                }
                return Some(Value::new(What::None));
            }
            "attrgetter" | "methodcaller" => {
                if first.and_then(Value::known).is_none() {
                    let why = format!("`{name}` reads a computed name");
                    self.out.incomplete_at(line, why);
                    return Some(Value::unknown());
                }
                // Called with the object, it is `getattr`, and then perhaps a call.
                let applied = Value::name(format!("{name}()"));
                return Some(self.partial(applied, given.clone()));
            }
            "type" => {
                let class = match first.map(|object| &object.what) {
                    Some(What::Instance(id)) => {
                        self.heap.instances.get(*id).map(|known| known.class)
                    }
                    _ => None,
                };
                return Some(match class {
                    Some(class) => Value::new(What::Class(class)),
                    None => Value::new(What::Made("type".into())),
                });
            }
            "names" => {
                return Some(match first.map(|object| &object.what) {
                    None => Value::new(What::Names(None)),
                    Some(What::Name(module)) => Value::new(What::Names(Some(Rc::clone(module)))),
                    Some(_) => Value::computed(from),
                });
            }
            "partial" => {
                let (function, rest) = given.positional.split_first()?;
                let mut inner = given.clone();
                inner.positional = rest.to_vec();
                return Some(self.partial(function.clone(), inner));
            }
            "list" => {
                let Some(first) = first else { return Some(self.heap.list(Vec::new(), false)) };
                return Some(match (self.items(first), &first.what) {
                    (Some(items), _) => {
                        let items = if name == "reversed" {
                            items.into_iter().rev().collect()
                        } else {
                            items
                        };
                        self.heap.list(items, false).with(&first.from)
                    }
                    (None, What::List(_)) => first.clone(),
                    (None, _) => Value::computed(from),
                });
            }
            "dict" => {
                let made = self.heap.dict(super::value::Dict::default());
                for (name, value) in &given.named {
                    self.set_item(&made, &Value::text(Rc::clone(name)), value);
                }
                for pairs in &given.positional {
                    match (&pairs.what, self.items(pairs)) {
                        (What::Dict(_), _) if given.named.is_empty() => return Some(pairs.clone()),
                        (What::List(_), Some(pairs)) => {
                            for pair in pairs {
                                if let Some([key, value]) = self.items(&pair).as_deref() {
                                    self.set_item(&made, key, value);
                                }
                            }
                        }
                        _ => {
                            let value = Value::computed(self.heap.sources(pairs));
                            self.set_item(&made, &Value::unknown(), &value);
                        }
                    }
                }
                return Some(made);
            }
            "enumerate" => {
                let (items, whole) = self.each_item(first?);
                let pairs: Vec<Value> = items
                    .into_iter()
                    .zip(0_i64..)
                    .map(|(item, at)| {
                        let at = if whole { What::Number(at) } else { What::Unknown };
                        self.heap.list(vec![Value::new(at), item], false)
                    })
                    .collect();
                return Some(self.heap.list(pairs, !whole));
            }
            "zip" => {
                let mut lists = Vec::new();
                for list in &given.positional {
                    lists.push(self.each_item(list));
                }
                let shortest = lists.iter().map(|(items, _)| items.len()).min().unwrap_or_default();
                let whole = lists.iter().all(|(_, whole)| *whole);
                let mut rows = Vec::new();
                for index in 0..shortest {
                    let row = lists.iter().filter_map(|(items, _)| items.get(index).cloned());
                    let row = row.collect();
                    rows.push(self.heap.list(row, false));
                }
                return Some(self.heap.list(rows, !whole));
            }
            "range" => {
                let numbers: Option<Vec<i64>> =
                    given.positional.iter().map(Value::number).collect();
                let (start, stop, step) = match numbers.as_deref() {
                    Some([stop]) => (0, *stop, 1),
                    Some([start, stop]) => (*start, *stop, 1),
                    Some([start, stop, step]) if *step > 0 => (*start, *stop, *step),
                    _ => return Some(self.heap.list(Vec::new(), true)),
                };
                if (stop - start) / step > 64 {
                    return Some(self.heap.list(Vec::new(), true));
                }
                let step = usize::try_from(step).unwrap_or(1);
                let items = (start..stop).step_by(step).map(|at| Value::new(What::Number(at)));
                let items = items.collect();
                return Some(self.heap.list(items, false));
            }
            "next" => {
                let (items, _) = self.each_item(first?);
                return Some(Value::any(items.into_iter().chain(given.positional.get(1).cloned())));
            }
            "str" => {
                let first = first?;
                return match (&first.what, self.items(first)) {
                    (What::Object(_), _) => Some(Value::computed(from)),
                    (What::Any(_), _) => Some(first.clone()),
                    // Of numbers: the bytes of the same.
                    (What::List(_), Some(items)) if matches!(name, "bytes" | "bytearray") => {
                        let bytes: Option<Vec<u8>> = items
                            .iter()
                            .map(|item| item.number().and_then(|number| u8::try_from(number).ok()))
                            .collect();
                        let bytes = bytes.map(|bytes| Text {
                            text: text::latin(&bytes).into(),
                            known: true,
                            bytes: true,
                        });
                        text(bytes.unwrap_or_else(Text::gap))
                    }
                    _ => {
                        let made = first.as_text();
                        let plain = matches!(name, "str" | "format")
                            && made.bytes
                            && given.positional.len() > 1;
                        if plain {
                            text(Text {
                                text: text::decoded(&text::bytes(&made)).into(),
                                known: made.known,
                                bytes: false,
                            })
                        } else {
                            text(made)
                        }
                    }
                };
            }
            "chr" => {
                let letter =
                    first.and_then(Value::number).and_then(|code| u32::try_from(code).ok());
                return match letter.and_then(char::from_u32) {
                    Some(letter) => text(Text::new(letter.to_string())),
                    None => text(Text::gap()),
                };
            }
            "ord" => {
                let letter = first.and_then(Value::known).and_then(|text| text.chars().next());
                let what =
                    letter.map_or(What::Unknown, |letter| What::Number(u32::from(letter).into()));
                return Some(Value { what, from });
            }
            "int" => {
                let what = match (first.map(|value| &value.what), given.positional.get(1)) {
                    (Some(What::Number(number)), _) => What::Number(*number),
                    (Some(What::Text(text)), radix) if text.known => {
                        let radix = radix.map_or(Some(10), Value::number);
                        let radix = radix.and_then(|radix| u32::try_from(radix).ok());
                        let digits =
                            text.text.trim().trim_start_matches("0x").trim_start_matches("0b");
                        let radix = radix.filter(|radix| (2..=36).contains(radix));
                        radix
                            .and_then(|radix| i64::from_str_radix(digits, radix).ok())
                            .map_or(What::Unknown, What::Number)
                    }
                    _ => What::Unknown,
                };
                return Some(Value { what, from });
            }
            "add" => {
                let [left, right] = given.positional.as_slice() else { return None };
                return Some(self.plus(left, right));
            }
            "unhex" | "unbase64" | "unbase32" => {
                let encoded = first.map(Value::as_text).filter(|text| text.known);
                let decode = match what {
                    "unhex" => decode::hex,
                    "unbase64" => decode::base64,
                    _ => decode::base32,
                };
                let bytes = encoded.and_then(|encoded| decode(&encoded.text));
                return text(match bytes {
                    Some(bytes) => {
                        Text { text: text::latin(&bytes).into(), known: true, bytes: true }
                    }
                    None => Text::gap(),
                });
            }
            "base64" | "base16" => {
                return text(text::encoded(what, &first.map_or_else(Text::gap, Value::as_text)));
            }
            "shlex" => {
                let words = first.and_then(Value::known).and_then(text::words);
                let whole = words.is_some();
                let words = words.unwrap_or_default().into_iter().map(Value::text).collect();
                return Some(self.heap.list(words, !whole).with(&from));
            }
            "codec" => {
                let plain = first.map_or_else(Text::gap, Value::as_text);
                let codec = given.positional.get(1).and_then(Value::known).unwrap_or("utf-8");
                let codec = codec.to_ascii_lowercase().replace('-', "_");
                let codec = codec.trim_end_matches("_codec");
                let direction = if name.ends_with("encode") { "encode" } else { "decode" };
                let made = match codec {
                    "rot13" | "rot_13" => Some(plain.with(text::rot13(&plain.text))),
                    "hex" | "base64" if direction == "encode" => None,
                    codec => text::method(&plain, direction, &[Value::text(codec)]),
                };
                return text(made.unwrap_or_else(Text::gap));
            }
            "join" | "format" | "strmethod" => {
                let (object, rest) = given.positional.split_first()?;
                let method = name.rsplit('.').next().unwrap_or(name);
                let mut inner = given.clone();
                inner.positional = rest.to_vec();
                return Some(self.plain_method(object, method, &inner, &call.named("")));
            }
            "decompress" | "mkstemp" => return Some(Value { what: What::Made(name.into()), from }),
            "literal" => return Some(self.literal(first, call)),
            "dirname" | "basename" | "with_name" | "with_suffix" | "with_stem" => {
                return Some(Self::part_of_path(what, call));
            }
            "netrc" => {
                let path = first.map_or_else(|| Text::new("~/.netrc"), Value::as_text);
                self.operation(Activity::FileRead, &path.text, name, line);
                let place = Self::file(&path.text);
                return Some(self.heap.object("response", Some(place)));
            }
            "pip" => {
                let words = first.and_then(|list| self.items(list)).unwrap_or_default();
                let words: Vec<Value> = std::iter::once(Value::text("pip")).chain(words).collect();
                return self.run_words(&words, call);
            }
            _ => {}
        }
        None
    }

    fn part_of_path(what: &str, call: &Call) -> Value {
        let path = call.given.positional.first();
        let new = call.given.positional.get(1);
        // A method's object is not among what is given.
        let (path, new) = match call.bound.get("self") {
            Some(object) => (Some(object), path.or_else(|| call.bound.get("name"))),
            None => (path, new),
        };
        let Some(path) = path else { return Value::unknown() };
        let whole = path.as_text();
        let (directory, last) = whole.text.rsplit_once('/').unwrap_or(("", &whole.text));
        let stem = last.rsplit_once('.').map_or(last, |(stem, _)| stem);
        let suffix = last.strip_prefix(stem).unwrap_or_default();
        let new = new.map_or_else(Text::gap, Value::as_text);
        let last = match what {
            "dirname" => {
                let directory = if whole.text.starts_with('/') && directory.is_empty() {
                    "/"
                } else {
                    directory
                };
                return Value::new(What::Text(super::lookup::written(directory))).with(&path.from);
            }
            "basename" => {
                return Value::new(What::Text(super::lookup::written(last))).with(&path.from);
            }
            "with_name" => new.text.to_string(),
            "with_suffix" => format!("{stem}{}", new.text),
            _ => format!("{}{suffix}", new.text),
        };
        let whole = if whole.text.contains('/') { format!("{directory}/{last}") } else { last };
        Value::new(What::Path(super::lookup::written(&whole))).with(&path.from)
    }

    fn getattr(&mut self, call: &Call) -> Value {
        let [object, attribute, rest @ ..] = call.given.positional.as_slice() else {
            return Value::unknown();
        };
        let mut made = Vec::new();
        for name in attribute.each() {
            match name.known() {
                Some(name) => made.push(self.attribute(object, &Rc::from(name), call.line)),
                None => made.push(self.computed_attribute(object, &name.as_text(), call)),
            }
        }
        let value = Value::any(made);
        match rest.first() {
            // A default that is no function takes no part in calls.
            Some(default) if !matches!(default.what, What::None) => value.or(default.clone()),
            _ => value,
        }
    }

    /// `getattr(self, "do_" + name)` is one of the methods of that form.
    fn computed_attribute(&mut self, object: &Value, name: &Text, call: &Call) -> Value {
        if let What::Instance(id) = object.what
            && let Some(class) = self.heap.instances.get(id).map(|instance| instance.class)
            && let Some(scope) = self.heap.classes.get(class).map(|class| class.scope)
            && let Some(scope) = self.heap.scopes.get(scope)
        {
            let prefix = name.text.split(GAP).next().unwrap_or_default();
            let mut names: Vec<Rc<str>> =
                scope.names.keys().filter(|known| known.starts_with(prefix)).cloned().collect();
            names.sort();
            let methods = names.iter().map(|name| self.attribute(object, name, call.line));
            let methods: Vec<Value> = methods.collect();
            return Value::any(methods);
        }
        let from = self.all_sources(&Value::unknown(), call.given);
        match object.what {
            What::Name(_) | What::Hidden(_) => {
                let why = format!("`{}` reads a computed name", call.name);
                Value { what: What::Hidden(why.into()), from }
            }
            _ => Value::computed(from),
        }
    }

    fn exec(&mut self, code: Option<Value>, call: &Call) -> Value {
        let Some(code) = code else { return Value::unknown() };
        let mut made = Vec::new();
        for code in code.each() {
            match &code.what {
                What::Text(text) if text.known && call.name == "compile" => made.push(code.clone()),
                What::Text(text) if text.known => {
                    let text = if text.bytes {
                        text::decoded(&text::bytes(text)).into()
                    } else {
                        Rc::clone(&text.text)
                    };
                    let from = self.heap.sources(code);
                    self.run_code(&from, call.line);
                    made.push(self.nested(&text, call.line));
                }
                // What was compiled is run where it is executed.
                _ if call.name == "compile" => made.push(Value::computed(self.heap.sources(code))),
                _ => {
                    self.operation(Activity::CodeRun, "", call.name, call.line);
                    let from = self.heap.sources(code);
                    self.run_code(&from, call.line);
                    let why = format!("`{}` runs computed code", call.name);
                    self.out.incomplete_at(call.line, why);
                    if let What::Text(text) = &code.what
                        && &*text.text != GAP
                    {
                        let text = text.text.replace(GAP, "_");
                        self.nested(&text.into(), call.line);
                    }
                    made.push(Value::computed(from));
                }
            }
        }
        Value::any(made)
    }

    pub(super) fn run_code(&mut self, from: &super::value::Sources, line: u32) {
        self.out.flow(from.places(), &Place::new(PlaceKind::Code, ""), line);
    }

    /// Source in this one: it sees and binds the same names. What its last expression is worth.
    fn nested(&mut self, source: &Source, line: u32) -> Value {
        if self.depth < 8 || !self.work(source.len() / 4) {
            self.out.incomplete_at(line, "source within source is nested too deeply");
            return Value::unknown();
        }
        let Some(before) = self.out.enter(line) else { return Value::unknown() };
        let value = self.read(source);
        self.out.leave_nested(before);
        value
    }

    /// `ast.literal_eval` and `json.loads` of a known text.
    fn literal(&mut self, text: Option<&Value>, call: &Call) -> Value {
        let from = self.all_sources(&Value::unknown(), call.given);
        let known = text.and_then(Value::known).filter(|text| text.len() < 1 << 12);
        let made = known.map(|known| {
            let known = known.replace(": true", ": True").replace(": null", ": None");
            self.nested(&known.into(), call.line)
        });
        match made.map(|value| value.what) {
            Some(what @ (What::Text(_) | What::List(_) | What::Dict(_) | What::Number(_))) => {
                Value { what, from }
            }
            _ => Value { what: What::Made(call.name.into()), from },
        }
    }

    /// `operator.attrgetter(name)(object)`.
    pub(super) fn is_applied_getter(name: &str) -> bool {
        matches!(name, "operator.attrgetter()" | "operator.methodcaller()")
    }

    pub(super) fn getter(&mut self, name: &str, given: &Given, line: u32) -> Value {
        let Some((object, own)) = given.positional.split_last() else { return Value::unknown() };
        let Some((attribute, rest)) = own.split_first() else { return Value::unknown() };
        let mut value = object.clone();
        for part in attribute.known().unwrap_or_default().split('.') {
            value = self.attribute(&value, &canonical("builtins", part), line);
        }
        if name.starts_with("operator.methodcaller") {
            return self.apply(&value, Given::of(rest.to_vec()), line);
        }
        value
    }
}
