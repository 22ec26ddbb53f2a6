//! The fields of Python's grammar by their numbers: finding a field by its name goes through all names.

use std::{num::NonZero, sync::LazyLock};

use tree_sitter::Language;

/// A field's number; zero is none.
pub(super) type FieldId = u16;

/// The numbers of the fields that are read.
pub(super) struct Fields {
    pub(super) alias: FieldId,
    pub(super) alternative: FieldId,
    pub(super) argument: FieldId,
    pub(super) arguments: FieldId,
    pub(super) attribute: FieldId,
    pub(super) body: FieldId,
    pub(super) code: FieldId,
    pub(super) condition: FieldId,
    pub(super) consequence: FieldId,
    pub(super) definition: FieldId,
    pub(super) expression: FieldId,
    pub(super) function: FieldId,
    pub(super) guard: FieldId,
    pub(super) key: FieldId,
    pub(super) left: FieldId,
    pub(super) module_name: FieldId,
    pub(super) name: FieldId,
    pub(super) object: FieldId,
    pub(super) operator: FieldId,
    pub(super) parameters: FieldId,
    pub(super) return_type: FieldId,
    pub(super) right: FieldId,
    pub(super) superclasses: FieldId,
    pub(super) type_of: FieldId,
    pub(super) type_parameters: FieldId,
    pub(super) value: FieldId,
}

pub(super) static FIELDS: LazyLock<Fields> = LazyLock::new(|| {
    let language = Language::from(tree_sitter_python::LANGUAGE);
    let id = |name: &str| language.field_id_for_name(name).map_or(0, NonZero::get);
    Fields {
        alias: id("alias"),
        alternative: id("alternative"),
        argument: id("argument"),
        arguments: id("arguments"),
        attribute: id("attribute"),
        body: id("body"),
        code: id("code"),
        condition: id("condition"),
        consequence: id("consequence"),
        definition: id("definition"),
        expression: id("expression"),
        function: id("function"),
        guard: id("guard"),
        key: id("key"),
        left: id("left"),
        module_name: id("module_name"),
        name: id("name"),
        object: id("object"),
        operator: id("operator"),
        parameters: id("parameters"),
        return_type: id("return_type"),
        right: id("right"),
        superclasses: id("superclasses"),
        type_of: id("type"),
        type_parameters: id("type_parameters"),
        value: id("value"),
    }
});
