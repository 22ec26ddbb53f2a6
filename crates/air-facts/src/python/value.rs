//! What an expression may be worth, as far as the source says.

use std::{collections::HashMap, rc::Rc};

use air_core::place::{Place, PlaceKind};

use super::ast;

/// A value comes from this many places at most; more are not told apart from each other.
const MOST_SOURCES: usize = 32;
/// So many values a name may have.
pub(super) const MOST_VALUES: usize = 8;
/// Longer texts are computed.
const LONGEST_TEXT: usize = 1 << 16;
/// Stands for what is computed.
pub(super) const GAP: &str = "${…}";

/// Things of libraries from which what is at their place is read.
const HOLDS: [&str; 2] = ["response", "socket.socket"];

/// Where a value comes from.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Sources(Option<Rc<Vec<Place>>>);

impl Sources {
    pub(super) fn of(place: Place) -> Self {
        Self(Some(Rc::new(vec![place])))
    }

    pub(super) fn all(places: Vec<Place>) -> Self {
        if places.is_empty() { Self(None) } else { Self(Some(Rc::new(places))) }
    }

    pub(super) fn places(&self) -> &[Place] {
        self.0.as_ref().map_or(&[], |places| places.as_slice())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(super) fn add(&mut self, other: &Self) {
        let (Some(mine), Some(theirs)) = (&mut self.0, &other.0) else {
            if self.0.is_none() {
                self.0.clone_from(&other.0);
            }
            return;
        };
        if Rc::ptr_eq(mine, theirs) || theirs.iter().all(|place| mine.contains(place)) {
            return;
        }
        let mine = Rc::make_mut(mine);
        for place in theirs.iter() {
            if mine.len() < MOST_SOURCES && !mine.contains(place) {
                mine.push(place.clone());
            }
        }
    }

    /// The same, with the variables of these names in place of the whole environment.
    pub(super) fn instead_of_all(&self, names: &[String]) -> Self {
        let mut places = Vec::new();
        for place in self.places() {
            if place.kind == PlaceKind::Environment && place.name == "*" {
                let of = |name: &String| Place::new(PlaceKind::Environment, name.as_str());
                places.extend(names.iter().map(of));
            } else {
                places.push(place.clone());
            }
        }
        Self::all(places)
    }

    /// The same without single variables of the environment.
    pub(super) fn without_variables(&self) -> Self {
        let single = |place: &&Place| {
            place.kind == PlaceKind::Environment
                && place.name != "*"
                && air_core::place::is_known(&place.name)
        };
        Self::all(self.places().iter().filter(|place| !single(place)).cloned().collect())
    }

    pub(super) fn and(mut self, other: &Self) -> Self {
        self.add(other);
        self
    }
}

/// A value, and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Value {
    pub(super) what: What,
    pub(super) from: Sources,
}

/// What is known of a value. Whatever can hold values is in the [`Heap`], by its number.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum What {
    Unknown,
    Text(Text),
    Number(i64),
    Bool(bool),
    None,
    /// A module, a function, or something else that is known by its dotted name alone.
    Name(Rc<str>),
    /// What calling that name gave.
    Made(Rc<str>),
    /// The variables of a module, as a dictionary; without a name, those of the source itself.
    Names(Option<Rc<str>>),
    /// Something that is reached by a name which is not known; why that matters once it is called.
    Hidden(Rc<str>),
    /// A path object.
    Path(Text),
    List(usize),
    Dict(usize),
    /// A thing of a library: an open file, a connection.
    Object(usize),
    Function(usize),
    Class(usize),
    Instance(usize),
    /// A function of which some arguments are given.
    Partial(usize),
    /// A method of a value that is no instance.
    Method(Rc<(Value, Rc<str>)>),
    /// One of these, none of which is of this kind again.
    Any(Rc<Vec<Value>>),
}

/// Text or bytes; in what is not known, [`GAP`] stands for what is computed.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_field_names, reason = "a text is its text")]
pub(super) struct Text {
    pub(super) text: Rc<str>,
    pub(super) known: bool,
    /// Its characters are the bytes of the same numbers.
    pub(super) bytes: bool,
}

impl Text {
    pub(super) fn new(text: impl Into<Rc<str>>) -> Self {
        Self { text: text.into(), known: true, bytes: false }
    }

    pub(super) fn gap() -> Self {
        Self { text: Rc::from(GAP), known: false, bytes: false }
    }

