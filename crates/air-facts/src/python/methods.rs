//! Methods of texts, lists and dictionaries.

use std::rc::Rc;

use super::{
    call::{Given, Site},
    interpret::Interpreter,
    text,
    value::{GAP, Sources, Text, Value, What},
};

/// Longer texts are computed.
const LONGEST: usize = 1 << 16;
/// Methods of texts that say nothing of them.
const TESTS: [&str; 12] = [
    "startswith",
    "endswith",
    "isdigit",
    "isalpha",
    "isspace",
    "isalnum",
    "isupper",
    "islower",
    "find",
    "rfind",
    "index",
    "count",
];

impl Interpreter<'_, '_> {
    pub(super) fn plain_method(
        &mut self,
        object: &Value,
        name: &str,
        given: &Given,
        site: &Site,
    ) -> Value {
        let made = self.method_of(object, name, given, site);
        if !matches!(name, "format" | "format_map") || !given.positional.is_empty() {
            return made;
        }
        // Of the whole environment, a template takes what it names.
        let fields = match &object.what {
            What::Text(text) if text.known => text::fields(&text.text),
            _ => vec![GAP.to_owned()],
        };
        Value { from: made.from.instead_of_all(&fields), ..made }
    }

    fn method_of(&mut self, object: &Value, name: &str, given: &Given, site: &Site) -> Value {
        match &object.what {
            What::Text(text) => self.text_method(text, object, name, given, site),
            What::List(id) => self.list_method(*id, object, name, given, site),
            What::Dict(id) => self.dict_method(*id, object, name, given, site),
            What::Names(_) if matches!(name, "get" | "__getitem__" | "pop") => {
                let key = given.positional.first().cloned().unwrap_or_else(Value::unknown);
                self.subscript(object, &key, site.line)
            }
            What::Names(_) if name == "update" => {
                self.out.incomplete_at(site.line, "variables are set by computed names");
                Value::unknown()
            }
            // What is reached by an unknown name may be a module.
            What::Hidden(why) => {
                self.out.incomplete_at(site.line, &**why);
                Value::computed(self.all_sources(object, given))
            }
            _ if name.ends_with("swith") => Value::unknown(),
            _ => {
                self.hand_on_all(given, site.line);
                Value::computed(self.all_sources(object, given))
            }
        }
    }

