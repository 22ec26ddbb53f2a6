//! What the words of the table mean.

use air_core::{
    code::Activity,
    place::{Held, Place, PlaceKind},
};

use super::{
    bound::Bound,
    call::{Given, Site},
    interpret::Interpreter,
    lookup::VARIABLES,
    network::signs_in,
    table,
    value::{Sources, Text, Value, What},
};
use crate::owner;

/// One call of a function of the table.
pub(super) struct Call<'r> {
    pub(super) name: &'r str,
    pub(super) bound: Bound,
    pub(super) given: &'r Given,
    pub(super) site: &'r Site,
    pub(super) line: u32,
}

/// Functions that take the keys of a dictionary alone.
const NAMES_ONLY: [&str; 11] = [
    "sorted",
    "list",
    "tuple",
    "set",
    "frozenset",
    "len",
    "iter",
    "enumerate",
    "min",
    "max",
    "any",
];

impl Interpreter<'_, '_> {
    /// A function that the source does not define, by its name.
    pub(super) fn library(
        &mut self,
        name: &str,
        from: &Sources,
        given: &Given,
        site: &Site,
    ) -> Value {
        let names = NAMES_ONLY.contains(&name).then(|| Self::names_alone(given));
        let given = names.as_ref().unwrap_or(given);
        self.environment_as_whole(given, site.line);
        if Self::is_applied_getter(name) {
            return self.getter(name, given, site.line);
        }
        let Some(row) = table::row(name) else {
            self.hand_on_all(given, site.line);
            let from = self.all_sources(&Value::computed(from.clone()), given);
            let last = name.rsplit('.').next().unwrap_or_default();
            if last.ends_with("swith") {
                return Value::unknown();
            }
            if last.starts_with(char::is_uppercase) {
                return self.heap.object(name, None).with(&from);
            }
            return Value { what: What::Made(name.into()), from };
        };
        let own = row.parameters.first() == Some(&"self");
        let bound = if own {
            // The object is not known; its sources are.
            let mut with_object = given.clone();
            with_object.positional.insert(0, Value::computed(from.clone()));
            Bound::new(row, &with_object)
        } else {
            Bound::new(row, given)
        };
        self.effects(name, row, bound, given, from, site)
    }

    /// A method of a value that is no instance of a class of the source.
    pub(super) fn method(
        &mut self,
        object: &Value,
        name: &str,
        given: &Given,
        site: &Site,
    ) -> Value {
        let class = match &object.what {
            What::Path(_) => "pathlib.Path".to_owned(),
            What::Object(id) => self
                .heap
                .objects
                .get(*id)
                .map(|object| object.class.to_string())
                .unwrap_or_default(),
            _ => {
                self.note_call(site, &site.name);
                return self.plain_method(object, name, given, site);
            }
        };
        let whole = format!("{class}.{name}");
        self.note_call(site, &whole);
        self.environment_as_whole(given, site.line);
        let Some(row) = table::row(&whole) else {
            let mut from = self.all_sources(&Value::unknown(), given);
            if name == "add_header" && given.positional.first().is_some_and(signs_in) {
                from = from.without_variables();
            }
            if let What::Object(id) = object.what
                && let Some(object) = self.heap.objects.get_mut(id)
            {
                object.from.add(&from);
                if let Some(runs) = object.runs.clone().filter(|_| matches!(name, "start" | "run"))
                {
                    self.invoke(&runs, Given::default(), site);
                }
            }
            self.hand_on_all(given, site.line);
            if name == "__enter__" {
                return object.clone();
            }
            return Value::computed(self.all_sources(object, given));
        };
        let own = row.parameters.first() == Some(&"self");
        let mut with_object = given.clone();
        if own {
            with_object.positional.insert(0, object.clone());
        }
        let bound = Bound::new(row, &with_object);
        let from = self.heap.sources(object);
        self.effects(&whole, row, bound, given, &from, site)
    }

    /// The names of the environment's variables in place of all of it.
    fn names_alone(given: &Given) -> Given {
        let mut given = given.clone();
        for value in &mut given.positional {
            if matches!(&value.what, What::Name(name) if &**name == VARIABLES) {
                let names = Place::new(PlaceKind::Variable, VARIABLES);
                *value = Value::computed(Sources::of(names));
            }
        }
        given
    }

