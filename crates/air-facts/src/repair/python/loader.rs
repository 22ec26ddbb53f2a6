//! Loaders that have a form without code: what is plain data stays as it is.

use super::{Edit, Patch, calls};
use crate::python::defect::tree::Tree;

pub(super) fn mend(tree: &Tree, line: u32) -> Option<Patch> {
    for call in calls(tree, line) {
        let callee = tree.callee(call);
        let function = tree.child(call, "function")?;
        let arguments = tree.child(call, "arguments")?;
        let of_yaml = match callee.as_str() {
            "yaml.load" | "yaml.unsafe_load" | "yaml.full_load" => Some("safe_load"),
            "yaml.load_all" | "yaml.unsafe_load_all" | "yaml.full_load_all" => {
                Some("safe_load_all")
            }
            _ => None,
        };
        if let Some(safe) = of_yaml {
            let name = tree.child(function, "attribute")?;
            let stream = tree.argument(call, 0, "stream")?;
            let edits = vec![
                Edit::new(tree.range(name), safe),
                Edit::new(tree.range(arguments), format!("({})", tree.text(stream))),
            ];
            return Some(Patch::new(edits, format!("loaded by `yaml.{safe}`, which runs nothing")));
        }
        let (option, safe) = match callee.as_str() {
            "numpy.load" => ("allow_pickle", "False"),
            "torch.load" => ("weights_only", "True"),
            _ => continue,
        };
        let given = tree.arguments(call).into_iter().find(|(name, _)| *name == Some(option));
        let edit = if let Some((_, value)) = given {
            Edit::new(tree.range(value), safe)
        } else {
            let last = tree.below(arguments).last()?;
            Edit::insert(tree.range(last).end, format!(", {option}={safe}"))
        };
        return Some(Patch::new(vec![edit], format!("loaded with `{option}={safe}`")));
    }
    None
}
