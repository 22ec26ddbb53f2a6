//! The commands that the tolerant parser sees in a source that does not parse whole.

use std::ops::ControlFlow;

use crate::{
    collect::Collector,
    syntax::{self, line, text},
};

/// The words of each command, as written, with its line.
pub(super) fn commands(source: &str, out: &mut Collector) -> Vec<(u32, Vec<String>)> {
    let mut found = Vec::new();
    let Some(tree) = syntax::parse(&tree_sitter_bash::LANGUAGE.into(), source, out) else {
        return found;
    };
    syntax::walk(tree.root_node(), out, |node, _, out| {
        match node.kind() {
            "command" => {
                let mut words = Vec::new();
                for child in syntax::named(node) {
                    match child.kind() {
                        "variable_assignment"
                        | "heredoc_redirect"
                        | "herestring_redirect"
                        | "file_redirect" => {}
                        _ => words.push(text(child, source).to_owned()),
                    }
                }
                found.push((line(node), words));
            }
            "word" | "raw_string" | "string" => {
                let written = text(node, source);
                out.mention(written.trim_matches(['\'', '"']));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    found
}