    /// The whole environment is given to a function.
    fn environment_as_whole(&mut self, given: &Given, line: u32) {
        let whole =
            |value: &Value| matches!(&value.what, What::Name(name) if &**name == "os.environ");
        if given.values().any(whole) {
            self.operation(Activity::EnvironmentRead, "*", "os.environ", line);
        }
    }

    fn effects(
        &mut self,
        name: &str,
        row: &'static table::Row,
        bound: Bound,
        given: &Given,
        from: &Sources,
        site: &Site,
    ) -> Value {
        let call = Call { name, bound, given, site, line: site.line };
        let mut result: Option<Value> = None;
        for effect in &row.effects {
            let Some((word, parameters)) = effect.split_first() else { continue };
            if let Some(value) = self.effect(word, parameters, &call) {
                result = Some(value);
            }
        }
        // Whoever is given a function may call it; these are known to call it or not.
        let calls = ["call", "each", "thread", "received", "special", "same", "print"];
        let told = |effect: &Vec<&str>| effect.first().is_some_and(|word| calls.contains(word));
        if name.contains('.') && !row.effects.iter().any(told) {
            for value in given.values() {
                if matches!(&value.what, What::Name(name) if table::may_harm(name)) {
                    self.hand_on(value, site.line);
                }
            }
        }
        result.unwrap_or_else(|| {
            let all = self.all_sources(&Value::computed(from.clone()), given);
            Value { what: What::Made(name.into()), from: all }
        })
    }

