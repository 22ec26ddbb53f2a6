//! What a compiled expression reads, and what must be there for it to be true.

use std::sync::Arc;

use air_core::{
    requirement::{FactPath, Need, Needle, Requirement, Step},
    value::Value,
};

use super::ir::{Function, Loop, Node, Op};

/// Past this many places, those that follow are told by their root alone.
const MAX_PLACES: usize = 256;

/// The places that `node` may read.
pub(super) fn paths(node: &Node) -> Vec<FactPath> {
    let mut reader = Reader { places: Vec::new(), scope: Scope::default() };
    reader.read(node);
    reader.places
}

/// What must be there for `node` to be true or unknown.
pub(super) fn requirement(node: &Node) -> Requirement {
    Finder { scope: Scope::default() }.needs(node).requirement
}

/// Where the items of the loops around are, by the depth of their variables.
#[derive(Default)]
struct Scope(Vec<Option<FactPath>>);

impl Scope {
    /// The place that `node` is, if it is one and nothing is computed.
    fn place(&self, node: &Node) -> Option<FactPath> {
        match node {
            Node::Root(root) => Some(FactPath::new(*root)),
            Node::Local(depth) => self.0.get(*depth).cloned().flatten(),
            Node::Field { of, name, .. } => {
                Some(self.place(of)?.then(Step::Field(Arc::clone(name))))
            }
            _ => None,
        }
    }
}

struct Reader {
    places: Vec<FactPath>,
    scope: Scope,
}

impl Reader {
    fn add(&mut self, place: FactPath) {
        let place = if self.places.len() < MAX_PLACES { place } else { FactPath::new(place.root) };
        if !self.places.contains(&place) {
            self.places.push(place);
        }
    }

    fn read(&mut self, node: &Node) {
        if let Some(place) = self.scope.place(node) {
            return self.add(place);
        }
        match node {
            Node::Has { of, name, .. } => match self.scope.place(of) {
                Some(place) => self.add(place.then(Step::Field(Arc::clone(name)))),
                None => self.read(of),
            },
            Node::Loop { range, body, yields, .. } => {
                self.read(range);
                let items = self.scope.place(range).map(|range| range.then(Step::Items));
                self.scope.0.push(items);
                for node in [body, yields].into_iter().flatten() {
                    self.read(node);
                }
                self.scope.0.pop();
            }
            node => {
                for operand in node.operands() {
                    self.read(operand);
                }
            }
        }
    }
}

/// What is known of an expression that shall be true.
#[derive(Default)]
struct Needs {
    requirement: Requirement,
    /// Fields without which it is false.
    present: Vec<FactPath>,
}

impl From<Option<Requirement>> for Needs {
    fn from(requirement: Option<Requirement>) -> Self {
        Self { requirement: requirement.unwrap_or_default(), present: Vec::new() }
    }
}

struct Finder {
    scope: Scope,
}

impl Finder {
    /// Where a clause of the requirement is unmet for certain, `node` is false. Never merely
    /// unknown: so an operand counts only where it gives an answer for everything that is known.
    fn needs(&mut self, node: &Node) -> Needs {
        match node {
            Node::Const(Value::Bool(false)) => Some(Requirement::any_of([])).into(),
            Node::And(left, right) => {
                let (left, right) = (self.needs(left), self.needs(right));
                let mut present = left.present;
                present.extend(right.present);
                let both = left.requirement.and(right.requirement);
                let requirement = present.iter().fold(both, Requirement::with_present);
                Needs { requirement, present }
            }
            Node::Or(left, right) => {
                let (left, right) = (self.needs(left), self.needs(right));
                Some(left.requirement.or(&right.requirement)).into()
            }
            // A field of a record is never absent, only not observed.
            Node::Has { of, name, record: false } => {
                let place = self.scope.place(of).map(|of| of.then(Step::Field(Arc::clone(name))));
                Needs { present: place.into_iter().collect(), ..Needs::default() }
            }
            Node::Loop {
                kind: Loop::Exists | Loop::ExistsOne, range, body: Some(body), ..
            } => {
                let Some(range) = self.scope.place(range) else { return Needs::default() };
                self.scope.0.push(Some(range.clone().then(Step::Items)));
                let body = self.needs(body);
                self.scope.0.pop();
                Some(body.requirement.of_some_item(&range)).into()
            }
            Node::Binary(Op::Equal, left, right) => match (&**left, &**right) {
                (node, Node::Const(Value::String(text)))
                | (Node::Const(Value::String(text)), node) => self.text(node, text, Exact::Yes),
                _ => None,
            }
            .into(),
            Node::Binary(Op::In, item, list) => self.membership(item, list).into(),
            Node::Call(
                Function::Contains | Function::StartsWith | Function::EndsWith,
                arguments,
            ) => match arguments.as_slice() {
                [node, Node::Const(Value::String(text))] => self.text(node, text, Exact::No),
                _ => None,
            }
            .into(),
            Node::Glob { text: node, literal, .. } => self.text(node, literal, Exact::No).into(),
            _ => Needs::default(),
        }
    }

    /// That the text `node` is `text`, or has it in it.
    fn text(&self, node: &Node, text: &Arc<str>, exact: Exact) -> Option<Requirement> {
        let (node, exact) = match node {
            Node::Call(Function::LowerAscii | Function::UpperAscii, arguments) => {
                (arguments.first()?, Exact::No)
            }
            node => (node, exact),
        };
        let text = match exact {
            Exact::Yes => Needle::Equals(Arc::clone(text)),
            Exact::No if text.is_empty() => return None,
            Exact::No => Needle::Contains(Arc::clone(text)),
        };
        Some(Requirement::any_of([Need { place: self.scope.place(node)?, text }]))
    }

    fn membership(&self, item: &Node, list: &Node) -> Option<Requirement> {
        match (item, list) {
            (Node::Const(Value::String(text)), list) => {
                let place = self.scope.place(list)?.then(Step::Items);
                let text = Needle::Equals(Arc::clone(text));
                Some(Requirement::any_of([Need { place, text }]))
            }
            (item, Node::List(items)) => {
                let of_item = |node: &Node| match node {
                    Node::Const(Value::String(text)) => self.text(item, text, Exact::Yes),
                    _ => None,
                };
                let never = Requirement::any_of([]);
                items.iter().map(of_item).try_fold(never, |any, one| Some(any.or(&one?)))
            }
            _ => None,
        }
    }
}

/// Whether a text must be all there is.
#[derive(Clone, Copy)]
enum Exact {
    Yes,
    No,
}