    /// Both, one after the other.
    pub(super) fn then(&self, other: &Self) -> Self {
        if self.text.len() + other.text.len() > LONGEST_TEXT {
            return Self::gap();
        }
        // Two gaps side by side are one.
        let both = format!("{}{}", self.text, other.text);
        let known = self.known && other.known;
        let both = if known { both } else { both.replace("${…}${…}", GAP) };
        Self { text: both.into(), known, bytes: self.bytes }
    }

    /// The same kind of text with other letters.
    pub(super) fn with(&self, text: impl Into<Rc<str>>) -> Self {
        Self { text: text.into(), known: self.known, bytes: self.bytes }
    }
}

impl Value {
    pub(super) fn new(what: What) -> Self {
        Self { what, from: Sources::default() }
    }

    pub(super) fn unknown() -> Self {
        Self::new(What::Unknown)
    }

    pub(super) fn computed(from: Sources) -> Self {
        Self { what: What::Unknown, from }
    }

    pub(super) fn text(text: impl Into<Rc<str>>) -> Self {
        Self::new(What::Text(Text::new(text)))
    }

    pub(super) fn name(name: impl Into<Rc<str>>) -> Self {
        Self::new(What::Name(name.into()))
    }

    pub(super) fn with(mut self, from: &Sources) -> Self {
        self.from.add(from);
        self
    }

    /// The values that it may have.
    pub(super) fn each(&self) -> &[Self] {
        match &self.what {
            What::Any(values) => values,
            _ => std::slice::from_ref(self),
        }
    }

    /// One of both.
    #[expect(clippy::needless_pass_by_value, reason = "it stands in folds")]
    pub(super) fn or(self, other: Self) -> Self {
        if self.what == other.what {
            return self.with(&other.from);
        }
        let from = self.from.clone().and(&other.from);
        let mut values: Vec<Self> = self.each().to_vec();
        for value in other.each() {
            match values.iter_mut().find(|known| known.what == value.what) {
                Some(known) => known.from.add(&value.from),
                None => values.push(value.clone()),
            }
        }
        if values.len() > MOST_VALUES {
            return Self::computed(from);
        }
        Self { what: What::Any(Rc::new(values)), from }
    }

    pub(super) fn any(values: impl IntoIterator<Item = Self>) -> Self {
        values.into_iter().reduce(Self::or).unwrap_or_else(Self::unknown)
    }

    /// As a part of a text. A path is its text; another value is a gap.
    pub(super) fn as_text(&self) -> Text {
        match &self.what {
            What::Text(text) | What::Path(text) => text.clone(),
            What::Number(number) => Text::new(number.to_string()),
            What::Bool(true) => Text::new("True"),
            What::Bool(false) => Text::new("False"),
            What::None => Text::new("None"),
            _ => Text::gap(),
        }
    }

    /// The text, if it is known to be that and nothing else.
    pub(super) fn known(&self) -> Option<&str> {
        match &self.what {
            What::Text(text) | What::Path(text) if text.known => Some(&text.text),
            _ => None,
        }
    }

    pub(super) fn number(&self) -> Option<i64> {
        match self.what {
            What::Number(number) => Some(number),
            What::Bool(is) => Some(i64::from(is)),
            _ => None,
        }
    }
}

/// A list, a tuple or a set.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) items: Vec<Value>,
    /// It may hold more, or hold them in another order.
    pub(super) open: bool,
    /// Where what is not among the items comes from.
    pub(super) from: Sources,
}

/// A dictionary.
#[derive(Debug, Default)]
pub(super) struct Dict {
    pub(super) items: Vec<(Value, Value)>,
    pub(super) open: bool,
    pub(super) from: Sources,
}

/// A thing that a library's function has made.
#[derive(Debug)]
pub(super) struct Object {
    /// What it is: its methods are looked up as `class.method`.
    pub(super) class: Rc<str>,
    /// The file or host that it stands for.
    pub(super) place: Option<Place>,
    /// What has been put in.
    pub(super) from: Sources,
    /// What has been written so far, as far as it is known.
    pub(super) written: Option<String>,
    /// A function that it runs when it is started.
    pub(super) runs: Option<Value>,
}