    fn text_method(
        &mut self,
        text: &Text,
        object: &Value,
        name: &str,
        given: &Given,
        site: &Site,
    ) -> Value {
        let from = self.all_sources(object, given);
        self.work(text.text.len() / 64);
        let made = match name {
            "join" => {
                let list = given.positional.first();
                let items = list.and_then(|list| self.items(list));
                let Some(items) = items else {
                    return Value { what: What::Text(Text::gap()), from };
                };
                let mut whole = text.with("");
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        whole = whole.then(text);
                    }
                    let item = match (&item.what, text.bytes) {
                        (What::Text(_) | What::Path(_), _) => item.as_text(),
                        _ => Text::gap(),
                    };
                    whole = whole.then(&item);
                    self.work(whole.text.len() / 64);
                }
                Some(whole)
            }
            "format" if text.text.len() > LONGEST / 4 => None,
            "format" => Some(text::format(text, &given.positional, &given.named)),
            "split" | "rsplit" | "splitlines" | "partition" | "rpartition" => {
                return self.split(text, name, given).with(&from);
            }
            "translate" | "maketrans" => None,
            _ if TESTS.contains(&name) => return Value::unknown(),
            _ => text::method(text, name, &given.positional),
        };
        if let Some(made) = made {
            let made = if made.text.len() > LONGEST { Text::gap() } else { made };
            if made.known {
                self.derived(&made.text);
            }
            let what = What::Text(made);
            Value { what, from }
        } else {
            self.hand_on_all(given, site.line);
            Value { what: What::Text(Text::gap()), from }
        }
    }

    fn split(&mut self, text: &Text, name: &str, given: &Given) -> Value {
        let separator = given.positional.first();
        let known = separator.is_none_or(|separator| {
            separator.known().is_some() || matches!(separator.what, What::None)
        });
        if !known || !text.known || text.text.len() > 1 << 14 {
            return self.heap.list(Vec::new(), true);
        }
        let separator = separator.and_then(Value::known).filter(|separator| !separator.is_empty());
        let most = given.positional.get(1).and_then(Value::number);
        let most = most.and_then(|most| usize::try_from(most).ok()).map_or(4096, |most| most + 1);
        let parts: Vec<&str> = match (name, separator) {
            ("splitlines", _) => text.text.lines().collect(),
            ("partition", Some(by)) => match text.text.split_once(by) {
                Some((before, after)) => vec![before, by, after],
                None => vec![&text.text, "", ""],
            },
            ("rpartition", Some(by)) => match text.text.rsplit_once(by) {
                Some((before, after)) => vec![before, by, after],
                None => vec!["", "", &text.text],
            },
            ("rsplit", Some(by)) => {
                let mut parts: Vec<&str> = text.text.rsplitn(most, by).collect();
                parts.reverse();
                parts
            }
            (_, Some(by)) => text.text.splitn(most, by).collect(),
            (_, None) => text.text.split_whitespace().collect(),
        };
        let items = parts.into_iter().map(|part| Value::new(What::Text(text.with(part)))).collect();
        self.heap.list(items, false)
    }

    fn list_method(
        &mut self,
        id: usize,
        object: &Value,
        name: &str,
        given: &Given,
        site: &Site,
    ) -> Value {
        let last = given.positional.last().cloned().unwrap_or_else(Value::unknown);
        let from = self.heap.sources(&last);
        // In a loop it is not known how often.
        let more = self.items(&last);
        let Some(list) = self.heap.lists.get_mut(id) else { return Value::unknown() };
        match name {
            "append" | "add" | "insert" | "appendleft" => {
                if list.items.len() < 4096 {
                    match (name, given.positional.first().and_then(Value::number)) {
                        ("insert", Some(0)) | ("appendleft", _) => list.items.insert(0, last),
                        _ => list.items.push(last),
                    }
                } else {
                    list.open = true;
                    list.from.add(&from);
                }
                Value::new(What::None)
            }
            "extend" | "update" | "union" => {
                match more {
                    Some(more) if list.items.len() < 4096 => list.items.extend(more),
                    _ => {
                        list.open = true;
                        list.from.add(&from);
                    }
                }
                if name == "union" { object.clone() } else { Value::new(What::None) }
            }
            "reverse" => {
                list.items.reverse();
                Value::new(What::None)
            }
            "copy" => {
                let (items, open) = (list.items.clone(), list.open);
                self.heap.list(items, open).with(&object.from)
            }
            "pop" | "popleft" => {
                let at = match (name, given.positional.first()) {
                    ("popleft", _) => Value::new(What::Number(0)),
                    (_, Some(at)) => at.clone(),
                    (_, None) => Value::new(What::Number(-1)),
                };
                self.subscript(object, &at, site.line)
            }
            "sort" => {
                if let Some(key) = given.named("key").cloned() {
                    let (items, _) = self.each_item(object);
                    for item in items {
                        self.apply(&key, Given::of(vec![item]), site.line);
                    }
                }
                Value::new(What::None)
            }
            "remove" | "clear" | "discard" => Value::new(What::None),
            "index" | "count" => Value::unknown(),
            _ => {
                self.hand_on_all(given, site.line);
                Value::computed(self.all_sources(object, given))
            }
        }
    }

    fn dict_method(
        &mut self,
        id: usize,
        object: &Value,
        name: &str,
        given: &Given,
        site: &Site,
    ) -> Value {
        let first = given.positional.first().cloned().unwrap_or_else(Value::unknown);
        let other = given.positional.get(1).cloned();
        let Some(dict) = self.heap.dicts.get(id) else { return Value::unknown() };
        let (items, open) = (dict.items.clone(), dict.open);
        match name {
            "get" | "pop" | "__getitem__" | "setdefault" => {
                let found = self.subscript(object, &first, site.line);
                if name == "setdefault"
                    && let Some(value) = &other
                {
                    self.set_item(object, &first, value);
                }
                match other {
                    Some(other) if matches!(found.what, What::Unknown) => other.with(&found.from),
                    Some(other) if open => found.or(other),
                    _ => found,
                }
            }
            "keys" => self.heap.list(items.into_iter().map(|(key, _)| key).collect(), open),
            "values" => self.heap.list(items.into_iter().map(|(_, value)| value).collect(), open),
            "items" => {
                let pairs: Vec<Value> = items
                    .into_iter()
                    .map(|(key, value)| self.heap.list(vec![key, value], false))
                    .collect();
                self.heap.list(pairs, open)
            }
            "update" => {
                for (name, value) in &given.named {
                    self.set_item(object, &Value::text(Rc::clone(name)), value);
                }
                if let What::Dict(other) = first.what {
                    let more = self.heap.dicts.get(other).map(|dict| dict.items.clone());
                    for (key, value) in more.unwrap_or_default() {
                        self.set_item(object, &key, &value);
                    }
                } else if !given.positional.is_empty() {
                    let from = self.heap.sources(&first);
                    if let Some(dict) = self.heap.dicts.get_mut(id) {
                        dict.open = true;
                        dict.from.add(&from);
                    }
                }
                Value::new(What::None)
            }
            "copy" => {
                let from: Sources = object.from.clone();
                self.heap.dict(super::value::Dict { items, open, from })
            }
            _ => {
                self.hand_on_all(given, site.line);
                Value::computed(self.all_sources(object, given))
            }
        }
    }
}
