//! A pattern has to match the whole text, and one for addresses takes numbers within their bounds.

use super::{Edit, Patch, calls};
use crate::python::defect::{
    tree::{Id, Tree},
    validation::{compiled, dotted},
};

/// An IPv4 address, as strict parsers take it: without leading zeros.
const ADDRESS: &str = r#"r"(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])""#;

pub(super) fn mend(tree: &Tree, line: u32) -> Option<Patch> {
    calls(tree, line).find_map(|call| {
        let callee = tree.callee(call);
        let (module, method) = callee.rsplit_once('.')?;
        let made = match module {
            "re" | "regex" => call,
            "re.compile()" | "regex.compile()" => compiled(tree, call)?,
            _ => return None,
        };
        let pattern = tree.argument(made, 0, "pattern")?;
        let literal = literal(tree, pattern)?;
        let name = tree.child(tree.child(call, "function")?, "attribute")?;
        let whole = || Edit::new(tree.range(name), "fullmatch");
        match method {
            // First of all the whole text is asked for: often nothing else is missing.
            "match" | "search" => {
                Some(Patch::new(vec![whole()], "the whole text has to match the pattern"))
            }
            "fullmatch" if dotted(&tree.constant(pattern)?) && tree.text(literal) != ADDRESS => {
                let strict = Edit::new(tree.range(literal), ADDRESS);
                Some(Patch::new(vec![strict], "the pattern takes numbers within their bounds only"))
            }
            _ => None,
        }
    })
}

/// Where the pattern is written.
fn literal(tree: &Tree, pattern: Id) -> Option<Id> {
    let found = match tree.kind(pattern) {
        "identifier" => {
            let scope = tree.scope(pattern);
            let name = tree.text(pattern);
            let own = tree.given(scope, name);
            match own.as_slice() {
                [only] => *only,
                _ => return None,
            }
        }
        _ => pattern,
    };
    matches!(tree.kind(found), "string" | "concatenated_string").then_some(found)
}