#[derive(Debug)]
pub(super) struct Function {
    pub(super) definition: Rc<ast::Function>,
    /// Where it was defined.
    pub(super) scope: usize,
    /// The default values, in the order of parameters.
    pub(super) defaults: Vec<Option<Value>>,
    /// The class that it is a method of.
    pub(super) class: Option<usize>,
    pub(super) called: bool,
}

#[derive(Debug)]
pub(super) struct Class {
    pub(super) definition: Rc<ast::Class>,
    pub(super) scope: usize,
    pub(super) bases: Vec<Value>,
}

#[derive(Debug)]
pub(super) struct Instance {
    pub(super) class: usize,
    pub(super) attributes: HashMap<Rc<str>, Value>,
}

#[derive(Debug)]
pub(super) struct Partial {
    pub(super) callee: Value,
    pub(super) given: super::call::Given,
}

/// Names, and what they stand for.
#[derive(Debug, Default)]
pub(super) struct Scope {
    pub(super) names: HashMap<Rc<str>, Value>,
    /// The scope around it; a class's is passed over by functions.
    pub(super) outer: Option<usize>,
    /// Names that belong to a scope further out.
    pub(super) global: Vec<Rc<str>>,
}

/// All that values refer to. Numbers, not pointers: what refers to itself is freed as well.
#[derive(Debug, Default)]
pub(super) struct Heap {
    pub(super) lists: Vec<List>,
    pub(super) dicts: Vec<Dict>,
    pub(super) objects: Vec<Object>,
    pub(super) functions: Vec<Function>,
    pub(super) classes: Vec<Class>,
    pub(super) instances: Vec<Instance>,
    pub(super) partials: Vec<Partial>,
    pub(super) scopes: Vec<Scope>,
}

impl Heap {
    pub(super) fn list(&mut self, items: Vec<Value>, open: bool) -> Value {
        self.lists.push(List { items, open, from: Sources::default() });
        Value::new(What::List(self.lists.len() - 1))
    }

    pub(super) fn dict(&mut self, dict: Dict) -> Value {
        self.dicts.push(dict);
        Value::new(What::Dict(self.dicts.len() - 1))
    }

    pub(super) fn object(&mut self, class: &str, place: Option<Place>) -> Value {
        let (from, written, runs) = (Sources::default(), Some(String::new()), None);
        self.objects.push(Object { class: Rc::from(class), place, from, written, runs });
        Value::new(What::Object(self.objects.len() - 1))
    }

    pub(super) fn scope(&mut self, outer: Option<usize>) -> usize {
        self.scopes.push(Scope { outer, ..Scope::default() });
        self.scopes.len() - 1
    }

    /// Where all that `value` holds comes from.
    pub(super) fn sources(&self, value: &Value) -> Sources {
        let mut all = value.from.clone();
        let mut left = 64;
        self.gather(value, &mut all, &mut left, 0);
        all
    }

    fn gather(&self, value: &Value, all: &mut Sources, left: &mut usize, depth: usize) {
        if *left == 0 || depth > 6 {
            return;
        }
        *left -= 1;
        all.add(&value.from);
        let mut inner = |value: &Value| self.gather(value, all, left, depth + 1);
        match &value.what {
            What::Any(values) => values.iter().for_each(inner),
            What::Name(name) if &**name == "os.environ" => {
                all.add(&Sources::of(Place::new(PlaceKind::Environment, "*")));
            }
            What::List(id) => {
                let Some(list) = self.lists.get(*id) else { return };
                list.items.iter().for_each(inner);
                all.add(&list.from);
            }
            What::Dict(id) => {
                let Some(dict) = self.dicts.get(*id) else { return };
                dict.items.iter().for_each(|(key, value)| {
                    inner(key);
                    inner(value);
                });
                all.add(&dict.from);
            }
            What::Object(id) => {
                let Some(object) = self.objects.get(*id) else { return };
                all.add(&object.from);
                // What is read from it comes from there.
                if let Some(place) = &object.place
                    && (place.kind == PlaceKind::File || HOLDS.contains(&&*object.class))
                {
                    all.add(&Sources::of(place.clone()));
                }
            }
            What::Instance(id) => {
                let Some(instance) = self.instances.get(*id) else { return };
                instance.attributes.values().for_each(inner);
            }
            What::Partial(id) => {
                let Some(partial) = self.partials.get(*id) else { return };
                partial.given.values().for_each(inner);
            }
            What::Method(method) => inner(&method.0),
            _ => {}
        }
    }
}