    #[expect(clippy::too_many_lines, reason = "a line or two for each word")]
    fn effect(&mut self, word: &str, parameters: &[&str], call: &Call) -> Option<Value> {
        let bound = &call.bound;
        let first = parameters.first().copied().unwrap_or_default();
        let second = parameters.get(1).copied().unwrap_or_default();
        let one = bound.get(first);
        let rest = |skip: usize| -> Vec<Value> {
            parameters.iter().skip(skip).flat_map(|name| bound.all(name)).cloned().collect()
        };
        match word {
            "print" => self.print(&rest(0), call),
            "input" => return Some(Value::computed(Sources::of(Place::new(PlaceKind::Input, "")))),
            "env" => {
                let name = one.cloned().unwrap_or_else(Value::unknown);
                let value = self.variable(&name, call.name, call.line);
                return Some(match bound.get("default") {
                    Some(default) => value.or(default.clone()),
                    None => value,
                });
            }
            "environment" => {
                self.operation(Activity::EnvironmentRead, "*", call.name, call.line);
                let all = Place::new(PlaceKind::Environment, "*");
                return Some(Value::computed(Sources::of(all)));
            }
            // Names are no secret; what is looked up by them is all of it.
            "variables" => {
                let names = Place::new(PlaceKind::Variable, VARIABLES);
                return Some(Value::computed(Sources::of(names)));
            }
            "clean" => return Some(Value::unknown()),
            "hash" => return Some(self.heap.object("hash", None)),
            "same" => return one.cloned(),
            "text" => {
                return one.map(|path| Value {
                    what: What::Text(path.as_text()),
                    from: path.from.clone(),
                });
            }
            "path" | "join" => {
                let mut from = Sources::default();
                let mut whole: Option<Text> = None;
                for part in rest(0) {
                    from.add(&self.heap.sources(&part));
                    let part = part.as_text();
                    whole = Some(
                        whole.map_or(part.clone(), |whole| super::text::joined(&whole, &part)),
                    );
                }
                let whole = whole.unwrap_or_else(|| Text::new("."));
                let what = if word == "path" { What::Path(whole) } else { What::Text(whole) };
                return Some(Value { what, from });
            }
            "home" => return Some(Value::new(What::Path(Text::new("~")))),
            "cwd" => return Some(Value::new(What::Path(Text::new(".")))),
            "here" => return Some(Value::text(".")),
            "unquote" => {
                return one.map(|text| Value {
                    what: What::Text(super::text::unquoted(&text.as_text())),
                    from: self.heap.sources(text),
                });
            }
            "tmp" => return Some(Value::text("/tmp")),
            "make" => {
                let from = self.sources_of(&rest(1));
                return Some(self.heap.object(first, None).with(&from));
            }
            "kill" | "killed" => self.kill(one, bound.get(second), call),
            "process" => return Some(self.process(one, call)),
            "child" => return Some(Value::computed(Sources::of(owner::own()))),
            "found" => return Some(Value::computed(Sources::of(owner::foreign()))),
            "account" => {
                let target = Self::gap(one).text;
                self.operation(Activity::AccountChange, &target, call.name, call.line);
            }
            "system" => {
                let detail = Self::gap(bound.get(second)).text.to_string();
                let activity = Activity::SystemChange;
                self.operation_with(activity, first, call.name, Some(detail), false, call.line);
            }
            "chdir" => {
                // The directory of a script without one is where it is run.
                if one.and_then(Value::known) != Some("") {
                    self.directory = one.and_then(Value::known).map(str::to_owned);
                }
            }
            "stdio" => {
                let from = one.map(|value| self.heap.sources(value)).unwrap_or_default();
                match bound.get(second).and_then(Value::number) {
                    Some(0) => self.input = from,
                    Some(1) => self.output = from.places().first().cloned(),
                    _ => {}
                }
                return Some(Value::unknown());
            }
            "run" | "spawn" => return self.run_command(one.cloned(), call),
            "words" => return self.run_words(&rest(0), call),
            "call" => {
                let given = Given::of(rest(1));
                return one.cloned().map(|function| self.invoke(&function, given, &call.named("")));
            }
            "each" => return Some(self.each(one.cloned(), &rest(1), call)),
            "thread" => {
                let given = bound.get(second).and_then(|args| self.items(args)).unwrap_or_default();
                let mut given = Given::of(given);
                given.named = call
                    .given
                    .named("kwargs")
                    .and_then(|named| self.named_items(named))
                    .unwrap_or_default();
                let target = one.cloned()?;
                let runs = self.partial(target, given);
                let object = self.heap.object(call.name, None);
                // It is started somewhere: here, as far as is known.
                self.invoke(&runs, Given::default(), &call.named(""));
                return Some(object);
            }
            "runfile" => self.run_file(one, call),
            "elsewhere" => {
                let why = format!("`{}` runs code from elsewhere", call.name);
                self.out.incomplete_at(call.line, why);
            }
            "fromdata" => self.makes_code(call),
            "special" => return self.special(first, call),
            "connect" | "http" | "request" | "fetch" | "dial" | "pairdial" | "redial" | "send"
            | "sendto" | "sendfile" | "upload" | "receive" | "received" | "bind" | "listening"
            | "listen" | "serve" | "accept" | "lookup" => {
                return self.on_network(word, parameters, call);
            }
            _ => return self.on_files(word, parameters, call),
        }
        None
    }

    pub(super) fn makes_code(&mut self, call: &Call) {
        let why = format!("`{}` makes code from data", call.name);
        self.out.incomplete_at(call.line, why);
        let from = self.all_sources(&Value::unknown(), call.given);
        self.run_code(&from, call.line);
    }

    /// `print(…, file=…)` goes where the file is.
    fn print(&mut self, values: &[Value], call: &Call) {
        let file = call.bound.get("file").filter(|file| matches!(file.what, What::Object(_)));
        if let Some(file) = file.cloned() {
            self.store(&file, values, call);
        } else {
            let from = self.sources_of(values);
            let sink = self.output.clone().unwrap_or_else(|| Place::new(PlaceKind::Output, ""));
            self.out.flow(from.places(), &sink, call.line);
        }
    }

