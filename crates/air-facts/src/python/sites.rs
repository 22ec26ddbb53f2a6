//! The calls that a source has, against those that were gone through.

use std::{collections::HashMap, rc::Rc};

use super::interpret::Interpreter;
use crate::syntax;

impl Interpreter<'_, '_> {
    /// The call that ends there is gone through.
    pub(super) fn follow(&mut self, end: usize) {
        let mut sources = self.sites.iter();
        let Some(here) = sources.rposition(|(source, _)| Rc::ptr_eq(source, &self.source)) else {
            return;
        };
        let Some((_, sites)) = self.sites.get_mut(here) else { return };
        sites.remove(&end);
        if sites.is_empty() {
            self.sites.swap_remove(here);
        }
    }

    /// Notes the calls that were never gone through.
    pub(super) fn unfollowed(&mut self) {
        if self.stopped {
            return;
        }
        for (_, sites) in std::mem::take(&mut self.sites) {
            let mut lines: Vec<u32> = sites.into_values().collect();
            lines.sort_unstable();
            lines.dedup();
            for line in lines {
                self.out.incomplete_at(line, format!("a call in line {line} is not followed"));
            }
        }
    }
}

/// The calls in a tree, by where they end, with their lines.
pub(super) fn sites(root: tree_sitter::Node) -> HashMap<usize, u32> {
    let mut found = HashMap::new();
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        if node.kind() == "call" {
            found.insert(node.end_byte(), syntax::line(node));
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}
