//! Python: one file a kind of defect.

mod choice;
mod digest;
mod guard;
mod keys;
mod loader;
mod privilege;
mod seed;
mod timing;
mod validation;

use air_core::{code::Defect, port::Alone};

use super::edit::{Edit, apply};
use crate::{
    collect::Collector,
    python::defect::tree::{Id, Tree},
    syntax,
};

/// How a defect is mended.
pub(super) struct Patch {
    edits: Vec<Edit>,
    /// Modules that it needs.
    modules: &'static [&'static str],
    said: String,
}

impl Patch {
    fn new(edits: Vec<Edit>, said: impl Into<String>) -> Self {
        Self { edits, modules: &[], said: said.into() }
    }
}

type Mend = fn(&Tree<'_, '_>, u32) -> Option<Patch>;

const KINDS: [(&str, Mend); 9] = [
    ("guessable-digest", digest::mend),
    ("unguarded-action", guard::mend),
    ("privilege-kept", privilege::mend),
    ("lenient-validation", validation::mend),
    ("predictable-seed", seed::mend),
    ("timing-comparison", timing::mend),
    ("unsafe-deserialization", loader::mend),
    ("duplicate-key", keys::mend),
    ("missing-default", choice::mend),
];

/// Whether there may be a way to mend such a defect.
pub(super) fn can(kind: &str) -> bool {
    KINDS.iter().any(|(known, _)| *known == kind)
}

/// The source without the defect, and what was done.
pub(super) fn mend(source: &str, defect: &Defect) -> Option<(String, String)> {
    if source.contains('\r') {
        return None;
    }
    let (_, find) = KINDS.iter().find(|(known, _)| *known == defect.kind)?;
    let parsed = parse(source)?;
    let tree = Tree::new(source, parsed.root_node());
    let mut patch = find(&tree, defect.line)?;
    for module in patch.modules {
        patch.edits.extend(import(&tree, module)?);
    }
    let mended = apply(source, patch.edits)?;
    parse(&mended)?;
    Some((mended, patch.said))
}

/// The syntax of a source that parses whole.
fn parse(source: &str) -> Option<tree_sitter::Tree> {
    let mut out = Collector::new("python", &Alone);
    let language = tree_sitter_python::LANGUAGE.into();
    let tree = syntax::parse(&language, source, &mut out)?;
    (!tree.root_node().has_error()).then_some(tree)
}

/// What makes `module` known by its own name; nothing is to be done where it is.
fn import(tree: &Tree, module: &str) -> Option<Vec<Edit>> {
    if let Some(known) = tree.imports.get(module) {
        return (known == module && imported_first(tree, module)).then(Vec::new);
    }
    let is_name = |id: Id| tree.kind(id) == "identifier" && tree.text(id) == module;
    if (0..tree.len()).any(is_name) {
        return None;
    }
    let is_first = |at: &Id| match tree.kind(*at) {
        "future_import_statement" => false,
        "expression_statement" => {
            tree.below(*at).next().is_none_or(|only| tree.kind(only) != "string")
        }
        _ => true,
    };
    let at = tree.range(tree.below(0).find(is_first)?).start;
    let own_line = at == 0 || tree.source.get(..at)?.ends_with('\n');
    own_line.then(|| vec![Edit::insert(at, format!("import {module}\n"))])
}

/// Whether a statement of the module itself imports it.
fn imported_first(tree: &Tree, module: &str) -> bool {
    tree.below(0).any(|statement| {
        tree.kind(statement) == "import_statement"
            && tree.below(statement).any(|name| tree.text(name) == module)
    })
}

/// Whether nothing is done by evaluating it.
fn is_plain(tree: &Tree, id: Id) -> bool {
    let acts = |at: Id| matches!(tree.kind(at), "call" | "await" | "yield" | "named_expression");
    !acts(id) && !tree.within(id).any(acts)
}

/// Its calls on that line.
fn calls<'a>(tree: &'a Tree, line: u32) -> impl Iterator<Item = Id> + 'a {
    tree.every_call.iter().copied().filter(move |call| tree.line(*call) == line)
}
