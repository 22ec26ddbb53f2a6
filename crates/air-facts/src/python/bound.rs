//! Which argument is which parameter.

use super::{
    call::Given,
    interpret::Interpreter,
    table::Row,
    value::{GAP, Sources, Text, Value, What},
};
use air_core::place::{Place, PlaceKind};

/// Arguments by the names of their parameters.
#[derive(Debug)]
pub(super) struct Bound {
    values: Vec<(&'static str, Vec<Value>)>,
}

impl Bound {
    pub(super) fn new(row: &Row, given: &Given) -> Self {
        let mut positional = given.positional.iter();
        let mut values = Vec::with_capacity(row.parameters.len());
        for parameter in &row.parameters {
            if let Some(name) = parameter.strip_prefix('*') {
                let mut all: Vec<Value> = positional.by_ref().cloned().collect();
                all.extend(given.rest.clone().map(Value::computed));
                values.push((name, all));
                continue;
            }
            let value = given.named(parameter).or_else(|| positional.next()).cloned();
            let value = value.or_else(|| given.rest.clone().map(Value::computed));
            values.push((*parameter, value.into_iter().collect()));
        }
        Self { values }
    }

    pub(super) fn all(&self, name: &str) -> &[Value] {
        let found = self.values.iter().find(|(parameter, _)| *parameter == name);
        found.map_or(&[], |(_, values)| values.as_slice())
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.all(name).first()
    }
}

impl Interpreter<'_, '_> {
    /// The paths that a value may be: one gap for what is not known.
    pub(super) fn paths(&self, value: &Value) -> Vec<String> {
        let mut paths = Vec::new();
        for value in value.each() {
            match &value.what {
                What::Text(text) | What::Path(text) => paths.push(self.located(text).to_string()),
                What::Object(id) => {
                    let place = self.heap.objects.get(*id).and_then(|object| object.place.clone());
                    paths.push(place.map_or_else(|| GAP.to_owned(), |place| place.name));
                }
                What::List(id) => {
                    let Some(list) = self.heap.lists.get(*id) else { continue };
                    for item in list.items.iter().take(32) {
                        paths.push(self.located(&item.as_text()).to_string());
                    }
                    if list.open {
                        paths.push(GAP.to_owned());
                    }
                }
                // A descriptor that is open already.
                What::Number(_) | What::None | What::Bool(_) => {}
                _ => paths.push(GAP.to_owned()),
            }
        }
        paths.dedup();
        paths
    }

    /// The hosts or URLs that a value may be.
    pub(super) fn addresses(&self, values: &[Value]) -> Vec<String> {
        let port = |value: Option<&Value>| match value.map(Value::as_text) {
            Some(port) if !matches!(value.map(|value| &value.what), Some(What::None)) => {
                format!(":{}", port.text)
            }
            _ => String::new(),
        };
        let Some(first) = values.first() else { return Vec::new() };
        let mut addresses = Vec::new();
        for value in first.each() {
            match &value.what {
                What::List(id) => {
                    let items = self.heap.lists.get(*id).map(|list| list.items.as_slice());
                    let [host, rest @ ..] = items.unwrap_or_default() else { continue };
                    let host = match host.what {
                        What::None => Text::gap(),
                        _ => host.as_text(),
                    };
                    addresses.push(format!("{}{}", host.text, port(rest.first())));
                }
                What::Text(text) | What::Path(text) => {
                    addresses.push(format!("{}{}", text.text, port(values.get(1))));
                }
                What::Object(id) => {
                    let place = self.heap.objects.get(*id).and_then(|object| object.place.clone());
                    addresses.push(place.map_or_else(|| GAP.to_owned(), |place| place.name));
                }
                _ => addresses.push(format!("{GAP}{}", port(values.get(1)))),
            }
        }
        addresses
    }

    pub(super) fn sources_of(&self, values: &[Value]) -> Sources {
        let mut from = Sources::default();
        for value in values {
            from.add(&self.heap.sources(value));
        }
        from
    }

    /// The text that is written, where all of it is known.
    pub(super) fn content(values: &[Value]) -> Option<String> {
        let texts: Option<Vec<&str>> = values.iter().map(Value::known).collect();
        texts.map(|texts| texts.concat())
    }

    pub(super) fn file(path: &str) -> Place {
        Place::new(PlaceKind::File, path)
    }

    pub(super) fn network(address: &str) -> Place {
        Place::new(PlaceKind::Network, address)
    }

    pub(super) fn gap(value: Option<&Value>) -> Text {
        value.map_or_else(Text::gap, Value::as_text)
    }
}