    /// The function is called with each item of the lists.
    fn each(&mut self, function: Option<Value>, lists: &[Value], call: &Call) -> Value {
        let Some(function) = function else { return Value::unknown() };
        let first = lists.first().cloned().unwrap_or_else(Value::unknown);
        let (items, whole) = self.each_item(&first);
        let filter = call.name == "filter";
        let mut made = Vec::new();
        let unpacked = call.name.ends_with("starmap");
        for item in items {
            let mut given = match unpacked.then(|| self.items(&item)).flatten() {
                Some(items) => Given::of(items),
                None => Given::of(vec![item.clone()]),
            };
            for more in lists.iter().skip(1) {
                let (others, _) = self.each_item(more);
                given
                    .positional
                    .push(others.get(made.len()).cloned().unwrap_or_else(|| Value::any(others)));
            }
            let shown = vec![match item.known() {
                Some(text) => text.to_owned(),
                None => crate::collect::computed("…"),
            }];
            let mut site = call.named("");
            site.shown = shown;
            let value = self.invoke(&function, given, &site);
            made.push(if filter { item } else { value });
        }
        self.heap.list(made, !whole || filter)
    }

    fn named_items(&self, value: &Value) -> Option<Vec<(std::rc::Rc<str>, Value)>> {
        let What::Dict(id) = value.what else { return None };
        let dict = self.heap.dicts.get(id)?;
        Some(
            dict.items
                .iter()
                .filter_map(|(key, value)| Some((key.known()?.into(), value.clone())))
                .collect(),
        )
    }

    fn run_file(&mut self, path: Option<&Value>, call: &Call) {
        let paths = path.map(|path| self.paths(path)).unwrap_or_default();
        for path in paths {
            let origins = self.out.origins(&[Self::file(&path)]);
            let from: Vec<Place> =
                origins.into_iter().filter(|place| place.kind == PlaceKind::Network).collect();
            self.out.flow(&from, &Place::new(PlaceKind::Code, ""), call.line);
            match self.out.file(&path) {
                Ok(source) => {
                    self.out.nested(call.line, |out| super::collect(&source, out));
                }
                Err(why) => {
                    let why = format!("`{}` runs `{path}`, which is not read: {why}", call.name);
                    self.out.incomplete_at(call.line, why);
                }
            }
        }
    }

    /// What is written to a thing of a library: a file, a connection, a buffer.
    pub(super) fn store(&mut self, target: &Value, data: &[Value], call: &Call) {
        let from = self.sources_of(data);
        for target in target.each() {
            let id = match &target.what {
                What::Object(id) => *id,
                What::Name(name) if name.starts_with("sys.std") => {
                    self.out.flow(from.places(), &Place::new(PlaceKind::Output, ""), call.line);
                    continue;
                }
                What::Number(1 | 2) => {
                    self.out.flow(from.places(), &Place::new(PlaceKind::Output, ""), call.line);
                    continue;
                }
                _ => continue,
            };
            let Some(object) = self.heap.objects.get_mut(id) else { continue };
            object.from.add(&from);
            let more = Self::content(data);
            // What was there before may not be known: what is added is.
            let added = object.place.clone().zip(more.clone());
            object.written = match (object.written.take(), more) {
                (Some(before), Some(more)) if before.len() + more.len() <= 1 << 16 => {
                    Some(before + &more)
                }
                _ => None,
            };
            if let Some((place, text)) = added {
                self.out.wrote(&place, &text);
            }
            let Some(object) = self.heap.objects.get(id) else { continue };
            let Some(place) = object.place.clone() else { continue };
            let held = Held {
                perhaps: self.conditions > 0 || self.may_end,
                text: object.written.clone(),
                names: Vec::new(),
                sources: self.out.origins(object.from.places()),
            };
            self.out.flow(from.places(), &place, call.line);
            if place.kind == PlaceKind::File {
                self.out.leave(place, held);
            }
        }
    }

    /// What a file is now: that text, from there.
    pub(super) fn leave_file(&mut self, path: &str, text: Option<String>, from: &Sources) {
        let sources = self.out.origins(from.places());
        let perhaps = self.conditions > 0 || self.may_end;
        self.out.leave(Self::file(path), Held { text, sources, perhaps, ..Held::default() });
    }
}

impl Call<'_> {
    /// The site, with another name to be noted under.
    pub(super) fn named(&self, name: &str) -> Site {
        Site { name: name.to_owned(), ..self.site.clone() }
    }
}
