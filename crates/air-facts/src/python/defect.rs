//! Flaws of a program that its text shows, whether or not it runs.
//!
//! One file an analysis. All look at the same [`tree`]: the syntax, and what names stand for.

mod action;
mod bias;
mod choice;
mod digest;
mod encoded;
mod flow;
mod formats;
mod growth;
pub(crate) mod guard;
pub(crate) mod keys;
mod loader;
mod monitor;
mod names;
pub(crate) mod privilege;
mod said;
mod seed;
mod size;
mod timing;
pub(crate) mod tree;
pub(crate) mod validation;

use tree_sitter::Node;

use crate::collect::Collector;

/// Longer sources, in bytes, are not looked at.
const LONGEST: usize = 1 << 18;

/// A flaw.
#[derive(Debug)]
struct Flaw {
    kind: &'static str,
    line: u32,
    why: String,
    /// What of the machine the program gets to know by it.
    shows: Option<String>,
}

impl Flaw {
    fn new(kind: &'static str, line: u32, why: impl Into<String>) -> Self {
        Self { kind, line, why: why.into(), shows: None }
    }

    fn shows(self, what: &str) -> Self {
        Self { shows: Some(what.trim_start_matches("the ").to_owned()), ..self }
    }
}

/// Adds the flaws of the source to `out`.
pub(super) fn look(source: &str, root: Node, out: &mut Collector) {
    if source.len() > LONGEST {
        return out.defects_incomplete("source is too long to look for flaws");
    }
    let tree = tree::Tree::new(source, root);
    let mut flaws = Vec::new();
    for find in [
        seed::find,
        loader::find,
        monitor::find,
        choice::find,
        guard::find,
        privilege::find,
        keys::find,
        validation::find,
        growth::find,
        bias::find,
        digest::find,
        timing::find,
        encoded::find,
        action::find,
    ] {
        find(&tree, &mut flaws);
    }
    for flaw in flaws {
        out.defect(flaw.kind, flaw.line, &flaw.why);
        if let Some(what) = &flaw.shows {
            out.watched(what, flaw.line);
        }
    }
    if !tree.work(0) {
        out.defects_incomplete("source takes too many steps to look for flaws");
    }
}
