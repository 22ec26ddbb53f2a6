//! What a part of a condition is: its type, as far as the fact schema tells.

use air_core::fact::{Root, Type};

use crate::expr::{Tree, TreeNode as Node};

/// The variables of loops, with the types of their items.
#[derive(Default, Clone)]
pub(super) struct Scope(Vec<(String, Type)>);

impl Scope {
    pub(super) fn with(&self, name: &str, ty: Type) -> Self {
        let mut inner = self.clone();
        inner.0.push((name.to_owned(), ty));
        inner
    }

    pub(super) fn is_variable(&self, name: &str) -> bool {
        self.0.iter().any(|(other, _)| other == name)
    }

    /// The type of a fact, a field or a literal; `None` where only the value tells.
    pub(super) fn ty(&self, tree: &Tree) -> Option<Type> {
        match &tree.node {
            Node::Literal { value } => match value {
                serde_json::Value::String(_) => Some(Type::String),
                serde_json::Value::Bool(_) => Some(Type::Bool),
                serde_json::Value::Number(number) if number.is_i64() => Some(Type::Int),
                _ => None,
            },
            Node::Name { name } => {
                let variable = self.0.iter().rev().find(|(other, _)| other == name);
                variable.map(|(_, ty)| *ty).or_else(|| Root::from_name(name).map(Root::ty))
            }
            Node::Field { of, name } => match self.ty(of)? {
                Type::Record(record) => record.field(name),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn is_text(&self, tree: &Tree) -> bool {
        self.ty(tree) == Some(Type::String)
    }

    /// Whether it is a field of something free-form, such as an argument of the tool.
    pub(super) fn is_free(&self, tree: &Tree) -> bool {
        match &tree.node {
            Node::Field { of, .. } => matches!(self.ty(of), Some(Type::Map)),
            _ => false,
        }
    }

    /// The type of its items, if it is a list of the schema.
    pub(super) fn item(&self, tree: &Tree) -> Option<Type> {
        match self.ty(tree)? {
            Type::List(item) => Some(*item),
            _ => None,
        }
    }
}
